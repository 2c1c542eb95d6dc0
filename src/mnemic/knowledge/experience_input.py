"""What a writer may hand in about an experience, checked and cleaned before anything else sees it.

Our own frames and secrets are taken out of every text here, so that neither rows nor the ledger ever hold them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mnemic.errors import BadInput
from mnemic.ledger.chain import canonical
from mnemic.text.clean import cleaned

MOST_CHARS = 20_000
"""Of one field."""
TEXTS = ("family", "gist", "reasoning", "failure_reason", "context")
LISTS = ("situation", "path", "limits")
REQUIRED = ("kind", "family", "gist", "situation", "path")
LESSON = (*REQUIRED, "reasoning", "limits", "failure_reason", "context", "origin")
REFINED = (*LESSON, "evidence", "complexity", "human_marked")
ADDED = (*LESSON, "evidence", "global", "reason")
MERGED = (*LESSON, "source_ids")
REVISABLE = ("gist", "situation", "path", "reasoning", "limits")
EVIDENCE = {"note": "note", "trace_ref": "trace", "session_ref": "session"}


@dataclass(slots=True)
class Cleaner:
    """Takes frames and, with `redact`, secrets out of texts, and counts the secrets."""

    redact: bool = True
    redacted: int = 0

    def text(self, value: object, name: str) -> str:
        """A text as it may be stored. Raises BadInput for another type or one that is too long."""
        if value is None:
            return ""
        if not isinstance(value, str):
            raise BadInput(f"{name} must be a text, not {json.dumps(value, default=str)[:60]}")
        if len(value) > MOST_CHARS:
            raise BadInput(f"{name} has {len(value)} characters, at most {MOST_CHARS} are kept: shorten it")
        clean = cleaned(value.replace("\0", "\ufffd"), redact=self.redact)
        self.redacted += clean.redacted
        return clean.text.strip()

    def texts(self, value: object, name: str) -> str:
        """A text or a list of texts (or of steps with `order` and `action`) as canonical JSON of the same form."""
        if value is None:
            return "[]"
        if not isinstance(value, list):
            return canonical(self.text(value, name))
        steps = sorted(value, key=_order) if all(isinstance(item, dict) for item in value) else value
        made = [self.text(item.get("action") if isinstance(item, dict) else item, f"an entry of {name}") for item in steps]
        return canonical([item for item in made if item])


def _order(step: Mapping[str, Any]) -> float:
    order = step.get("order")
    return float(order) if isinstance(order, int | float) else 0.0


def lines(stored: str) -> list[str]:
    """The texts of a stored `situation`, `path` or `limits`."""
    value = json.loads(stored)
    return ([value] if value else []) if isinstance(value, str) else list(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """The content of an experience, cleaned."""

    kind: str
    family: str
    gist: str
    situation: str
    path: str
    reasoning: str
    limits: str
    failure_reason: str
    context: str
    origin: str | None
    """What the writer says it is from; may only lower what its channel gives."""
    sources: tuple[str, ...] = ()
    everywhere: int = 0

    def content(self) -> dict[str, Any]:
        """The fields that go into a row as they are."""
        names = ("kind", "family", "gist", "situation", "path", "reasoning", "limits", "failure_reason", "context")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class Complexity:
    """How much work a refined experience came from."""

    tokens: int = 0
    steps: int = 0
    had_failure: bool = False
    human_marked: bool = False


def checked(document: object, known: tuple[str, ...], what: str) -> Mapping[str, Any]:
    """A JSON object with no keys but the known. Raises BadInput."""
    if not isinstance(document, Mapping):
        raise BadInput(f"{what} must be a JSON object with {', '.join(known)}")
    unknown = [str(key) for key in document if key not in known]
    if unknown:
        raise BadInput(f"{what} has an unknown key {unknown[0]!r}: known are {', '.join(known)}")
    return document


def lesson(document: Mapping[str, Any], cleaner: Cleaner, what: str = "the experience") -> Lesson:
    """The content of an experience from its JSON. Raises BadInput for what is missing or of another type."""
    kind = document.get("kind")
    if kind not in ("positive", "negative"):
        raise BadInput(f"kind {kind!r} of {what} must be 'positive' or 'negative'")
    texts = {name: cleaner.text(document.get(name), name) for name in TEXTS}
    lists = {name: cleaner.texts(document.get(name), name) for name in LISTS}
    for name in REQUIRED[1:]:
        if not (texts.get(name) or (name in lists and lines(lists[name]))):
            raise BadInput(f"{what} needs a {name!r}: say it in words")
    origin = document.get("origin")
    if origin is not None and not isinstance(origin, str):
        raise BadInput(f"origin {origin!r} of {what} must be a text")
    everywhere = int(flag(document, "global"))
    return Lesson(kind=kind, **texts, **lists, origin=origin, sources=evidence(document.get("evidence"), cleaner),
                  everywhere=everywhere)  # fmt: skip


def evidence(value: object, cleaner: Cleaner) -> tuple[str, ...]:
    """Evidence as pointers `note:…`, `trace:…`, `session:…`; empty if there is none. Raises BadInput."""
    if value is None:
        return ()
    if isinstance(value, str):
        value = {"note": value}
    given = checked(value, tuple(EVIDENCE), "evidence")
    texts = {name: cleaner.text(given.get(name), f"evidence.{name}") for name in EVIDENCE}
    return tuple(f"{EVIDENCE[name]}:{text}" for name, text in texts.items() if text)


def complexity(document: Mapping[str, Any]) -> Complexity:
    """The measures of the work, 0 where they are not given. Raises BadInput."""
    given = checked(document.get("complexity") or {}, ("tokens", "steps", "had_failure"), "complexity")
    return Complexity(
        count(given, "tokens"), count(given, "steps"), flag(given, "had_failure"), flag(document, "human_marked")
    )


def count(document: Mapping[str, Any], name: str) -> int:
    """A whole number, 0 or more, that a column can hold. Raises BadInput."""
    value = document.get(name)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 53:
        raise BadInput(f"{name} {value!r} must be a whole number, 0 or more")
    return value


def flag(document: Mapping[str, Any], name: str) -> bool:
    value = document.get(name)
    if value is not None and not isinstance(value, bool):
        raise BadInput(f"{name} {value!r} must be true or false")
    return bool(value)


def samples(value: object) -> list[tuple[str, bool]]:
    """Situations to replay, each with whether it succeeded there, from their JSON. Raises BadInput."""
    if not isinstance(value, list):
        raise BadInput('samples must be a JSON list of {"situation", "expected"}')
    pairs = []
    for item in value:
        given = checked(item, ("situation", "expected"), "a sample")
        if given.get("expected") not in ("success", "fail") or not isinstance(given.get("situation"), str):
            raise BadInput('a sample needs a "situation" and "expected": "success" or "fail"')
        pairs.append((given["situation"][:MOST_CHARS], given["expected"] == "success"))
    return pairs
