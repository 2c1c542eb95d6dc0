"""REST over a real home: what goes in, what comes out, and what is said where it cannot be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemic import Memory
from mnemic.errors import MnemicError
from mnemic.interfaces.rest import problems
from mnemic.interfaces.rest.openapi import ROOT, document
from mnemic.interfaces.rest.routes import ELSEWHERE, INSIDE, ROUTES, parts
from tests.interfaces.rest.clients import PAST, Client

NOTE = "Ada prefers the window seat."
PATH = "/notes/ada-prefers-the-window-seat"


def said(client: Client, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    found = client.ask(method, f"/api/v1{path}", json=body, headers={**PAST, **headers})
    return found.status_code, found.json() if found.content else None


def test_what_is_remembered_is_recalled_with_its_signals(client: Client) -> None:
    assert client.post("/remember", text=NOTE)["path"] == PATH
    answer = client.post("/recall", query="window seat", scope={"since": "2026-01-01"}, budget={"nodes": 3})
    assert [hit["path"] for hit in answer["hits"]] == [PATH]
    assert answer["hits"][0]["signals"]["lexical"] > 0


def test_a_conversation_is_captured_and_opened(client: Client) -> None:
    moved = {"role": "user", "content": "I moved to Porto.", "created_at": "2026-03-09"}
    turns = [moved, {"role": "assistant", "content": "Ah."}]
    assert client.post("/capture", turns=turns, session="s1")["exchanges"] == 1
    path = client.post("/recall", query="Porto")["hits"][0]["path"]
    page = client.get("/page", path=path)
    assert page["session"] == "s1" and page["created_at"].startswith("2026-03-09")


def test_reading_a_page_is_no_use_of_it_but_opening_it_is(client: Client) -> None:
    client.post("/remember", text=NOTE)
    client.get("/page", path=PATH)
    assert client.get("/page", path=PATH)["access_count"] == 0
    assert client.post("/open", path=PATH)["access_count"] == 1


def test_a_list_comes_in_pages_each_with_the_cursor_of_the_next(client: Client, memory: Memory) -> None:
    for number in range(5):
        memory.diary.add(f"said {number}")
    first = client.get("/diary", limit=2)
    assert [row["content"] for row in first["items"]] == ["said 4", "said 3"]
    second = client.get("/diary", limit=2, cursor=first["next"])
    third = client.get("/diary", limit=2, cursor=second["next"])
    assert [row["content"] for row in second["items"] + third["items"]] == ["said 2", "said 1", "said 0"]
    assert third["next"] is None


def test_the_pages_of_the_ledger_stay_the_same_while_it_grows(client: Client, memory: Memory) -> None:
    for number in range(5):
        memory.diary.add(f"said {number}")
    first = client.get("/ledger", limit=2)
    memory.diary.add("said since")
    rest = client.get("/ledger", limit=10, cursor=first["next"])
    assert [row["seq"] for row in first["items"] + rest["items"]] == [5, 4, 3, 2, 1]
    assert rest["next"] is None


def test_a_cursor_of_another_question_is_refused(client: Client, memory: Memory) -> None:
    for number in range(3):
        memory.diary.add(f"said {number}")
    cursor = client.get("/diary", limit=1)["next"]
    for query in (f"/diary?kind=promised&cursor={cursor}", f"/facts?cursor={cursor}", "/diary?cursor=x", "/diary?limit=0"):
        status, row = said(client, "GET", query)
        assert status == 400 and row["detail"]


def test_an_edit_of_what_has_changed_since_is_refused(client: Client, memory: Memory) -> None:
    memory.facts.add("identity", "home_city", "Porto")
    mark = client.ask("GET", "/api/v1/facts/1").headers["etag"]
    assert client.ask("GET", "/api/v1/facts/1", headers={**PAST, "if-none-match": mark}).status_code == 304
    edit = {"value": "Lisbon", "reason": "moved"}
    assert said(client, "PATCH", "/facts/1", edit, **{"if-match": mark})[0] == 200
    status, row = said(client, "PATCH", "/facts/1", {**edit, "value": "Faro"}, **{"if-match": mark})
    assert (status, memory.facts.show(1)["value"]) == (412, "Lisbon")
    assert "read it again" in row["detail"]
    assert said(client, "POST", "/facts/1/delete", {"reason": "x"}, **{"if-match": "*"})[0] == 200


def test_an_edit_of_the_steps_of_an_experience_is_guarded_too(client: Client, memory: Memory) -> None:
    document = {"kind": "positive", "family": "deploy", "gist": "Build first", "situation": ["deploying"], "path": ["build"],
                "reasoning": "else it is empty", "evidence": {"note": "seen"}}  # fmt: skip
    number = memory.experiences.add(document, reason="hard won").id
    mark = client.ask("GET", f"/api/v1/experiences/{number}").headers["etag"]
    edit = {"path": ["build", "copy"], "reason": "clearer"}
    assert said(client, "POST", f"/experiences/{number}/evolve", edit, **{"if-match": mark})[0] == 200
    assert said(client, "POST", f"/experiences/{number}/evolve", edit, **{"if-match": mark})[0] == 412


def test_what_a_page_of_the_workbench_asks_for_is_answered(client: Client, memory: Memory) -> None:
    turns = [{"role": "user", "content": "I moved to Porto."}, {"role": "assistant", "content": "Ah."}]
    client.post("/capture", turns=turns, session="s1")
    client.post("/remember", text=NOTE, source="file:///a", reason="she said so")
    client.post("/remember", text="Ada prefers the aisle.", source="file:///a")
    near = client.get("/around", path="/sessions/s1/1", steps=1, limit=10)
    assert {(edge["from"], edge["kind"]) for edge in near["edges"]} >= {("/sessions/s1/1", "part")}
    assert said(client, "GET", "/around?path=/sessions/s1/1&limit=2001")[0] == 400
    first = client.get("/revisions", path=PATH, limit=1)
    assert [row["op"] for row in first["items"]] == ["revise"] and first["next"]
    assert "+Ada prefers the aisle." in client.get(f"/revisions/{first['items'][0]['seq']}", path=PATH)["diff"]
    assert [row["reason"] for row in client.get("/ledger", op="remember")["items"]] == ["she said so"]
    assert client.get("/window/summaries")["items"] == [] and client.get("/experiences/families")["items"] == []
    assert client.get("/proxy") == {"serving": False, "turns": []}


def test_reading_again_does_not_change_the_mark(client: Client, memory: Memory) -> None:
    memory.facts.add("identity", "home_city", "Porto")
    marks = {client.ask("GET", "/api/v1/facts/1").headers["etag"] for _ in range(3)}
    assert len(marks) == 1


def test_a_human_act_stands_in_the_ledger_with_its_reason_and_is_undone_with_another(client: Client) -> None:
    client.post("/remember", text=NOTE)
    seq = client.post("/forget", path=PATH, reason="no longer so")["seq"]
    assert client.get(f"/ledger/{seq}")["reason"] == "no longer so"
    assert client.post("/recall", query="window seat")["hits"] == []
    client.post(f"/ledger/{seq}/undo", reason="it was so after all")
    assert client.get("/ledger")["items"][0]["reason"] == "it was so after all"
    assert client.post("/recall", query="window seat")["hits"] != []
    assert client.get("/verify")["ok"] is True


def test_an_empty_ledger_can_be_accepted(client: Client, memory: Memory) -> None:
    assert client.post("/accept", reason="it is new here")["seq"] == 1
    assert memory.verify().ok and memory.remember(NOTE).status == "stored"


def test_long_work_tells_how_far_it_is(client: Client, memory: Memory) -> None:
    memory.remember(NOTE)
    headers = {**PAST, "accept": "text/event-stream"}
    lines = client.ask("POST", "/api/v1/reindex", headers=headers, json={}).text.split("\n\n")
    assert lines[0] == 'event: progress\ndata: {"done":1}'
    assert lines[-2].startswith('event: result\ndata: {"documents":1,')
    assert client.post("/reindex")["documents"] == 1


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [
        ("GET", "/page?path=/nowhere", None, 404, "nothing stands at '/nowhere'"),
        ("GET", "/facts/7", None, 404, "7"),
        ("GET", "/facts/x", None, 400, "number: 'x' is not a whole number"),
        ("GET", "/facts/99999999999999999999", None, 400, "out of range"),
        ("GET", "/status?x=1", None, 400, "'x' is unknown"),
        ("POST", "/remember", {}, 400, "'text' is missing"),
        ("POST", "/remember", {"text": 3}, 400, "text: 3 is not a text"),
        ("POST", "/remember", {"text": "x", "importance": 2}, 400, "must lie between 0 and 1"),
        ("POST", "/remember", {"text": "x", "origin": "human-file"}, 400, "origin: 'human-file' is unknown: use user, agent"),
        ("POST", "/remember", {"text": "x", "at": "gibberish"}, 400, "no moment"),
        ("POST", "/remember", [], 400, "no JSON object"),
        ("POST", "/observe", {"session": "s", "turn": {"role": "user"}}, 400, "'content' is missing"),
        ("POST", "/recall", {"query": "x", "scope": {"until": 10**15}}, 400, "years 1 to 9999"),
        ("POST", "/accept", {"reason": ""}, 422, "needs a reason"),
        ("POST", "/forget", {"path": "/x", "erase": True, "channel": "agent"}, 422, "erase"),
        ("POST", "/graph/create-entities", {"entities": [{}]}, 400, "'name' is missing"),
        ("POST", "/experiences/recall", {"situation": "x", "k": -1}, 400, "give 1 or more"),
        ("DELETE", "/status", None, 405, "other methods"),
        ("GET", "/nowhere", None, 404, "no such path"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_a_problem_that_says_what_to_do(
    client: Client, method: str, path: str, body: Any, status: int, words: str
) -> None:
    found, row = said(client, method, path, body)
    assert (found, row["status"]) == (status, status)
    assert words in row["detail"]


def test_a_graph_is_made_and_read(client: Client) -> None:
    ada = {"name": "Ada", "entityType": "person", "observations": ["likes tea"]}
    assert client.post("/graph/create-entities", entities=[ada]) == [ada]
    assert client.get("/graph")["entities"] == [ada]


def test_a_body_that_is_no_json_or_too_large_is_refused(client: Client) -> None:
    for content, status in ((b"{", 400), (b'{"text": NaN}', 400), (b"[" * 100_000, 400), (b" " * (16 * 1024 * 1024 + 1), 413)):
        assert client.ask("POST", "/api/v1/remember", content=content).status_code == status


def test_a_lone_surrogate_is_stored_as_a_text_that_can_be(client: Client) -> None:
    answer = client.ask("POST", "/api/v1/remember", content=b'{"text": "odd \\ud800 seat"}')
    assert answer.json()["status"] == "stored"


def test_a_fault_of_ours_tells_its_kind_and_no_text(client: Client, memory: Memory, caplog: Any) -> None:
    def broken(query: str, **more: Any) -> Any:
        raise RuntimeError("a secret of somebody")

    memory.recall = broken  # type: ignore[method-assign]
    status, row = said(client, "POST", "/recall", {"query": "x"})
    assert (status, "RuntimeError" in row["detail"], "secret" in row["detail"] + caplog.text) == (500, True, False)


def test_a_hook_of_a_session_is_answered(client: Client, memory: Memory) -> None:
    memory.remember(NOTE)
    answer = client.post("/hooks/prompt", session_id="s", prompt="Where does Ada like to sit? The window seat?")
    assert NOTE in answer["hookSpecificOutput"]["additionalContext"]
    assert client.post("/hooks/nonsense") == {}


def test_every_kind_of_error_has_a_status() -> None:
    def kinds(kind: type[MnemicError]) -> Iterator[type[MnemicError]]:
        yield kind
        for one in kind.__subclasses__():
            yield from kinds(one)

    assert {problems.of_error(kind.__new__(kind, "why"))["status"] for kind in kinds(MnemicError)} <= set(problems.ANSWERS)


def test_openapi_describes_every_route_and_is_served_to_anyone(client: Client) -> None:
    served = client.ask("GET", "/openapi.json", headers={}).json()
    assert served == json.loads(json.dumps(document()))
    described = {(method.upper(), path) for path, one in served["paths"].items() for method in one}
    besides = {("GET", path) for path in ("/healthz", "/readyz", "/metrics")}
    assert described == {(route.method, ROOT + route.path) for route in ROUTES} | besides
    names = [one["operationId"] for paths in served["paths"].values() for one in paths.values()]
    assert len(names) == len(set(names))


def public(kind: type) -> set[str]:
    return {name for name, item in vars(kind).items() if not name.startswith("_") and (callable(item) or hasattr(item, "__func__")
            or isinstance(item, property))}  # fmt: skip


def test_every_public_method_of_memory_and_its_parts_is_a_route_or_has_a_reason_to_be_none() -> None:
    served = {route.target for route in ROUTES}
    for part, kind in parts().items():
        verbs = {f"{part}.{name}".lstrip(".") for name in public(kind)}
        if part not in INSIDE:
            assert verbs - served - set(ELSEWHERE) == set()
        gone = {name for name in ELSEWHERE if name.rpartition(".")[0] == part} - verbs
        assert gone == set(), "a reason for what is not there"


def test_every_part_of_memory_is_looked_at(memory: Memory) -> None:
    held = {name for name in vars(memory) if not name.startswith("_")} | {"wiki"}
    assert held - set(parts()) == {"settings", "namespace", "clock", "ids", "last_error", "telemetry"}


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3), max_leaves=6,
)  # fmt: skip


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_is_sent_is_answered_by_what_openapi_says(client: Client, data: st.DataObject) -> None:
    route = data.draw(st.sampled_from([route for route in ROUTES if route.path not in ("/tend", "/vacuum", "/dream")]))
    names = [name for name, one in route.arguments.items() if not one.rest]
    path = ROOT + route.path
    for name in route.in_path:
        path = path.replace(f"{{{name}}}", data.draw(st.sampled_from(["1", "0", "-1", "x", "9007199254740991"])))
    body = data.draw(st.dictionaries(st.sampled_from(names), ANYTHING, max_size=4)) if names else {}
    if route.method == "GET":
        answer = client.ask("GET", path, params={name: str(item) for name, item in body.items() if name not in route.in_path})
    else:
        answer = client.ask(route.method, path, content=json.dumps(body).encode())
    known = document()["paths"][ROOT + route.path][route.method.lower()]["responses"]
    assert str(answer.status_code) in known, answer.text
