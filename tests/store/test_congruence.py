"""The same operations on both stores give the same answers, the same ledgers and the same errors."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from mnemic.capture import Indexer
from mnemic.clock import FixedClock
from mnemic.embed.hashing import HashingEmbedder
from mnemic.errors import MnemicError
from mnemic.lifecycle import Rotation
from mnemic.recall import Recall
from mnemic.store.schema import TRUTH
from tests.homes import NOON, Home
from tests.servers import Server

MEMORY = "/dev/shm"
"""Where each commit does not wait for a disk."""
WORDS = ["walrus", "seal", "kiln", "noon", "fires", "记忆", "喝咖啡", "猫", "a_b", "naïve", "c3po"]
SPACES = ["one", "two"]
text = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
sections = st.tuples(text, text).map("# {0[0]}\n\n{0[1]}".format)
body = st.one_of(text, st.lists(text, min_size=2, max_size=4).map("\n\n".join), sections)
space = st.sampled_from(SPACES)
number = st.integers(0, 7)
act = st.one_of(
    st.tuples(st.just("remember"), space, body, st.sampled_from(["", "Zoo"]), st.sampled_from([None, "file:///z"])),
    st.tuples(st.just("repeat"), space, body, st.sampled_from(["op1", "op2"])),
    st.tuples(st.just("capture"), space, st.lists(text, min_size=1, max_size=3), st.sampled_from(["s", "t"])),
    st.tuples(st.just("forget"), space, number),
    st.tuples(st.just("restore"), space, number),
    st.tuples(st.just("erase"), space, number),
    st.tuples(st.just("undo"), space, number),
    st.tuples(st.just("rotate"), space, st.sampled_from([1, 40, 200])),
    st.tuples(st.just("index"), space),
    st.tuples(st.just("rebuild")),
)


class Twin:
    """One of the two homes, with all that acts on it."""

    def __init__(self, folder: Path, url: str) -> None:
        self.home = Home(folder, clock=FixedClock(NOON), url=url)
        embedder = HashingEmbedder(64)
        self.rotation = Rotation(self.home.store, self.home.ledger, self.home.clock)
        self.indexer = Indexer(self.home.store, embedder, self.home.clock, similar=0.2, retry_seconds=1)
        self.recall = Recall(self.home.store, embedder, self.home.clock)

    def path(self, ns: str, place: int) -> str:
        documents = self.home.store.documents(ns)
        return documents[place % len(documents)].path if documents else "/nothing"

    def do(self, step: tuple[Any, ...]) -> object:
        """What an operation answers, or how it is refused."""
        verb, *rest = step
        try:
            return getattr(self, f"_{verb}")(*rest)
        except MnemicError as error:
            # Of a document on another shelf, files find its messages away before they find its own row changed.
            return type(error).__name__, str(error).partition(" stands on it: ")[0]

    def _remember(self, ns: str, words: str, title: str, source: str | None) -> object:
        return self.home.remember(words, ns, title=title, source=source, kind="file" if source else "note")

    def _repeat(self, ns: str, words: str, op_id: str) -> object:
        return self.home.remember(words, ns, op_id=op_id)

    def _capture(self, ns: str, said: list[str], session: str) -> object:
        turns = [("user" if place % 2 == 0 else "assistant", one) for place, one in enumerate(said)]
        return self.home.capture(*turns, session=session, ns=ns)

    def _forget(self, ns: str, place: int) -> object:
        return self.home.forgetting.forget(ns, self.path(ns, place), reason="r")

    def _restore(self, ns: str, place: int) -> object:
        return self.home.forgetting.restore(ns, self.path(ns, place), reason="r", actor="user", origin="user")

    def _erase(self, ns: str, place: int) -> object:
        done = self.home.forgetting.erase(ns, self.path(ns, place), reason="")
        self.home.store.sweep()
        return done

    def _undo(self, ns: str, place: int) -> object:
        head = self.home.store.head(ns)
        return self.home.undo(place % head.seq + 1, ns).hash if head else None

    def _rotate(self, ns: str, days: int) -> object:
        self.home.clock.moment = self.home.clock.moment.replace(year=2026 + days // 100)
        return self.rotation.rotate(ns)

    def _index(self, ns: str) -> object:
        return self.indexer.drain(ns)

    def _rebuild(self) -> object:
        return self.home.store.rebuild_fulltext()

    def state(self, ns: str) -> dict[str, Any]:
        """All that can be read of a namespace, in an order that does not depend on the engine."""
        store = self.home.store
        key: Callable[[Any], Any] = repr
        documents = store.documents(ns)
        ids = [item.id for one in documents for item in store.nodes(ns, one.id, one.shelf)]
        embedders = store.embedders()
        return {
            "events": store.events(ns, limit=10_000), "head": store.head(ns), "erased": store.erased(ns),
            "truth": {name: sorted(map(dict, store.rows(ns, name)), key=key) for name in TRUTH},
            "documents": documents, "counts": dict(store.counts(ns)), "sequences": store.sequences(ns),
            "texts": [store.document_texts(ns, one.id, one.shelf) for one in documents], "left": store.left_texts(ns),
            "trees": [store.nodes(ns, one.id, one.shelf) for one in documents], "queue": store.queue(ns),
            "shelves": {
                shelf: {
                    "found": sorted(store.found(ns, ids, shelf), key=key), "df": store.document_frequencies(ns, WORDS, shelf),
                    "postings": {word: sorted(store.postings(ns, [word], shelf)[word].tolist()) for word in WORDS},
                    "lexicon": store.lexicon(ns, shelf)[:2], "phrase": store.phrase(ns, ["kiln", "noon"], 99, shelf),
                    "used": sorted(store.nodes_used(ns, 0, core=True, limit=999, shelf=shelf)),
                    "within": sorted(store.nodes_within(ns, below="/notes", limit=999, shelf=shelf)),
                    "below": store.nodes_below(ns, ["/notes", "/sessions/s/1"], 999, shelf).tolist(),
                    "vectors": [(node, vector) for _, node, vector in
                                sorted(store.vectors_since(ns, embedders[0].id, 0, 999, shelf), key=lambda row: row[1])]
                    if embedders else [],
                }
                for shelf in ("hot", "warm", "cold")
            },
            "edges": store.edges(ns, ids, "similar"), "faded": sorted(store.nodes_faded(ns, 10**15)),
            "last": dict(store.last_events(ns, [f"document:{one.id}" for one in documents])),
            "answers": [
                [(hit.path, hit.score, hit.signals, hit.text) for hit in self.recall.ask(ns, question, mode="deep").hits]
                for question in ("walrus kiln", "咖啡", "猫", '"kiln noon"')
            ],
        }  # fmt: skip


@given(st.lists(act, min_size=1, max_size=14))
@settings(
    max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)  # fmt: skip
def test_both_stores_agree(server: Server, steps: list[tuple[Any, ...]]) -> None:
    agree(server, steps)


def agree(server: Server, steps: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY if Path(MEMORY).is_dir() else None) as folder:
        one, two = Twin(Path(folder) / "a", ""), Twin(Path(folder) / "b", server.fresh())
        two.home.store.take_erasure_key(one.home.store.erasure_key)
        try:
            for place, step in enumerate(steps):
                assert one.do(step) == two.do(step), (place, step)
            for ns in SPACES:
                left, right = one.state(ns), two.state(ns)
                for name in left:
                    assert left[name] == right[name], name
                assert one.home.ledger.verify(ns) == two.home.ledger.verify(ns)
                assert one.home.ledger.verify(ns).ok
            assert two.home.store.check() == []
        finally:
            one.home.store.close()
            two.home.store.close()


@pytest.mark.parametrize(
    "steps",
    [
        [("capture", "one", ["walrus", "seal", "kiln noon"], "s"), ("rotate", "one", 200), ("erase", "one", 0), ("index", "one")],
        [("remember", "one", "walrus\n\nkiln noon", "Zoo", "file:///z"), ("index", "one"), ("rotate", "one", 200),
         ("remember", "one", "walrus\n\nseal", "Zoo", "file:///z"), ("index", "one"), ("undo", "one", 1)],
        [("remember", "one", "seal", "Zoo", None), ("remember", "two", "kiln", "Zoo", None), ("forget", "one", 0),
         ("undo", "one", 1), ("undo", "one", 1), ("undo", "one", 0), ("rebuild",)],
        [("remember", "one", "seal", "", None), ("undo", "one", 0), ("index", "one")],
        [("repeat", "one", "seal", "op1"), ("repeat", "one", "seal", "op1"), ("repeat", "one", "kiln", "op1"),
         ("erase", "one", 0), ("repeat", "one", "seal", "op1")],
        [("capture", "one", ["walrus", "seal"], "s"), ("index", "one"), ("rotate", "one", 40), ("index", "one"),
         ("capture", "one", ["walrus", "seal", "noon"], "s"), ("rebuild",), ("rotate", "one", 200)],
    ],
)  # fmt: skip
def test_both_stores_agree_on_a_life(server: Server, steps: list[tuple[Any, ...]]) -> None:
    agree(server, steps)


