from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic import Memory
from tests.interfaces.proxy.servers import Proxy, proxied


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "home", environ={"MNEMIC_CONFIG": str(tmp_path / "config")}) as opened:
        yield opened


@pytest.fixture
def proxy(memory: Memory) -> Iterator[Proxy]:
    with proxied(memory) as running:
        yield running
