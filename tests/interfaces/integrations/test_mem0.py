"""mem0's shape in Python and over HTTP. Its real client: tests/peers/test_mem0.py."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic import Memory
from mnemic.errors import BadInput, NotFound
from mnemic.interfaces.integrations.mem0 import Mem0, Mem0Error
from mnemic.interfaces.integrations.mem0_filter import fits
from mnemic.interfaces.integrations.mem0_rest import MAX_BYTES, mem0_app


@pytest.fixture
def mem0(memory: Memory) -> Mem0:
    return Mem0(memory)


def _add(mem0: Mem0, text: str, **more: Any) -> str:
    return str(mem0.add(text, **{"user_id": "ada", **more})["results"][0]["id"])


def _texts(found: dict[str, list[dict[str, Any]]]) -> list[str]:
    return [row["memory"] for row in found["results"]]


def test_each_message_is_kept_as_it_was_said_and_instructions_are_not(mem0: Mem0, memory: Memory) -> None:
    results = mem0.add(
        [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "I like the window seat.", "name": "Ada"},
         {"role": "assistant", "content": [{"type": "text", "text": "Noted: the window."}]}, {"role": "user", "content": "  "}],
        user_id="ada", run_id="r1", metadata={"topic": "travel"},
    )["results"]  # fmt: skip
    assert [(row["memory"], row["event"]) for row in results] == [
        ("I like the window seat.", "ADD"), ("Noted: the window.", "ADD"),
    ]  # fmt: skip
    row = mem0.get(results[0]["id"])
    assert row is not None
    moment = row.pop("created_at")
    assert row.pop("updated_at") == moment
    assert moment.startswith("2026-03-10T12:00:")
    assert row.pop("id") == results[0]["id"]
    assert row.pop("hash") == "ddbcd81947606d0a7c92d7a57020a522"
    assert row == {"memory": "I like the window seat.", "user_id": "ada", "run_id": "r1", "role": "user", "actor_id": "Ada",
                   "metadata": {"topic": "travel"}}  # fmt: skip
    assert {hit.text: hit.origin for hit in memory.recall("window").hits} == {
        "I like the window seat.": "user", "Noted: the window.": "agent",
    }  # fmt: skip


def test_adding_the_same_again_adds_nothing(mem0: Mem0) -> None:
    first = _add(mem0, "I like tea.")
    assert mem0.add("I like tea.", user_id="ada")["results"] == [{"id": first, "memory": "I like tea.", "event": "NONE"}]
    assert _add(mem0, "I like tea.", user_id="bob") != first
    assert len(mem0.get_all(filters={"user_id": "ada"})["results"]) == 1


def test_a_question_is_answered_for_whom_it_is_asked(mem0: Mem0) -> None:
    _add(mem0, "I always sit by the window.")
    _add(mem0, "I keep three bees.")
    _add(mem0, "The window is broken.", user_id="bob")
    found = mem0.search("who sits by the window?", filters={"user_id": "ada"})
    assert _texts(found) == ["I always sit by the window."]
    assert found["results"][0]["score"] > 0.1
    assert _texts(mem0.search("who sits by the window?", user_id="bob")) == ["The window is broken."]
    assert _texts(mem0.search("quantum chromodynamics", filters={"user_id": "ada"})) == []
    assert _texts(mem0.search("window", filters={"user_id": "ada"}, threshold=1_000)) == []


def test_what_others_said_crowds_nobody_out(memory: Memory, mem0: Mem0) -> None:
    for number in range(150):
        mem0.add(f"window seat preference number {number}", user_id="ada", metadata={"n": number})
    _add(mem0, "Once in a while I take a window seat in the evening, with friends and a book.", user_id="bob")
    assert len(mem0.search("window seat preference", filters={"user_id": "bob"})["results"]) == 1
    assert len(mem0.search("window seat preference", filters={"user_id": "ada", "n": 149})["results"]) == 1
    assert len(mem0.search("window seat preference", filters={"user_id": "ada"}, top_k=20)["results"]) == 20


def test_an_update_keeps_what_was_in_the_history(mem0: Mem0) -> None:
    number = _add(mem0, "I live in Paris.", metadata={"a": 1})
    assert mem0.update(number, text="I live in Rome.", metadata={"b": 2}) == {"message": "Memory updated successfully!"}
    row = mem0.get(number)
    assert row is not None and (row["memory"], row["metadata"]) == ("I live in Rome.", {"a": 1, "b": 2})
    assert [(one["old_memory"], one["new_memory"], one["event"]) for one in mem0.history(number)] == [
        (None, "I live in Paris.", "ADD"), ("I live in Paris.", "I live in Rome.", "UPDATE"),
    ]  # fmt: skip
    again = _add(mem0, "I live in Paris.")
    assert again != number
    assert _add(mem0, "I live in Paris.") == again


def test_what_only_changes_beside_the_text_leaves_the_user_its_author(mem0: Mem0, memory: Memory) -> None:
    number = _add(mem0, "I live in Paris.")
    mem0.update(number, metadata={"seen": True})
    assert memory.recall("Paris").hits[0].origin == "user"
    mem0.update(number, text="She moved to Paris.")
    assert memory.recall("Paris").hits[0].origin == "agent"


def test_deleting_takes_out_what_was_meant_and_nothing_else(mem0: Mem0, memory: Memory) -> None:
    first, second, bobs = _add(mem0, "one tea"), _add(mem0, "two tea", run_id="r"), _add(mem0, "three tea", user_id="bob")
    note = memory.remember("four tea").path
    assert mem0.delete(first) == {"message": "Memory deleted successfully!"}
    assert mem0.get(first) is None
    mem0.delete_all(user_id="ada")
    assert (mem0.get(second), mem0.get(bobs) is not None) == (None, True)
    mem0.reset()
    assert mem0.get(bobs) is None
    assert [hit.path for hit in memory.recall("tea").hits] == [note]
    assert _add(mem0, "one tea") == first
    assert memory.verify().ok


@pytest.mark.parametrize(
    "act",
    [
        lambda mem0: mem0.add("x"), lambda mem0: mem0.add(5, user_id="a"), lambda mem0: mem0.get_all(),
        lambda mem0: mem0.search("x", filters={"topic": "tea"}), lambda mem0: mem0.delete_all(),
        lambda mem0: mem0.get_all(filters={"user_id": "a"}, top_k=-1), lambda mem0: mem0.get_all(users=3),
        lambda mem0: mem0.add("x", user_id="a", expiration_date="soon"),
    ],
)  # fmt: skip
def test_what_mem0_refuses_raises_its_kind_of_error(mem0: Mem0, act: Any) -> None:
    with pytest.raises(ValueError):
        act(mem0)


def test_what_is_not_there_is_not_found(mem0: Mem0) -> None:
    assert mem0.get("nothing") is None
    for act in (mem0.delete, mem0.history, lambda number: mem0.update(number, text="x")):
        with pytest.raises(NotFound, match="Memory with id nothing not found"):
            act("nothing")


def test_what_has_expired_is_shown_only_on_demand(mem0: Mem0) -> None:
    number = _add(mem0, "old tea", expiration_date=date(2020, 1, 1))
    _add(mem0, "new tea", expiration_date="2999-01-01")
    assert _texts(mem0.get_all(filters={"user_id": "ada"})) == ["new tea"]
    assert _texts(mem0.search("tea", filters={"user_id": "ada"})) == ["new tea"]
    assert _texts(mem0.get_all(filters={"user_id": "ada"}, show_expired=True)) == ["old tea", "new tea"]
    mem0.update(number, expiration_date=None)
    assert _texts(mem0.get_all(filters={"user_id": "ada"})) == ["old tea", "new tea"]


FIELDS = {"user_id": "ada", "n": 3, "topic": "Green Tea", "tags": ["x"]}


@pytest.mark.parametrize(
    ("wanted", "fit"),
    [
        ({"user_id": "ada"}, True), ({"user_id": "bob"}, False), ({"user_id": "*"}, True), ({"absent": "*"}, False),
        ({"n": {"gt": 2, "lte": 3}}, True), ({"n": {"lt": 3}}, False), ({"n": {"gt": "a"}}, False),
        ({"absent": {"gte": 1}}, False),
        ({"n": {"in": [1, 3]}}, True), ({"n": {"nin": [1, 3]}}, False), ({"n": {"ne": 4}}, True), ({"n": {"eq": 3}}, True),
        ({"topic": {"contains": "tea"}}, False), ({"topic": {"icontains": "tea"}}, True), ({"tags": {"contains": "x"}}, True),
        ({"AND": [{"user_id": "ada"}, {"n": 3}]}, True), ({"OR": [{"n": 4}, {"n": 3}]}, True), ({"NOT": [{"n": 3}]}, False),
        ({"NOT": {"n": 4}}, True), ({"user_id": ["ada", "bob"]}, True), ({}, True),
    ],
)  # fmt: skip
def test_a_filter_lets_through_what_it_says(wanted: dict[str, Any], fit: bool) -> None:
    assert fits(FIELDS, wanted) is fit


# over HTTP


def ask(memory: Memory, method: str, path: str, given: Any = None, *, raw: bytes | None = None) -> tuple[int, Any]:
    """What the application answers, asked as an ASGI server would ask it."""
    path, _, query = path.partition("?")
    sent: list[dict[str, Any]] = []
    body = raw if raw is not None else b"" if given is None else json.dumps(given).encode()

    async def run() -> None:
        half = len(body) // 2
        parts = [{"type": "http.request", "body": body[:half], "more_body": True}, {"type": "http.request", "body": body[half:]}]

        async def receive() -> Any:
            return parts.pop(0)

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        scope = {"type": "http", "method": method, "path": "/mem0" + path, "root_path": "/mem0", "query_string": query.encode()}
        await mem0_app(memory)(scope, receive, send)

    asyncio.run(run())
    return sent[0]["status"], json.loads(sent[1]["body"])


@pytest.mark.parametrize("hosted", [True, False])
def test_a_memory_lives_its_life_over_http(memory: Memory, hosted: bool) -> None:
    v1, v3 = ("/v1", "/v3") if hosted else ("", "")
    messages = [{"role": "user", "content": "I like tea."}]
    status, added = ask(memory, "POST", f"{v3}/memories/{'add/' if hosted else ''}", {"messages": messages, "user_id": "ada"})
    assert (status, added["results"][0]["event"]) == (200, "ADD")
    one = f"{v1}/memories/{added['results'][0]['id']}"
    assert ask(memory, "GET", one)[1]["memory"] == "I like tea."
    listed = ask(memory, "POST", "/v3/memories/?page=1&page_size=1", {"filters": {"user_id": "ada"}}) if hosted else ask(
        memory, "GET", "/memories?user_id=ada")  # fmt: skip
    assert _texts(listed[1]) == ["I like tea."]
    asked = {"query": "tea", "filters": {"AND": [{"user_id": "ada"}]}} if hosted else {"query": "tea", "user_id": "ada"}
    assert _texts(ask(memory, "POST", f"{v3}/memories/search/" if hosted else "/search", asked)[1]) == ["I like tea."]
    assert ask(memory, "PUT", one, {"text": "I like coffee."})[0] == 200
    assert [row["event"] for row in ask(memory, "GET", f"{one}/history")[1]] == ["ADD", "UPDATE"]
    assert ask(memory, "DELETE", one) == (200, {"message": "Memory deleted successfully!"})
    assert ask(memory, "GET", one)[0] == 404
    assert ask(memory, "DELETE", f"{v1}/memories/?user_id=ada")[0] == 200


def test_a_list_over_http_comes_in_pages(memory: Memory) -> None:
    for number in range(3):
        Mem0(memory).add(f"cup {number}", user_id="ada")
    first = ask(memory, "POST", "/v3/memories/?page=1&page_size=2", {"filters": {"user_id": "ada"}})[1]
    assert (first["count"], first["next"], first["previous"], _texts(first)) == (
        3, "?page=2&page_size=2", None, ["cup 0", "cup 1"],
    )  # fmt: skip
    last = ask(memory, "POST", "/v3/memories/?page=2&page_size=2", {"filters": {"user_id": "ada"}})[1]
    assert (last["next"], _texts(last)) == (None, ["cup 2"])


@pytest.mark.parametrize("operator", ["in", "nin"])
def test_a_filter_that_is_among_nothing_is_refused(operator: str) -> None:
    with pytest.raises(BadInput, match=f"^{operator} takes a list of values"):
        fits({"user_id": "ada"}, {"user_id": {operator: 5}})


def test_a_filter_that_is_nested_without_end_is_refused(memory: Memory, mem0: Mem0) -> None:
    mem0.add("I drink tea.", user_id="ada")
    deep: dict[str, Any] = {"user_id": "ada"}
    for _ in range(2_000):
        deep = {"AND": [deep]}
    with pytest.raises(Mem0Error, match="^filters are nested too deep: write them flat$"):
        mem0.get_all(filters=deep)
    found = []
    for depth in range(20, 400, 20):  # from what is answered to what no longer is JSON that we take
        body = b'{"filters": ' + b'{"AND": [' * depth + b'{"user_id": "ada"}' + b"]}" * depth + b"}"
        found.append(ask(memory, "POST", "/v3/memories", raw=body)[0])
    assert (found[0], found[-1], {*found}) == (200, 400, {200, 400})


@pytest.mark.parametrize(
    ("method", "path", "given", "status"),
    [
        ("GET", "/nowhere", None, 404), ("PATCH", "/memories", None, 405), ("POST", "/memories", {"messages": "x"}, 400),
        ("POST", "/memories", [1], 400), ("POST", "/search", {"query": ""}, 400), ("POST", "/search", {"query": "x"}, 400),
        ("POST", "/v3/memories", {"filters": 3}, 400), ("DELETE", "/memories", None, 400), ("GET", "/memories/x", None, 404),
        ("PUT", "/v1/batch", {"memories": [{}]}, 400), ("GET", "/memories?user_id=a&top_k=b", None, 400),
        ("POST", "/search", {"query": "x", "user_id": "a", "filters": {"n": {"like": 1}}}, 200),
        ("POST", "/search", {"query": "x", "user_id": "a", "top_k": float("inf")}, 400),
        ("POST", "/memories", {"messages": "\ud800 x", "user_id": "\ud800"}, 200),
    ],
)  # fmt: skip
def test_what_cannot_be_done_over_http_is_told_with_its_status(
    memory: Memory, method: str, path: str, given: Any, status: int
) -> None:
    answer = ask(memory, method, path, given)
    assert answer[0] == status
    assert status == 200 or isinstance(answer[1]["detail"], str)


def test_a_body_that_is_no_json_or_too_large_is_refused(memory: Memory) -> None:
    assert ask(memory, "POST", "/memories", raw=b"{")[0] == 400
    assert ask(memory, "POST", "/memories", raw=b"[" * 200_000)[0] == 400
    assert ask(memory, "POST", "/memories", raw=b" " * (MAX_BYTES + 1))[0] == 413


NAMES = st.sampled_from(["user_id", "AND", "NOT", "gt", "in", "role", "content"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
FIELD_NAMES = ["messages", "user_id", "filters", "query", "top_k", "metadata", "text", "memories", "expiration_date",
               "threshold", "page", "run_id"]  # fmt: skip
BODIES = st.dictionaries(st.sampled_from(FIELD_NAMES), JSON, max_size=5)
PATHS = st.sampled_from([
    ("POST", "/memories"), ("POST", "/search"), ("POST", "/v3/memories"), ("GET", "/memories"), ("PUT", "/v1/batch"),
    ("PUT", "/memories/x"), ("DELETE", "/v1/memories"),
])  # fmt: skip


@settings(max_examples=200)
@given(where=PATHS, body=BODIES)
def test_whatever_is_sent_is_answered_with_a_status_that_is_no_fault_of_ours(
    room: Iterator[Memory], where: tuple[str, str], body: dict[str, Any]
) -> None:
    status, _ = ask(next(room), *where, {"user_id": "a", **body})
    assert status < 500
