"""Memory in the shapes that other frameworks ask for, each in a module of its own.

A module loads its framework when it is imported, and nothing else imports it. All stand on `Memory.records`. What comes
in here is the agent's word, unless it is a message whose role says that the user spoke.
"""

from __future__ import annotations

from mnemic.errors import MissingExtra
from mnemic.models.event import Origin

CHANNEL: Origin = "agent"
TITLE_CHARS = 60


def missing(package: str, extra: str) -> MissingExtra:
    """What to raise where a framework is not installed."""
    return MissingExtra(f"this needs the package {package}: pip install 'mnemic[{extra}]'")


def origin_of(role: object) -> Origin:
    """Who speaks in a message of this role."""
    return "user" if role == "user" else "tool" if role in ("tool", "function") else CHANNEL


def title_of(text: str) -> str:
    """The first words of a text; empty where it has none."""
    return " ".join(text[: 4 * TITLE_CHARS].split())[:TITLE_CHARS]
