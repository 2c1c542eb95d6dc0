from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mnemic.errors import BadInput
from mnemic.interfaces.cli.app import app
from tests.synthesis.homes import TALK


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("MNEMIC_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("MNEMIC_NOW", "2026-11-01T03:00:00Z")

    def call(*words: str, stdin: str = "", plain: bool = False) -> Any:
        found = CliRunner().invoke(app, ["--home", str(tmp_path / "home"), *words, *([] if plain else ["--json"])], input=stdin)
        if found.exception:
            raise found.exception
        return found.stdout if plain else json.loads(found.stdout)

    return call


def test_a_dream_from_the_command_line_is_as_the_contract_says(run: Any) -> None:
    run("capture", str(TALK))
    foreseen = run("dream", "--dry-run")
    assert foreseen["id"] is None
    assert "+# Ines" in foreseen["diff"]
    report = run("dream")
    assert {"id", "stages", "articles", "signals", "spent", "conserved"} <= set(report)
    assert set(report["stages"][0]) == {"name", "in", "out", "rejected", "seconds"}
    assert report["articles"] == {"created": 14, "updated": 0, "unchanged": 0, "rejected": 0}
    assert report["conserved"] is True
    assert [row["id"] for row in run("dream", "list")] == [report["id"]]
    assert run("dream", "show", str(report["id"]))["articles"]["created"] == 14
    assert run("undo", f"dream:{report['id']}")["undone"] == f"dream:{report['id']}"
    assert run("dream", "list") == []


def test_stages_and_since_narrow_a_dream(run: Any) -> None:
    run("capture", str(TALK))
    report = run("dream", "--stage", "ingest", "--stage", "chunk", "--since", "2026-08-01")
    assert [row["name"] for row in report["stages"]] == ["ingest", "chunk", "commit"]
    assert report["stages"][1]["in"] == 9


def test_the_wiki_is_read_a_piece_at_a_time(run: Any) -> None:
    run("capture", str(TALK))
    run("dream")
    assert run("wiki", "list")["total"] == 14
    anchors = [row["anchor"] for row in run("wiki", "toc", "Ines")["sections"]]
    assert run("wiki", "section", "Ines", anchors[0])["text"]
    assert "Ines" in run("wiki", "links", "Pixel")["links"]
    assert run("wiki", "search", "sourdough starter")["hits"]
    assert run("wiki", "resolve", "pixel")["article"] == "Pixel"
    assert run("wiki", "infobox", "Ines")["infobox"]["type"] == "person"
    assert len(run("wiki", "category", "People")["articles"]) == 2


def test_work_orders_pass_over_the_command_line(run: Any) -> None:
    run("capture", str(TALK))
    assert run("dream", "--judge", "agent")["waiting"] is True
    order = run("dream", "work", "next")
    assert order["stage"] == "segment"
    assert run("dream", "work", "submit", order["id"], stdin='{"starts": [0]}')["status"] == "stored"


def test_a_person_reads_it_too(run: Any) -> None:
    run("capture", str(TALK))
    assert "undo dream:1" in run("dream", plain=True)
    assert "nothing new" in run("dream", plain=True)
    assert "/sessions/" in run("wiki", "section", "Ines", "arts", plain=True)


def test_a_dream_that_waits_for_the_agent_does_not_say_that_nothing_is_new(run: Any) -> None:
    run("capture", str(TALK))
    told = run("dream", "--judge", "agent", plain=True)
    assert "some of it waits" in told
    assert "nothing new" not in told


def test_the_night_does_what_is_due_before_it_dreams(run: Any) -> None:
    run("capture", str(TALK))
    names = [row["name"] for row in run("dream")["stages"]]
    assert names[:6] == ["decay", "rotate", "dedupe", "edges", "pyramid", "ingest"]
    assert names[-3:] == ["maps", "audit", "commit"]
    assert run("dream")["stages"][-1]["name"] == "audit"


def test_a_schedule_is_printed_and_a_wrong_time_refused(run: Any, tmp_path: Path) -> None:
    line = run("dream", "schedule", "--at", "4:05", "--cron")["text"]
    assert line == f"5 4 * * * mnemic --home {tmp_path / 'home'} --namespace default dream"
    assert "OnCalendar=*-*-* 03:00:00" in run("dream", "schedule")["text"]
    with pytest.raises(BadInput):
        run("dream", "schedule", "--at", "25:00")


def test_a_training_set_is_exported_with_its_manifest(run: Any, tmp_path: Path) -> None:
    run("capture", str(TALK))
    with pytest.raises(BadInput, match="name another file"):
        run("export", "training", str(tmp_path / "nowhere" / "set.jsonl"))
    made = run("export", "training", str(tmp_path / "set.jsonl"))
    assert made["examples"] == 0
    assert (tmp_path / "set.jsonl.manifest.json").exists()
