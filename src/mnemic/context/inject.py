"""What memory adds to a prompt: the profile and the best hits for what the user just said, in one frame.

Memory must never hold up or break a turn: the search runs beside it, and past its time, or if it fails, the prompt goes
out without.
"""

from __future__ import annotations

import hmac
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mnemic.context.budget import PROFILE
from mnemic.context.shapes import MESSAGE_TOKENS
from mnemic.models.answer import Answer, Hit
from mnemic.text import frame as frames
from mnemic.text.tokens import estimate

TOP_K = 5
"""Twice as many are asked for: what stands in the window already is left out."""
SECONDS = 5.0
QUERY_CHARS = 1_000
"""So much of what the user said is searched for: a pasted file is no question."""
SEEN_CHARS = 160
"""A hit whose first so many characters stand in the window is there already."""
HEADING = "From memory, for the message that follows"

Sought = tuple[list[frames.Item], Answer]
Search = Callable[[str, int], Sought]
"""The profile in at most so many tokens, and the answer to a query."""


@dataclass(slots=True)
class Beside:
    """Threads that search while a turn waits no longer than it wants to. May be shared between threads."""

    search: Search
    seconds: float = SECONDS
    threads: int = 1
    _asked: queue.SimpleQueue[tuple[str, int, queue.SimpleQueue[Sought | Exception]]] | None = None
    _late: list[queue.SimpleQueue[Sought | Exception]] = field(default_factory=list)
    """Where searches that nobody waits for any more will answer."""
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, query: str, tokens: int) -> Sought | str:
        """What was found, or why nothing was."""
        with self._guard:
            self._late = [reply for reply in self._late if reply.empty()]
            if len(self._late) >= self.threads:
                return "nothing was recalled: the search before this one still runs"
            asked = self._asked or self._started()
        reply: queue.SimpleQueue[Sought | Exception] = queue.SimpleQueue()
        asked.put((query, tokens, reply))
        try:
            found = reply.get(timeout=self.seconds)
        except queue.Empty:
            with self._guard:
                self._late.append(reply)
            return f"nothing was recalled: the search took longer than {self.seconds:g} s"
        return f"nothing was recalled: {found}" if isinstance(found, Exception) else found

    def _started(self) -> queue.SimpleQueue[Any]:
        self._asked = queue.SimpleQueue()
        for _ in range(self.threads):
            threading.Thread(target=_serve, args=(self.search, self._asked), daemon=True).start()
        return self._asked

    def close(self) -> None:
        """Let the threads end."""
        with self._guard:
            asked, self._asked = self._asked, None
        for _ in range(self.threads if asked else 0):
            assert asked is not None
            asked.put(("", -1, queue.SimpleQueue()))


def _serve(search: Search, asked: queue.SimpleQueue[Any]) -> None:
    while True:
        query, tokens, reply = asked.get()
        if tokens < 0:
            return
        try:
            reply.put(search(query, tokens))
        except Exception as error:  # whatever fails in here must not fail the turn
            reply.put(error)


def unseen(hits: Sequence[Hit], visible: str) -> list[Hit]:
    """The best hits whose text does not stand in the window."""
    window = " ".join(visible.split())
    found = [hit for hit in hits if " ".join(hit.text.split())[:SEEN_CHARS].rstrip("… ") not in window]
    return found[:TOP_K]


def within(items: Sequence[frames.Item], tokens: int, heading: str) -> list[frames.Item]:
    """The items that fit into a message of so many tokens, each whole, in their order."""
    room = tokens - MESSAGE_TOKENS - 1 - estimate(frames.render([], "0" * 16, heading=heading), PROFILE)
    bare = estimate(frames.render([], "0" * 16), PROFILE)
    kept = list[frames.Item]()
    for item in items:
        cost = estimate(frames.render([item], "0" * 16), PROFILE) - bare + 2
        if cost <= room:
            kept.append(item)
            room -= cost
    return kept


def sealed(items: Sequence[frames.Item], key: bytes, heading: str) -> str:
    """A frame whose nonce proves that it is ours: the keyed digest of what stands in it. The same items give the same frame."""
    return frames.render(items, _seal(frames.render(items, "0" * 16, heading=heading), key), heading=heading)


def is_ours(text: str, key: bytes) -> bool:
    """Whether a text is nothing but a frame that was sealed with this key."""
    if not text.startswith('<memory-recall nonce="'):
        return False
    nonce = text[22:38]
    return hmac.compare_digest(_seal(text.replace(f'nonce="{nonce}"', f'nonce="{"0" * 16}"'), key).encode(), nonce.encode())


def _seal(plain: str, key: bytes) -> str:
    return hmac.new(key, b"window\0" + plain.encode("utf-8", "surrogatepass"), "sha256").hexdigest()[:16]
