from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.homes import Home


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """A fresh home, closed at the end."""
    made = Home(tmp_path)
    yield made
    made.store.close()
