from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.synthesis import article
from mnemic.synthesis.wikify import ordered, paragraphs, read, split, tidied
from tests.synthesis.homes import Scripted, files, honest, opened, say, shown
from tests.synthesis.homes import article as page

A, B = "*5 June 2026.* Ines painted the harbour.[^1] Ines sold it.[^2]", "*9 August 2026.* Ines rowed.[^3]"


def test_paragraphs_stand_by_day_and_one_for_each() -> None:
    late = "*5 June 2026.* Ines slept.[^4]"
    assert tidied(f"\n{B}\n\n{A}\n\n{late}\n\n") == f"\n{A} Ines slept.[^4]\n\n{B}\n\n"


def test_a_sentence_that_stands_twice_stands_once_with_both_turns() -> None:
    again = "*10 August 2026.* Ines  painted the [[Harbour|harbour]]![^4] Ines rests.[^5]".replace("  ", " ")
    assert tidied(f"{A}\n\n{again}") == (
        "*5 June 2026.* Ines painted the harbour.[^1][^4] Ines sold it.[^2]\n\n*10 August 2026.* Ines rests.[^5]"
    )


@pytest.mark.parametrize(
    "other",
    ["Ines painted the harbour twice.", "Ines never painted the harbour.", "Ines painted the harbor.", "Tomas painted it."],
)
def test_what_only_looks_alike_stays(other: str) -> None:
    body = f"{A}\n\n*9 August 2026.* {other}[^3]"
    assert tidied(body) == body


@pytest.mark.parametrize(
    "own",
    ["My own words.", "- a list", "*5 June 2026.* Without a citation.", "*5 June 2026.* Cited.[^1] And then not.", "| a | b |",
     "*40 June 2026.* No such day.[^1]", "*5 June 2026.* Two\nlines.[^1]"],
)  # fmt: skip
def test_what_a_person_wrote_is_left_where_it_stands(own: str) -> None:
    assert read(own) is None
    assert tidied(f"\n{B}\n\n{own}\n\n{A}\n") == f"\n{B}\n\n{own}\n\n{A}\n"
    assert paragraphs(f"{A}\n\n{own}") is None


def test_code_is_not_touched() -> None:
    body = f"```\n\n{B}\n\n{A}\n\n```\n"
    assert tidied(body) == body


days = st.sampled_from(["5 June 2026", "9 August 2026", "1 January 2025"])
told = st.sampled_from(["Ines rowed.", "Ines slept.", "Ines said: “No! Never.”", "Ines paid 5 crowns.", "Ines paid 6 crowns."])
blocks = st.lists(st.one_of(
    st.just("My own words."),
    st.builds(lambda day, rows: f"*{day}.* " + " ".join(f"{text}[^{n}]" for text, n in rows), days,
              st.lists(st.tuples(told, st.integers(1, 9)), min_size=1, max_size=4)),
), max_size=8)  # fmt: skip


@given(blocks)
def test_tidying_loses_no_source_and_no_sentence_and_is_a_fixed_point(rows: list[str]) -> None:
    body = "\n\n".join(rows)
    once = tidied(body)
    assert tidied(once) == once
    assert set(article.markers(once)) == set(article.markers(body))
    for text in ("Ines rowed.", "Ines slept.", "“No! Never.”", "5 crowns", "6 crowns", "My own words."):
        assert (text in once) == (text in body)


def test_personal_life_stands_behind_the_sections_of_a_theme() -> None:
    text = "# Ada\n\nAda.[^1]\n\n## Personal life\n\nA.[^1]\n\n## Arts\n\nB.[^1]\n\n## Mine\n\nC\n\n## References\n\n[^1]: x\n"
    done = ordered(text)
    assert [row.heading for row in article.body_sections(done)] == ["Arts", "Personal life", "Mine"]
    assert (ordered(done), len(done)) == (done, len(text))


def grown(cited: int) -> str:
    """An article with a section that has outgrown it, whose last paragraph cites a footnote."""
    days = [f"*{day} March 2026.* Ines painted {'a boat and ' * 30}a mill.[^{cited if day == 9 else 1}]" for day in range(1, 10)]
    note = "[^1]: `conv:0123abcd` (2026-03-01, Ines) - `/sessions/s/1/turn-1`"
    arts = "\n\n".join(days)
    return f"# Ines\n\n**Ines** paints.\n\n## Arts\n\n{arts}\n\n## Home\n\nA house.\n\n## References\n\n{note}\n"


def test_a_section_that_cites_what_there_is_not_stays_where_it_is() -> None:
    assert split(grown(1), "Ines") is not None
    assert split(grown(7), "Ines") is None


