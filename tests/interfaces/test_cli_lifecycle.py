"""The verbs of use and age through the command line, on the days that `MNEMIC_NOW` names."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mnemic.interfaces.cli.app import app

Run = Callable[..., Any]
KILN = "/notes/kiln"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def call(day: str, *words: str) -> Any:
        env = {"MNEMIC_HOME": str(tmp_path / "home"), "MNEMIC_CONFIG": str(tmp_path / "c"), "MNEMIC_NOW": f"{day}T12:00:00Z"}
        result = CliRunner(env=env).invoke(app, [*words, "--json"])
        assert result.exit_code == 0, result.exception
        return json.loads(result.stdout)

    return call


def test_use_and_modes(run: Run) -> None:
    run("2026-01-01", "remember", "The kiln fires at noon.", "--title", "Kiln")
    later = "2026-03-10"
    assert run(later, "recall", "kiln", "--mode", "normal")["hits"] == []
    assert run(later, "recall", "kiln")["hits"][0]["tier"] == "archive"
    assert run(later, "recall", "kiln", "--mode", "deep")["hits"][0]["tier"] == "archive"
    drawn = run(later, "recall", "anything", "--mode", "creative", "--seed", "7")
    assert [hit["path"] for hit in drawn["hits"]] == [KILN]
    moved = [{"path": KILN, "from": "active", "to": "archive"}]
    assert run(later, "decay", "--dry-run")["moved"] == run(later, "decay")["moved"] == moved
    step = run(later, "touch", KILN)
    assert {key: step[key] for key in ("path", "tier_before", "tier_after", "relevance")} == {
        "path": KILN, "tier_before": "archive", "tier_after": "cold", "relevance": 0.4,
    }  # fmt: skip
    assert run(later, "tier", KILN, "core")["tier_after"] == "core"
    assert run(later, "recall", "kiln", "--mode", "heartbeat")["hits"][0]["tier"] == "core"
    assert run(later, "tier", KILN, "auto")["tier_after"] == "cold"


def test_age_and_shelves(run: Run) -> None:
    run("2026-01-01", "remember", "The kiln fires at noon.", "--title", "Kiln")
    later = "2026-03-10"
    assert run(later, "rotate", "--dry-run")["moved"] == {"warm": 1, "cold": 0}
    done = run(later, "rotate")
    assert (done["moved"], done["shrunk"]) == ({"warm": 1, "cold": 0}, False)
    assert run(later, "vacuum")["shrunk"] is True
    assert run(later, "stats")["shelves"] == {"hot": 0, "warm": 1, "cold": 0}
    assert run(later, "show", KILN)["shelf"] == "warm"
    assert run(later, "tend")["ran"] is True
    assert run(later, "tend")["ran"] is False
