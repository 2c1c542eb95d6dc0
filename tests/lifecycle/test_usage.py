from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mnemic import Memory
from mnemic.clock import FixedClock
from mnemic.errors import BadInput, NotFound, Refused
from mnemic.models.answer import Scope

KILN = "/notes/kiln"


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(datetime(2026, 3, 10, 12, tzinfo=UTC))


@pytest.fixture
def memory(tmp_path: Path, clock: FixedClock) -> Iterator[Memory]:
    with opened(tmp_path, clock) as found:
        yield found


def opened(folder: Path, clock: FixedClock) -> Memory:
    return Memory.open(folder / "home", environ={"MNEMIC_CONFIG": str(folder / "c")}, clock=clock)


def kiln(memory: Memory) -> None:
    memory.remember("The kiln fires at noon.", title="Kiln")


@pytest.mark.parametrize(
    ("days", "tier", "left"),
    [(0, "active", 1.0), (7, "active", 0.895), (8, "warm", 0.88), (21, "warm", 0.685), (22, "cold", 0.67),
     (33, "cold", 0.505), (60, "cold", 0.1), (61, "archive", 0.1)],
)  # fmt: skip
def test_a_document_fades_with_disuse(memory: Memory, clock: FixedClock, days: int, tier: str, left: float) -> None:
    kiln(memory)
    clock.advance(days=days)
    page = memory.show(KILN, touch=False)
    assert (page["tier"], page["relevance"], page["access_count"]) == (tier, left, 0)


def test_three_touches_take_an_archived_document_to_active_one_step_each(memory: Memory, clock: FixedClock) -> None:
    kiln(memory)
    clock.advance(days=300)
    steps = [memory.touch(KILN) for _ in range(4)]
    assert [(step["tier_before"], step["tier_after"], round(step["relevance"], 2)) for step in steps] == [
        ("archive", "cold", 0.4), ("cold", "warm", 0.79), ("warm", "active", 0.95), ("active", "active", 1.0),
    ]  # fmt: skip
    assert memory.show(KILN, touch=False)["access_count"] == 4
    assert memory.verify().ok


def test_opening_touches_and_listing_and_recall_do_not(memory: Memory, clock: FixedClock) -> None:
    kiln(memory)
    clock.advance(days=30)
    head = memory.ledger(limit=1)[0]["seq"]
    memory.tree(depth=9), memory.recall("kiln"), memory.recall("kiln", mode="deep"), memory.recall("", mode="creative")
    memory.decay(), memory.stats()
    assert memory.ledger(limit=1)[0]["seq"] == head
    assert memory.show(KILN)["tier"] == "warm"
    assert memory.show(KILN)["tier"] == "active"
    assert [event["op"] for event in memory.ledger(limit=2)] == ["touch", "touch"]


def test_a_touch_can_be_undone(memory: Memory, clock: FixedClock) -> None:
    kiln(memory)
    clock.advance(days=30)
    memory.undo(memory.touch(KILN)["seq"])
    assert memory.show(KILN, touch=False)["tier"] == "cold"
    assert memory.verify().ok


