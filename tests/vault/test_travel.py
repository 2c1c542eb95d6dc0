"""The vault's files travel with an export, and nothing that an export says leads out of the vault."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from mnemic import Memory
from mnemic.capture.portable import Portable
from mnemic.errors import BadInput, Damaged, MnemicError, Refused
from mnemic.store.schema import TRUTH
from tests.synthesis.homes import opened, say, talk


def home(folder: Path, **parts: Any) -> Memory:
    folder.mkdir(exist_ok=True)
    return opened(folder, **parts)


def lived_in(memory: Memory) -> None:
    """A vault with articles, a card, a daily note, a person's note in a folder, and a picture."""
    talk(memory)
    memory.dream()
    memory.cards.new("Ada", "contact", body="Likes trains.")
    root = memory.vault.root
    (root / "notes of mine").mkdir()
    (root / "notes of mine" / "Küche.md").write_text("The oven is at 230 °C. See [[Ada]].\n", "utf-8")
    (root / "plan.png").write_bytes(b"\x89PNG\x00\xff")
    (root / ".obsidian").mkdir()
    (root / ".obsidian" / "app.json").write_text("{}")
    memory.vault.sync()


def tree(folder: Path) -> dict[str, bytes]:
    found = (file for file in sorted(folder.rglob("*")) if file.is_file())
    by_path = {str(file.relative_to(folder)): file for file in found}
    return {path: file.read_bytes() for path, file in by_path.items() if not path.startswith(".")}


def state(memory: Memory) -> dict[str, Any]:
    return {name: [dict(row) for row in memory._store.rows(memory.namespace, name)] for name in TRUTH}


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export")
    with home(folder / "a") as memory:
        lived_in(memory)
        memory.export(folder / "out")
    return folder / "out"


@pytest.fixture
def out(export: Path, tmp_path: Path) -> Path:
    """An export that a test may change."""
    return Path(shutil.copytree(export, tmp_path / "out"))


