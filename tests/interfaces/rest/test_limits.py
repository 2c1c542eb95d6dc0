"""Limits at the door of the service: how fast a namespace may ask, and how each surface says that it is full."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from mnemic import Memory
from mnemic.interfaces.rest.app import OPEN
from mnemic.interfaces.rest.rates import Rates
from mnemic.settings import Limit, LimitSettings
from tests.interfaces.mcp.clients import home
from tests.interfaces.rest.clients import PAST, Client, mcp

THREE = LimitSettings(requests_per_minute=3, namespaces={"free": Limit(), "slow": Limit(requests_per_minute=1)})


class Ticks:
    """A clock that goes on when it is told."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def passes(rates: Rates, namespace: str = "default") -> bool:
    return rates.take(namespace) is None


def test_a_minutes_worth_may_come_at_once_and_then_they_come_evenly() -> None:
    ticks = Ticks()
    rates = Rates(THREE, ticks)
    assert [passes(rates) for _ in range(5)] == [True, True, True, False, False]
    ticks.now += 19.9
    assert not passes(rates)
    ticks.now += 0.1
    assert [passes(rates), passes(rates)] == [True, False]
    ticks.now += 600
    assert [passes(rates) for _ in range(4)] == [True, True, True, False]


def test_over_an_hour_no_more_pass_than_are_allowed_and_a_minutes_worth() -> None:
    ticks = Ticks()
    rates, passed = Rates(LimitSettings(requests_per_minute=7), ticks), 0
    for _ in range(7_200):
        passed += passes(rates)
        ticks.now += 0.5
    assert passed == 426


def test_namespaces_are_counted_apart_and_some_not_at_all() -> None:
    rates = Rates(THREE, Ticks())
    assert [passes(rates, "slow") for _ in range(2)] == [True, False]
    assert [passes(rates, "other") for _ in range(4)] == [True, True, True, False]
    assert all(passes(rates, "free") for _ in range(1_000))


def test_who_is_refused_is_told_when_to_come_again() -> None:
    ticks = Ticks()
    rates = Rates(THREE, ticks)
    assert passes(rates, "slow")
    ticks.now += 18.5
    late = rates.take("slow")
    assert late is not None and late.seconds == 42
    assert str(late) == (
        "1 requests a minute are allowed in the namespace 'slow', and more came (limits.requests_per_minute): nothing was done,"
        " try again in 42 seconds"
    )
    ticks.now += late.seconds
    assert passes(rates, "slow")


def test_what_is_counted_takes_no_more_room_than_is_allowed() -> None:
    ticks = Ticks()
    rates = Rates(THREE, ticks, most=10)
    for number in range(1_000):
        rates.take(f"namespace {number}")
    assert len(rates._full_at) == 10
    ticks.now += 60
    rates.take("default")
    assert passes(rates, "namespace 1")
    for number in range(9):
        rates.take(f"late {number}")
    assert len(rates._full_at) <= 10


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "mnemic.toml").write_text("[limits]\nrequests_per_minute = 3\nnodes = 2\n")
    with home(tmp_path) as made:
        yield made


@pytest.mark.parametrize("path", ["/api/v1/status", "/mem0/v1/ping/", "/nowhere"])
def test_a_request_too_many_is_429_with_the_seconds_to_wait(memory: Memory, path: str) -> None:
    ticks = Ticks()
    client = Client(memory, rates=Rates(memory.settings.limits, ticks))
    for _ in range(3):
        assert client.ask("GET", path).status_code in (200, 404)
    found = client.ask("GET", path)
    assert (found.status_code, found.headers["retry-after"]) == (429, "20")
    assert found.headers["content-type"] == "application/problem+json"
    assert found.json()["detail"].endswith("try again in 20 seconds") and found.json()["kind"] == "RateLimited"
    assert client.ask("GET", path, headers={**PAST, "mnemic-namespace": "other"}).status_code in (200, 404)
    ticks.now += 20
    assert client.ask("GET", path).status_code in (200, 404)


