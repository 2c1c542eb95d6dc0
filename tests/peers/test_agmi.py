"""The public agmi suite runs against mnemic and finds no edit that is accepted."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("agmi")


def test_no_edit_behind_the_stores_back_is_accepted() -> None:
    here = Path(__file__).parent
    result = subprocess.run(
        [sys.executable, "-m", "agmi.check", "--adapter", "agmi_adapter:MnemicAdapter"],
        capture_output=True, text=True, timeout=120, cwd=here,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(here), os.environ.get("PYTHONPATH", "")])},
    )  # fmt: skip
    report = result.stdout + result.stderr
    assert result.returncode == 0, report
    assert len(re.findall(r"\bT[1-9]\b", report)) >= 9, report