def test_a_footnote_that_a_person_took_away_stops_no_night(tmp_path: Path) -> None:
    judge = Scripted(honest)
    with opened(tmp_path, judge=judge) as memory:
        for session, things in (("a", FIRST), ("b", LATER), ("c", ("a swan", "a fox", "an owl"))):
            many(memory, session, *things)
            memory.dream()
        file = memory.vault.root / "articles" / "Ada.md"
        text = file.read_text()
        arts = next(row for row in article.body_sections(text) if row.anchor == "arts")
        number = article.markers(text[arts.body : arts.end])[0]
        (line,) = [line for line in text.split("\n") if line.startswith(f"[^{number}]:")]
        file.write_text(text.replace(line + "\n", ""))
        memory.vault.sync()
        many(memory, "d", "a heron", "a crane", "a stork", "a gull")
        assert memory.dream(judge="endpoint", max_calls=50, max_tokens=10**6)["id"] is not None


def test_an_older_session_that_comes_late_goes_where_its_day_is(tmp_path: Path) -> None:
    from mnemic.clock import to_ms
    from mnemic.models.document import Turn

    with opened(tmp_path) as memory:
        say(memory, "a", ("user", "Ada", "I painted the harbour at dawn."), ("user", "Ada", "I painted a portrait of Tim."))
        say(memory, "b", ("user", "Ada", "I painted the old mill in oil."), ("user", "Ada", "I sold a painting to the museum."))
        memory.dream()
        at = to_ms(datetime(2024, 5, 1, tzinfo=UTC))
        early = [Turn("user", f"I painted {what} in the old museum.", "Ada", at) for what in ("boats", "cats")]
        memory.capture(early, session="old", index=False)
        memory.dream()
        text = page(memory, "Ada")
        arts = text[text.index("## Arts") :]
        assert 0 < arts.index("*1 May 2024.*") < arts.index("*10 March 2026.*")
        assert memory.dream()["id"] is None


def many(memory: Any, session: str, *things: str) -> None:
    say(memory, session, *(("user", "Ada", f"I painted {thing} for the museum.") for thing in things))


FIRST = ("a harbour", "a mill", "a ferry", "a garden")
LATER = ("a bridge", "a tower", "a market", "a lighthouse")


def test_a_model_may_say_a_section_better_and_every_other_byte_stays(tmp_path: Path) -> None:
    def answer(stage: str, prompt: str) -> Any:
        said = shown(prompt)
        if stage == "improve":
            return {"sentences": [{"text": f"{said[0][:-1]} and {said[1][4:]}", "cites": [1, 2]},
                                  *({"text": text, "cites": [place]} for place, text in enumerate(said[2:], 3))]}  # fmt: skip
        return honest(stage, prompt)

    judge = Scripted(answer)
    with opened(tmp_path, judge=judge) as memory:
        for session, things in (("a", FIRST), ("b", LATER), ("c", ("a swan", "a fox", "an owl"))):
            many(memory, session, *things)
            memory.dream()
        before = page(memory, "Ada")
        report = memory.dream(judge="endpoint", max_calls=50, max_tokens=10**6)
        after = page(memory, "Ada")
        assert report["articles"]["updated"] >= 1
        assert [stage for stage, _ in judge.asked].count("improve") >= 1
        was = {row.anchor: before[row.start : row.end] for row in article.sections(before)}
        now = {row.anchor: after[row.start : row.end] for row in article.sections(after)}
        assert {anchor for anchor in was if was[anchor] != now[anchor]} == {"arts"}
        assert article.notes(before) == article.notes(after)
        asked = len(judge.asked)
        assert memory.dream(judge="endpoint", max_calls=50, max_tokens=10**6)["id"] is None
        assert len(judge.asked) == asked
        memory.undo(f"dream:{report['id']}")
        assert page(memory, "Ada") == before


def test_a_section_that_waits_for_a_budget_is_asked_about_in_the_next_night(tmp_path: Path) -> None:
    judge = Scripted(honest)
    with opened(tmp_path, judge=judge) as memory:
        many(memory, "a", *FIRST)
        many(memory, "b", *LATER)
        many(memory, "c", "a swan", "a fox", "an owl")
        memory.dream()
        before = files(memory)
        assert memory.dream(judge="endpoint", max_calls=0)["waiting"] is True
        assert files(memory) == before
        assert memory.dream(judge="endpoint", max_calls=50, max_tokens=10**6)["waiting"] is False
        assert "improve" in [stage for stage, _ in judge.asked]
