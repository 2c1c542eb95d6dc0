from __future__ import annotations

from pathlib import Path

from mnemic import Memory
from mnemic.models.answer import Budget


def test_why_not_tells_a_hit_that_was_returned_from_one_that_was_crowded_out(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home", environ={"MNEMIC_CONFIG": str(tmp_path / "config")}) as memory:
        paths = [str(memory.remember(f"The walrus {verb}.", title=verb).path) for verb in ("naps", "eats", "swims")]
        answer = memory.recall("walrus", budget=Budget(nodes=1), why_not=paths)
        stages = {item.path: item.stage for item in answer.why_not}
        assert len(answer.hits) == 1
        assert stages.pop(answer.hits[0].path) == "returned"
        assert set(stages.values()) == {"budget"}
        small = memory.recall("walrus", budget=Budget(chars=5, node_chars=900), why_not=paths)
        assert {item.stage for item in small.why_not} == {"budget"}
