"""What OpenAPI says is what is answered: schemathesis against the real process, within a bounded time and without a network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from mnemic import Memory
from mnemic.models.document import Turn
from tests.interfaces.mcp.clients import home
from tests.interfaces.rest.test_serve import serving

NOTE = "Ada prefers the window seat."
CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance",
    "response_headers_conformance",
)  # fmt: skip


def filled(memory: Memory) -> None:
    """Something under the numbers and names that are asked for most."""
    memory.remember(NOTE, title="0")
    memory.capture([Turn("user", "I moved to Porto."), Turn("assistant", "Noted.")], session="0")
    for number in range(3):
        memory.diary.add(f"said {number}")
        memory.facts.add("identity", f"home_city {number}", "Porto")


def test_schemathesis_finds_no_fault_of_ours_and_no_answer_that_is_not_described(tmp_path: Path) -> None:
    with home(tmp_path) as memory:
        filled(memory)
    config = tmp_path / "schemathesis.toml"  # what another folder of this machine says is not meant
    config.write_text("")
    with serving(tmp_path) as (url, headers):
        command = [
            sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()",
            "--config-file", str(config), "run",
            f"{url}/openapi.json", "--header", f"Authorization: {headers['authorization']}", "--phases", "coverage,fuzzing",
            "--checks", ",".join(CHECKS), "--generation-deterministic", "--max-examples", "3", "--no-color",
            "--suppress-health-check", "all",
        ]  # fmt: skip
        own = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path, env=own)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    counted = re.search(r"(\d+) generated", done.stdout)
    tested = re.search(r"Tested: (\d+)", done.stdout)
    assert counted and int(counted[1]) > 1_000, done.stdout[-2000:]
    assert tested and int(tested[1]) > 100, done.stdout[-2000:]
