"""Messages of the three APIs in one form: OpenAI chat, OpenAI responses, Anthropic.

Their parts do not collide, so one reader serves all, a conversation may mix them, and an unknown part is only counted.
A message that stays is handed on as it came; `raw` is never changed. What mnemic adds is `{"role": "user", "content":
TEXT}`, which all three take.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mnemic.context.budget import PROFILE
from mnemic.errors import BadInput
from mnemic.text.tokens import estimate

MESSAGE_TOKENS = 4
"""What a message costs beside its content."""
IMAGE_TOKENS = 1_600
"""What an image costs at most with the vendors' default sizes; the length of its base64 says nothing."""
CUT = "[… left out by mnemic: "
"""How the note begins that stands where a text was shortened."""
_TEXTS = ("text", "input_text", "output_text")
_IMAGES = ("image", "image_url", "input_image")
_THOUGHTS = ("thinking", "redacted_thinking", "reasoning")
_LABELS = ("type", "role", "id", "call_id", "tool_call_id", "tool_use_id", "status")
_CALL_TEXT = 2_000
_REMINDER = ("<system-reminder>", "</system-reminder>")
"""What Claude Code puts around its own notes to the model in what the user says."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A message as mnemic sees it."""

    raw: Mapping[str, Any]
    role: str
    """system, user, assistant or tool."""
    text: str
    """What it says, with its calls as `name(arguments)`; thoughts and images have no text."""
    tokens: int
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    spoken: bool = True
    """Whether it says or shows anything besides results of calls."""
    glued: bool = False
    """Whether it must stand before the next one: the thoughts that led to a call."""


def read(message: Any) -> Entry:
    """One message of any of the shapes. Raises BadInput for what is none."""
    if not isinstance(message, Mapping):
        raise BadInput(f"a message must be an object, not {type(message).__name__}: {str(message)[:80]!r}")
    kind = message.get("type")
    tokens = MESSAGE_TOKENS + cost(message)
    if isinstance(kind, str) and "role" not in message:
        return _item(message, kind, tokens)
    role = message.get("role")
    if not isinstance(role, str):
        raise BadInput(f"a message needs a 'role' or a 'type': {json.dumps(message, default=str)[:80]!r}")
    found = _Found()
    found.content(message.get("content"))
    for call in message.get("tool_calls") or ():
        found.call(call.get("id"), call.get("function") or call.get("custom") or call)
    if isinstance(message.get("function_call"), Mapping):
        found.call(message["function_call"].get("name"), message["function_call"])
    if role in ("tool", "function"):
        found.results.append(str(message.get("tool_call_id") or message.get("name") or ""))
    texts = [left for text in found.texts if (left := unprompted(text))] if role == "user" else found.texts
    own = {"developer": "system", "function": "tool"}.get(role, role)
    if own == "user" and found.results and not found.spoken:
        own = "tool"
    return Entry(message, own, "\n".join(texts), tokens, tuple(found.calls), tuple(found.results), found.spoken)


def unprompted(text: str) -> str:
    """What the user said, without the notes that a client put there for the model: neither question nor memory."""
    begin, end = _REMINDER
    parts, place = list[str](), 0
    while (start := text.find(begin, place)) >= 0 and (stop := text.find(end, start)) >= 0:
        parts.append(text[place:start])
        place = stop + len(end)
    return "".join([*parts, text[place:]]).strip() if parts else text


def said(text: str) -> dict[str, Any]:
    """A message of the user's side with this text, in the form that every API takes."""
    return {"role": "user", "content": text}


def unmarked(value: Any) -> Any:
    """What is said, without what clients change from turn to turn: marks for a vendor's cache, one text as a list."""
    if isinstance(value, Mapping):
        return {key: unmarked(item) for key, item in value.items() if key != "cache_control"}
    if isinstance(value, list | tuple):
        parts = [unmarked(part) for part in value]
        only = parts[0] if len(parts) == 1 else None
        return only["text"] if isinstance(only, dict) and only.keys() == {"type", "text"} else parts
    return value


def _item(item: Mapping[str, Any], kind: str, tokens: int) -> Entry:
    """An item of the responses API that is no message."""
    if kind.endswith("_call_output"):
        found = _Found()
        found.content(item.get("output"))
        return Entry(item, "tool", "\n".join(found.texts), tokens, results=(str(item.get("call_id")),), spoken=False)
    if kind.endswith("_call"):
        text = _call_text(item)
        ids = (str(item["call_id"]),) if item.get("call_id") else ()
        return Entry(item, "assistant", text, tokens, calls=ids)
    return Entry(item, "assistant", "", tokens, glued=kind in _THOUGHTS)


