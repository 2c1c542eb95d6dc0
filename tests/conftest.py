from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.homes import Home
from tests.servers import Server, serving

settings.register_profile("mnemic", deadline=None)  # a busy machine fails no test
settings.load_profile("mnemic")


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A PostgreSQL server for the tests of this process."""
    with serving() as made:
        yield made


@pytest.fixture
def engine() -> str:
    """Which store a home is in; `tests.homes.both` runs a test on each, MNEMIC_TEST_ENGINE=postgres, or shards, all that can."""
    return os.environ.get("MNEMIC_TEST_ENGINE", "sqlite")


@pytest.fixture
def place(engine: str, request: pytest.FixtureRequest) -> str:
    """The URL of an empty database for a home, or nothing where its folder is enough."""
    if engine == "sqlite":
        return ""
    made: Server = request.getfixturevalue("server")
    return made.fresh() if engine == "postgres" else made.sharded()


@pytest.fixture
def home(tmp_path: Path, place: str) -> Iterator[Home]:
    """A fresh home, closed at the end."""
    made = Home(tmp_path, url=place)
    yield made
    made.store.close()
