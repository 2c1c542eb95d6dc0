"""What an engine keeps of earlier questions must show in no answer."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic import Memory
from mnemic.clock import FixedClock
from mnemic.errors import MnemicError
from mnemic.models.answer import Answer
from mnemic.models.document import Turn
from mnemic.recall import rows
from mnemic.recall.engine import Recall
from tests.homes import NOON
from tests.recall.meaning import Meaning, opened

WORDS = ("kiln", "rope", "kitten", "doctor", "salary", "tar", "ocean")
QUESTIONS = ("When does the kiln fire?", "Did the physician see the cat by the sea?", "rope and tar", '"kiln rope" salary')
PLACES = ("/notes/a", "/notes/b", "/sessions/s", "/sessions/s/1", "/sessions/t/2")
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
Step = Callable[[Memory], object]
steps = st.one_of(
    st.tuples(st.sampled_from("st"), texts, texts).map(
        lambda said: lambda m: m.capture([Turn("user", said[1]), Turn("assistant", said[2])], session=said[0])
    ),
    st.tuples(st.sampled_from("ab"), texts, texts).map(
        lambda said: lambda m: m.remember(f"# {said[0]}\n\n{said[1]}\n\n## More\n\n{said[2]}", title=said[0], source=f"file:///{said[0]}")
    ),
    st.tuples(st.sampled_from(PLACES), st.booleans()).map(lambda what: lambda m: m.forget(what[0], erase=what[1])),
    st.integers(1, 9).map(lambda back: lambda m: m.undo(max(1, len(m.ledger()) - back))),
    st.just(lambda m: m.reindex()),
)


def told(answer: Answer) -> list[tuple[str, str, float]]:
    return [(hit.path, hit.text, round(hit.score, 6)) for hit in answer.hits]


def fresh(memory: Memory) -> Recall:
    return Recall(memory._store, Meaning(), FixedClock(NOON))


@settings(max_examples=12)
@given(st.lists(steps, min_size=2, max_size=7))
def test_an_engine_that_has_answered_before_answers_as_a_fresh_one_whatever_others_wrote_meanwhile(done: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "ROOM", 20)
        with opened(Path(folder), embedder=Meaning()) as reader, opened(Path(folder), embedder=Meaning()) as writer:
            for step in done:
                try:
                    step(writer)
                except MnemicError:
                    continue  # what is not there cannot be forgotten or undone
                for question in QUESTIONS:
                    assert told(reader.recall(question)) == told(fresh(reader).ask("default", question))


def test_what_was_erased_by_another_process_is_in_no_answer_and_no_longer_kept(tmp_path: Path) -> None:
    with opened(tmp_path, embedder=Meaning()) as reader, opened(tmp_path, embedder=Meaning()) as writer:
        for place in range(4):
            writer.capture([Turn("user", f"The kiln fires {place}"), Turn("assistant", "Rope and tar")], session="s")
        (hit,) = [hit for hit in reader.recall("When does the kiln fire?").hits if hit.text == "The kiln fires 2"]
        (node,) = [node.id for node in reader._store.nodes("default", 3) if node.path == hit.path]
        kept = reader._recall._seen["default", "hot"]
        assert len(kept.rows(np.array([node]))) == 1
        writer.forget("/sessions/s/3", erase=True)
        assert "The kiln fires 2" not in [hit.text for hit in reader.recall("When does the kiln fire?").hits]
        kept = reader._recall._seen["default", "hot"]
        assert len(kept.rows(np.array([node]))) == 0
