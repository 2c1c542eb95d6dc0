"""Any conversation, any window: the prompt fits, is whole, keeps the latest user message, and is stable."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemic import Memory
from mnemic.context.shapes import CUT, read

SESSIONS = itertools.count(1)
words = st.sampled_from([
    "we decided to use Postgres because it is safe", "the port is 4711", "ok", "看这里的文件", "a\nb\nc", "TODO: ask Ada",
    "x" * 40,
])  # fmt: skip
texts = st.builds(lambda word, times: "\n".join([word] * times), words, st.sampled_from([1, 1, 1, 2, 5, 60]))
PATIENT = 600.0
"""For a search on a busy machine: what came too late is left out, which is another prompt."""
IMAGE = "iVBORw0KGgo" * 50


@st.composite
def chat(draw: st.DrawFn) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = [{"role": "system", "content": draw(texts)}] if draw(st.booleans()) else []
    for turn in range(draw(st.integers(1, 4))):
        text: Any = draw(texts)
        if draw(st.integers(0, 5)) == 0:
            text = [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": IMAGE}}]
        out.append({"role": "user", "content": text, "x_unknown": {"kept": [turn]}})
        for step in range(draw(st.integers(0, 3))):
            names = [f"c{turn}-{step}-{n}" for n in range(draw(st.integers(1, 3)))]
            calls = [{"id": n, "type": "function", "function": {"name": "run", "arguments": draw(texts)}} for n in names]
            out.append({"role": "assistant", "content": None, "tool_calls": calls})
            out += [{"role": "tool", "tool_call_id": n, "content": draw(texts)} for n in draw(st.permutations(names))]
        if draw(st.booleans()):
            out.append({"role": "assistant", "content": draw(texts)})
    return out


@st.composite
def anthropic(draw: st.DrawFn) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for turn in range(draw(st.integers(1, 4))):
        parts: list[dict[str, Any]] = [{"type": "text", "text": draw(texts)}]
        if draw(st.integers(0, 5)) == 0:
            parts.append({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": IMAGE}})
        out.append({"role": "user", "content": parts})
        for step in range(draw(st.integers(0, 3))):
            names = [f"c{turn}-{step}-{n}" for n in range(draw(st.integers(1, 3)))]
            thought = {"type": "thinking", "thinking": draw(texts), "signature": "sig"}
            uses = [{"type": "tool_use", "id": n, "name": "run", "input": {"x": draw(texts)}} for n in names]
            out.append({"role": "assistant", "content": [thought, *uses]})
            results: list[dict[str, Any]] = [{"type": "tool_result", "tool_use_id": n, "content": draw(texts)} for n in names]
            more = [{"type": "text", "text": draw(texts)}] if draw(st.integers(0, 4)) == 0 else []
            out.append({"role": "user", "content": [*results, *more]})
        if draw(st.booleans()):
            out.append({"role": "assistant", "content": draw(texts)})
    return out


@st.composite
def responses(draw: st.DrawFn) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for turn in range(draw(st.integers(1, 4))):
        out.append({"type": "message", "role": "user", "content": [{"type": "input_text", "text": draw(texts)}]})
        for step in range(draw(st.integers(0, 3))):
            names = [f"c{turn}-{step}-{n}" for n in range(draw(st.integers(1, 3)))]
            if draw(st.booleans()):
                out.append({"type": "reasoning", "id": f"r{turn}-{step}", "summary": []})
            out += [{"type": "function_call", "call_id": n, "name": "run", "arguments": draw(texts)} for n in names]
            out += [{"type": "function_call_output", "call_id": n, "output": draw(texts)} for n in names]
        if draw(st.booleans()):
            out.append({"type": "message", "role": "assistant", "content": draw(texts)})
    return out


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    folder = tmp_path_factory.mktemp("window")
    with Memory.open(folder / "home", environ={"MNEMIC_CONFIG": str(folder / "config")}) as opened:
        yield opened


def pairs(messages: list[Any]) -> list[tuple[str, ...]]:
    """Calls and results, in order; each result must follow its call, and each call must have its result."""
    asked: set[str] = set()
    answered: set[str] = set()
    for message in messages:
        entry = read(message)
        assert set(entry.results) <= asked
        answered |= set(entry.results)
        asked |= set(entry.calls)
    return [tuple(sorted(asked - answered))]


def user_words(message: Any) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content or () if "text" in part)


def latest(messages: list[Any]) -> str:
    found = [m for m in messages if (e := read(m)).role == "user" and e.spoken and "<memory-recall" not in e.text]
    return user_words(found[-1])


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(messages=st.one_of(chat(), anthropic(), responses()), window=st.sampled_from([180, 300, 600, 1500, 4000]))
def test_a_prompt_fits_is_whole_keeps_the_latest_user_message_and_is_stable(
    memory: Memory, messages: list[dict[str, Any]], window: int
) -> None:
    sent = json.dumps(messages)
    session = f"s{next(SESSIONS)}"
    with memory.window(session, window=window, headroom=0.25, seconds=PATIENT) as context:
        made = context.prepare(messages)
        again = context.prepare(messages)
        fed_back = context.prepare(made.messages)
    with memory.window(session, window=window, headroom=0.25, seconds=PATIENT) as other:
        elsewhere = other.prepare(made.messages)
    assert json.dumps(messages) == sent
    assert made.after == sum(read(m).tokens for m in made.messages) <= context.budget.limit
    assert pairs(made.messages) == [()]
    want, got = latest(messages), latest(made.messages)
    assert got == want or ((CUT in got or got == "…") and any("latest user message" in why for why in made.degraded))
    assert again.messages == made.messages
    assert fed_back.messages == made.messages
    assert elsewhere.messages == made.messages
    assert made.messages == messages or made.before > context.budget.room or made.injected


@cache
def kinds() -> dict[str, Any]:
    """What the vendors' libraries take as messages."""
    from anthropic.types import MessageParam
    from openai.types.chat import ChatCompletionMessageParam
    from openai.types.responses import ResponseInputItemParam
    from pydantic import TypeAdapter

    taken = {"chat": ChatCompletionMessageParam, "responses": ResponseInputItemParam, "anthropic": MessageParam}
    return {name: TypeAdapter(list[kind]) for name, kind in taken.items()}  # type: ignore[valid-type]


