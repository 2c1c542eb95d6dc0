"""Who may make what: origin decides authority, and nothing but a human act raises it.

Every memory bears an origin that our code set from the channel it came through. What is derived bears the lowest
origin of its parents, so neither a summary, nor repetition, nor reported success can launder a text.

    user, human-file    a person's own words          may become a fact about the user, a rule, a live experience
    agent               what the connected agent says may become them where the rules say so, always shown as the agent's
    tool, web, import   what was read somewhere       quoted data; only a human act bound to what was shown promotes it
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import get_args

from mnemic.errors import BadInput, Refused
from mnemic.ledger.chain import canonical
from mnemic.models.event import Actor, Origin

RANK: dict[Origin, int] = {"user": 3, "human-file": 3, "agent": 2, "tool": 1, "web": 1, "import": 1}
HUMAN = 3
AGENT = 2
_NAMED: dict[str, Origin] = {name: name for name in get_args(Origin)}


def checked(origin: str) -> Origin:
    """An origin by its name. Raises BadInput."""
    if (known := _NAMED.get(origin)) is None:
        raise BadInput(f"origin {origin!r} is unknown: {', '.join(_NAMED)}")
    return known


def lowest(origins: Iterable[Origin]) -> Origin:
    """The origin that something made of these bears; of equals the first. Raises ValueError where there is none."""
    return min(origins, key=lambda origin: RANK[origin])


def lowered(channel: Origin, claimed: str | None) -> Origin:
    """What a writer on a channel may call its text: its channel's origin or a lower one. Raises Refused for a higher."""
    if claimed is None:
        return channel
    origin = checked(claimed)
    if RANK[origin] > RANK[channel]:
        raise Refused(f"origin {claimed!r} stands above {channel!r}, the channel it comes through: leave it out")
    return origin


def human(origin: Origin) -> bool:
    """Whether a person stands behind it."""
    return RANK[origin] >= HUMAN


def actor(channel: Origin) -> Actor:
    """Who acts on a channel, as the ledger names them."""
    return "user" if human(channel) else "agent"


def must_be_human(channel: Origin, what: str) -> None:
    """Raises Refused where no person stands behind the channel."""
    if not human(channel):
        raise Refused(f"only a person can {what}, and this came from {channel!r}: use the command line or the workbench")


def external(origin: Origin) -> bool:
    """Whether it was read somewhere: never a fact, a rule or a live experience without a human act."""
    return RANK[origin] < AGENT


def seal(**content: object) -> str:
    """The SHA-256 of what is shown of a row: a human act names it, so that it approves what was seen and nothing else."""
    return hashlib.sha256(canonical(content).encode("utf-8", "surrogatepass")).hexdigest()


def approve(channel: Origin, current: str, seen: str | None) -> str:
    """The seal that a human act is bound to: what was shown, which must still be what stands there.

    `seen` is the seal of what the person was shown; without it the act is bound to what stands there now.
    Raises Refused for a channel no person stands behind, and where the row has changed since it was shown.
    """
    must_be_human(channel, "approve this")
    if seen is not None and seen != current:
        raise Refused("it has changed since it was shown: look at it again and approve what stands there now")
    return current
