"""The windows of many conversations at once: what a server needs that stands between clients and a model.

A request of any of the three APIs goes in as its JSON body and comes out as one that fits. Which conversation it belongs
to is told by the client (a name, `conversation`, `user`, `metadata.user_id`) or by how it begins. A window that was not
used for long is closed: what it must know of a conversation stands in the store.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mnemic.context.inject import Beside
from mnemic.context.shapes import cost, read, said, unmarked
from mnemic.context.window import ContextWindow, Prepared
from mnemic.errors import BadInput, Conflict
from mnemic.models.receipt import CaptureReport

OPEN = 64
"""Conversations that are held open."""
SEARCHES = 4
"""Searches that may run at once."""
ANSWERS = 1_000
"""Answers of the responses API that may be gone on from by their id."""

Make = Callable[[str | None, Beside | None], ContextWindow]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The body of a request to a model, and what was done to its messages."""

    body: Mapping[str, Any]
    changed: bool
    """Whether the body is another than the client's."""
    beside: int
    """Tokens of what goes out beside the messages."""
    made: Prepared
    window: ContextWindow = field(repr=False)


@dataclass(slots=True)
class _Open:
    window: ContextWindow
    busy: threading.Lock = field(default_factory=threading.Lock)


class Windows:
    """Context windows by conversation. May be shared between threads; close it."""

    def __init__(self, make: Make, beside: Beside | None, most: int = OPEN) -> None:
        self._make, self._beside, self._most = make, beside, most
        self._open: OrderedDict[str, _Open] = OrderedDict()
        self._answers: OrderedDict[str, str] = OrderedDict()
        self._guard = threading.Lock()

    def __len__(self) -> int:
        return len(self._open)

    def close(self) -> None:
        """Let the searches' threads end."""
        if self._beside is not None:
            self._beside.close()

    def prepare(self, body: Mapping[str, Any], *, session: str | None = None, seconds: float = -1) -> Request:
        """The body with messages that fit and what memory adds. The given body is not changed.

        `seconds` is how long another request of the same conversation is waited for; without, until it is done. Raises
        BadInput for what is no request with messages, Conflict where that other request takes longer.
        """
        name, given = _listed(body)
        session = session or self._named(body)
        held = self._held(session, given)
        if not held.busy.acquire(timeout=seconds):
            raise Conflict(f"another request of this conversation is still being prepared after {seconds:g} s")
        try:
            beside = cost({key: value for key, value in body.items() if key != name})
            made = held.window.prepare(given, beside=beside)
        finally:
            held.busy.release()
        changed = len(made.messages) != len(given) or any(
            one is not other for one, other in zip(made.messages, given, strict=True)
        )
        out = {**body, name: made.messages} if changed else body
        return Request(body=out, changed=changed, beside=beside, made=made, window=held.window)

    def observe(self, request: Request, reply: Any, answer: str = "") -> CaptureReport:
        """Remember a request's turn with its reply: a message, or a list of messages or items; without one, an empty list.

        `answer` is the id by which a later request may go on from this one.
        """
        if answer:
            with self._guard:
                self._answers[answer] = request.made.session
                while len(self._answers) > ANSWERS:
                    self._answers.popitem(last=False)
        return request.window.observe(reply, request.made)

    def _named(self, body: Mapping[str, Any]) -> str | None:
        """The conversation as the client names it."""
        told = body.get("conversation")
        metadata = body.get("metadata")
        before = body.get("previous_response_id")
        names = (
            told.get("id") if isinstance(told, Mapping) else told,
            self._answers.get(before) if isinstance(before, str) else None,
            body.get("user"),
            metadata.get("user_id") if isinstance(metadata, Mapping) else None,
        )
        return next((name for name in names if isinstance(name, str) and name.strip()), None)

    def _held(self, session: str | None, messages: Sequence[Any]) -> _Open:
        key = f"named {session}" if session else f"begun {_beginning(messages)}"
        with self._guard:
            found = self._open.get(key) or _Open(self._make(session, self._beside))
            self._open[key] = found
            self._open.move_to_end(key)
            while len(self._open) > self._most:
                self._open.popitem(last=False)
        return found


def _listed(body: Mapping[str, Any]) -> tuple[str, Sequence[Any]]:
    """The field with the messages, and the messages."""
    if isinstance(body.get("messages"), list):
        return "messages", body["messages"]
    given = body.get("input")
    if isinstance(given, str):
        return "input", [said(given)]
    if isinstance(given, list):
        return "input", given
    raise BadInput("this request has no list of messages: it needs 'messages' or 'input'")


def _beginning(messages: Sequence[Any]) -> str:
    """The first message that is no instruction, as a digest."""
    first = next((message for message in messages if read(message).role != "system"), None)
    text = json.dumps(unmarked(first), sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
