"""The shape of mem0's `Memory`, so that a program written for it runs over mnemic with one line changed.

    memory = Mem0(Memory.open())
    memory.add("I prefer the window seat.", user_id="ada")
    memory.search("Where does she sit?", filters={"user_id": "ada"})

Answers have the fields of mem0 2.2. What differs: no model rewrites what is added, with `infer` or without, so each message
is kept as it was said; adding the same again adds nothing; what does not fit a question is not returned; a score is that
of recall, whose scale is not 0 to 1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid5

from mnemic.capture.records import Entry
from mnemic.errors import BadInput, NotFound
from mnemic.interfaces.integrations import CHANNEL, origin_of, title_of
from mnemic.interfaces.integrations.asking import scored
from mnemic.interfaces.integrations.mem0_filter import ENTITIES, fits, names_entity
from mnemic.knowledge.origin import checked, lowest
from mnemic.ledger.chain import canonical
from mnemic.models.event import Origin
from mnemic.models.record import Record

if TYPE_CHECKING:
    from mnemic.memory import Memory

ROOT = "mem0"
SPACE = UUID("6d656d30-0000-5000-8000-6d6e656d6963")
"""An id follows from what is kept for whom, so that adding it again finds it, and from a salt of the home, so that nobody
else can tell from an id what it stands for."""
SKIPPED = ("system", "developer")
Row = dict[str, Any]
_KEEP: Any = object()


class Mem0Error(BadInput, ValueError):
    """What mem0 raises ValueError for."""


class Mem0:
    """The memories of one namespace. What comes in counts as the word of `voice` at most."""

    def __init__(self, memory: Memory, voice: Origin = "user") -> None:
        self._memory, self._records = memory, memory.records
        self._voice = voice
        self._channel = lowest((CHANNEL, voice))

    def add(
        self, messages: str | Mapping[str, Any] | Sequence[Mapping[str, Any]], *, user_id: str | None = None,
        agent_id: str | None = None, run_id: str | None = None, app_id: str | None = None,
        metadata: Mapping[str, Any] | None = None, expiration_date: Any = None, infer: bool = True,
        memory_type: str | None = None, prompt: str | None = None,
    ) -> dict[str, list[Row]]:  # fmt: skip
        """Keep each message that is no instruction: `{"results": [{"id", "memory", "event": "ADD" | "NONE"}]}`."""
        scope = _entities(user_id=user_id, agent_id=agent_id, run_id=run_id, app_id=app_id)
        if not scope:
            raise Mem0Error("one of user_id, agent_id, run_id, app_id is needed: say whose memory it is")
        more = {"metadata": dict(metadata or {}), "expiration_date": _day(expiration_date)}
        results = []
        for message in _messages(messages):
            text = _content(message)
            if message.get("role") in SKIPPED or not text.strip():
                continue
            told = {name: message[source] for name, source in (("role", "role"), ("actor_id", "name")) if message.get(source)}
            number, known = self._place(scope, text)
            if known is None:
                head = {**scope, **told, **more, "history": []}
                known = self._put(number, text, head, origin_of(message.get("role")))
                results.append({"id": number, "memory": known.body, "event": "ADD"})
            else:
                results.append({"id": number, "memory": known.body, "event": "NONE"})
        return {"results": results}

    def get(self, memory_id: str) -> Row | None:
        """A memory by its id, or None."""
        record = self._records.get((ROOT, memory_id)) if memory_id else None
        return None if record is None else _row(record)

    def get_all(
        self, *, filters: Mapping[str, Any] | None = None, top_k: int = 20, show_expired: bool = False, **entities: Any
    ) -> dict[str, list[Row]]:  # fmt: skip
        """The memories that a filter lets through, in the order in which they came."""
        return {"results": [_row(record) for record in self._found(filters, entities, show_expired)][: _most(top_k)]}

    def search(
        self, query: str, *, top_k: int = 20, filters: Mapping[str, Any] | None = None, threshold: float = 0.1,
        rerank: bool = False, explain: bool = False, show_expired: bool = False, **entities: Any,
    ) -> dict[str, list[Row]]:  # fmt: skip
        """The memories that answer a question, the best first, each with its `score`."""
        records = self._found(filters, entities, show_expired)
        found = scored(self._memory, query, records, _most(top_k))
        return {"results": [{**_row(one), "score": score} for one, score in found[: _most(top_k)] if score >= threshold]}

    def update(
        self, memory_id: str, text: str | None = None, metadata: Mapping[str, Any] | None = None,
        expiration_date: Any = _KEEP, data: str | None = None,
    ) -> dict[str, str]:  # fmt: skip
        """Change a memory; what it was stands in its history. Raises NotFound."""
        record = self._record(memory_id)
        fresh = record.body if text is None and data is None else str(data if text is None else text)
        if not fresh.strip():
            raise Mem0Error("an empty text cannot be kept: use delete")
        change = {"old_memory": record.body, "at": self._memory.clock.now().isoformat()}
        head = {
            **record.head,
            "metadata": {**record.head["metadata"], **(metadata or {})},
            "history": [*record.head["history"], *([change] if fresh != record.body else [])],
        }
        if expiration_date is not _KEEP:
            head["expiration_date"] = _day(expiration_date)
        self._put(memory_id, fresh, head, CHANNEL if fresh != record.body else checked(record.origin))
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> dict[str, str]:
        """Hide a memory. Raises NotFound."""
        self._records.remove(self._record(memory_id).key, channel=self._channel)
        return {"message": "Memory deleted successfully!"}

    def delete_all(
        self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None, app_id: str | None = None
    ) -> dict[str, str]:  # fmt: skip
        """Hide all memories of somebody."""
        scope = _entities(user_id=user_id, agent_id=agent_id, run_id=run_id, app_id=app_id)
        if not scope:
            raise Mem0Error("At least one filter is required to delete all memories. If you want to delete all memories,"
                            " use the `reset()` method.")  # fmt: skip
        self._records.remove(*(record.key for record in self._found(scope, {}, True)), channel=self._channel)
        return {"message": "Memories deleted successfully!"}

    def reset(self) -> None:
        """Hide every memory that was added here; nothing else in the namespace."""
        self._records.remove(*(record.key for record in self._records.below((ROOT,))), channel=self._channel)

    def history(self, memory_id: str) -> list[Row]:
        """What a memory was, the oldest first. Raises NotFound."""
        record = self._record(memory_id)
        changes = record.head["history"]
        texts = [*(change["old_memory"] for change in changes), record.body]
        moments = [record.created_at.isoformat(), *(change["at"] for change in changes)]
        return [
            {"id": f"{memory_id}:{place}", "memory_id": memory_id, "old_memory": texts[place - 1] if place else None,
             "new_memory": text, "event": "UPDATE" if place else "ADD", "created_at": moments[0], "updated_at": moments[place],
             "is_deleted": False, "actor_id": record.head.get("actor_id"), "role": record.head.get("role")}
            for place, text in enumerate(texts)
        ]  # fmt: skip

    # parts

    def _record(self, memory_id: str) -> Record:
        record = self._records.get((ROOT, memory_id)) if memory_id else None
        if record is None:
            raise NotFound(f"Memory with id {memory_id} not found")
        return record

    def _place(self, scope: Mapping[str, Any], text: str) -> tuple[str, Record | None]:
        """The id of a text for somebody, and the memory that holds it already."""
        salt, count = self._salt(), 0
        while True:
            number = str(uuid5(SPACE, canonical([salt, scope, text, count])))
            record = self._records.get((ROOT, number))
            # One that was updated holds another text by now: the next number is free or holds this one.
            if record is None or not record.head["history"]:
                return number, record
            count += 1

    def _salt(self) -> str:
        kept = self._memory.bookmark(ROOT)
        if not kept:
            kept = {"salt": self._memory.ids.token(16)}
            self._memory.set_bookmark(ROOT, kept)
        return str(kept["salt"])

    def _put(self, number: str, text: str, head: Mapping[str, Any], origin: Origin) -> Record:
        channel = lowest((origin, self._voice))
        (record,) = self._records.put(Entry(key=(ROOT, number), head=head, body=text, title=title_of(text), channel=channel))
        return record

    def _found(self, filters: Mapping[str, Any] | None, entities: Mapping[str, Any], expired: bool) -> list[Record]:
        if unknown := sorted(entities.keys() - set(ENTITIES)):
            raise Mem0Error(f"{unknown[0]!r} is unknown: filters take {', '.join(ENTITIES)} and metadata")
        wanted = {**(filters or {}), **_entities(**entities)}
        today = self._memory.clock.now().date().isoformat()
        try:
            if not names_entity(wanted):
                raise Mem0Error(f"filters must contain at least one of: {', '.join(ENTITIES)}")
            return [
                record for record in self._records.below((ROOT,))
                if fits(_fields(record), wanted) and (expired or (record.head["expiration_date"] or today) >= today)
            ]  # fmt: skip
        except RecursionError:
            raise Mem0Error("filters are nested too deep: write them flat") from None


def _messages(given: Any) -> Iterable[Mapping[str, Any]]:
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    found = [given] if isinstance(given, Mapping) else given
    if not isinstance(found, Sequence) or not all(isinstance(one, Mapping) for one in found):
        raise Mem0Error(f"messages must be str, dict, or list[dict], got {type(given).__name__}")
    return found


def _content(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part["text"]) for part in content if isinstance(part, Mapping) and "text" in part)
    return content if isinstance(content, str) else ""


def _entities(**given: Any) -> dict[str, str]:
    return {name: str(value).strip() for name, value in given.items() if value is not None and str(value).strip()}


def _day(given: Any) -> str | None:
    """A day as YYYY-MM-DD."""
    if given is None:
        return None
    if isinstance(given, (date, datetime)):
        return given.isoformat()[:10]
    try:
        return date.fromisoformat(str(given)[:10]).isoformat()
    except ValueError:
        raise Mem0Error(f"expiration_date {given!r} is no day: write YYYY-MM-DD") from None


def _most(top_k: Any) -> int:
    if not isinstance(top_k, int) or isinstance(top_k, bool) or top_k < 0:
        raise Mem0Error(f"top_k {top_k!r} must be a whole number from 0")
    return top_k


def _fields(record: Record) -> dict[str, Any]:
    """What a filter may ask for."""
    return {**record.head["metadata"], **{name: value for name, value in record.head.items() if name != "history"},
            "created_at": record.created_at.isoformat(), "updated_at": record.updated_at.isoformat()}  # fmt: skip


def _row(record: Record) -> Row:
    head = record.head
    told = {name: head[name] for name in (*ENTITIES, "actor_id", "role") if head.get(name)}
    expires = {"expiration_date": head["expiration_date"]} if head["expiration_date"] else {}
    digest = hashlib.md5(record.body.encode(), usedforsecurity=False).hexdigest()
    return {"id": record.key[1], "memory": record.body, "hash": digest, "created_at": record.created_at.isoformat(),
            "updated_at": record.updated_at.isoformat(), **told, **expires,
            "metadata": dict(head["metadata"]) or None}  # fmt: skip
