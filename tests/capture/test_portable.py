"""An export comes back as the memory it was, and proves it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemic import Memory
from mnemic.errors import BadInput, Damaged, MnemicError, Refused
from mnemic.models.document import Turn
from mnemic.store.schema import TRUTH

NOW = "2026-11-30T12:00:00Z"
LESSON = {"kind": "positive", "family": "pip", "gist": "Set the proxy before pip", "situation": "pip hangs behind the proxy",
          "path": "export HTTPS_PROXY, then pip install", "evidence": "it installed", "complexity": {"steps": 6}}  # fmt: skip


def home(folder: Path, namespace: str = "default") -> Memory:
    environ = {"MNEMIC_CONFIG": str(folder / "config"), "MNEMIC_NOW": NOW}
    return Memory.open(folder / "home", namespace=namespace, environ=environ)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with home(tmp_path / "a") as opened:
        yield opened


def full(memory: Memory) -> None:
    """A memory with some of everything: revisions, what was forgotten, undone, erased, and what is known."""
    memory.capture([Turn("user", "Which berth on the night train? 🚆", created_at=1_773_144_000_000),
                    Turn("assistant", "The lower one.", created_at=1_773_144_001_000)],
                   session="trip", context="travel")  # fmt: skip
    memory.capture([Turn("user", "Thanks 👍🏽", name="Ada")], session="trip")
    memory.remember("# Tea\n\nAt four.\n\n## Cake\n\nNever.", title="Tea", source="file:///tea.md", kind="file")
    memory.remember("# Tea\n\nAt five.", title="Tea", source="file:///tea.md", kind="file")
    hidden = memory.remember("The safe is behind the clock.")
    memory.forget(hidden.path or "")
    erased = memory.remember("The code is four seven one one.")
    memory.forget(erased.path or "", erase=True)
    undone = memory.remember("This was a mistake.")
    memory.undo(undone.seq or 0)
    entry = memory.diary.add("I moved to Lisbon in March.")
    memory.extract({"proposals": [{"category": "identity", "key": "home_city", "value": "Lisbon",
                                   "source_diary_ids": [entry["id"]]}]})  # fmt: skip
    lesson = memory.experiences.refine(LESSON)
    memory.experiences.report(lesson.id or "", "success")
    memory.touch("/sessions/trip/1")
    memory.tier("/files/tea", "core")


def state(memory: Memory) -> dict[str, Any]:
    return {name: [dict(row) for row in memory._store.rows(memory.namespace, name)] for name in TRUTH}


def files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def nodes(memory: Memory) -> list[str]:
    return [row["path"] for row in memory.tree(depth=9)]


def test_what_was_exported_comes_back_as_it_was(memory: Memory, tmp_path: Path) -> None:
    full(memory)
    memory.export(tmp_path / "out")
    with home(tmp_path / "b") as other:
        done = other.read_export(tmp_path / "out")
        assert done["stored"] == memory.status()["head"]["seq"]
        assert other.ledger_export() == memory.ledger_export()
        assert state(other) == state(memory)
        assert nodes(other) == nodes(memory)
        assert other.verify().ok
        assert other.doctor()["problems"] == []
        assert other.recall("night train berth").hits == memory.recall("night train berth").hits
        other.export(tmp_path / "again")
    assert files(tmp_path / "again") == files(tmp_path / "out")


def test_life_goes_on_after_an_import_as_it_would_have(memory: Memory, tmp_path: Path) -> None:
    full(memory)
    memory.export(tmp_path / "out")
    with home(tmp_path / "b") as other:
        other.read_export(tmp_path / "out")
        for one in (memory, other):
            assert one.remember("The code is four seven one one.").status == "rejected"
            assert one.capture([Turn("user", "And the way back?")], session="trip").receipts[0].path == "/sessions/trip/3"
            assert one.remember("# Tea\n\nAt six.", title="Tea", source="file:///tea.md", kind="file").path == "/files/tea"
        assert state(other) == state(memory)
        other.undo(other.status()["head"]["seq"])
        assert other.show("/files/tea")["text"] == "# Tea\n\nAt five."
        assert other.verify().ok


def test_documents_on_other_shelves_come_back_on_them(tmp_path: Path) -> None:
    with home(tmp_path / "a") as memory:
        for year, at in (("2019", 1_546_300_800_000), ("2026", 1_796_000_000_000)):
            memory.capture([Turn("user", f"Where was the kiln in {year}?", created_at=at)], session=f"in-{year}")
        assert memory.rotate()["moved"] == {"warm": 0, "cold": 1}
        memory.export(tmp_path / "out")
        with home(tmp_path / "b") as other:
            other.read_export(tmp_path / "out")
            assert state(other) == state(memory)
            assert [row["shelf"] for row in state(other)["documents"]] == ["cold", "hot"]
            assert other.show("/sessions/in-2019/1")["text"] == "user: Where was the kiln in 2019?"
            assert other.doctor()["problems"] == []
            assert other.recall("kiln in 2019", mode="deep").hits


def test_an_export_is_the_same_bytes_each_time_and_a_person_can_read_it(memory: Memory, tmp_path: Path) -> None:
    full(memory)
    memory.export(tmp_path / "one")
    memory.export(tmp_path / "two")
    assert files(tmp_path / "one") == files(tmp_path / "two")
    assert (tmp_path / "one" / "markdown" / "sessions" / "trip" / "1.md").read_text() == (
        '---\npath: "/sessions/trip/1"\nkind: "exchange"\ntitle: "Which berth on the night train? 🚆"\n'
        'created_at: "2026-03-10T12:00:00Z"\norigin: "user"\nimportance: 0.5\ncontext: "travel"\nsession: "trip"\n---\n\n'
        "**user** · 2026-03-10T12:00:00Z\n\nWhich berth on the night train? 🚆\n\n"
        "**assistant** · 2026-03-10T12:00:01Z\n\nThe lower one.\n\n"
    )
    markdown = [name for name in files(tmp_path / "one") if name.startswith("markdown/")]
    assert markdown == ["markdown/files/tea.md", "markdown/sessions/trip/1.md", "markdown/sessions/trip/2.md"]


def test_a_second_import_adds_nothing_and_a_dry_run_nothing_at_all(memory: Memory, tmp_path: Path) -> None:
    full(memory)
    memory.export(tmp_path / "out")
    seq = memory.status()["head"]["seq"]
    assert (memory.read_export(tmp_path / "out")["stored"], memory.read_export(tmp_path / "out")["duplicate"]) == (0, seq)
    with home(tmp_path / "b") as other:
        assert other.read_export(tmp_path / "out", dry_run=True)["entries"] == seq
        assert other.status()["head"] is None
        other.read_export(tmp_path / "out")
        assert other.read_export(tmp_path / "out")["duplicate"] == seq


@pytest.mark.parametrize("name", ["ledger.jsonl", "texts.jsonl", "state/documents.jsonl"])
def test_a_file_that_was_changed_is_refused(name: str, memory: Memory, tmp_path: Path) -> None:
    full(memory)
    memory.export(tmp_path / "out")
    file = tmp_path / "out" / name
    file.write_text(file.read_text().replace("night", "day"))
    with home(tmp_path / "b") as other, pytest.raises(Damaged, match=f"{name} is not what was exported"):
        other.read_export(tmp_path / "out")


def test_a_forged_ledger_with_a_fitting_digest_is_refused_and_leaves_nothing(memory: Memory, tmp_path: Path) -> None:
    full(memory)
    memory.export(tmp_path / "out")
    from mnemic.capture.portable import _sha256

    for name in ("ledger.jsonl", "texts.jsonl"):
        file = tmp_path / "out" / name
        whole = file.read_text()
        file.write_text(whole.replace("lower one", "upper one") if name == "texts.jsonl" else whole.replace("travel", "traval"))
        manifest = json.loads((tmp_path / "out" / "mnemic.json").read_text())
        manifest["files"][name] = _sha256(file)
        (tmp_path / "out" / "mnemic.json").write_text(json.dumps(manifest))
        with home(tmp_path / name) as other:
            with pytest.raises(Damaged, match="nothing was taken in"):
                other.read_export(tmp_path / "out")
            assert (other.status()["head"], nodes(other)) == (None, [])
        file.write_text(whole)


def test_a_home_that_holds_something_another_namespace_and_a_full_folder_are_refused(memory: Memory, tmp_path: Path) -> None:
    full(memory)
    memory.export(tmp_path / "out")
    with pytest.raises(Refused, match="is not empty: give a new folder"):
        memory.export(tmp_path / "out")
    with home(tmp_path / "b") as other:
        with pytest.raises(BadInput, match="an export of namespace 'default': give --namespace"):
            other.within("work").read_export(tmp_path / "out")
        with pytest.raises(BadInput, match="is no export of mnemic"):
            other.read_export(tmp_path)
        other.remember("Here is something.")
        with pytest.raises(Refused, match="holds something already"):
            other.read_export(tmp_path / "out")


WORDS = st.text(min_size=1, max_size=30)
ACTS: dict[str, Callable[[Memory, str], Any]] = {
    "remember": lambda memory, said: memory.remember(said),
    "import": lambda memory, said: memory.remember(said, origin="import", source=f"x:{said}"),
    "capture": lambda memory, said: memory.capture([Turn("user", said), Turn("assistant", said[::-1])], session=said[:1] or "s"),
    "diary": lambda memory, said: memory.diary.add(said),
    "extract": lambda memory, said: memory.extract({"proposals": [
        {"category": "background", "key": said[:5], "value": said,
         "source_diary_ids": [row["id"] for row in memory.diary.list()]},
    ]}),
    "fact": lambda memory, said: memory.facts.add("preference", "likes", said),
    "lesson": lambda memory, said: memory.experiences.refine({**LESSON, "family": said[:3], "gist": f"Do {said} first"}),
    "card": lambda memory, said: (memory.vault.root / "cards" / "Note.md").write_text(f"# Note\n\n{said}\n", "utf-8"),
}  # fmt: skip
"""What adds to a memory, of some words."""
LATER: dict[str, Callable[[Memory, Any], Any]] = {
    "forget": lambda memory, path: memory.forget(path),
    "erase": lambda memory, path: memory.forget(path, erase=True),
    "touch": lambda memory, path: memory.touch(path),
    "tier": lambda memory, path: memory.tier(path, "core"),
    "lock": lambda memory, number: memory.facts.lock(number),
    "delete": lambda memory, number: memory.facts.delete(number),
    "approve": lambda memory, number: memory.facts.approve(number),
    "report": lambda memory, lesson: memory.experiences.report(lesson, "success"),
    "promote": lambda memory, lesson: memory.experiences.promote(lesson, reason="it held"),
    "pin": lambda memory, lesson: memory.experiences.pin(lesson),
    "demote": lambda memory, lesson: memory.experiences.demote(lesson, reason="it did not"),
    "undo": lambda memory, number: memory.undo(number),
}
"""What is done with something that is there."""


def one_of(memory: Memory, verb: str, number: int) -> Any:
    """The path, fact, lesson or entry that a number means."""
    if verb in ("forget", "erase", "touch", "tier"):
        found = [row["path"] for row in memory.tree(depth=9) if row["kind"] not in ("folder", "session")]
    elif verb in ("lock", "delete", "approve"):
        found = [row["id"] for row in memory.facts.list(everything=True)]
    elif verb == "undo":
        found = [row["seq"] for row in memory.ledger(limit=9)]
    else:
        found = [row["id"] for row in memory.experiences.list()]
    return found[number % len(found)] if found else None


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(
    st.tuples(st.sampled_from(sorted(ACTS)), WORDS) | st.tuples(st.sampled_from(sorted(LATER)), st.integers(0, 9)), max_size=12,
))  # fmt: skip
def test_whatever_was_done_comes_back(tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[str, Any]]) -> None:
    folder = tmp_path_factory.mktemp("p")
    with home(folder / "a") as memory, home(folder / "b") as other:
        (memory.vault.root / "cards").mkdir(parents=True, exist_ok=True)
        for verb, value in acts:
            with suppress(MnemicError):
                if verb in ACTS:
                    ACTS[verb](memory, value)
                elif (found := one_of(memory, verb, value)) is not None:
                    LATER[verb](memory, found)
        memory.vault.sync()
        memory.export(folder / "out")
        other.read_export(folder / "out")
        assert (state(other), other.ledger_export(), nodes(other)) == (state(memory), memory.ledger_export(), nodes(memory))
        assert other.verify().ok
        other.export(folder / "again")
    assert files(folder / "again") == files(folder / "out")
