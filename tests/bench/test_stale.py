from __future__ import annotations

import random
from pathlib import Path

from bench.stale import THINGS, Naive, Saying, Score, life, render, run


def test_a_life_is_the_same_for_a_seed_and_has_over_two_hundred_changes_in_two_languages() -> None:
    said, changes = life(random.Random(1))
    assert changes >= 200 and said == life(random.Random(1))[0] and said != life(random.Random(2))[0]
    assert sum(not saying.text.isascii() for saying in said) > 50
    assert {saying.voice for saying in said} == {"user", "agent", "page"}
    assert any(saying.value is None for saying in said) and any(saying.past for saying in said)
    moments = [saying.at for saying in said]
    assert moments != sorted(moments)


def test_nothing_outdated_is_shown_and_nothing_right_is_retired(tmp_path: Path) -> None:
    report = run(tmp_path, seed=4, changes=3)
    for name in ("mnemic", "profile"):
        row = report[name]
        assert (row["outdated_count"], row["retired_count"], row["silent_where_nothing"]) == (0, 0, 1.0)
    assert report["verified"] and report["overwrite"]["outdated"] > 0.2 and report["latest"]["outdated"] > 0.2
    assert "outdated" in render(report)


def test_a_score_counts_what_is_wrong_and_what_is_missing() -> None:
    score = Score()
    score.count(["Porto."], "porto")
    score.count(["Porto", "Lisbon"], "Lisbon")
    score.count([], "Lisbon")
    score.count(["Lisbon"], None)
    score.count([], None)
    row = score.row()
    assert (row["questions"], row["outdated_count"], row["retired_count"], score.right, score.silent) == (5, 2, 1, 1, 1)


def test_a_naive_store_answers_with_the_last_words_about_it() -> None:
    naive, now = Naive(), life(random.Random(1), 1)[0][0].at
    naive.add(Saying(0, "I moved to the city of Porto.", now, "Porto"))
    naive.add(Saying(0, "I moved to the city of Faro.", now, "Faro"))
    assert (naive.latest(THINGS[0]), naive.overwrite(0), naive.all(0)) == (["Faro"], ["Faro"], ["Porto", "Faro"])
