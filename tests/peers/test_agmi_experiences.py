"""agmi's front-door attacks: what comes from outside, under whatever label, is never surfaced as authority."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agmi")


@pytest.fixture(scope="module")
def adapter() -> Any:
    spec = importlib.util.spec_from_file_location("agmi_experiences", Path(__file__).with_name("agmi_experiences.py"))
    assert spec and spec.loader
    module = sys.modules["agmi_experiences"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = module.MnemicFront()
    yield made
    made.close()


@pytest.mark.parametrize("mutate", [False, True])
def test_external_and_laundered_channels_surface_nothing(adapter: Any, mutate: bool) -> None:
    from agmi.measure import run_memory_attacks

    results = {result.attack: result for result in run_memory_attacks(adapter, mutate=mutate)}
    assert len(results) == 6
    assert results["cross_session_bleed"].status == "safe"
    for result in results.values():
        if result.attack != "cross_session_bleed":
            assert (result.error, result.channels["external"], result.channels["laundered"]) == (None, [False] * 5, [False] * 5)
