from __future__ import annotations

from pathlib import Path

from mnemic.memory import Memory
from tests.synthesis.homes import article, files, opened, say, talk


def holds(folder: Path, word: str) -> list[str]:
    """The files under a folder that hold a word."""
    return [file.name for file in folder.rglob("*") if file.is_file() and word.encode() in file.read_bytes()]


def told(memory: Memory) -> None:
    say(memory, "one", ("user", "Ada", "I adopted a puppy named Biscuit from the shelter."), ("assistant", "", "Lovely!"),
        ("user", "Ada", "I moved into a windmill near the canal."))  # fmt: skip
    say(memory, "two", ("user", "Ada", "Biscuit learned to fetch zeppelins in the garden."))
    memory.dream()


def test_an_erased_conversation_leaves_no_byte_in_articles_store_or_journal(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        told(memory)
        assert holds(tmp_path, "zeppelins")
        memory.forget("/sessions/two/1", erase=True)
        assert "windmill" in article(memory, "Ada")
    assert holds(tmp_path, "zeppelins") == []
    with opened(tmp_path) as memory:
        assert memory.verify().ok
        assert memory.dream()["articles"]["updated"] == 0


def test_an_erasure_goes_through_to_the_articles_in_a_namespace_that_is_full(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        told(memory)
        say(memory, "three", ("user", "Ada", "I planted a lemon tree called Quince."))
        home = memory.settings.home
    off = '[vault]\ngit = "off"\n'
    (home / "mnemic.toml").write_text(f"{off}[limits]\nnodes = 1\n")
    with opened(tmp_path) as memory:
        memory.dream()  # what it makes anew stays a file for now
        memory.forget("/sessions/two/1", erase=True)
        assert "windmill" in article(memory, "Ada")
        assert memory.verify().ok
        assert memory.status()["quota"]["allowed"] == 1
    assert holds(tmp_path, "zeppelins") == []
    (home / "mnemic.toml").write_text(off)
    with opened(tmp_path) as memory:
        assert memory.vault.sync().skipped == {}
        assert {row["path"] for row in memory.tree("/articles", depth=1)} == {
            "/" + path.removesuffix(".md").lower() for path in files(memory) if path.startswith("articles/")
        }  # fmt: skip
        assert memory.verify().ok


def test_erasing_one_turn_keeps_the_citations_of_the_others(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        say(memory, "s", ("user", "Ada", "I adopted a puppy named Biscuit."), ("user", "Ada", "I keep bees in the orchard."))
        say(memory, "t", ("user", "Ada", "I sold the honey at the harbour market."))
        memory.dream()
        memory.forget("/sessions/s/1/ada", erase=True)
        text = article(memory, "Ada")
        assert "puppy" not in text
        assert "bees" in text
        from mnemic.synthesis import article as grammar

        for source in grammar.notes(text).values():
            assert memory.show(source.path, touch=False)["kind"] == "message"
        assert memory.verify().ok


def test_an_article_of_which_everything_is_erased_goes(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        told(memory)
        assert "articles/Biscuit.md" in files(memory)
        memory.forget("/sessions/one", erase=True)
        memory.forget("/sessions/two", erase=True)
        assert not [path for path in files(memory) if path.startswith("articles/")]
        assert memory.verify().ok
    assert holds(tmp_path, "Biscuit") == []


def test_what_is_only_forgotten_leaves_the_articles_at_the_next_dream_and_may_come_back(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        told(memory)
        done = memory.forget("/sessions/two")
        memory.dream()
        assert "zeppelins" not in article(memory, "Ada")
        memory.undo(done.seq)
        memory.dream()
        assert "zeppelins" in article(memory, "Ada")


def test_a_home_without_dreams_erases_as_before(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        talk(memory, "spring-1")
        memory.forget("/sessions/spring-1", erase=True)
        assert memory.dreams() == []
        assert memory.verify().ok
