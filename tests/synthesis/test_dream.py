from __future__ import annotations

import re
from pathlib import Path

import pytest

from mnemic import Memory
from mnemic.errors import BadInput, Conflict, NotFound
from mnemic.models.night import ARTICLES, STAGES
from mnemic.synthesis import article
from mnemic.synthesis.compose import links
from mnemic.synthesis.dream import unlinked
from tests.synthesis.homes import article as page
from tests.synthesis.homes import files, opened, say, talk


def cited(text: str) -> set[str]:
    return {source.path for source in article.notes(text).values()}


def test_a_conversation_becomes_articles_whose_every_sentence_is_cited(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        talk(memory)
        report = memory.dream()
        assert report["articles"] == {"created": 14, "updated": 0, "unchanged": 0, "rejected": 0}
        assert report["conserved"] is True
        assert [row["name"] for row in report["stages"]] == [name for name in STAGES if name != "facts"]
        ines = page(memory, "Ines")
        assert "**Ines** works as a [[Ferry|ferry]] pilot now" in ines
        assert "*10 August 2026.* Ines said: “We came fourth in the Aalborg regatta yesterday.”" in ines
        for file, data in files(memory).items():
            if not file.startswith("articles/"):
                continue
            text = data.decode()
            assert sorted(set(article.markers(text))) == list(range(1, len(article.notes(text)) + 1))
            for line in article.section_text(text).splitlines():
                assert not line.strip() or line == article.STUB or re.search(r"\[\^\d+\]$", line), (file, line)
            for path in cited(text):
                assert memory.show(path, touch=False)["kind"] == "message"
        assert memory.verify().ok


def test_a_second_dream_changes_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        talk(memory)
        memory.dream()
        before, head = files(memory), memory.ledger(limit=1)
        for _ in range(20):
            report = memory.dream()
            assert (report["id"], report["articles"]["updated"]) == (None, 0)
        assert files(memory) == before
        assert memory.ledger(limit=1) == head


def test_one_session_more_changes_only_the_sections_it_is_routed_to(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        talk(memory, "spring-1", "spring-2", "summer-1", "summer-2")
        memory.dream()
        before = page(memory, "Ines")
        say(memory, "late", ("user", "Ines", "I painted a ferry in the snow for the museum."),
            ("assistant", "Tomas", "Beautiful!"))  # fmt: skip
        report = memory.dream()
        assert "articles/Ines.md" in report["updated"]
        after = page(memory, "Ines")
        was = {row.anchor: before[row.start : row.end] for row in article.sections(before)}
        now = {row.anchor: after[row.start : row.end] for row in article.sections(after)}
        assert {anchor for anchor in was if was[anchor] != now[anchor]} - {"references", "see-also"} == {"arts"}
        assert set(was["arts"].split("\n\n")) < set(now["arts"].split("\n\n"))
        assert after.count("Ines painted a") == 1
        assert cited(before) < cited(after)


def test_a_thin_subject_is_captured_and_gets_its_article_at_the_second_chunk(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        say(memory, "one", ("user", "Ada", "I adopted a puppy named Biscuit from the shelter."))
        assert memory.dream()["articles"]["created"] == 0
        assert memory._store.row("default", "routes", ("one:1-1", "biscuit"))["state"] == "captured"  # type: ignore[index]
        say(memory, "two", ("user", "Ada", "Biscuit learned to sit on command."))
        assert "articles/Biscuit.md" in memory.dream()["created"]
        assert memory._store.row("default", "routes", ("one:1-1", "biscuit"))["state"] == "tidy"  # type: ignore[index]


def test_small_talk_keeps_its_pointer_and_makes_no_article(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        say(memory, "s", ("user", "Ada", "Hi! How are you?"), ("assistant", "", "Fine, thanks!"))
        report = memory.dream()
        assert report["articles"]["created"] == 0
        assert memory._store.row("default", "chunks", ("s:1-2",))["state"] == "slight"  # type: ignore[index]


def test_stages_run_alone_take_up_where_the_one_before_stopped(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with opened(tmp_path / "a") as whole:
        talk(whole)
        whole.dream()
        wanted = {path: data for path, data in files(whole).items() if path.startswith("articles/")}
    (tmp_path / "b").mkdir()
    with opened(tmp_path / "b") as memory:
        talk(memory)
        for name in ("ingest", "chunk", "worth", "extract", "route"):
            memory.dream(stages=[name])
        assert not [path for path in files(memory) if path.startswith("articles/")]
        memory.dream()
        assert {path: data for path, data in files(memory).items() if path.startswith("articles/")} == wanted


def test_every_stage_alone_one_after_the_other_comes_to_the_same_pages_as_a_whole_dream(tmp_path: Path) -> None:
    def told(memory: Memory) -> dict[str, tuple[str, set[str]]]:
        """The words and the links of each page. Of two mentions in one patch, either may be the one that leads on."""
        pages = {path: data.decode() for path, data in files(memory).items() if not path.startswith("meta/")}
        return {path: (unlinked(text), links(text)) for path, text in pages.items()}

    parts = ("spring-1", "spring-2", "summer-1"), ("summer-2", "autumn-1")
    (tmp_path / "a").mkdir()
    with opened(tmp_path / "a") as whole:
        for sessions in parts:
            talk(whole, *sessions)
            whole.dream()
        wanted = told(whole)
    assert {path.partition("/")[0] for path in wanted} == {"articles", "talk", "moc"}
    (tmp_path / "b").mkdir()
    with opened(tmp_path / "b") as memory:
        for sessions in parts:
            talk(memory, *sessions)
            for name in ARTICLES:
                memory.dream(stages=[name])
        assert told(memory) == wanted
        assert memory.dream()["id"] is None


def test_what_was_written_alone_is_linked_by_the_next_whole_dream(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with opened(tmp_path / "a") as whole:
        talk(whole)
        whole.dream()
        wanted = {path: data for path, data in files(whole).items() if not path.startswith("meta/")}
    (tmp_path / "b").mkdir()
    with opened(tmp_path / "b") as memory:
        talk(memory)
        memory.dream(stages=["ingest", "chunk", "worth", "extract", "route", "create"])
        assert not any(b"[[" in data for data in files(memory).values() if data.startswith(b"# Ines"))
        memory.dream()
        assert {path: data for path, data in files(memory).items() if not path.startswith("meta/")} == wanted
        assert memory.dream()["id"] is None


def test_a_dry_run_shows_the_change_and_makes_none(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        talk(memory)
        before, head = files(memory), memory.ledger(limit=1)
        report = memory.dream(dry_run=True)
        assert report["id"] is None
        assert "+# Ines" in report["diff"]
        assert (files(memory), memory.ledger(limit=1)) == (before, head)


def test_undo_brings_back_the_bytes_from_before(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        talk(memory, "spring-1", "spring-2")
        first = memory.dream()
        before = files(memory)
        talk(memory, "summer-1", "summer-2", "autumn-1")
        second = memory.dream()
        after = files(memory)
        assert after != before
        with pytest.raises(Conflict):
            memory.undo(f"dream:{first['id']}")
        assert files(memory) == after
        memory.undo(f"dream:{second['id']}")
        assert files(memory) == before
        assert memory.verify().ok
        memory.undo(f"dream:{first['id']}")
        assert not files(memory)
        assert memory.dreams() == []
        assert memory.verify().ok
        assert memory.dream()["articles"]["created"] == 14


def test_undo_leaves_what_a_person_wrote_since(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        talk(memory)
        report = memory.dream()
        file = memory.vault.root / "articles" / "Ines.md"
        file.write_text(file.read_text("utf-8") + "\nA note of mine.\n", "utf-8")
        before = files(memory)
        with pytest.raises(Conflict, match=r"'articles/Ines.md' was edited meanwhile: .* undo the later dream first"):
            memory.undo(f"dream:{report['id']}")
        assert files(memory) == before


def test_a_persons_own_words_in_an_article_stay_through_the_next_dream(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        talk(memory, "spring-1", "spring-2", "summer-1", "summer-2")
        memory.dream()
        file = memory.vault.root / "articles" / "Ines.md"
        text = file.read_text("utf-8").replace("## See also", "## My own view\n\nInes is brave.\n\n## See also")
        file.write_text(text, "utf-8")
        talk(memory, "autumn-1")
        assert "articles/Ines.md" in memory.dream()["updated"]
        assert "## My own view\n\nInes is brave.\n" in file.read_text("utf-8")


def test_a_file_that_is_no_article_is_left_as_it_is(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        folder = memory.vault.root / "articles"
        folder.mkdir(parents=True)
        (folder / "Ines.md").write_text("just some words about Ines\n", "utf-8")
        talk(memory)
        memory.dream()
        assert (folder / "Ines.md").read_text("utf-8") == "just some words about Ines\n"


def test_what_changed_stands_in_the_history_with_both_turns(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        say(memory, "a", ("user", "Ada", "I live in Leeds with my two cats."))
        say(memory, "b", ("user", "Ada", "I work as a bridge engineer in the old mill."))
        memory.dream()
        assert article.infobox(page(memory, "Ada"))["lives_in"].startswith("Leeds[^")
        say(memory, "c", ("user", "Ada", "I moved to York because the mill closed."))
        memory.dream()
        text = page(memory, "Ada")
        assert article.infobox(text)["lives_in"].startswith("York[^")
        at = article.section(text, "History")
        assert at is not None
        assert re.search(r"Until then Ada lived in Leeds\.\[\^\d\] From then on it is York\.\[\^\d\]", text[at.start : at.end])


def test_people_of_one_name_are_kept_apart_where_nothing_joins_them(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        for partner, said in (
            ("Tim", "I repair old motorbikes in a garage near the river."),
            ("Tim", "I sold two motorbikes to a museum."),
            ("Eva", "I keep bees behind a farmhouse in the valley."),
            ("Eva", "I harvest honey every summer."),
        ):
            say(memory, f"{partner}-{said[2:6]}", ("user", partner, "Tell me about your week."), ("assistant", "John", said))
        memory.dream()
        assert "motorbikes" in page(memory, "John")
        assert "bees" not in page(memory, "John")
        assert "bees" in page(memory, "John (with Eva)")


def test_articles_are_recalled_like_everything_else(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        talk(memory)
        memory.dream()
        paths = [hit.path for hit in memory.recall("greyhound Pixel bakery oven").hits]
        assert any(path.startswith("/articles/pixel") for path in paths)


def test_what_was_read_somewhere_makes_no_article(tmp_path: Path) -> None:
    from mnemic.models.document import Turn

    with opened(tmp_path) as memory:
        for name in "abc":
            memory.capture(
                [Turn("user", f"I adopted a puppy named Biscuit in street {name}.", "Eve")],
                session=name,
                origin="web",
                index=False,
            )
        assert memory.dream()["articles"]["created"] == 0


def test_since_leaves_what_was_said_before(tmp_path: Path) -> None:
    from datetime import UTC, datetime

    with opened(tmp_path) as memory:
        talk(memory)
        memory.dream(since=datetime(2026, 8, 1, tzinfo=UTC))
        assert {row["session"] for row in memory._store.rows("default", "chunks")} == {"summer-2", "autumn-1"}


def test_a_namespace_dreams_of_its_own_conversations_only(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        talk(memory)
        other = memory.within("other")
        assert other.dream()["id"] is None
        memory.dream()
        assert other.wiki.list()["articles"] == []


def test_wrong_names_are_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        with pytest.raises(BadInput, match="stage 'sleep'"):
            memory.dream(stages=["sleep"])
        with pytest.raises(BadInput, match="judge 'oracle'"):
            memory.dream(judge="oracle")
        with pytest.raises(NotFound):
            memory.dream_show("7")
        with pytest.raises(BadInput):
            memory.undo("card:1")


def test_a_dream_is_listed_and_shown_with_its_diff(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        talk(memory)
        report = memory.dream()
        assert [row["id"] for row in memory.dreams()] == [report["id"]]
        shown = memory.dream_show(f"dream:{report['id']}")
        assert shown["articles"]["created"] == 14
        assert "+# Ines" in shown["diff"]
        assert "[[Ines]]" in (memory.vault.root / "meta" / "Dreams.md").read_text("utf-8")


def test_each_dream_is_a_commit_with_the_ledgers_head(tmp_path: Path) -> None:
    from dulwich.repo import Repo

    with opened(tmp_path, git="own") as memory:
        talk(memory)
        memory.dream()
        with Repo(str(memory.vault.root)) as repository:
            message = repository[repository.head()].message.decode()
        assert message.startswith("dream 1: 14 created")
        assert "Mnemic-Ledger-Head: " in message