def forged(out: Path, rows: list[dict[str, Any]]) -> None:
    """Put these rows into an export's list of files, with a fitting digest."""
    body = "".join(json.dumps(row) + "\n" for row in rows)
    (out / "vault.jsonl").write_text(body)
    manifest = json.loads((out / "mnemic.json").read_text())
    manifest["files"]["vault.jsonl"] = sha256(body.encode()).hexdigest()
    (out / "mnemic.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize("git", ["off", "own"])
def test_the_vault_comes_back_with_the_memory_and_the_export_of_both_is_the_same(tmp_path: Path, git: str) -> None:
    with home(tmp_path / "a", git=git) as memory, home(tmp_path / "b", git=git) as other:
        lived_in(memory)
        done = memory.export(tmp_path / "out")
        assert done["skipped"] == {".obsidian": "names that begin with a dot do not travel"}
        read = other.read_export(tmp_path / "out")
        assert read["vault"] == done["counts"]["vault"] == len(tree(memory.vault.root))
        assert tree(other.vault.root) == tree(memory.vault.root)
        assert not (other.vault.root / ".obsidian").exists()
        assert other.wiki.list() == memory.wiki.list() != {"articles": [], "total": 0, "more": 0}
        assert (state(other), other.ledger_export()) == (state(memory), memory.ledger_export())
        report = other.vault.sync()
        assert (report.new, report.edited, report.deleted) == ([], [], [])
        assert other.ledger_export() == memory.ledger_export()
        assert other.doctor()["problems"] == []
        other.export(tmp_path / "again")
    assert tree(tmp_path / "again") == tree(tmp_path / "out")


def test_a_dream_goes_on_in_the_articles_that_came_in(tmp_path: Path) -> None:
    with home(tmp_path / "a") as memory, home(tmp_path / "b") as other:
        lived_in(memory)
        memory.export(tmp_path / "out")
        other.read_export(tmp_path / "out")
        before = tree(other.vault.root)
        with pytest.raises(Refused, match="what stood before it is not kept, because of an erasure or an import since"):
            other.undo("dream:1")
        assert other.dream()["id"] is None
        for one in (memory, other):
            say(one, "later", ("user", "Ines", "I painted the lighthouse at Skagen today. It took three hours."),
                ("assistant", "", "How did the painting turn out?"))  # fmt: skip
            one.dream()
        assert tree(other.vault.root) == tree(memory.vault.root)
        assert tree(other.vault.root)["articles/Ines.md"] != before["articles/Ines.md"]


def test_an_edit_that_nobody_has_taken_in_yet_is_taken_in_as_the_person_s_by_the_import(tmp_path: Path) -> None:
    with home(tmp_path / "a") as memory, home(tmp_path / "b") as other:
        lived_in(memory)
        card = memory.vault.root / "cards" / "people" / "Ada.md"
        card.write_text(card.read_text("utf-8") + "\nShe moved to Porto.\n", "utf-8")
        memory.export(tmp_path / "out")
        other.read_export(tmp_path / "out")
        assert "She moved to Porto." in other.show("/cards/people/ada")["text"]
        assert other.vault.origin_of("cards/people/Ada.md") == "human-file"
        assert other.vault.origin_of("articles/Ines.md") == "agent"


OUTSIDE = ["../out.md", "/etc/x.md", "a/../../b.md", "~/x.md", ".git/config", "a/.obsidian/x", "", "a//b", 7]


@pytest.mark.parametrize("path", OUTSIDE)
def test_a_path_that_leads_out_or_is_hidden_is_refused_before_anything_is_written(out: Path, tmp_path: Path, path: Any) -> None:
    rows = [json.loads(line) for line in (out / "vault.jsonl").read_text().splitlines()]
    forged(out, [*rows, {"path": path, "sha256": sha256(b"x").hexdigest(), "origin": None}])
    with home(tmp_path / "b") as other:
        with pytest.raises(BadInput):
            other.read_export(out)
        assert other.status()["head"] is None
        assert tree(other.vault.root) == {}
    assert not (tmp_path / "out.md").exists()


def test_a_link_in_an_export_is_not_followed(out: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("x")
    (out / "vault" / "plan.png").unlink()
    (out / "vault" / "plan.png").symlink_to(secret)
    rows = [json.loads(line) for line in (out / "vault.jsonl").read_text().splitlines()]
    forged(out, [{**row, "sha256": sha256(b"x").hexdigest()} if row["path"] == "plan.png" else row for row in rows])
    with home(tmp_path / "b") as other, pytest.raises(Damaged, match="plan.png cannot be read"):
        other.read_export(out)


def test_a_changed_or_missing_file_of_the_vault_is_refused_by_a_dry_run_too(out: Path, tmp_path: Path) -> None:
    for change in (lambda file: file.write_text("Other."), Path.unlink):
        change(out / "vault" / "articles" / "Ines.md")
        for dry_run in (True, False):
            with home(tmp_path / "b") as other, pytest.raises(Damaged, match="articles/Ines.md"):
                other.read_export(out, dry_run=dry_run)


def test_a_vault_that_holds_another_text_in_a_files_place_is_left_as_it_is(out: Path, tmp_path: Path) -> None:
    with home(tmp_path / "b") as other:
        file = other.vault.root / "articles" / "Ines.md"
        file.parent.mkdir(parents=True)
        file.write_text("Mine.")
        with pytest.raises(Refused, match=r"'articles/Ines\.md' is in the vault already, with another text"):
            other.read_export(out)
        assert (tree(other.vault.root), other.status()["head"]) == ({"articles/Ines.md": b"Mine."}, None)


def test_an_import_that_fails_takes_the_files_away_again_and_one_that_was_killed_goes_on(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for error in (Damaged("the ledger is torn"), KeyboardInterrupt()):
        with home(tmp_path / "b") as other:
            def torn(*_: Any, error: BaseException = error) -> Any:
                raise error

            with monkeypatch.context() as patch:
                patch.setattr(Portable, "_adopt", torn)
                with pytest.raises(type(error)):
                    other.read_export(out)
            assert other.status()["head"] is None
            assert bool(tree(other.vault.root)) == (not isinstance(error, MnemicError))
    with home(tmp_path / "b") as other:
        assert other.read_export(out)["stored"]
        assert other.vault.origin_of("articles/Ines.md") == "agent"
        assert tree(other.vault.root) == tree(out / "vault")


def test_an_export_from_before_vaults_travelled_still_comes_in(out: Path, tmp_path: Path) -> None:
    (out / "vault.jsonl").unlink()
    shutil.rmtree(out / "vault")
    manifest = json.loads((out / "mnemic.json").read_text())
    del manifest["files"]["vault.jsonl"], manifest["counts"]["vault"]
    (out / "mnemic.json").write_text(json.dumps(manifest))
    with home(tmp_path / "b") as other:
        assert other.read_export(out)["stored"]
        assert other.verify().ok


def test_an_export_into_the_vault_does_not_hold_itself(tmp_path: Path) -> None:
    with home(tmp_path / "a") as memory:
        lived_in(memory)
        memory.export(memory.vault.root / "out")
        rows = (memory.vault.root / "out" / "vault.jsonl").read_text().splitlines()
        assert not [row for row in rows if '"out/' in row]
