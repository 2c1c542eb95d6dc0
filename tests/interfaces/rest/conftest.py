"""What the tests of REST and of the workbench share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic import Memory
from tests.interfaces.mcp.clients import home
from tests.interfaces.rest.clients import Client
from tests.interfaces.rest.desk import browser, served


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    sync_playwright, program = browser()
    with sync_playwright() as started:
        made = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with home(tmp_path) as made:
        yield made


@pytest.fixture
def client(memory: Memory) -> Client:
    return Client(memory)


@pytest.fixture
def url(memory: Memory) -> Iterator[str]:
    with served(memory) as at:
        yield at
