from __future__ import annotations

from collections.abc import Iterator

import pytest

from mnemic import Memory
from tests.interfaces.integrations.homes import rooms


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Iterator[Memory]]:
    with rooms(tmp_path_factory.mktemp("rooms")) as made:
        yield made


@pytest.fixture
def memory(room: Iterator[Memory]) -> Memory:
    return next(room)
