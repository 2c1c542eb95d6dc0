"""The endpoint against a server in this process: what it sends, and what it makes of each answer."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from mnemic.errors import BadInput, MissingExtra, ModelError
from mnemic.llm import Endpoint, open_judge
from mnemic.settings import LlmSettings, Secret

SCHEMA = {"type": "object"}


class Server:
    """Answers what it is told to, and keeps what it was asked."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.asked.append(json.loads(body))
                outer.keys.append(self.headers["Authorization"])
                status, answer = outer.answers.pop(0)
                data = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *parts: Any) -> None:
                return

        self.http = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"

    def says(self, text: str | None, tokens: int = 42) -> None:
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        self.answers.append((200, {
            "id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice],
            "usage": {"prompt_tokens": tokens, "completion_tokens": 0, "total_tokens": tokens},
        }))  # fmt: skip


@pytest.fixture
def server() -> Iterator[Server]:
    pytest.importorskip("openai")
    made = Server()
    thread = threading.Thread(target=made.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.http.shutdown()
    made.http.server_close()
    thread.join()


def ask(server: Server, **more: Any) -> Any:
    return Endpoint(server.url, "m", **more).ask("extract", "rules", "data", SCHEMA, 1000)


def test_an_answer_is_json_with_what_it_cost(server: Server) -> None:
    server.says('{"proposals": []}')
    reply = ask(server, key="sesame")
    assert (reply.content, reply.tokens) == ({"proposals": []}, 42)
    (asked,) = server.asked
    assert asked["response_format"] == {"type": "json_schema", "json_schema": {"name": "extract", "schema": SCHEMA}}
    assert [message["role"] for message in asked["messages"]] == ["system", "user"]
    assert (asked["model"], asked["temperature"], asked["max_tokens"], server.keys) == ("m", 0, 500, ["Bearer sesame"])


def test_an_answer_of_no_use_is_asked_for_once_more(server: Server) -> None:
    server.says("Sure! Here you go")
    server.says('```json\n{"a": 1}\n```')
    reply = ask(server)
    assert (reply.content, reply.tokens, len(server.asked)) == ({"a": 1}, 84, 2)


@pytest.mark.parametrize(("text", "told"), [("no", "no JSON"), ("[1]", "list and no object"), (None, "no JSON")])
def test_after_the_second_it_gives_up(server: Server, text: str | None, told: str) -> None:
    server.says(text)
    server.says(text)
    with pytest.raises(ModelError, match=f"answered nothing usable .*{told}"):
        ask(server)


def test_a_refusal_names_the_status_and_not_the_key(server: Server) -> None:
    server.answers = [(401, {"error": {"message": "bad key sesame"}})]
    with pytest.raises(ModelError, match="AuthenticationError") as caught:
        ask(server, key="sesame")
    assert "sesame" not in str(caught.value)


def test_without_the_sdk_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtra, match=r"pip install 'mnemic\[llm\]'"):
        Endpoint("http://127.0.0.1:9/v1", "m").ask("extract", "rules", "data", SCHEMA, 1000)


def test_it_is_off_unless_configured() -> None:
    with pytest.raises(BadInput, match="set MNEMIC_LLM_URL and MNEMIC_LLM_MODEL"):
        open_judge(LlmSettings())
    with pytest.raises(BadInput, match="give one like"):
        open_judge(LlmSettings(url="ftp://x", model="m"))
    judge = open_judge(LlmSettings(url="http://localhost:1/v1", model="m", key=Secret("sesame")))
    assert judge.identity == "openai/m" and "sesame" not in repr(judge)
