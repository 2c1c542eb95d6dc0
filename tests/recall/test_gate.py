from __future__ import annotations

from pathlib import Path

import pytest

from mnemic import Memory
from mnemic.models.document import Turn

STEPS = "\n\n".join(f"## Step {n}\n\nMix the flour of bag {n} with water, salt and yeast, then rest it." for n in range(30))


@pytest.mark.parametrize(("reply", "low", "high"), [("Mix flour with water.", 1.0, 1.0), (STEPS, 0.0, 0.2)])
def test_neighbours_lend_to_short_messages_and_little_to_long_ones_however_many_parts_they_have(
    tmp_path: Path, reply: str, low: float, high: float
) -> None:
    with Memory.open(tmp_path / "home", environ={"MNEMIC_CONFIG": str(tmp_path / "config")}) as memory:
        memory.capture([Turn("user", "How do I bake bread?"), Turn("assistant", reply)], session="s")
        (best, *_) = memory.recall("how to bake bread").hits
    assert low <= best.signals["gate"] <= high