def checked(value: Any) -> Any:
    """The value, read to its end: the libraries' iterables are checked as they are read."""
    if isinstance(value, dict):
        return {key: checked(item) for key, item in value.items()}
    return value if isinstance(value, str | bytes) or not isinstance(value, Iterable) else [checked(item) for item in value]


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(data=st.data(), window=st.sampled_from([180, 600, 1500]))
@pytest.mark.parametrize("shape", ["chat", "responses", "anthropic"])
def test_a_prompt_is_valid_for_the_types_of_the_vendors_libraries(
    memory: Memory, shape: str, data: st.DataObject, window: int
) -> None:
    messages = data.draw({"chat": chat, "responses": responses, "anthropic": anthropic}[shape]())
    with memory.window(f"s{next(SESSIONS)}", window=window) as context:
        made = context.prepare(messages).messages
    checked(kinds()[shape].validate_python(made))
    roles = [message["role"] for message in made if "role" in message and message["role"] not in ("system", "developer")]
    assert not roles or roles[0] == "user"


@pytest.mark.parametrize("shape", ["chat", "responses", "anthropic"])
def test_the_types_of_the_vendors_libraries_refuse_what_is_none_of_their_messages(shape: str) -> None:
    from pydantic import ValidationError

    for wrong in ({"role": "user"}, {"role": "user", "content": [{"type": "text"}]}, {"role": "x", "content": "y"}):
        with pytest.raises(ValidationError):
            checked(kinds()[shape].validate_python([wrong]))


def test_the_ledger_agrees_with_all_the_summaries_that_were_made(memory: Memory) -> None:
    assert memory.verify().ok
