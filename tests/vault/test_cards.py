from __future__ import annotations

from pathlib import Path

import pytest

from mnemic.errors import BadInput, Conflict, NotFound
from mnemic.memory import Memory
from tests.vault.homes import note, opened


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return opened(tmp_path, git="off")


def moc(memory: Memory, name: str) -> str:
    return (memory.vault.root / f"moc/{name}.md").read_text()


def test_a_card_has_the_schema_at_its_head_and_is_recalled_by_its_description(memory: Memory) -> None:
    done = memory.cards.new("Ada Lovelace", "contact", description="first programmer", tags=["math", "#history"])
    assert done == {"status": "stored", "path": "cards/people/Ada Lovelace.md", "document": "/cards/people/ada-lovelace"}
    assert memory.cards.show(done["path"]) == {
        "path": "cards/people/Ada Lovelace.md",
        "frontmatter": {
            "type": "contact", "title": "Ada Lovelace", "description": "first programmer", "tags": ["math", "history"],
            "status": "active", "created": "2026-03-10", "updated": "2026-03-10", "last_accessed": "2026-03-10",
            "relevance": 1.0, "tier": "active",
        },
        "body": "# Ada Lovelace\n",
    }  # fmt: skip
    assert {memory.show(hit.path)["document"] for hit in memory.recall("programmer").hits} == {"/cards/people/ada-lovelace"}
    assert memory.ledger()[0]["origin"] == "user" and memory.verify().ok


@pytest.mark.parametrize(
    ("type", "dir", "path"),
    [("project", None, "cards/projects/X.md"), ("crm", None, "cards/crm/X.md"), ("recipe", None, "cards/recipe/X.md"),
     ("contact", "clients", "cards/clients/X.md"), ("contact", "cards/a/b", "cards/a/b/X.md"), ("daily", None, "daily/X.md")],
)  # fmt: skip
def test_a_card_stands_in_the_folder_of_its_type_or_the_one_given(
    memory: Memory, type: str, dir: str | None, path: str
) -> None:
    assert memory.cards.new("X", type, dir=dir)["path"] == path


def test_the_folder_of_a_type_can_be_set(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "mnemic.toml").write_text('[vault.folders]\ncontact = "cards/humans"\n')
    memory = Memory.open(tmp_path / "home", environ={"MNEMIC_CONFIG": str(tmp_path / "c")})
    assert memory.cards.new("Ada", "contact")["path"] == "cards/humans/Ada.md"


def test_a_prospect_begins_as_one_and_a_wrong_type_or_name_is_refused(memory: Memory) -> None:
    memory.cards.new("Acme", "lead")
    assert memory.cards.show("Acme")["frontmatter"]["status"] == "prospect"
    with pytest.raises(Conflict):
        memory.cards.new("Acme", "lead")
    with pytest.raises(BadInput):
        memory.cards.new("X", "../x")
    with pytest.raises(BadInput):
        memory.cards.new("X", "note", dir="../../x")
    with pytest.raises(NotFound):
        memory.cards.show("Nobody")


def test_a_rename_takes_the_links_along_and_leaves_every_other_byte(memory: Memory) -> None:
    memory.cards.new("Ada", "contact", body="Body of [[Ada]]")
    head = b"\xef\xbb\xbf---\r\n# c\r\nx:  'y'\r\n---\r\n"
    one = note(memory, "a/One.md", head + b"[[ada#Life|her]] `[[Ada]]` [[Adam]]\r\n[[cards/people/Ada]]")
    two = note(memory, "a/Two.md", b"---\nrelated: ['[[Ada]]']\n---\n")
    three = note(memory, "a/Three.md", b"[[Other]]")
    done = memory.cards.rename("Ada", "Ada King")
    assert done == {"path": "cards/people/Ada King.md", "from": "cards/people/Ada.md", "rewritten": ["a/One.md", "a/Two.md"]}
    assert one.read_bytes() == head + b"[[Ada King#Life|her]] `[[Ada]]` [[Adam]]\r\n[[cards/people/Ada King]]"
    assert two.read_bytes() == b"---\nrelated: ['[[Ada King]]']\n---\n" and three.read_bytes() == b"[[Other]]"
    assert memory.cards.show("Ada King")["frontmatter"]["title"] == "Ada King"
    assert memory.cards.show("Ada King")["body"] == "Body of [[Ada King]]\n"
    assert memory.vault.backlinks("cards/people/Ada King.md") == ["a/One.md", "a/Two.md", "cards/people/Ada King.md"]
    assert moc(memory, "people").count("[[Ada King]]") == 1 and "[[Ada]]" not in moc(memory, "people")
    assert memory.verify().ok and memory.vault.sync().edited == []