def test_health_metrics_files_and_this_machines_hooks_are_never_too_much(memory: Memory) -> None:
    client = Client(memory, rates=Rates(memory.settings.limits, Ticks()))
    for _ in range(4):
        client.ask("GET", "/api/v1/status")
    for _ in range(5):
        for path in [*OPEN, "/metrics"]:
            assert client.ask("GET", path).status_code == 200
        assert client.ask("POST", "/api/v1/hooks/prompt", json={"session_id": "s", "prompt": "kiln"}).status_code == 200
    assert client.ask("GET", "/api/v1/status").status_code == 429
    other = client.granted("read", "write", "admin")
    assert client.ask("POST", "/api/v1/hooks/prompt", json={"session_id": "s"}, headers=other).status_code == 429


def test_who_may_not_come_in_counts_for_nobody(memory: Memory) -> None:
    client = Client(memory, rates=Rates(memory.settings.limits, Ticks()))
    theirs = client.granted("read", namespaces=("theirs",))
    for _ in range(5):
        assert client.ask("GET", "/api/v1/status", headers={**theirs, "mnemic-namespace": "default"}).status_code == 403
        assert client.ask("GET", "/api/v1/status", headers={"authorization": "Bearer nobody"}).status_code == 401
    assert client.ask("GET", "/api/v1/status").status_code == 200


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_tool_tells_a_model_when_to_call_again(memory: Memory, mode: str) -> None:
    rates = Rates(LimitSettings(requests_per_minute=8), Ticks())

    async def call(client: Any) -> list[Any]:
        found = [await client.call_tool("recall", {"query": "kiln"}) for _ in range(10)]
        with pytest.raises(MCPError, match="try again in"):
            await client.read_resource("mnemic://profile")
        return found

    found = mcp(memory, call, mode=mode, rates=rates)
    assert [one.is_error for one in (found[0], found[-1])] == [False, True]
    assert "8 requests a minute are allowed" in found[-1].content[0].text and "try again in" in found[-1].content[0].text


def test_a_session_of_mcp_is_not_begun_by_who_asks_too_much(memory: Memory) -> None:
    from mnemic.interfaces.rest.serve import over_mcp

    client = Client(memory, mcp=over_mcp(memory, ["localhost"], []), rates=Rates(LimitSettings(requests_per_minute=1), Ticks()))
    assert client.ask("GET", "/api/v1/status").status_code == 200
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
    assert client.ask("POST", "/mcp", json=hello).status_code == 429


def test_a_full_namespace_is_507_over_rest_and_mem0_and_an_error_of_the_tool(memory: Memory) -> None:
    client = Client(memory, rates=Rates(LimitSettings()))
    for text in ("Ada sits at the window.", "Ben sits at the door."):
        client.post("/remember", text=text)
    assert client.get("/status")["quota"] == client.get("/stats")["quota"] == {"held": 2, "allowed": 2}
    found = client.ask("POST", "/api/v1/remember", json={"text": "Carl sits outside."})
    assert (found.status_code, found.json()["kind"]) == (507, "QuotaExceeded")
    assert "holds 2 nodes, and 2 are allowed" in found.json()["detail"]
    turn = {"role": "user", "content": "Carl sits outside."}
    assert client.ask("POST", "/api/v1/window/observe", json={"messages": [turn], "reply": "So he does."}).status_code == 507
    note = b'{"conversation_id": "c", "messages": [{"role": "user", "content": "Carl sits outside."}]}'
    headers = {**PAST, "content-type": "application/octet-stream"}
    assert client.ask("POST", "/api/v1/import/openai-jsonl", content=note, headers=headers).status_code == 507
    added = client.ask("POST", "/mem0/v3/memories/add/", json={"messages": [turn], "user_id": "ada"})
    assert (added.status_code, "2 are allowed" in added.json()["detail"]) == (507, True)

    async def call(line: Any) -> Any:
        return await line.call_tool("remember", {"text": "Carl sits outside."})

    told = mcp(memory, call, rates=Rates(LimitSettings()))
    assert told.is_error and "2 are allowed (limits.nodes): nothing was stored" in told.content[0].text
    assert client.ask("POST", "/api/v1/hooks/prompt", json={"session_id": "s", "prompt": "Ada"}).status_code == 200
    assert memory.status()["quota"] == {"held": 2, "allowed": 2}
