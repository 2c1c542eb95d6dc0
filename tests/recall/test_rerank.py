from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mnemic import Memory
from mnemic.errors import ModelError
from mnemic.models.answer import Budget
from mnemic.recall.rerank import Timed
from mnemic.settings import load
from tests.recall.meaning import opened

ALL = Budget(nodes=40, chars=100_000)


@dataclass
class Scripted:
    """Answers by a function of the texts; `asked` are the calls that came."""

    answer: Callable[[Sequence[str]], Sequence[float]]
    asked: list[tuple[str, list[str]]] = field(default_factory=list)

    def marks(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        self.asked.append((question, list(texts)))
        return self.answer(texts)


@pytest.fixture
def late() -> Iterator[threading.Event]:
    """What a slow reranker waits for; set at the end, so that its thread ends."""
    event = threading.Event()
    yield event
    event.set()


def filled(folder: Path, reranker: Scripted, count: int = 5, **recall: object) -> Memory:
    settings = load({"MNEMIC_CONFIG": str(folder / "c")}, home=folder / "home", overrides={"recall": recall})
    memory = Memory(settings, reranker=reranker)
    for n in range(count):
        memory.remember(f"Harbour {n}: " + "pier " * (n + 1), title=f"n{n}")
    return memory


def order(memory: Memory) -> list[str]:
    return [hit.title for hit in memory.recall("harbour", budget=ALL).hits]


def test_the_order_is_the_rerankers_and_the_scores_are_not(tmp_path: Path) -> None:
    reranker = Scripted(lambda texts: [float(len(text)) for text in texts])
    with filled(tmp_path, reranker) as memory:
        answer = memory.recall("harbour", budget=ALL)
    assert [hit.title for hit in answer.hits] == ["n4", "n3", "n2", "n1", "n0"]
    assert [hit.score for hit in answer.hits] == sorted(hit.score for hit in answer.hits)
    assert answer.degraded == ()
    assert reranker.asked[0][0] == "harbour"


def test_equal_marks_leave_the_order_as_it_was(tmp_path: Path) -> None:
    with filled(tmp_path, Scripted(lambda texts: [0.0] * len(texts))) as memory:
        assert order(memory) == ["n0", "n1", "n2", "n3", "n4"]


def test_no_more_than_thirty_are_reranked_and_the_rest_follows(tmp_path: Path) -> None:
    reranker = Scripted(lambda texts: [float(place) for place in range(len(texts))])
    with filled(tmp_path, reranker, 34) as memory:
        found = order(memory)
    assert len(reranker.asked[0][1]) == 30
    assert found == [f"n{n}" for n in (*range(29, -1, -1), 30, 31, 32, 33)]


def failing(error: Exception) -> Callable[[Sequence[str]], Sequence[float]]:
    def answer(texts: Sequence[str]) -> Sequence[float]:
        raise error

    return answer


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (failing(ModelError("no weights")), "the reranker failed: no weights"),
        (failing(ZeroDivisionError("oh")), "the reranker failed: oh"),
        (lambda texts: [1.0], "the reranker gave 1 marks for 5 texts, or not all of them numbers"),
        (lambda texts: [float("nan")] * len(texts), "the reranker gave 5 marks for 5 texts, or not all of them numbers"),
        (lambda texts: ["high"] * len(texts), "the reranker failed: could not convert string to float: 'high'"),
    ],
)
def test_what_goes_wrong_in_the_reranker_leaves_the_order_as_it_was_and_is_named(
    tmp_path: Path, answer: Callable[[Sequence[str]], Sequence[float]], told: str
) -> None:
    with filled(tmp_path, Scripted(answer)) as memory:
        found = memory.recall("harbour", budget=ALL)
    assert [hit.title for hit in found.hits] == ["n0", "n1", "n2", "n3", "n4"]
    assert found.degraded == (f"not reranked: {told}",)


def test_a_question_does_not_wait_for_a_slow_reranker(tmp_path: Path, late: threading.Event) -> None:
    def wait(texts: Sequence[str]) -> Sequence[float]:
        late.wait()
        return [float(len(text)) for text in texts]

    with filled(tmp_path, Scripted(wait), rerank_seconds=0.01) as memory:
        found = memory.recall("harbour", budget=ALL)
        assert [hit.title for hit in found.hits] == ["n0", "n1", "n2", "n3", "n4"]
        assert found.degraded == ("not reranked: the reranker did not answer within 0.01 s",)


def test_while_a_late_reranker_works_no_second_one_is_started(late: threading.Event) -> None:
    def wait(texts: Sequence[str]) -> Sequence[float]:
        late.wait()
        return [1.0]

    reranker = Scripted(wait)
    timed = Timed(reranker, 0.01)
    with pytest.raises(ModelError, match="did not answer within 0.01 s"):
        timed.marks("first", ["a"])
    with pytest.raises(ModelError, match="was busy with an earlier question for 0.01 s"):
        timed.marks("second", ["a"])
    assert [question for question, _ in reranker.asked] == ["first"]


def test_a_reranker_that_was_late_once_is_asked_again(late: threading.Event) -> None:
    def wait(texts: Sequence[str]) -> Sequence[float]:
        late.wait()
        return [1.0]

    timed = Timed(Scripted(wait), 0.01)
    with pytest.raises(ModelError):
        timed.marks("first", ["a"])
    late.set()
    timed._seconds = 60.0
    assert timed.marks("second", ["a"]) == [1.0]


def test_every_namespace_of_a_home_has_the_reranker(tmp_path: Path) -> None:
    reranker = Scripted(lambda texts: [0.0] * len(texts))
    with opened(tmp_path, reranker=reranker) as memory:
        other = memory.within("other")
        other.remember("The harbour is open.")
        other.recall("harbour")
    assert len(reranker.asked) == 1
