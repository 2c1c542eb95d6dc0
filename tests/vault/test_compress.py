from __future__ import annotations

import subprocess
from datetime import date
from itertools import count
from pathlib import Path

import pytest

from mnemic.memory import Memory
from mnemic.models.document import Turn
from mnemic.vault.compress import with_history
from mnemic.vault.files import Disk, Folder
from tests.vault.homes import Dying, Killed, note, opened

PATH = "daily/2026-03-01.md"
CARD = "cards/notes/Facts of 2026-03-01.md"
HEAD = b"\xef\xbb\xbf---\r\nmood:  'good' # kept\r\ntags: [a,   b]\r\n---\r\n"
CHATTER = "A calm walk around the pond with friends and ducks, and a good talk about nothing at all.\r\n"


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return opened(tmp_path)


def large(memory: Memory, *lines: str, head: bytes = HEAD) -> Path:
    """A daily note that is over 20 KB."""
    body = "# My Sunday\r\n\r\n" + "".join(f"{line}\r\n" for line in lines) + CHATTER * 240
    return note(memory, PATH, head + body.encode())


def test_a_large_note_becomes_twenty_lines_with_its_head_intact_and_its_original_in_git(memory: Memory) -> None:
    file = large(memory, "- We decided to use Postgres because of row security.", "- The kiln's port is 8080.")
    before = file.read_bytes()
    done = memory.compress_dailies()
    row = done["compressed"][0]
    assert (row["path"], row["bytes_before"], row["facts"], row["cards"]) == (PATH, len(before), 2, [CARD])
    after = file.read_bytes()
    assert after.startswith(HEAD + b"# My Sunday\r\n") and len(after) == row["bytes_after"] < 2_000
    body = after.removeprefix(HEAD).decode()
    assert len(body.splitlines()) <= 20 and body.count("\r\n") == body.count("\n")
    shown = subprocess.run(["git", "show", f"{row['original']}:{PATH}"], cwd=memory.vault.root, capture_output=True, check=True)
    assert shown.stdout == before
    where = f"git show {row['original'][:12]}:{PATH}"
    assert f"- Compressed on 2026-03-10 from {len(before):,} bytes; the original: `{where}`" in body
    assert "We decided to use Postgres because of row security. → [[Facts of 2026-03-01]]" in body
    assert memory.verify().ok and memory.vault.status()["broken_links"] == []


def test_facts_move_to_the_card_they_name_else_to_the_days_own(memory: Memory) -> None:
    memory.cards.new("Ada Lovelace", "contact", body="Likes tea.\n")
    memory.cards.new("Motor", "project", body="Runs.\n\n## History\n\n- older\n\n## Later\n\nend\n")
    memory.cards.new("Old", "project")
    memory.cards.retire("Old")
    large(memory, *["- Ada Lovelace must never sit at the aisle."] * 2, "1. We decided on bolt 7 for [[Motor|the engine]].",
          "The limit of the kiln is 900 degrees.", "- Old must not count.")  # fmt: skip
    assert memory.compress_dailies()["compressed"][0]["facts"] == 5
    ada, motor = (memory.cards.show(name)["body"] for name in ("Ada Lovelace", "Motor"))
    assert ada == "Likes tea.\n\n## History\n\n- [[2026-03-01]]: Ada Lovelace must never sit at the aisle.\n"
    assert motor == (
        "Runs.\n\n## History\n\n- older\n- [[2026-03-01]]: We decided on bolt 7 for [[Motor|the engine]].\n\n## Later\n\nend\n"
    )
    assert [line for line in memory.cards.show(CARD)["body"].splitlines() if line.startswith("- ")] == [
        "- [[2026-03-01]]: The limit of the kiln is 900 degrees.", "- [[2026-03-01]]: Old must not count."
    ]  # fmt: skip
    assert memory.cards.show(CARD)["frontmatter"]["description"] == "What the daily note of 2026-03-01 said"


def test_a_moved_fact_is_recalled_once_from_its_card(memory: Memory) -> None:
    large(memory, "- We decided that the walrus password is green.")
    memory.compress_dailies()
    homes = {hit.path.split("/")[1] for hit in memory.recall("walrus password").hits}
    assert homes == {"cards"}


