from __future__ import annotations

from pathlib import Path

import pytest

from mnemic.clock import FixedClock
from mnemic.errors import BadInput, NotFound, Refused
from mnemic.memory import Memory
from tests.homes import NOON
from tests.synthesis.homes import files, honest, opened, talk


def answered(memory: Memory) -> int:
    """Answer every order that stands; how many there were."""
    count = 0
    while (order := memory.work_next()) is not None:
        memory.work_submit(order["id"], honest(order["stage"], order["input"]))
        count += 1
    return count


def test_an_agent_that_answers_its_orders_gets_the_articles(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        talk(memory)
        rounds = 0
        while memory.dream(judge="agent")["waiting"]:
            assert answered(memory)
            rounds += 1
            assert rounds < 10
        assert "articles/Ines.md" in files(memory)
        assert memory.work_next() is None
        assert memory.verify().ok


def test_an_order_is_lent_and_comes_back_when_nobody_answers(tmp_path: Path) -> None:
    clock = FixedClock(NOON)
    with opened(tmp_path, clock=clock) as memory:
        talk(memory, "spring-1")
        memory.dream(judge="agent")
        first = memory.work_next()
        assert first is not None
        assert first["stage"] == "segment"
        assert first["expires_at"] == "2026-03-10T12:30:00Z"
        assert memory.work_next() is None
        clock.advance(minutes=31)
        with pytest.raises(Refused, match="expired"):
            memory.work_submit(first["id"], {"starts": [0]})
        again = memory.work_next()
        assert again is not None
        assert again["id"] == first["id"]
        assert memory.work_submit(again["id"], {"starts": [0]})["status"] == "stored"
        with pytest.raises(Refused, match="answered already"):
            memory.work_submit(again["id"], {"starts": [0]})


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        "x",
        {},
        {"starts": 1},
        {"starts": ["0"]},
        {"starts": [0], "more": 1},
        {"starts": [True]},
        {"starts": []},
        {"starts": [0, 99]},
        {"starts": [-1]},
    ],
)
def test_an_answer_of_another_shape_is_refused_at_once(tmp_path: Path, answer: object) -> None:
    with opened(tmp_path) as memory:
        talk(memory, "spring-1")
        memory.dream(judge="agent")
        order = memory.work_next()
        assert order is not None
        with pytest.raises(BadInput):
            memory.work_submit(order["id"], answer)
        assert memory.work_submit(order["id"], {"starts": [0]})["status"] == "stored"


def test_a_wrong_answer_is_asked_once_more_and_changes_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        talk(memory, "spring-1")
        for _ in range(2):
            memory.dream(judge="agent")
            order = memory.work_next()
            assert order is not None
            memory.work_submit(order["id"], {"starts": [5, 1]})
            report = memory.dream(judge="agent")
            assert report["rejections"] == [
                "chunk spring-1: segment: 'starts' must be turns that were shown, in order, beginning with 0"
            ]
        assert memory.dream(judge="agent")["rejections"] == ["chunk spring-1: segment: 2 answers of the agent were refused"]
        assert memory.work_next() is None
        assert not files(memory)


def test_orders_outlive_the_process_and_strangers_are_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        talk(memory, "spring-1")
        memory.dream(judge="agent")
    with opened(tmp_path) as memory:
        assert memory.work_next() is not None
        with pytest.raises(NotFound):
            memory.work_submit("0" * 16, {"starts": [0]})
