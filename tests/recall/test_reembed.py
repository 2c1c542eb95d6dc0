"""Going over to another embedder: beside the old vectors, unseen until all are there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mnemic import Memory
from mnemic.capture.indexing import passages_of
from mnemic.clock import CountingIds, FixedClock
from mnemic.embed import Embedder, HashingEmbedder, Vectors
from mnemic.embed.base import Kind
from mnemic.errors import BadInput, ModelError
from mnemic.models.document import SHELVES, Turn
from tests.embed.tiny import serving, tiny_model
from tests.homes import NOON, both

TEXTS = ["The walrus sleeps on ice.", "Ada prefers the window seat.", "Tea is at four, coffee at nine.",
         "The seal swims below the ice.", "Lisbon has a tram to Belém."]  # fmt: skip
QUESTIONS = ["Where does the walrus sleep?", "ice", "tram"]


class Meaning:
    """Another model: hashing vectors under another name, of another dimension. `acts` is called before each text."""

    def __init__(self, name: str = "b", dim: int = 96) -> None:
        self.inner, self.identity, self.dim = HashingEmbedder(dim), f"fake/{name}@{dim}+none", dim
        self.asked: list[str] = []
        self.acts: Any = None

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        if kind == "passage":
            self.asked += texts
            if self.acts:
                self.acts()
        return self.inner.embed(texts, kind)


class Killed(BaseException):
    """What a kill looks like from inside."""


@pytest.fixture
def homes(tmp_path: Path, place: str) -> Iterator[Any]:
    """Opens the home, as often as it is asked, as if in several processes."""
    made: list[Memory] = []

    def opened(embedder: Embedder | None = None, environ: dict[str, str] | None = None, at: Any = None) -> Memory:
        environ = {"MNEMIC_CONFIG": str(tmp_path / "config"), **(environ or {})}
        home = at or place or tmp_path / "home"
        made.append(Memory.open(home, environ=environ, clock=FixedClock(NOON), ids=CountingIds(), embedder=embedder))
        return made[-1]

    yield opened
    for memory in reversed(made):
        memory.close()


def filled(memory: Memory) -> Memory:
    for text in TEXTS[:3]:
        memory.remember(text, title=text.split()[1])
    memory.capture([Turn("user", TEXTS[3]), Turn("assistant", "Noted.")], session="s")
    memory.within("work").remember(TEXTS[4])
    return memory


def answers(memory: Memory) -> list[Any]:
    return [
        [(hit.path, hit.score, hit.signals) for hit in space.recall(question, scoring=scoring).hits]
        for space in (memory, memory.within("work")) for question in QUESTIONS for scoring in ("structure", "seed")
    ]  # fmt: skip


def count(memory: Memory, embedder: Embedder, ns: str = "default") -> int:
    return memory._store.vector_count(ns, memory._store.embedder(embedder.identity, embedder.dim).id)


def passages(memory: Memory) -> int:
    return sum(len(passages_of(memory._store, "default", one)) for one in memory._store.documents("default"))


@both
def test_no_answer_changes_until_all_vectors_are_there(homes: Any) -> None:
    memory, other, new = filled(homes()), homes(), Meaning()
    before = answers(other)
    seen: list[Any] = []
    new.acts = lambda: seen.append(answers(other) == before)
    old, done = memory.status()["embedder"], memory.reembed(embedder=new)
    assert done == {"from": old, "to": new.identity, "embedded": 5, "documents": 5, "namespaces": 2, "switched": True,
                    "dropped": 0, "kept": [old], "seconds": 0.0}  # fmt: skip
    assert seen == [True] * 6
    assert memory.recall("ice").embedder == new.identity


@both
def test_afterwards_it_answers_as_a_home_that_had_the_embedder_from_the_start(homes: Any, tmp_path: Path) -> None:
    memory = filled(homes())
    memory.reembed(embedder=Meaning(), drop_old=True)
    fresh = filled(homes(Meaning(), at=tmp_path / "fresh"))
    fresh._indexer.edges("default").restart()
    fresh._indexer.edges("default").rebuild()
    assert answers(memory) == answers(fresh)
    assert memory._store.edges("default", range(1, 30), "similar") == fresh._store.edges("default", range(1, 30), "similar")
    assert answers(homes(Meaning())) == answers(fresh)


@both
def test_killed_it_goes_on_where_it_was(homes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemic.capture.reembedding.BATCH", 2)
    memory, first, again = filled(homes()), Meaning(), Meaning()
    before = answers(memory)

    def kill() -> None:
        if len(first.asked) > 5:
            raise Killed

    first.acts = kill
    with pytest.raises(Killed):
        memory.reembed(embedder=first)
    assert answers(memory) == before
    done = memory.reembed(embedder=again)
    assert count(memory, again) == passages(memory)
    assert (done["switched"], 0 < done["embedded"] < 5) == (True, True)
    assert not set(again.asked[1:]) & set(first.asked[1:3])


@both
def test_killed_after_the_switch_doctor_tells_and_the_same_command_ends_it(
    homes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, new = filled(homes()), Meaning()
    with monkeypatch.context() as broken, pytest.raises(Killed):
        broken.setattr("mnemic.capture.reembedding.Reembedding.close", lambda self: (_ for _ in ()).throw(Killed))
        memory.reembed(embedder=new)
    again = homes(new)
    assert again.recall("ice").embedder == new.identity
    assert [note for note in again.doctor()["notes"] if "cut short" in note]
    assert again.reembed(embedder=new)["switched"] is False
    assert not [note for note in again.doctor()["notes"] if "cut short" in note]


@both
def test_another_process_follows_and_what_it_captures_has_vectors(homes: Any) -> None:
    memory, other = filled(homes()), homes()
    assert other.recall("ice").hits
    memory.reembed(embedder="hashing", dim=128)
    receipt = other.remember("The narwhal has a horn.")
    assert receipt.status == "stored"
    assert other.status()["embedder"] == other.recall("horn").embedder == memory.status()["embedder"]
    assert other._store.queue(None) == []
    row = other._store.embedder(memory.status()["embedder"], 128)
    assert other._store.vector_count("default", row.id) == passages(other)
    assert homes().status()["embedder"] == memory.status()["embedder"]


@both
def test_what_the_old_model_was_at_during_the_switch_gets_new_vectors_only(homes: Any) -> None:
    old, new = Meaning("a"), Meaning("b")
    memory, other = filled(homes(old)), homes(old)

    def switch() -> None:
        old.acts = None
        memory.reembed(embedder=new)

    old.acts = switch
    receipt = other.remember("The narwhal has a horn.")
    assert (receipt.status, receipt.path) == ("stored", "/notes/the-narwhal-has-a-horn")
    document = memory._store.document("default", "/notes/the-narwhal-has-a-horn")
    assert document is not None
    nodes = [node.id for node, _ in passages_of(memory._store, "default", document)]
    sets = [memory._store.embedder(one.identity, one.dim).id for one in (old, new)]
    assert [sorted(memory._store.vectors("default", number, nodes)) for number in sets] == [[], nodes]
    assert memory._store.queue(None) == []


@both
def test_what_is_erased_or_revised_meanwhile_leaves_no_vector(homes: Any) -> None:
    memory, other, new = filled(homes()), homes(), Meaning()
    path = other.recall("walrus").hits[0].path.split("#")[0]
    acts = [lambda: other.forget(path, erase=True), lambda: other.remember("Now the tram goes to Sintra.", title="seat")]
    new.acts = lambda: acts.pop()() if acts and len(new.asked) > 3 else None
    memory.reembed(embedder=new, drop_old=True)
    nodes = {node.id for one in memory._store.documents("default") for node, _ in passages_of(memory._store, "default", one)}
    row = memory._store.embedder(new.identity, new.dim)
    assert {node for _, node, _ in memory._store.vectors_since("default", row.id, 0, 1000)} == nodes
    assert acts == []
    assert not [hit for hit in memory.recall("walrus").hits if hit.path.startswith(path)]


@both
def test_the_way_back_asks_no_model_and_dropped_vectors_are_gone(homes: Any) -> None:
    memory = filled(homes())
    before, old = answers(memory), memory.status()["embedder"]
    memory.reembed(embedder="hashing", dim=64)
    back = memory.reembed(embedder="hashing")
    assert (back["embedded"], back["switched"], back["to"]) == (0, True, old)
    assert answers(memory) == before
    small = back["kept"][0]
    done = memory.reembed(drop_old=True)
    assert (done["switched"], done["kept"], done["dropped"]) == (False, [], 6)
    row = memory._store.embedder(small, 64)
    assert [memory._store.vectors_since(ns, row.id, 0, 9, shelf) for ns in ("default", "work") for shelf in SHELVES] == [[]] * 6
    assert answers(memory) == before


@both
def test_all_shelves_go_over(homes: Any) -> None:
    memory = homes()
    memory.remember(TEXTS[0], at=datetime(2024, 1, 1, tzinfo=UTC))
    memory.remember(TEXTS[1])
    memory.rotate()
    new = Meaning()
    assert memory.reembed(embedder=new)["embedded"] == 2
    row = memory._store.embedder(new.identity, new.dim)
    shelves = [shelf for shelf in SHELVES if memory._store.vectors_since("default", row.id, 0, 9, shelf)]
    assert len(shelves) == 2
    assert memory.recall("walrus", mode="deep").hits[0].text.startswith("The walrus")
    assert memory.reembed(embedder="hashing", drop_old=True)["dropped"] == 2
    assert not memory._store.vector_count("default", row.id)


@both
def test_a_model_that_fails_leaves_everything_as_it_was_and_says_how_to_go_on(homes: Any) -> None:
    memory, new = filled(homes()), Meaning()
    before, old = answers(memory), memory.status()["embedder"]

    def fail() -> None:
        if len(new.asked) > 4:
            raise ModelError("the server does not answer")

    new.acts = fail
    with pytest.raises(ModelError, match="does not answer. The home") as told:
        memory.reembed(embedder=new)
    assert f"answers by {old!r}; 3 documents were embedded anew, and the same command goes on" in str(told.value)
    assert answers(memory) == before
    assert homes().status()["embedder"] == old


def test_settings_that_name_another_embedder_change_nothing_but_that_everybody_is_told(homes: Any) -> None:
    filled(homes()).reembed(embedder="hashing", dim=64)
    said = {"MNEMIC_EMBEDDER": "onnx", "MNEMIC_MODEL": "/nowhere/at/all"}
    other = homes(environ=said)
    answer = other.recall("ice")
    [told] = answer.degraded
    assert told.startswith("an embedder that cannot be opened ('/nowhere/at/all' is neither")
    assert told.endswith("which it goes on with: run `mnemic reembed` to change over, or name that one")
    assert told in other.doctor()["notes"] and answer.embedder.endswith("@64+none") and answer.hits
    named = homes(environ={"MNEMIC_EMBEDDER": "hashing"})
    [told] = named.recall("ice").degraded
    assert "@256" in told and "@64" in told
    done = named.reembed()
    assert (done["switched"], named.recall("ice").degraded) == (True, ())


def test_a_home_whose_model_is_away_opens_answers_by_words_and_takes_another(homes: Any) -> None:
    filled(homes()).reembed(embedder=Meaning())
    memory = homes()
    answer = memory.recall("walrus")
    assert answer.hits and answer.degraded == (
        "no vectors: the home's embedder 'fake/b@96+none' was given by a program: give it to Memory.open(embedder=...)",
    )
    assert memory.remember("Kept all the same.").status == "queued"
    memory.reembed(embedder="hashing")
    assert [hit.text for hit in memory.recall("kept all").hits] == ["Kept all the same."]


def test_a_model_in_a_folder_is_kept_by_its_place_and_may_move(
    homes: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_model(tmp_path / "one" / "tiny")
    monkeypatch.chdir(tmp_path)
    filled(homes()).reembed("one/tiny")
    monkeypatch.chdir("/")
    memory = homes()
    assert memory.recall("cat").embedder.startswith("onnx/tiny@4") and memory.remember("A cat and a dog.").status == "stored"
    moved = (tmp_path / "one").rename(tmp_path / "two") / "tiny"
    away = homes()
    assert away.recall("walrus").hits and away.recall("walrus").degraded[0].startswith("no vectors: ")
    assert away.reembed(moved)["switched"] is False
    assert homes().recall("walrus").degraded == ()


def test_a_server_gets_no_key_but_that_of_its_own_settings(homes: Any) -> None:
    with serving() as server, serving() as other:
        there = {"MNEMIC_EMBEDDER": "http", "MNEMIC_EMBED_URL": other.url, "MNEMIC_EMBED_KEY": "secret", "MNEMIC_MODEL": "m"}
        filled(homes()).reembed("stub", url=server.url, dim=4)
        memory = homes(environ=there)
        assert memory.recall("ice").embedder == "http/stub@4+none"
        assert homes(environ={"MNEMIC_EMBED_KEY": "own"}).recall("ice").hits
        keys = [seen.get("authorization") for seen in server.seen]
        assert set(keys[:-1]) == {None} and keys[-1] == "Bearer own"
        assert other.seen == []


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"embedder": "magic"}, "choose 'hashing', 'onnx' or 'http'"),
        ({"embedder": "hashing", "model": "x"}, "leave 'x' out"),
        ({"embedder": "onnx", "model": "a/b", "url": "http://x"}, "give --embedder http"),
        ({"url": "http://127.0.0.1:9"}, "the http embedder needs model, dim"),
        ({"embedder": "onnx"}, "the onnx embedder needs a model"),
    ],
)
def test_a_mistake_is_told_before_anything_happens(homes: Any, asked: dict[str, Any], told: str) -> None:
    memory = filled(homes())
    with pytest.raises(BadInput, match=told):
        memory.reembed(**asked)
    assert len(memory._store.embedders()) == 1


def test_a_copy_takes_the_embedder_along(homes: Any, tmp_path: Path, place: str) -> None:
    filled(homes()).reembed(embedder="hashing", dim=64)
    environ = {"MNEMIC_CONFIG": str(tmp_path / "config")}
    Memory.copy(place or tmp_path / "home", tmp_path / "two", environ=environ)
    assert homes(at=tmp_path / "two").recall("ice").embedder.endswith("@64+none")


@both
def test_similar_neighbours_are_found_though_another_set_came_after_them(homes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemic.capture.indexing.RECENT", 3)
    memory, new = filled(homes()), Meaning()
    new.acts = lambda: (_ for _ in ()).throw(ModelError("down")) if len(new.asked) > 6 else None
    with pytest.raises(ModelError):
        memory.reembed(embedder=new)
    first = memory._store.node("default", str(memory.remember("The narwhal has one long horn.").path))
    second = memory._store.node("default", str(memory.remember("The narwhal has one long horn!", title="Again").path))
    assert first is not None and second is not None
    near = {target for _, target, _ in memory._store.edges("default", range(second.id, second.id + 3), "similar")}
    assert near & set(range(first.id, first.id + 3))