def test_what_was_mirrored_goes_to_no_card_and_keeps_its_link(memory: Memory) -> None:
    for number in range(55):
        tide = chr(97 + number % 26) * (9 + number // 26)
        words = f"We decided on walrus{'abcdefghij'[number % 10] * (1 + number // 10)} " + f"tide{tide} " * 20
        memory.capture([Turn("user", words)], session=f"s{number}")
    memory.daily.note()
    row = memory.compress_dailies()["compressed"][0]
    assert (row["facts"], row["cards"], row["lines"]) == (0, [], 20)
    text = (memory.vault.root / "daily/2026-03-10.md").read_text()
    assert "→ [/sessions/s0/1](/sessions/s0/1)" in text and memory.daily.note()["status"] == "unchanged"
    memory.capture([Turn("user", "afterwards")], session="later")
    memory.daily.note()
    assert (memory.vault.root / "daily/2026-03-10.md").read_text().endswith(
        "- 12:00 [afterwards](/sessions/later/1)\n<!-- mnemic:end -->\n"
    )
    memory.forget("/sessions/s0/1", erase=True)
    assert "/sessions/s0/1" not in (memory.vault.root / "daily/2026-03-10.md").read_text()


def test_code_that_says_something_moves_as_a_whole(memory: Memory) -> None:
    large(memory, "```sh", "export PORT=8080", "## no heading", "```")
    memory.compress_dailies()
    assert "- [[2026-03-01]]:\n\n```sh\nexport PORT=8080\n## no heading\n```\n" in memory.cards.show(CARD)["body"]


def test_a_dry_run_tells_the_same_and_changes_nothing(memory: Memory) -> None:
    file = large(memory, "- We decided to use Postgres.")
    before = file.read_bytes()
    told = memory.compress_dailies(dry_run=True)
    assert told["dry_run"] and file.read_bytes() == before and not (memory.vault.root / CARD).exists()
    done = memory.compress_dailies()
    assert [done["compressed"][0][key] for key in ("facts", "cards", "lines")] == [
        told["compressed"][0][key] for key in ("facts", "cards", "lines")
    ]


def test_twice_changes_nothing_and_small_notes_are_left(memory: Memory) -> None:
    file = large(memory, "- We decided to use Postgres.")
    small = note(memory, "daily/2026-03-02.md", "We decided to use Postgres.")
    memory.compress_dailies()
    after = file.read_bytes()
    assert memory.compress_dailies() == {"compressed": [], "skipped": {}, "dry_run": False}
    assert file.read_bytes() == after and small.read_text() == "We decided to use Postgres."


def test_without_git_nothing_is_cut(tmp_path: Path) -> None:
    memory = opened(tmp_path, git="off")
    file = large(memory, "- We decided to use Postgres.")
    before = file.read_bytes()
    done = memory.compress_dailies()
    assert done["compressed"] == [] and "its original would be lost" in done["skipped"][PATH]
    assert file.read_bytes() == before and not (memory.vault.root / CARD).exists()


def test_a_note_that_is_no_utf8_is_left(memory: Memory) -> None:
    file = large(memory, "- We decided to use Postgres.")
    file.write_bytes(file.read_bytes() + b"\xff")
    assert "not UTF-8" in memory.compress_dailies()["skipped"][PATH]


def test_a_person_who_saves_while_it_is_compressed_wins(memory: Memory) -> None:
    file = large(memory, "- We decided to use Postgres.")
    memory.vault.sync()
    made = memory.vault.create

    def saved_meanwhile(path: str, data: bytes, origin: object) -> None:
        made(path, data, origin)  # type: ignore[arg-type]
        file.write_bytes(file.read_bytes() + b"mine\r\n")

    memory.vault.create = saved_meanwhile  # type: ignore[method-assign]
    done = memory.compress_dailies()
    assert "edited meanwhile" in done["skipped"][PATH] and file.read_bytes().endswith(b"mine\r\n")
    memory.vault.create = made  # type: ignore[method-assign]
    memory.compress_dailies()
    assert memory.cards.show(CARD)["body"].count("Postgres") == 1


def test_killed_anywhere_it_is_done_by_the_next_and_no_fact_stands_twice(tmp_path: Path) -> None:
    for calls in count(step=11):
        folder = tmp_path / str(calls)
        folder.mkdir()
        memory = opened(folder)
        memory.cards.new("Ada Lovelace", "contact")
        file = large(memory, "- Ada Lovelace must sit at the window.", "- The port is 8080.")
        before = file.read_bytes()
        memory.vault.sync()
        memory.vault.folder = Folder(memory.vault.root, Dying(calls))
        try:
            memory.compress_dailies()
            done = True
        except Killed:
            done = False
        found = file.read_bytes()
        assert found == before or len(found) < 2_000
        if len(found) < 2_000:  # its facts stood on their cards before
            assert "8080" in (memory.vault.root / CARD).read_text()
        memory.vault.folder = Folder(memory.vault.root, Disk())
        memory.compress_dailies()
        assert len(file.read_bytes()) < 2_000 and memory.verify().ok
        assert memory.cards.show("Ada Lovelace")["body"].count("must sit") == 1
        assert memory.cards.show(CARD)["body"].count("8080") == 1
        memory.close()
        if done:
            assert calls > 10
            return


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b"## History\n\n- new\n"),
        (b"text", b"text\n\n## History\n\n- new\n"),
        (b"text\r\n", b"text\r\n\r\n## History\r\n\r\n- new\r\n"),
        (b"## History\n- old", b"## History\n- old\n- new\n"),
        (b"## History\n\n## Next\n", b"## History\n\n- new\n\n## Next\n"),
        (b"```\n## History\n```\n", b"```\n## History\n```\n\n## History\n\n- new\n"),
        (b"```such``` is no block\n## History\n- a\n", b"```such``` is no block\n## History\n- a\n- new\n"),
        (b"## History\n- a\n```\n# x\n```\n# End", b"## History\n- a\n```\n# x\n```\n- new\n# End"),
        (b"## History\n- new\n", b"## History\n- new\n"),
    ],
)
def test_history_is_added_to_at_its_end_and_only_once(before: bytes, after: bytes) -> None:
    assert with_history(before, [["- new"]]) == after
    assert with_history(after, [["- new"]]) == after


def test_a_day_can_be_named(memory: Memory) -> None:
    large(memory)
    assert memory.daily.days() == [date(2026, 3, 1)] and memory.daily.all()[0]["tier"] == "warm"