def test_a_rename_takes_markdown_links_along_as_each_was_written(memory: Memory) -> None:
    memory.cards.new("Ada B", "contact", body="[me](Ada%20B.md)")
    memory.cards.new("Eve", "contact", body="[her](./Ada%20B.md#Life) [other](Eve.md)")
    one = note(
        memory, "a/One.md",
        b"\xef\xbb\xbf[a](../cards/people/Ada%20B.md#Life) [b](<../cards/people/Ada B.md>)\r\n"
        b"[c](/cards/people/Ada%20B.md 'title') [d](Ada%20B.md) `[e](Ada%20B.md)` [f](https://x.org/Ada%20B.md)\r\n"
        b"[g]: Ada%20B.md",
    )  # fmt: skip
    memory.vault.sync()
    assert memory.vault.backlinks("cards/people/Ada B.md") == ["a/One.md", "cards/people/Ada B.md", "cards/people/Eve.md"]
    memory.cards.rename("Ada B", "Ada (C) D")
    assert one.read_bytes() == (
        b"\xef\xbb\xbf[a](../cards/people/Ada%20%28C%29%20D.md#Life) [b](<../cards/people/Ada (C) D.md>)\r\n"
        b"[c](/cards/people/Ada%20%28C%29%20D.md 'title') [d](../cards/people/Ada%20%28C%29%20D.md) `[e](Ada%20B.md)`"
        b" [f](https://x.org/Ada%20B.md)\r\n[g]: ../cards/people/Ada%20%28C%29%20D.md"
    )
    assert memory.cards.show("Eve")["body"] == "[her](./Ada%20%28C%29%20D.md#Life) [other](Eve.md)\n"
    assert memory.cards.show("Ada (C) D")["body"] == "[me](Ada%20%28C%29%20D.md)\n"
    assert memory.vault.status()["broken_links"] == [] and memory.verify().ok and memory.vault.sync().edited == []


def test_a_rename_to_a_name_that_is_taken_is_refused(memory: Memory) -> None:
    memory.cards.new("Ada", "contact")
    memory.cards.new("Eve", "contact")
    with pytest.raises(Conflict):
        memory.cards.rename("Ada", "Eve")
    assert memory.cards.show("Ada")["frontmatter"]["title"] == "Ada"


def test_a_link_is_noted_once_and_known_from_both_ends(memory: Memory) -> None:
    memory.cards.new("Ada", "contact")
    memory.cards.new("Engine", "project")
    for _ in range(2):
        memory.cards.link("Engine", "Ada")
    assert memory.cards.show("Engine")["frontmatter"]["related"] == ["[[Ada]]"]
    assert memory.cards.links("Ada")["backlinks"] == ["cards/projects/Engine.md"]
    assert memory.cards.links("Engine")["links"] == [
        {"target": "Ada", "path": "cards/people/Ada.md", "heading": "", "alias": ""}
    ]


def test_a_retired_card_leaves_its_map_and_keeps_its_file(memory: Memory) -> None:
    memory.cards.new("Ada", "contact", description="tea")
    memory.cards.new("Eve", "contact")
    memory.cards.retire("Eve")
    assert [row["path"] for row in memory.cards.list(status="inactive")] == ["cards/people/Eve.md"]
    assert "[[Eve]]" not in moc(memory, "people") and "- [[Ada]]: tea" in moc(memory, "people")


def test_what_a_person_writes_into_a_map_stays_and_is_remembered_without_the_list(memory: Memory) -> None:
    memory.cards.new("Ada", "contact")
    file = memory.vault.root / "moc/people.md"
    file.write_text("Heron thoughts.\n" + file.read_text() + "\nmy own end")
    memory.vault.sync()
    memory.cards.new("Eve", "contact")
    text = file.read_text()
    assert text.startswith("Heron thoughts.\n") and text.endswith("\nmy own end") and "[[Eve]]" in text
    assert "[[Ada]]" not in memory.show("/moc/people")["text"] and "Heron" in memory.show("/moc/people")["text"]


def test_a_map_follows_what_a_person_adds_and_deletes(memory: Memory) -> None:
    file = note(memory, "cards/people/Ada.md", "---\ndescription: tea\n---\n")
    note(memory, "cards/people/Eve.md", "x")
    memory.vault.sync()
    assert "- [[Ada]]: tea\n- [[Eve]]\n" in moc(memory, "people")
    file.unlink()
    memory.vault.sync()
    assert "Ada" not in moc(memory, "people")


def test_a_rebuild_finds_the_same_links(memory: Memory) -> None:
    memory.cards.new("Ada", "contact", body="[[Eve]] [[Nobody]]")
    memory.cards.new("Eve", "contact", body="[[Ada]]")
    assert memory.vault.rebuild() == {"notes": 3, "links": 2, "broken": 1}
    assert memory.vault.status()["broken_links"] == [{"path": "cards/people/Ada.md", "target": "Nobody"}]


def test_a_persons_edit_after_ours_is_theirs_and_ours_on_top_does_not_change_that(memory: Memory) -> None:
    memory.cards.new("Ada", "contact", origin="agent")
    memory.cards.new("Eve", "contact", origin="agent")
    file = memory.vault.root / "cards/people/Ada.md"
    file.write_text(file.read_text() + "by hand\n")
    memory.cards.link("Ada", "Eve")
    found = memory._store.document(memory.namespace, "/cards/people/ada")
    assert found is not None and found.origin == "human-file"
    other = memory._store.document(memory.namespace, "/cards/people/eve")
    assert other is not None and other.origin == "agent"
