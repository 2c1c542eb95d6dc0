"""Work orders: the questions of a dream, for a connected agent to answer. No second model is needed.

A dream that is judged by the agent asks; what is not answered yet becomes an order, and that part of the dream waits. The
agent takes the next order, which is lent to it for a while, and hands back an answer of the order's schema; the next dream
goes on with it. An answer is checked like anybody's. Orders are no memory: they can be asked anew at any time.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mnemic.clock import DAY_MS, Clock, Ids, iso, to_ms
from mnemic.errors import BadInput, BudgetSpent, ModelError, NotFound, Refused

LENT_MS = 30 * 60_000
"""How long an order is lent; then another may take it."""
KEPT_MS = 7 * DAY_MS
"""How long an order that nobody answers stands; a later dream asks again."""
MOST = 200
"""Orders that stand at a time."""
ANSWER_BYTES = 256 * 1024
ATTEMPTS = 2
"""Answers to one question that may be refused; after that it is not asked again until it changes."""


class Orders:
    """The orders of one namespace, in one file."""

    def __init__(self, folder: Path, clock: Clock, ids: Ids) -> None:
        self._folder, self._clock, self._ids = folder, clock, ids

    def nonce(self) -> str:
        """The mark of the frames that these orders show; it stays, so that a question is known again."""
        with self._open() as book:
            return str(book["nonce"])

    def ask(self, stage: str, system: str, prompt: str, schema: Mapping[str, Any], tokens: int) -> Mapping[str, Any]:
        """The agent's answer to this question. Raises BudgetSpent while there is none, ModelError after two refused ones."""
        key = _key(stage, system, prompt)
        with self._open() as book:
            found = book["orders"].get(key)
            if found is not None and found["state"] == "answered":
                return dict(found["answer"])
            if found is not None and found["attempts"] >= ATTEMPTS:
                raise ModelError(f"{stage}: {ATTEMPTS} answers of the agent were refused")
            if found is None and len(_standing(book)) < MOST:
                book["orders"][key] = {
                    "stage": stage, "system": system, "prompt": prompt, "schema": dict(schema), "tokens": tokens, "state": "open",
                    "answer": None, "until": 0, "attempts": 0, "made": self._now(),
                }  # fmt: skip
        raise BudgetSpent(f"{stage}: waits for the agent's answer, see `mnemic dream work next`")

    def refuse(self, stage: str, system: str, prompt: str) -> None:
        """The answer to this question broke a rule: it is asked once more."""
        with self._open() as book:
            row = book["orders"].get(_key(stage, system, prompt))
            if row is not None:
                attempts = row["attempts"] + 1
                row |= {"state": "open" if attempts < ATTEMPTS else "refused", "answer": None, "until": 0, "attempts": attempts}

    def next(self, again: str | None = None) -> dict[str, Any] | None:
        """The next order, lent for half an hour; None if there is none. `again`: that one, if it still is to be answered."""
        now = self._now()
        with self._open() as book:
            for key, row in book["orders"].items():
                if row["state"] == "open" and (key == again if again else row["until"] <= now):
                    row["until"] = now + LENT_MS
                    return {
                        "id": key,
                        "stage": row["stage"],
                        "question": row["system"],
                        "input": row["prompt"],
                        "schema": row["schema"],
                        "expires_at": iso(row["until"]),
                        "left": len(_standing(book)) - 1,
                    }
        return None

    def submit(self, id: str, answer: Any) -> dict[str, Any]:
        """Take an answer. Raises NotFound, Refused for one that is answered or expired, BadInput for a wrong shape."""
        if len(json.dumps(answer).encode()) > ANSWER_BYTES:
            raise BadInput(f"the answer is over {ANSWER_BYTES // 1024} KB: answer the question that was asked")
        with self._open() as book:
            row = book["orders"].get(id)
            if row is None:
                raise NotFound(f"no work order {id!r}: see `mnemic dream work next`")
            if row["state"] != "open":
                raise Refused(f"work order {id!r} is answered already: `mnemic dream work next` gives another")
            if row["until"] <= self._now():
                raise Refused(f"work order {id!r} has expired: take it again with `mnemic dream work next`")
            if problem := misfit(answer, row["schema"]):
                raise BadInput(f"the answer is not of the order's schema: {problem}; correct it and submit it again")
            row |= {"state": "answered", "answer": answer}
            return {"id": id, "status": "stored", "left": len(_standing(book))}

    def drop(self) -> None:
        """Forget all orders: they quote what was erased."""
        (self._folder / "orders.json").unlink(missing_ok=True)

    @contextmanager
    def _open(self) -> Iterator[dict[str, Any]]:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(self._folder / "orders.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            book = self._read()
            before = json.dumps(book)
            try:
                yield book
            finally:
                if (after := json.dumps(book)) != before:
                    self._write(after)
        finally:
            os.close(lock)

    def _read(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads((self._folder / "orders.json").read_bytes())
        except (FileNotFoundError, ValueError):
            found = {"nonce": self._ids.token(8), "orders": {}}
            self._write(json.dumps(found))
        oldest = self._now() - KEPT_MS
        found["orders"] = {key: row for key, row in found["orders"].items() if row["made"] > oldest}
        return found

    def _write(self, body: str) -> None:
        part = self._folder / "orders.json.part"
        part.write_text(body, "utf-8")
        part.chmod(0o600)
        os.replace(part, self._folder / "orders.json")

    def _now(self) -> int:
        return to_ms(self._clock.now())


def _key(stage: str, system: str, prompt: str) -> str:
    return hashlib.sha256(json.dumps([stage, system, prompt]).encode()).hexdigest()[:16]


def _standing(book: Mapping[str, Any]) -> list[str]:
    return [key for key, row in book["orders"].items() if row["state"] == "open"]


def misfit(value: Any, schema: Mapping[str, Any], at: str = "answer") -> str:
    """What of a value does not fit a schema of the small kind that orders use; empty if all does."""
    kinds: Mapping[str, Callable[[Any], bool]] = {
        "object": lambda v: isinstance(v, dict), "array": lambda v: isinstance(v, list), "string": lambda v: isinstance(v, str),
        "integer": lambda v: isinstance(v, int) and not isinstance(v, bool), "boolean": lambda v: isinstance(v, bool),
    }  # fmt: skip
    kind = str(schema.get("type"))
    if not kinds[kind](value):
        return f"{at} must be of type {kind}"
    if kind == "array":
        least, most = schema.get("minItems", 0), schema.get("maxItems", 10_000)
        if not least <= len(value) <= most:
            return f"{at} has {len(value)} items, not {least} to {most}"
        return next((bad for place, item in enumerate(value) if (bad := misfit(item, schema["items"], f"{at}[{place}]"))), "")
    if kind == "object":
        if missing := [name for name in schema.get("required", ()) if name not in value]:
            return f"{at} lacks {missing[0]!r}"
        known = schema.get("properties", {})
        if strange := [name for name in value if name not in known]:
            return f"{at} has {strange[0]!r}, which is not asked for"
        return next((bad for name, item in value.items() if (bad := misfit(item, known[name], f"{at}.{name}"))), "")
    if kind == "integer" and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        return f"{at} is {value}, not {schema.get('minimum', '…')} to {schema.get('maximum', '…')}"
    return ""
