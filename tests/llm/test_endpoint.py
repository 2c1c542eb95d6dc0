"""The endpoint against a server in this process: what it sends, and what it makes of each answer."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from mnemic.errors import BadInput, BudgetSpent, MissingExtra, ModelError
from mnemic.llm import Budgeted, Endpoint, Failed, open_judge
from mnemic.llm.base import bound
from mnemic.settings import LlmSettings, Secret

SCHEMA = {"type": "object"}


class Server:
    """Answers what it is told to, and keeps what it was asked."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.retry_after = ""
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
                if outer.retry_after:
                    self.send_header("Retry-After", outer.retry_after)
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
    assert (asked["model"], asked["temperature"], asked["max_tokens"], server.keys) == ("m", 0, 1000, ["Bearer sesame"])


def budget(server: Server, waits: list[float] | None = None, **more: Any) -> Budgeted:
    slept = [] if waits is None else waits
    return Budgeted(Endpoint(server.url, "m", key="sesame"), **{"calls": 10, "tokens": 50_000, **more}, sleep=slept.append)


def asked(judge: Budgeted) -> Any:
    return judge.ask("extract", "rules", "data", SCHEMA, 1000)


def test_an_answer_of_no_use_is_asked_for_again_with_what_was_wrong(server: Server) -> None:
    server.says("Sure! Here you go")
    server.says('```json\n{"a": 1}\n```')
    judge = budget(server)
    assert asked(judge) == {"a": 1}
    assert (judge.asked, judge.spent) == (2, 84)
    said = [one["messages"][1]["content"] for one in server.asked]
    assert said[0] == "data" and said[1].startswith("data\n\nYour answer before this one was of no use (no JSON")


@pytest.mark.parametrize(("text", "told"), [("no", "no JSON"), ("[1]", "list and no object"), (None, "no JSON")])
def test_after_the_third_it_gives_up_and_every_request_is_paid(server: Server, text: str | None, told: str) -> None:
    for _ in range(3):
        server.says(text)
    judge = budget(server)
    with pytest.raises(ModelError, match=f"answered nothing usable .*{told}"):
        asked(judge)
    assert (judge.asked, judge.spent, len(server.asked)) == (3, 126, 3)


def test_what_was_cut_off_is_not_asked_for_again(server: Server) -> None:
    server.says('{"starts": [0, 1, 2, 3')
    server.answers[0][1]["choices"][0]["finish_reason"] = "length"
    with pytest.raises(ModelError, match="cut off after 1000 tokens"):
        asked(budget(server))
    assert len(server.asked) == 1


def test_no_request_goes_out_that_the_budget_may_not_hold(server: Server) -> None:
    server.says("no", tokens=900)
    judge = budget(server, tokens=1900)
    with pytest.raises(BudgetSpent, match="1000 are left of 1900"):
        asked(judge)
    server.says("no")
    judge = budget(server, calls=1)
    with pytest.raises(BudgetSpent, match="the budget of 1 calls is spent"):
        asked(judge)
    assert (judge.asked, len(server.asked)) == (1, 2)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_that_is_busy_is_asked_again_after_a_while(server: Server, status: int) -> None:
    server.answers = [(status, {"error": {"message": "later"}}), (status, {"error": {"message": "later"}})]
    server.says('{"a": 1}')
    waits: list[float] = []
    judge = budget(server, waits)
    assert asked(judge) == {"a": 1}
    assert (judge.asked, waits) == (3, [0.5, 1.0])


def test_it_waits_as_long_as_the_server_says_but_not_for_hours(server: Server) -> None:
    server.retry_after = "7"
    server.answers = [(429, {"error": {"message": "later"}})]
    server.says('{"a": 1}')
    waits: list[float] = []
    assert asked(budget(server, waits)) == {"a": 1}
    assert waits == [7.0]
    server.retry_after = "3600"
    server.answers = [(429, {"error": {"message": "tomorrow"}})]
    with pytest.raises(ModelError, match="RateLimitError"):
        asked(budget(server))
    assert len(server.asked) == 3


