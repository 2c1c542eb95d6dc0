"""The six commands of the memory tool: the documented texts, and no way out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic import Memory
from mnemic.interfaces.integrations.memory_files import DIFFERS, CommandError, MemoryFiles, parts_of
from tests.interfaces.integrations.homes import home


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with home(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryFiles]:
    """Files that no test changes."""
    with home(tmp_path_factory.mktemp("standing")) as memory:
        made = MemoryFiles(memory)
        made.create("/memories/trips/rome.md", "Ada likes tea.\nShe sits by the window.\n")
        yield made


@pytest.fixture
def files(memory: Memory) -> MemoryFiles:
    made = MemoryFiles(memory)
    made.create("/memories/trips/rome.md", "Ada likes tea.\nShe sits by the window.\n")
    return made


def test_a_file_is_shown_with_its_lines_numbered(files: MemoryFiles) -> None:
    assert files.view("/memories/trips/rome.md") == (
        "Here's the content of /memories/trips/rome.md with line numbers:\n"
        "     1\tAda likes tea.\n     2\tShe sits by the window.\n     3\t"
    )
    assert files.view("/memories/trips/rome.md", [2, 2]).endswith("line numbers:\n     2\tShe sits by the window.")
    assert files.view("/memories/trips/rome.md", [2, -1]).endswith("\n     2\tShe sits by the window.\n     3\t")


def test_a_folder_shows_two_levels_with_sizes_and_nothing_hidden(files: MemoryFiles) -> None:
    for name in (".secret/x", "node_modules/x", "trips/2026/may/paris.md", "trips/2026/list.md"):
        files.create(f"/memories/{name}", "x" * 1536)
    assert files.view("/memories") == (
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n"
        "6.0K\t/memories\n"
        "3.0K\t/memories/trips/\n"
        "3K\t/memories/trips/2026/\n"
        "39B\t/memories/trips/rome.md"
    )


def test_an_empty_memory_is_an_empty_folder(tmp_path: Path) -> None:
    with home(tmp_path) as memory:
        assert MemoryFiles(memory).view("/memories").splitlines()[1:] == ["0B\t/memories"]


def test_an_edit_shows_what_became_of_its_place(files: MemoryFiles) -> None:
    assert files.str_replace("/memories/trips/rome.md", "tea", "coffee") == (
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
        "     1\tAda likes coffee.\n     2\tShe sits by the window.\n     3\t"
    )
    assert files.insert("/memories/trips/rome.md", 1, "She is vegan.\n") == "The file /memories/trips/rome.md has been edited."
    assert files.view("/memories/trips/rome.md", [2, 2]).endswith("\n     2\tShe is vegan.")


def test_what_was_done_is_said_in_the_documented_words(files: MemoryFiles) -> None:
    assert files.create("/memories/a.md", "a") == "File created successfully at: /memories/a.md"
    assert files.rename("/memories/a.md", "/memories/b/c.md") == "Successfully renamed /memories/a.md to /memories/b/c.md"
    assert files.rename("/memories/b", "/memories/d") == "Successfully renamed /memories/b to /memories/d"
    assert files.view("/memories/d/c.md").endswith("     1\ta")
    assert files.delete("/memories/d") == "Successfully deleted /memories/d"
    assert files.view("/memories").splitlines()[2:] == ["39B\t/memories/trips/", "39B\t/memories/trips/rome.md"]


@pytest.mark.parametrize(
    ("command", "given", "said"),
    [
        ("view", ("/memories/x",), "The path /memories/x does not exist. Please provide a valid path."),
        ("create", ("/memories/trips/rome.md", "x"), "Error: File /memories/trips/rome.md already exists"),
        ("create", ("/memories/trips", "x"), "Error: File /memories/trips already exists"),
        ("create", ("/memories/trips/rome.md/x", "x"), "Error: /memories/trips/rome.md is a file: nothing can lie in it"),
        ("str_replace", ("/memories/x", "a", "b"),
         "Error: The path /memories/x does not exist. Please provide a valid path."),
        ("str_replace", ("/memories/trips", "a", "b"),
         "Error: The path /memories/trips does not exist. Please provide a valid path."),
        ("str_replace", ("/memories/trips/rome.md", "Bob", "b"),
         "No replacement was performed, old_str `Bob` did not appear verbatim in /memories/trips/rome.md."),
        ("str_replace", ("/memories/trips/rome.md", "", "b"),
         "No replacement was performed, old_str `` did not appear verbatim in /memories/trips/rome.md."),
        ("str_replace", ("/memories/trips/rome.md", "i", "b"),
         "No replacement was performed. Multiple occurrences of old_str `i` in lines: 1, 2, 2. Please ensure it is unique"),
        ("insert", ("/memories/x", 0, "a"), "Error: The path /memories/x does not exist"),
        ("insert", ("/memories/trips/rome.md", 3, "a"),
         "Error: Invalid `insert_line` parameter: 3. It should be within the range of lines of the file: [0, 2]"),
        ("delete", ("/memories/x",), "Error: The path /memories/x does not exist"),
        ("delete", ("/memories/",), "Cannot delete the /memories directory itself"),
        ("rename", ("/memories/x", "/memories/y"), "Error: The path /memories/x does not exist"),
        ("rename", ("/memories/trips", "/memories/trips/rome.md"),
         "Error: The destination /memories/trips/rome.md already exists"),
        ("rename", ("/memories/trips", "/memories/trips/in"),
         "Error: The destination /memories/trips/in lies inside /memories/trips"),
        ("rename", ("/memories", "/memories/y"), "Cannot rename the /memories directory itself"),
        ("view", ("/etc/passwd",), "Path must start with /memories, got: /etc/passwd"),
        ("view", ("/memoriesx",), "Path must start with /memories, got: /memoriesx"),
        ("create", ("memories/x", "a"), "Path must start with /memories, got: memories/x"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said_in_the_documented_words(
    standing: MemoryFiles, command: str, given: tuple[object, ...], said: str
) -> None:
    before = standing.view("/memories")
    with pytest.raises(CommandError) as refused:
        getattr(standing, command)(*given)
    assert str(refused.value) == said
    assert standing.view("/memories") == before


@pytest.mark.parametrize(
    "path",
    ["/memories/../etc/passwd", "/memories/a/../b", "/memories/%2e%2e%2fetc", "/memories/%252e%252e%252fetc", "/memories/..%5cx",
     "/memories/..\\x", "/memories/%2E%2E/x", "/memories/a/.%2e/b", "/memories/.."],
)  # fmt: skip
def test_a_path_that_climbs_is_refused_however_it_is_spelt(path: str) -> None:
    with pytest.raises(CommandError, match="would escape /memories directory"):
        parts_of(path)


def test_a_path_is_one_however_many_slashes_it_has() -> None:
    assert parts_of("/memories//a/./b/") == ("a", "b")


def test_names_that_read_alike_are_files_of_their_own(files: MemoryFiles) -> None:
    for name in ("A b.md", "a-b.md", "a b.MD", "咖啡.md", "50%.md"):
        files.create(f"/memories/{name}", name)
    for name in ("A b.md", "a-b.md", "a b.MD", "咖啡.md", "50%.md"):
        assert files.view(f"/memories/{name}").endswith(f"     1\t{name}")


def test_a_file_may_be_empty_and_keeps_its_blanks(files: MemoryFiles) -> None:
    files.create("/memories/empty", "")
    assert files.view("/memories/empty").endswith("line numbers:\n     1\t")
    files.create("/memories/blank", "  \n\n---\nrecord: {}\n---\n")
    assert files.view("/memories/blank").endswith(
        ":\n     1\t  \n     2\t\n     3\t---\n     4\trecord: {}\n     5\t---\n     6\t"
    )


def test_a_secret_is_not_kept_and_the_model_is_told(files: MemoryFiles) -> None:
    said = files.create("/memories/keys", "the key is ghp_" + "a1B2c3D4e5" * 4)
    assert said == f"File created successfully at: /memories/keys\n{DIFFERS}"
    assert files.view("/memories/keys").endswith("     1\tthe key is [redacted:github-token]")


def test_a_file_is_recalled_as_the_agents_word_and_can_be_undone(files: MemoryFiles, memory: Memory) -> None:
    hit = memory.recall("where does Ada sit?").hits[0]
    assert (hit.text, hit.origin) == ("Ada likes tea.\nShe sits by the window.", "agent")
    files.delete("/memories/trips")
    assert memory.recall("where does Ada sit?").hits == ()
    memory.undo(memory.ledger(limit=1)[0]["seq"])
    assert files.view("/memories/trips/rome.md", [1, 1]).endswith("Ada likes tea.")
    assert memory.verify().ok


def test_what_a_person_forgot_is_not_brought_back_by_the_agent(files: MemoryFiles, memory: Memory) -> None:
    memory.forget("/memories/trips-rome-md")
    entries = len(memory.ledger())
    with pytest.raises(CommandError, match="was forgotten by a person and stays so"):
        files.create("/memories/trips/rome.md", "Ada likes tea.")
    memory.forget("/memories")
    with pytest.raises(CommandError, match="was forgotten by a person and stays so"):
        files.create("/memories/new.md", "Ada likes tea.")
    assert len(memory.ledger()) == entries + 1


def test_a_folder_may_have_the_name_that_a_file_had(files: MemoryFiles, memory: Memory) -> None:
    files.delete("/memories/trips")
    files.create("/memories/trips", "none planned")
    files.delete("/memories/trips")
    files.create("/memories/trips/paris.md", "in May")
    files.create("/memories/Trips paris.md", "in June")
    files.delete("/memories/Trips paris.md")
    assert files.view("/memories/trips/paris.md").endswith("     1\tin May")
    assert memory.verify().ok


def test_erasing_a_file_leaves_no_byte_of_it(files: MemoryFiles, memory: Memory, tmp_path: Path) -> None:
    files.create("/memories/canary", "the zyxcanary sings")
    files.rename("/memories/canary", "/memories/bird")
    memory.forget("/memories/canary", erase=True)
    memory.forget("/memories/bird", erase=True)
    assert [file.name for file in tmp_path.rglob("*") if file.is_file() and b"zyxcanary" in file.read_bytes()] == []


def test_two_namespaces_see_nothing_of_each_other(files: MemoryFiles, memory: Memory) -> None:
    assert MemoryFiles(memory.within("other")).view("/memories").splitlines()[1:] == ["0B\t/memories"]
