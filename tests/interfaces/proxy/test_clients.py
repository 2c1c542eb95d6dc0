"""The vendors' own libraries against the proxy: they notice nothing, and memory is there."""

from __future__ import annotations

import json
import threading
from typing import Any

import anthropic
import openai
import pytest

from tests.interfaces.proxy.servers import WAIT, Answer, Proxy, chat, deltas, said, streamed

FACT = "The harbour gate code is 4711."


def openai_client(proxy: Proxy, **options: Any) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{proxy.url}/v1", api_key="k", **{"max_retries": 0, "timeout": WAIT, **options})


def anthropic_client(proxy: Proxy, **options: Any) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=proxy.url, api_key="k", **{"max_retries": 0, "timeout": WAIT, **options})


def events(*rows: dict[str, Any]) -> Answer:
    return streamed(*[f"event: {row['type']}\ndata: {json.dumps(row)}\n\n".encode() for row in rows])


MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
           "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip
THINKS = [
    {"type": "message_start", "message": MESSAGE},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hmm."}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "sig"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "I look "}},
    {"type": "ping"},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "it up."}},
    {"type": "content_block_stop", "index": 1},
    {"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "t1", "name": "read", "input": {}}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '{"file": "ga'}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": 'te.txt"}'}},
    {"type": "content_block_stop", "index": 2},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None}, "usage": {"output_tokens": 9}},
    {"type": "message_stop"},
]  # fmt: skip


def response(*output: dict[str, Any], number: str = "resp_1") -> dict[str, Any]:
    return {"id": number, "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": list(output),
            "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}  # fmt: skip


def output(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": content}


def test_the_openai_client_gets_memory_by_its_base_url_alone(proxy: Proxy) -> None:
    proxy.memory.remember(FACT, title="gate")
    proxy.upstream.answers = [chat("It is 4711.")]
    with openai_client(proxy) as client:
        asked = [{"role": "user", "content": "What is the harbour gate code?"}]
        answer = client.chat.completions.create(model="m", messages=asked)  # type: ignore[arg-type]
    assert answer.choices[0].message.content == "It is 4711."
    seen = proxy.upstream.seen[0]
    assert seen.header("authorization") == ["Bearer k"]
    frame, last = seen.json()["messages"]
    assert last == asked[0]
    assert FACT in frame["content"]
    turn = proxy.turn()
    assert (turn["memory"], turn["model"], turn["ended"]) == ("prepared", "m", "whole")
    assert [one["path"] for one in turn["injected"]] == ["/notes/gate"]
    assert proxy.said() == ["user: What is the harbour gate code?", "assistant: It is 4711."]


def test_what_was_said_in_one_session_is_known_in_the_next(proxy: Proxy) -> None:
    proxy.upstream.answers = [chat("Noted."), chat("Miso.")]
    with openai_client(proxy) as client:
        for session, text in (("one", "My cat is called Miso."), ("two", "What is my cat called?")):
            client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": text}], extra_headers={"x-mnemic-session": session}
            )
            assert proxy.turn()["session"] == session
    assert "My cat is called Miso." in proxy.upstream.seen[1].json()["messages"][0]["content"]


def test_the_openai_client_streams_a_chat_with_calls(proxy: Proxy) -> None:
    first = {"index": 0, "id": "c1", "type": "function", "function": {"name": "read", "arguments": ""}}
    rows: list[dict[str, Any]] = [
        {"delta": {"role": "assistant", "content": None, "tool_calls": [first]}},
        {"delta": {"tool_calls": [{"index": 0, "function": {"arguments": '{"file":'}}]}},
        {"delta": {"tool_calls": [{"index": 0, "function": {"arguments": ' "gate.txt"}'}}]}},
        {"delta": {}, "finish_reason": "tool_calls"},
    ]
    base = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    lines = [f"data: {json.dumps({**base, 'choices': [{'index': 0, **row}]})}\n\n".encode() for row in rows]
    proxy.upstream.answers = [streamed(*lines, b"data: [DONE]\n\n"), streamed(*deltas("It says ", "4711."))]
    messages: list[Any] = [{"role": "user", "content": "Read gate.txt, please."}]
    with openai_client(proxy) as client:
        chunks = list(client.chat.completions.create(model="m", messages=messages, stream=True))
        parts = [chunk.choices[0].delta.tool_calls[0] for chunk in chunks if chunk.choices[0].delta.tool_calls]
        arguments = "".join(part.function.arguments or "" for part in parts if part.function)
        assert json.loads(arguments) == {"file": "gate.txt"}
        call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": arguments}}
        messages += [{"role": "assistant", "content": None, "tool_calls": [call]},
                     {"role": "tool", "tool_call_id": "c1", "content": "code 4711"}]  # fmt: skip
        stream = client.chat.completions.create(model="m", messages=messages, stream=True)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == "It says 4711."
    assert [one for one in proxy.upstream.seen[1].json()["messages"] if "memory-recall" not in str(one)] == messages
    proxy.status()
    assert proxy.said() == [
        "user: Read gate.txt, please.", 'assistant: read({"file": "gate.txt"})', "tool: code 4711", "assistant: It says 4711.",
    ]  # fmt: skip


def test_the_anthropic_client_streams_thoughts_text_and_calls(proxy: Proxy) -> None:
    proxy.memory.remember(FACT, title="gate")
    proxy.upstream.answers = [events(*THINKS)]
    ask: Any = [{"role": "user", "content": [{"type": "text", "text": "Is the harbour gate code right?"}]}]
    with (
        anthropic_client(proxy) as client,
        client.messages.stream(model="m", max_tokens=99, system="Be brief.", messages=ask) as stream,
    ):
        final = stream.get_final_message()
    assert [block.type for block in final.content] == ["thinking", "text", "tool_use"]
    assert final.content[2].input == {"file": "gate.txt"}  # type: ignore[union-attr]
    seen = proxy.upstream.seen[0]
    assert (seen.target, seen.json()["system"]) == ("/v1/messages", "Be brief.")
    assert seen.header("x-api-key") + seen.header("authorization") in (["k"], ["Bearer k"])
    assert FACT in seen.json()["messages"][0]["content"]
    proxy.status()
    assert proxy.said() == ["user: Is the harbour gate code right?", 'assistant: I look it up.\nread({"file": "gate.txt"})']


def test_the_anthropic_client_gets_a_whole_message(proxy: Proxy) -> None:
    proxy.upstream.answers = [said({**MESSAGE, "content": [{"type": "text", "text": "Fine."}], "stop_reason": "end_turn"})]
    with anthropic_client(proxy) as client:
        who = {"user_id": "u-1"}
        ask: Any = [{"role": "user", "content": "How are you?"}]
        answer = client.messages.create(model="m", max_tokens=9, messages=ask, metadata=who)  # type: ignore[arg-type]
    assert answer.content[0].text == "Fine."  # type: ignore[union-attr]
    assert proxy.turn()["session"] == "u-1"
    assert proxy.said() == ["user: How are you?", "assistant: Fine."]


def test_the_responses_api_works_whole_streamed_and_from_the_answer_before(proxy: Proxy) -> None:
    done = response(output("It is 4711."), number="resp_2")
    begun = {**done, "output": [], "status": "in_progress"}
    stream = events({"type": "response.created", "response": begun, "sequence_number": 0},
                    {"type": "response.output_item.done", "item": output("It is 4711."), "output_index": 0, "sequence_number": 1},
                    {"type": "response.completed", "response": done, "sequence_number": 2})  # fmt: skip
    proxy.memory.remember(FACT, title="gate")
    proxy.upstream.answers = [said(response(output("Hello."))), stream]
    with openai_client(proxy) as client:
        first = client.responses.create(model="m", input="Hello there.", user="ada")
        assert first.output_text == "Hello."
        proxy.status()
        second = list(client.responses.create(
            model="m", input="What is the harbour gate code?", previous_response_id=first.id, stream=True
        ))  # fmt: skip
    assert second[-1].type == "response.completed"
    assert "input" in proxy.upstream.seen[0].json()
    frame, last = proxy.upstream.seen[1].json()["input"]
    assert FACT in frame["content"]
    assert last == {"role": "user", "content": "What is the harbour gate code?"}
    assert proxy.turn()["session"] == "ada"
    assert proxy.said()[-1] == "assistant: It is 4711."


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "BadRequestError"), (401, "AuthenticationError"), (404, "NotFoundError"), (429, "RateLimitError"),
        (500, "InternalServerError"), (503, "InternalServerError"),
    ],
)  # fmt: skip
def test_both_clients_raise_what_they_raise_without_the_proxy(proxy: Proxy, status: int, kind: str) -> None:
    wait = {"retry_after": "17", "x_request_id": "r1", "request_id": "r1"}
    proxy.upstream.answering = lambda seen: said({"type": "error", "error": {"type": "t", "message": "no"}}, status, **wait)
    ask: Any = [{"role": "user", "content": "Hello?"}]
    with openai_client(proxy) as chatting, pytest.raises(getattr(openai, kind)) as first:
        chatting.chat.completions.create(model="m", messages=ask)
    with anthropic_client(proxy) as talking, pytest.raises(anthropic.APIStatusError) as second:
        talking.messages.create(model="m", max_tokens=1, messages=ask)
    for raised in (first.value, second.value):
        assert raised.status_code == status
        assert raised.response.headers["retry-after"] == "17"
        assert raised.request_id == "r1"


