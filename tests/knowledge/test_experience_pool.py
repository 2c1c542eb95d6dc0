from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from mnemic.knowledge import trust
from mnemic.knowledge.experience_pool import Library, Pool, fit, identity
from mnemic.ledger.chain import canonical
from mnemic.models.experience import Experience
from tests.homes import Home
from tests.knowledge.lessons import asked, lesson, library

WORDS = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=6).map(" ".join)
STATUSES = st.sampled_from(["candidate", "live", "archived", "cold"])


def made(place: int, gist: str, situation: str, limits: str, status: str) -> Experience:
    return Experience(
        id=f"e{place}", revision=1, kind="positive", family="f", gist=gist, situation=canonical(situation), path='"p"',
        reasoning="", limits=canonical([limits]), failure_reason="", context="", everywhere=0, origin="agent", author="agent",
        status=status, why="", created_at=place, changed_at=place,  # type: ignore[arg-type]
    )  # fmt: skip


ITEMS = st.lists(st.tuples(WORDS, WORDS, WORDS, STATUSES), max_size=12)


@given(ITEMS, st.lists(st.tuples(st.integers(0, 11), st.one_of(st.none(), STATUSES, WORDS))), WORDS, st.sampled_from([0.1, 0.5]))
def test_the_pool_finds_what_comparing_each_one_finds(
    items: list[tuple[str, str, str, str]], edits: list[tuple[int, str | None]], question: str, floor: float
) -> None:
    pool, known = Pool(), dict[str, Experience]()
    for place, item in enumerate(items):
        known[f"e{place}"] = made(place, *item)
        pool.put(known[f"e{place}"])
    for place, edit in edits:
        name = f"e{place}"
        if name not in known:
            continue
        if edit is None:
            pool.drop(known.pop(name).key)
            continue
        status = edit in ("candidate", "live", "archived", "cold")
        known[name] = replace(known[name], **({"status": edit} if status else {"gist": edit}))
        pool.put(known[name])
    words = trust.tokens(question)
    expected = {
        item.id: trust.overlap(words, fit(item))
        for item in known.values()
        if item.status in ("live", "archived") and trust.overlap(words, fit(item)) >= floor
    }
    found = list(pool.found(pool.overlaps(words), ("live", "archived"), floor))
    assert {item.id: round(score, 9) for score, item in found} == {name: round(score, 9) for name, score in expected.items()}
    assert [score for score, _ in found] == sorted((score for score, _ in found), reverse=True)
    best = max((trust.overlap(words, identity(item)) for item in known.values()), default=0.0)
    nearest = pool.nearest(words, "positive", ("candidate", "live", "archived", "cold"), 0.85)
    assert (nearest is not None) == (best >= 0.85)
    assert nearest is None or trust.overlap(words, identity(nearest)) == best


def test_a_pool_that_follows_the_ledger_is_as_one_read_anew(home: Home) -> None:
    lib, following = library(home), Library(home.store, "default")
    for number in range(6):
        receipt = lib.refine(lesson(number))
        with following.lock:
            following.fresh()
        lib.report(receipt.id or "", "success" if number % 2 else "fail", attribution="experience")
    home.remember("something else")
    lib.delete(lib.list()[0]["id"])
    anew = Library(home.store, "default")
    for number in range(6):
        words = trust.tokens(asked(number))
        sides = []
        for side in (following, anew):
            with side.lock:
                pool = side.fresh()
                sides.append(list(pool.found(pool.overlaps(words), ("live", "cold", "deleted"), 0.1)))
        assert sides[0] == sides[1] != []


def test_a_write_that_was_rolled_back_is_not_in_the_pool(home: Home) -> None:
    lib, side = library(home), Library(home.store, "default")
    lib.refine(lesson(1))
    try:
        with home.store.write("default") as tx:
            with side.lock:
                side.fresh()
            row = dict(tx.select("experiences", {})[0])
            tx.apply([])
            raise RuntimeError(row["id"])
    except RuntimeError:
        pass
    lib.refine(lesson(2))
    with side.lock:
        assert len(side.fresh().slots) == 2