def test_a_home_that_cannot_be_written_is_shown_all_the_same(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    kiln(memory)
    memory._store.hot.connection().pragma("query_only", True)
    assert memory.show(KILN)["text"] == "The kiln fires at noon."
    memory._store.hot.connection().pragma("query_only", False)
    assert memory.show(KILN, touch=False)["access_count"] == 0


def test_core_never_fades_until_it_is_left_to_its_use_again(memory: Memory, clock: FixedClock) -> None:
    kiln(memory)
    assert memory.tier(KILN, "core")["tier_after"] == "core"
    clock.advance(days=500)
    assert memory.show(KILN, touch=False)["relevance"] == 1.0
    assert memory.recall("kiln", mode="heartbeat").hits[0].tier == "core"
    done = memory.touch(KILN)
    assert (done["tier_before"], done["tier_after"], done["relevance"]) == ("core", "core", 1.0)
    clock.advance(days=9)
    assert memory.tier(KILN, "auto")["tier_after"] == "warm"
    assert memory.tier(KILN, "auto")["seq"] is None
    with pytest.raises(BadInput, match="core or auto"):
        memory.tier(KILN, "warm")
    with pytest.raises(NotFound):
        memory.touch("/nowhere")


def test_what_was_forgotten_is_in_the_archive_and_no_touch_brings_it_back(memory: Memory) -> None:
    kiln(memory)
    seq = memory.forget(KILN).seq
    assert memory.show(KILN)["tier"] == "archive"
    assert memory.recall("kiln").hits == ()
    assert memory.recall("kiln", mode="deep").hits[0].tier == "archive"
    with pytest.raises(Refused, match="undo"):
        memory.touch(KILN)
    memory.undo(seq)
    assert memory.show(KILN)["tier"] == "active"


@pytest.mark.parametrize(
    ("days", "modes"),
    [(0, ["heartbeat", "normal", "deep"]), (8, ["normal", "deep"]), (22, ["deep"]), (61, ["deep"])],
)
def test_each_mode_asks_its_tiers(memory: Memory, clock: FixedClock, days: int, modes: list[str]) -> None:
    kiln(memory)
    clock.advance(days=days)
    memory.remember("The walrus naps.")
    assert [mode for mode in ("heartbeat", "normal", "deep") if memory.recall("kiln noon", mode=mode).hits] == modes
    if "normal" not in modes:
        assert "--mode deep" in (memory.recall("kiln noon", mode="normal").reason or "")
        faded = memory.recall("kiln noon")
        assert faded.hits and faded.reason == "nothing in use fits; this was not used for some weeks"
        assert memory.recall("kiln noon", scope=Scope(tiers=frozenset({"cold", "archive"}))).hits


def test_hidden_memories_do_not_crowd_out_what_may_answer(memory: Memory, clock: FixedClock) -> None:
    for number in range(150):
        memory.remember(f"The kiln kiln kiln number {number}.", title=f"Old {number}", index=False)
    clock.advance(days=30)
    memory.remember("There is a kiln in the long yard behind the house of my aunt.", title="Aunt")
    assert [hit.path for hit in memory.recall("kiln").hits] == ["/notes/aunt"]


def test_why_not_names_the_tier(memory: Memory, clock: FixedClock) -> None:
    kiln(memory)
    clock.advance(days=30)
    (why,) = memory.recall("kiln", why_not=[KILN], mode="normal").why_not
    assert (why.stage, why.detail) == ("scope", "its tier is cold: ask with --mode deep")


def test_as_of_asks_the_tiers_of_that_day(memory: Memory, clock: FixedClock) -> None:
    kiln(memory)
    then = int(clock.now().timestamp() * 1000) + 5 * 86_400_000
    clock.advance(days=90)
    assert memory.recall("kiln", scope=Scope(as_of=then)).hits[0].tier == "active"


def test_creative_draws_from_what_has_faded_the_same_for_the_same_seed(memory: Memory, clock: FixedClock) -> None:
    for number in range(30):
        memory.remember(f"Old thought {number}.", title=f"Old {number}", index=False)
    assert "too fresh" in (memory.recall("", mode="creative").reason or "")
    clock.advance(days=30)
    memory.remember("A fresh thought.", title="Fresh")
    drawn = [[hit.path for hit in memory.recall("fresh", mode="creative", draw=seed).hits] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(set(drawn[0])) == 6
    assert all(path.startswith("/notes/old-") for path in drawn[0] + drawn[2])


def test_a_type_can_have_its_own_curve(tmp_path: Path, clock: FixedClock) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "mnemic.toml").write_text("[decay.types.file]\nrate = 0.001\nactive = 90\nwarm = 200\ncold = 300\n")
    with opened(tmp_path, clock) as memory:
        kiln(memory)
        memory.remember("The kiln is made of brick.", kind="file", title="Brick")
        clock.advance(days=80)
        assert memory.show("/files/brick", touch=False)["tier"] == "active"
        assert memory.show("/files/brick", touch=False)["relevance"] == 0.92
        assert memory.show(KILN, touch=False)["tier"] == "archive"
        assert [hit.path for hit in memory.recall("kiln").hits] == ["/files/brick"]


@pytest.mark.parametrize("text", ["[decay]\nactive = 30\n", "[decay]\nfloor = 2.0\n", "[decay.types.note]\nwarm = 99\n"])
def test_a_curve_whose_tiers_do_not_follow_each_other_is_refused(tmp_path: Path, clock: FixedClock, text: str) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "mnemic.toml").write_text(text)
    with pytest.raises(BadInput, match="active < warm < cold"):
        opened(tmp_path, clock)


def test_decay_tells_what_moved_since_the_last_time_and_a_dry_run_notes_nothing(memory: Memory, clock: FixedClock) -> None:
    kiln(memory)
    assert memory.decay()["moved"] == []
    clock.advance(days=10)
    move = [{"path": KILN, "from": "active", "to": "warm"}]
    assert [memory.decay(dry_run=True)["moved"], memory.decay()["moved"], memory.decay()["moved"]] == [move, move, []]
    assert memory.decay()["tiers"] == {"core": 0, "active": 0, "warm": 1, "cold": 0, "archive": 0}


def test_a_revision_is_a_use(memory: Memory, clock: FixedClock) -> None:
    memory.remember("The kiln fires at noon.", title="Kiln", source="file:///kiln")
    clock.advance(days=100)
    memory.touch(KILN)
    memory.remember("The kiln fires at dusk.", title="Kiln", source="file:///kiln")
    assert memory.show(KILN, touch=False)["tier"] == "active"


def test_erasing_takes_the_use_along(memory: Memory) -> None:
    kiln(memory)
    memory.touch(KILN)
    memory.forget(KILN, erase=True)
    assert memory.status()["usage"] == 0
    assert memory.verify().ok


def test_of_many_processes_one_tends_and_not_before_it_is_due(memory: Memory, clock: FixedClock) -> None:
    kiln(memory)
    assert [memory.tend()["ran"], memory.within("other").tend()["ran"]] == [True, False]
    clock.advance(hours=6)
    assert memory.tend()["decay"]["default"]["active"] == 1


def test_tending_can_be_switched_off(tmp_path: Path, clock: FixedClock) -> None:
    (tmp_path / "home").mkdir()
    off = "[decay]\ntimer = false\n[rotate]\ntimer = false\nby_hand = false\n"
    (tmp_path / "home" / "mnemic.toml").write_text(off)
    with opened(tmp_path, clock) as memory:
        assert memory.tend() == {"ran": False, "reason": "all are switched off"}
        assert memory.tend(starting=True)["ran"]
        with pytest.raises(Refused, match="by_hand"):
            memory.rotate()


def test_what_was_forgotten_on_purpose_is_not_brought_back_by_finding_nothing(memory: Memory, clock: FixedClock) -> None:
    kiln(memory)
    memory.forget(KILN, reason="wrong")
    clock.advance(days=30)
    assert memory.recall("kiln noon").hits == ()
    assert memory.recall("kiln noon", scope=Scope(until=10**14)).hits == ()
    assert memory.recall("kiln noon", mode="deep").hits
