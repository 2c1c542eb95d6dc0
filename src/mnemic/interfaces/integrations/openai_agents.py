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
from mnemic.interfaces.integrations import CHANNEL, missing, origin_of
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
TITLE_CHARS = 60


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
        return [_item(record) for record in (records if most is None or most < 0 else records[len(records) - most :] if most < len(records) else records)]

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
        return self._memory.records.list(self._key)

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
        kept, text = _parted(item)
        title = " ".join(text[: 4 * TITLE_CHARS].split())[:TITLE_CHARS] or str(item.get("type") or item.get("role") or "item")
        # The order is that of arrival, so that two processes may append at once: a name need only be new.
        return Entry(key=(*self._key, self._memory.ids.token(12)), head={"item": kept}, body=text, title=title,
                     channel=_origin(item))  # fmt: skip


def _origin(item: Mapping[str, Any]) -> Origin:
    return "tool" if str(item.get("type", "")).endswith("_output") else origin_of(item.get("role"))


def _parted(item: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """An item without its text, and its text, which recall finds. Where it has several texts, it keeps them as well.

    What instructs the model, and what only the model's server reads, is no text for recall.
    """
    field = "output" if _origin(item) == "tool" else "content"
    content = item.get(field)
    if item.get("role") in ("system", "developer") or (field == "content" and "role" not in item):
        return dict(item), ""
    if isinstance(content, str):
        return {**item, field: None}, content
    parts = [part for part in content or () if isinstance(part, Mapping) and isinstance(part.get("text"), str)]
    if len(parts) != 1 or not isinstance(content, list):
        return dict(item), "\n\n".join(part["text"] for part in parts)
    return {**item, field: [{**part, "text": None} if part is parts[0] else part for part in content]}, parts[0]["text"]


def _item(record: Record) -> TResponseInputItem:
    item: dict[str, Any] = dict(record.head["item"])
    for field in ("content", "output"):
        if field in item and item[field] is None and record.body:
            item[field] = record.body
        elif isinstance(item.get(field), list):
            item[field] = [
                {**part, "text": record.body} if isinstance(part, dict) and "text" in part and part["text"] is None else part
                for part in item[field]
            ]
    return item  # type: ignore[return-value]
