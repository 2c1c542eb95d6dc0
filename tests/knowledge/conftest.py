from __future__ import annotations

import pytest

from tests.homes import Home
from tests.minds import Mind


@pytest.fixture
def mind(home: Home) -> Mind:
    return Mind(home)
