from __future__ import annotations

import pytest

from mnemic.environment import hook_seconds


@pytest.mark.parametrize(("given", "seconds"), [("2.5", 2.5), ("", None), ("soon", None), ("0", None), ("nan", None)])
def test_the_time_of_a_hook_is_a_number_of_seconds_or_left_alone(given: str, seconds: float | None) -> None:
    assert hook_seconds({"MNEMIC_HOOK_SECONDS": given}) == seconds
