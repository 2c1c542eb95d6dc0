from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic import Memory


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    environ = {"MNEMIC_CONFIG": str(tmp_path / "config"), "MNEMIC_NOW": "2026-11-30T12:00:00Z"}
    with Memory.open(tmp_path / "home", environ=environ) as opened:
        yield opened
