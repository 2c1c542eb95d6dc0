"""mcp-ssrf-check against MCP over HTTP as `mnemic serve` offers it, and against the plain app, in both lives of the protocol."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mnemic.interfaces.mcp.tools import TOOLS
from tests.interfaces.mcp.clients import home
from tests.interfaces.mcp.test_server import served
from tests.interfaces.rest.test_serve import environ, serving

LIVES = {"stateless": "skip", "stateful": "pass"}
"""The two lives, and what becomes of the check on sessions in each: the newer one has none."""


def checked(tmp_path: Path, url: str, life: str, token: str = "") -> dict[str, str]:
    """What became of each check."""
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "mcp_ssrf_check.cli", "--url", url, "--lifecycle", life, "--json-out", str(report)]
    more = {"MCP_SSRF_CHECK_BEARER": token} if token else {}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**environ(tmp_path), **more})
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(report.read_text())
    return {row["id"]: row["status"] for row in found["checks"]}


def good(life: str) -> dict[str, str]:
    # A null origin is only told of, not judged: our own table refuses it. No tool of ours takes an address.
    return {"baseline": "pass", "host-header": "pass", "origin-header": "pass", "origin-null": "info",
            "session-binding": LIVES[life], "tool-url-ssrf": "skip"}  # fmt: skip


@pytest.mark.parametrize("life", LIVES)
def test_the_service_passes_behind_its_token(tmp_path: Path, life: str) -> None:
    with serving(tmp_path) as (url, headers):
        token = headers["authorization"].removeprefix("Bearer ")
        assert checked(tmp_path, f"{url}/mcp", life, token) == good(life)


@pytest.mark.parametrize("life", LIVES)
def test_the_plain_app_passes(tmp_path: Path, life: str) -> None:
    with home(tmp_path) as memory, served(memory) as url:
        assert checked(tmp_path, f"{url}/mcp", life) == good(life)


def test_no_tool_takes_an_address_to_fetch() -> None:
    given = {name for tool in TOOLS for name in tool.schema["properties"]}
    assert not given & {"url", "uri", "href", "link", "endpoint", "address"}
