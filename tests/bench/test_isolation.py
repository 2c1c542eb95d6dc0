from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from bench.isolation import NAMES, measured
from mnemic import Memory
from mnemic.interfaces.rest.spaces import Spaces


@pytest.fixture(autouse=True)
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMIC_CONFIG", str(tmp_path / "config"))


def test_nothing_of_a_namespace_is_seen_from_another_over_any_surface(tmp_path: Path) -> None:
    report = anyio.run(measured, tmp_path, 400, 7)
    assert (report.crossings, report.faults, report.operations) == ([], [], 400)
    assert set(report.surfaces) == {"memory", "rest", "mcp", "adapters", "cli", "heavy"} and report.own > 50


def test_a_wall_that_is_missing_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    neighbour = {name: NAMES[place - 1] for place, name in enumerate(NAMES)}
    of = Spaces.of
    monkeypatch.setattr(Spaces, "of", lambda self, name: of(self, neighbour[name]))
    report = anyio.run(measured, tmp_path, 100, 7)
    assert len(report.crossings) >= 3 and not report.ok


def test_names_that_are_alike_are_ten_namespaces_with_a_vault_each(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home", environ={"MNEMIC_CONFIG": str(tmp_path)}) as memory:
        assert len({str(memory.within(name).vault.root).casefold() for name in NAMES}) == len(set(NAMES)) == 10
