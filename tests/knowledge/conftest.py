from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.homes import Home
from tests.minds import Mind

MEMORY = Path("/dev/shm")


@pytest.fixture
def home(place: str) -> Iterator[Home]:
    """A fresh home, in memory where there is such a folder: these tests write thousands of entries, each synced."""
    folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
    made = Home(folder, url=place)
    yield made
    made.store.close()
    shutil.rmtree(folder)


@pytest.fixture
def mind(home: Home) -> Mind:
    return Mind(home)