def test_a_client_that_tries_again_after_a_rate_limit_is_remembered_once(proxy: Proxy) -> None:
    proxy.upstream.answers = [said({"error": {"message": "slow down"}}, 429, retry_after_ms="1"), chat("Now.")]
    with openai_client(proxy, max_retries=2) as client:
        answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hello?"}])
    assert answer.choices[0].message.content == "Now."
    assert [turn["status"] for turn in proxy.status()["turns"]] == [200, 429]
    assert proxy.said() == ["user: Hello?", "assistant: Now."]


def test_a_stream_that_the_client_closes_is_cancelled_upstream(proxy: Proxy) -> None:
    never = threading.Event()
    proxy.upstream.answers = [streamed(*deltas("one", "two"), gates={1: never})]
    with openai_client(proxy) as client:
        ask: Any = [{"role": "user", "content": "Count, please."}]
        with client.chat.completions.create(model="m", messages=ask, stream=True) as stream:
            assert next(iter(stream)).choices[0].delta.content == "one"
        assert proxy.upstream.left.wait(WAIT)
    never.set()
    assert proxy.turn()["ended"] == "client left"


def test_models_are_listed(proxy: Proxy) -> None:
    proxy.upstream.answers = [said({"object": "list", "data": [{"id": "m", "object": "model", "created": 1, "owned_by": "o"}]})]
    with openai_client(proxy) as client:
        assert [model.id for model in client.models.list()] == ["m"]