class _Found:
    """What the parts of a message hold."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.calls: list[str] = []
        self.results: list[str] = []
        self.spoken = False

    def content(self, content: Any) -> None:
        if isinstance(content, str):
            self.texts += [content] if content else []
            self.spoken = self.spoken or bool(content)
        elif isinstance(content, list | tuple):
            for part in content:
                self.part(part)

    def part(self, part: Any) -> None:
        if isinstance(part, str):
            self.content(part)
            return
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind in _TEXTS and isinstance(part.get("text"), str):
            self.content(part["text"])
        elif kind == "tool_use":
            self.call(part.get("id"), part)
            self.spoken = True
        elif kind == "tool_result":
            inner = _Found()
            inner.content(part.get("content"))
            self.texts += inner.texts
            self.results.append(str(part.get("tool_use_id")))
        else:
            self.spoken = True

    def call(self, number: Any, function: Mapping[str, Any]) -> None:
        self.calls.append(str(number))
        self.texts.append(_call_text(function))


def _call_text(function: Mapping[str, Any]) -> str:
    given = function.get("arguments", function.get("input", ""))
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, default=str)
    return f"{function.get('name') or function.get('type')}({text[:_CALL_TEXT]})"


def cost(value: Any) -> int:
    """Tokens of all that is written in a value; names of fields and small marks are in the cost of a message."""
    if isinstance(value, str):
        return estimate(value, PROFILE)
    if isinstance(value, Mapping):
        if value.get("type") in _IMAGES:
            return IMAGE_TOKENS
        return sum(cost(item) for key, item in value.items() if key not in _LABELS) + 1
    if isinstance(value, list | tuple):
        return sum(map(cost, value))
    return 0 if value is None else 2


# --- what belongs together ------------------------------------------------------------------------------


def units(entries: Sequence[Entry]) -> list[range]:
    """Runs of entries that must stay together: a call with everything up to its results, thoughts with what they led to."""
    last = list(range(len(entries)))
    asked: dict[str, int] = {}
    for place, entry in enumerate(entries):
        for name in entry.results:
            if name in asked:
                last[asked[name]] = max(last[asked[name]], place)
        asked |= dict.fromkeys(entry.calls, place)
        if entry.glued and place + 1 < len(entries):
            last[place] = place + 1
    found, start = list[range](), 0
    while start < len(entries):
        end, place = last[start], start
        while place <= end:
            end, place = max(end, last[place]), place + 1
        found.append(range(start, end + 1))
        start = end + 1
    return found


# --- shortening -----------------------------------------------------------------------------------------


def shortened(entry: Entry, tokens: int) -> Entry:
    """The entry with its longest texts cut to whole lines, so that it costs at most `tokens`; as near as can be.

    Calls and thoughts stay as they are. Images go, each leaving a note, where cutting the texts would not be enough.
    """
    raw = copy.deepcopy(dict(entry.raw))
    if entry.tokens - sum(estimate(holder[key], PROFILE) for holder, key in _slots(raw)) > tokens:
        _drop_images(raw)
    slots = sorted(_slots(raw), key=lambda slot: -len(slot[0][slot[1]]))
    over = read(raw).tokens - tokens
    for holder, key in slots:
        if over <= 0:
            break
        before = estimate(holder[key], PROFILE)
        holder[key] = _cut(holder[key], max(0, before - over))
        over -= before - estimate(holder[key], PROFILE)
    return read(raw)


def is_cut(entry: Entry) -> bool:
    """Whether its text was shortened here before."""
    return CUT in entry.text or entry.text == "…"


def _slots(value: Any, key: str = "") -> Iterator[tuple[Any, Any]]:
    """Where the texts stand that may be shortened."""
    if isinstance(value, dict):
        if value.get("type") in (*_THOUGHTS, "tool_use", "function_call", *_IMAGES):
            return
        for name in ("text", "content", "output"):
            if isinstance(value.get(name), str):
                yield value, name
            elif name in value:
                yield from _slots(value[name], name)
    elif isinstance(value, list):
        for place, part in enumerate(value):
            if isinstance(part, str):
                yield value, place
            else:
                yield from _slots(part, key)


def _cut(text: str, tokens: int) -> str:
    """The beginning and the end of a text in whole lines where it has any, with a note between them."""
    size = estimate(text, PROFILE)
    note = f"{CUT}about {size} tokens]"
    room = tokens - estimate(note, PROFILE) - 2
    if room <= 0:
        return "…" if tokens < estimate(note, PROFILE) else note
    head = _within(text, room - room // 4)
    tail = _within(text[::-1], room // 4)[::-1] if room >= 40 else ""
    return f"{head}\n{note}\n{tail}".strip("\n") if tail else f"{head}\n{note}"


def _within(text: str, tokens: int) -> str:
    """As much of the beginning as costs so many tokens, to the end of a line if that loses less than half."""
    low, high = min(len(text), tokens), min(len(text), 4 * tokens)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate(text[:middle], PROFILE) <= tokens:
            low = middle
        else:
            high = middle - 1
    line = text.rfind("\n", low // 2, low)
    return text[:line] if line > 0 and low < len(text) else text[:low]


def _drop_images(value: Any) -> None:
    content = value.get("content")
    if isinstance(content, list):
        for place, part in enumerate(content):
            if isinstance(part, dict) and part.get("type") in _IMAGES:
                kind = "input_text" if part["type"] == "input_image" else "text"
                content[place] = {"type": kind, "text": f"{CUT}an image]"}
            elif isinstance(part, dict):
                _drop_images(part)
