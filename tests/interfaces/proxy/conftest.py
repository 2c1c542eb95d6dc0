from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from mnemic import Memory
from tests.interfaces.proxy.servers import Proxy, proxied

NAMES = itertools.count(1)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    folder = tmp_path_factory.mktemp("proxy")
    with Memory.open(folder / "home", environ={"MNEMIC_CONFIG": str(folder / "config")}) as opened:
        yield opened


@pytest.fixture
def memory(home: Memory) -> Memory:
    """A namespace of its own in the module's home."""
    return home.within(f"n{next(NAMES)}")


@pytest.fixture
def proxy(memory: Memory) -> Iterator[Proxy]:
    with proxied(memory) as running:
        yield running
