"""A `BaseStore` for LangGraph: `builder.compile(store=MemoryStore(memory))`.

An item is a record: its value is kept whole, and what `index` names of it is what recall finds. A search with a query is
a recall: what does not fit the question is not returned, so an answer may be shorter than `limit`, or empty.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mnemic.capture.records import Entry
from mnemic.interfaces.integrations import CHANNEL, missing
from mnemic.interfaces.integrations.asking import scored
from mnemic.models.record import Key, Record

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        get_text_at_path,
        validate_op_namespace,
    )
except ImportError:
    raise missing("langgraph", "langgraph") from None

if TYPE_CHECKING:
    from mnemic.memory import Memory

ROOT = "store"
_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": lambda value, wanted: bool(value == wanted),
    "$ne": lambda value, wanted: bool(value != wanted),
    "$gt": lambda value, wanted: float(value) > float(wanted),
    "$gte": lambda value, wanted: float(value) >= float(wanted),
    "$lt": lambda value, wanted: float(value) < float(wanted),
    "$lte": lambda value, wanted: float(value) <= float(wanted),
}


class MemoryStore(BaseStore):
    """The items of one memory. Times to live are not supported: mnemic forgets by its own rules."""

    __slots__ = ("_fields", "_memory")

    def __init__(self, memory: Memory, *, fields: Sequence[str] = ("$",)) -> None:
        """`fields` are the paths in a value that recall finds, where `put` does not say; `$` is the whole value."""
        self._memory, self._fields = memory, tuple(fields)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do several things: first what reads, as it stands before, then what writes; of one key the last."""
        ops = list(ops)
        for op in ops:
            validate_op_namespace(op)
        results = [self._read(op) for op in ops]
        puts = {_key(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}
        self._memory.records.remove(*(key for key, op in puts.items() if op.value is None), channel=CHANNEL)
        self._memory.records.put(*(self._entry(key, op) for key, op in puts.items() if op.value is not None))
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same in a worker thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    # parts

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            record = self._memory.records.get(_key(op.namespace, op.key))
            return None if record is None else Item(**_fields(record))
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        if isinstance(op, PutOp):
            return None
        raise ValueError(f"Unknown operation type: {type(op)}")

    def _entry(self, key: Key, op: PutOp) -> Entry:
        value = dict(op.value or {})
        fields = self._fields if op.index is None else op.index or ()
        return Entry(key=key, head={"value": value}, body=_text(value, fields), title=op.key, channel=CHANNEL)

    def _search(self, op: SearchOp) -> list[SearchItem]:
        prefix = op.namespace_prefix
        records = [
            record for record in self._memory.records.below((ROOT,), lambda key: _namespace(key)[: len(prefix)] == prefix)
            if all(_fits(record.head["value"].get(name), wanted) for name, wanted in (op.filter or {}).items())
        ]  # fmt: skip
        page = slice(op.offset, op.offset + op.limit)
        if not op.query:
            return [SearchItem(**_fields(record)) for record in records[page]]
        found = scored(self._memory, op.query, records, op.offset + op.limit)
        return [SearchItem(**_fields(record), score=score) for record, score in found[page]]

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        found = {_namespace(record.key) for record in self._memory.records.below((ROOT,))}
        matching = [space for space in found if all(_matches(one, space) for one in op.match_conditions or ())]
        return sorted({space[: op.max_depth] for space in matching})[op.offset : op.offset + op.limit]


def _key(namespace: tuple[str, ...], key: str) -> Key:
    # A namespace is one part, since one may lie in another; its labels hold no dot, and the last makes it never empty.
    return ROOT, ".".join((*namespace, "")) or ".", key


def _namespace(key: Key) -> tuple[str, ...]:
    return tuple(label for label in key[1].split(".") if label)


def _fields(record: Record) -> dict[str, Any]:
    return {"value": dict(record.head["value"]), "key": record.key[-1], "namespace": _namespace(record.key),
            "created_at": record.created_at, "updated_at": record.updated_at}  # fmt: skip


def _text(value: Mapping[str, Any], fields: Sequence[str]) -> str:
    """What is found of a value: texts line by line; of what is no text, the texts in it."""
    lines = []
    for field in fields:
        found = [value] if field == "$" else [_plain(text) for text in get_text_at_path(value, field)]
        lines += [line for item in found for line in _lines(item, "")]
    return "\n".join(lines)


def _plain(text: str) -> Any:
    if text[:1] in "[{":
        try:
            return json.loads(text)
        except ValueError:
            pass
    return text


def _lines(value: Any, name: str) -> list[str]:
    """The texts and numbers of JSON, each on a line after the name it bears."""
    if isinstance(value, Mapping):
        return [line for inner, item in value.items() for line in _lines(item, str(inner))]
    if isinstance(value, (list, tuple)):
        return [line for item in value for line in _lines(item, name)]
    return [] if value is None else [f"{name}: {value}" if name else str(value)]


def _fits(value: Any, wanted: Any) -> bool:
    """Whether a value is what a filter wants: a bare value, operators, or the same of what lies in it."""
    if isinstance(wanted, Mapping):
        if any(str(name).startswith("$") for name in wanted):
            return all(_operator(name)(value, limit) for name, limit in wanted.items())
        return isinstance(value, Mapping) and all(_fits(value.get(name), item) for name, item in wanted.items())
    if isinstance(wanted, (list, tuple)):
        return (isinstance(value, (list, tuple)) and len(value) == len(wanted)
                and all(map(_fits, value, wanted)))  # fmt: skip
    return bool(value == wanted)


def _operator(name: str) -> Callable[[Any, Any], bool]:
    if name not in _OPERATORS:
        raise ValueError(f"Unsupported operator: {name}")
    return _OPERATORS[name]


def _matches(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    path = tuple(condition.path)
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))
