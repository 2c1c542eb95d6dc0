"""What a signal does to a process that serves."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from starlette.applications import Starlette

from mnemic.errors import BadInput
from mnemic.interfaces import proxy, rest, serving
from tests.interfaces.mcp.clients import home

ENDS = [signal.SIGINT, signal.SIGTERM]


@pytest.mark.parametrize("number", ENDS)
def test_a_signal_before_the_server_runs_ends_it_as_one_while_it_runs_does(number: signal.Signals) -> None:
    with serving.bound("127.0.0.1", 0) as line, serving.server(Starlette()) as server:
        signal.raise_signal(number)
        server.run(sockets=[line])
        signal.raise_signal(number)  # behind it too: nothing is cut off
    assert server.should_exit


def test_behind_the_server_signals_do_what_they_did_before() -> None:
    before = [signal.getsignal(number) for number in ENDS]
    with pytest.raises(BadInput), serving.server(Starlette()):
        raise BadInput("it did not come to that")
    assert [signal.getsignal(number) for number in ENDS] == before


@pytest.mark.parametrize("number", ENDS)
def test_who_interrupts_as_soon_as_it_is_ready_finds_everything_ended_in_order(tmp_path: Path, number: signal.Signals) -> None:
    with home(tmp_path) as memory:
        rest.serve(memory, ready=lambda url, file: signal.raise_signal(number))
        proxy.serve(memory, lambda: memory.windows, "http://127.0.0.1:9", ready=lambda url: signal.raise_signal(number))
        assert memory.remember("Ada prefers the window seat.").status == "stored"
