"""A `Session` for the OpenAI Agents SDK: `Runner.run(agent, "…", session=MemorySession("ada", memory))`.

Each item is a record, so the runner gets back what it gave, and recall finds what was said in any session. What the user
says is the user's word, what the model says the agent's, what a tool gives is quoted.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mnemic.capture.records import Entry
from mnemic.interfaces.integrations import CHANNEL, missing, origin_of, title_of
from mnemic.models.event import Origin
from mnemic.models.record import Record

try:
    from agents.memory.session import SessionABC
    from agents.memory.session_settings import SessionSettings, resolve_session_limit
except ImportError:
    raise missing("openai-agents", "openai-agents") from None

if TYPE_CHECKING:
    from agents.items import TResponseInputItem

    from mnemic.memory import Memory

ROOT = "conversations"


class MemorySession(SessionABC):
    """One conversation by its id, for as long as the memory is open."""

    def __init__(self, session_id: str, memory: Memory, *, session_settings: SessionSettings | None = None) -> None:
        self.session_id = session_id
        self.session_settings = session_settings or SessionSettings()
        self._memory = memory
        self._alone = threading.Lock()

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items in order; with `limit`, the latest so many."""
        most = resolve_session_limit(limit, self.session_settings)
        records = await asyncio.to_thread(self._records)
        return [_item(record) for record in _latest(records, most)]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items."""
        await asyncio.to_thread(self._add, list(items))

    async def pop_item(self) -> TResponseInputItem | None:
        """Take out the latest item and return it."""
        return await asyncio.to_thread(self._pop)

    async def clear_session(self) -> None:
        """Take out all items: they are hidden, and an undo brings them back."""
        await asyncio.to_thread(self._clear)

    # parts

    @property
    def _key(self) -> tuple[str, str]:
        return ROOT, self.session_id

    def _records(self) -> list[Record]:
        return self._memory.records.below(self._key)

    def _add(self, items: list[Any]) -> None:
        with self._alone:  # items of one call stay together
            self._memory.records.put(*(self._entry(item) for item in items))

    def _pop(self) -> TResponseInputItem | None:
        with self._alone:
            records = self._records()
            if not records:
                return None
            self._memory.records.remove(records[-1].key, channel=CHANNEL)
            return _item(records[-1])

    def _clear(self) -> None:
        with self._alone:
            self._memory.records.remove(*(record.key for record in self._records()), channel=CHANNEL)

    def _entry(self, item: Mapping[str, Any]) -> Entry:
        kept, place, text = _parted(item)
        title = title_of(text) or str(item.get("type") or item.get("role") or "item")
        # The order is that of arrival, so that two processes may append at once: a name need only be new.
        return Entry(key=(*self._key, self._memory.ids.token(12)), head={"item": kept, "text": place}, body=text, title=title,
                     channel=_origin(item))  # fmt: skip


def _latest(records: list[Record], most: int | None) -> list[Record]:
    if most is None or most < 0:
        return records
    return records[-most:] if most else []


def _origin(item: Mapping[str, Any]) -> Origin:
    return "tool" if str(item.get("type", "")).endswith("_output") else origin_of(item.get("role"))


def _parted(item: Mapping[str, Any]) -> tuple[dict[str, Any], list[str | int], str]:
    """An item without its text, where that stood, and the text, which recall finds.

    An item of several texts keeps them as well. What instructs the model, and what only the model's server reads, is no
    text for recall.
    """
    whole = dict(item)
    field = "output" if _origin(item) == "tool" else "content"
    if item.get("role") in ("system", "developer") or (field == "content" and "role" not in item):
        return whole, [], ""
    content = item.get(field)
    if isinstance(content, str):
        return {**whole, field: None}, [field], content
    if not isinstance(content, list):
        return whole, [], ""
    places = [place for place, part in enumerate(content) if isinstance(part, Mapping) and isinstance(part.get("text"), str)]
    if len(places) != 1:
        return whole, [], "\n\n".join(content[place]["text"] for place in places)
    place = places[0]
    parts = [*content[:place], {**content[place], "text": None}, *content[place + 1 :]]
    return {**whole, field: parts}, [field, place, "text"], content[place]["text"]


def _item(record: Record) -> TResponseInputItem:
    item = record.head["item"]
    *way, last = record.head["text"] or [None]
    if last is not None:
        holder = item
        for step in way:
            holder = holder[step]
        holder[last] = record.body
    return item  # type: ignore[no-any-return]