def test_a_server_that_fails_three_times_running_is_left_alone_for_this_run(server: Server) -> None:
    server.answers = [(401, {"error": {"message": "bad key sesame"}})] * 3
    judge = budget(server)
    for _ in range(3):
        with pytest.raises(Failed, match="AuthenticationError"):
            asked(judge)
    with pytest.raises(BudgetSpent, match="failed 3 times running"):
        asked(judge)
    assert (len(server.asked), judge.spent) == (3, 0)


def test_too_long_a_question_is_refused_at_once_and_says_nothing_of_the_server(server: Server) -> None:
    server.answers = [(400, {"error": {"message": "request (9000 tokens) exceeds the available context size"}})] * 5
    judge = budget(server)
    for _ in range(5):
        with pytest.raises(Failed, match="exceeds the available context size"):
            asked(judge)
    assert (judge.asked, judge.failures) == (5, 0)


@pytest.mark.parametrize(
    ("refusal", "gone", "come"),
    [
        ("'response_format' of type 'json_schema' is not supported", "response_format", None),
        ("Unsupported value: 'temperature' does not support 0", "temperature", None),
        ("Unsupported parameter: 'max_tokens' is not supported with this model", "max_tokens", "max_completion_tokens"),
    ],
)
def test_a_server_of_another_dialect_is_asked_in_it(server: Server, refusal: str, gone: str, come: str | None) -> None:
    server.answers = [(400, {"error": {"message": refusal}})]
    server.says('{"a": 1}')
    server.says('{"a": 2}')
    judge = budget(server)
    assert (asked(judge), asked(judge)) == ({"a": 1}, {"a": 2})
    assert [gone in one for one in server.asked] == [True, False, False]
    assert come is None or [come in one for one in server.asked] == [False, True, True]
    told = server.asked[1]["messages"][0]["content"]
    assert ("JSON schema" in told) == (gone == "response_format")


def test_an_answer_that_trickles_is_over_by_its_deadline(server: Server) -> None:
    server.says("{}")
    ticks = iter([0.0, 61.0, 62.0])
    with pytest.raises(Failed, match="was not done after 60 s") as caught:
        Endpoint(server.url, "m", ticks=lambda: next(ticks)).ask("extract", "rules", "data", SCHEMA, 1000)
    assert caught.value.wait is None and caught.value.tokens is None


@pytest.mark.parametrize("answer", [{}, [], {"choices": []}, {"choices": [{"message": None}]}, {"choices": 1}, "x"])
def test_what_is_no_chat_completion_is_a_failure_of_the_server(server: Server, answer: Any) -> None:
    server.answers = [(200, answer)]
    with pytest.raises(Failed, match="answered with no chat completion") as caught:
        ask(server)
    assert caught.value.down


@pytest.mark.parametrize("tokens", [0, -5_000_000])
def test_an_answer_that_says_it_cost_nothing_or_less_costs_what_it_may_have_cost(server: Server, tokens: int) -> None:
    server.says('{"a": 1}', tokens=tokens)
    assert ask(server).tokens == bound("rules") + bound("data") + bound('{"a": 1}')


def test_a_cost_that_is_no_number_is_a_failure_of_the_server(server: Server) -> None:
    server.says("{}", tokens=float("inf"))  # type: ignore[arg-type]
    with pytest.raises(Failed, match="answered with no chat completion"):
        ask(server)


def test_nobody_listening_costs_no_token(server: Server) -> None:
    judge = Budgeted(Endpoint("http://127.0.0.1:1/v1", "m"), 10, 50_000, sleep=lambda seconds: None)
    with pytest.raises(Failed, match="APIConnectionError"):
        asked(judge)
    assert (judge.asked, judge.spent) == (3, 0)


def test_a_refusal_names_the_status_and_not_the_key(server: Server) -> None:
    server.answers = [(401, {"error": {"message": "bad key sesame"}})]
    with pytest.raises(ModelError, match="AuthenticationError") as caught:
        ask(server, key="sesame")
    assert "sesame" not in str(caught.value)


def test_a_password_in_the_address_is_never_shown() -> None:
    assert repr(Endpoint("https://ada:sesame@example.org/v1", "m")) == "Endpoint('https://***@example.org/v1', 'm')"


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
