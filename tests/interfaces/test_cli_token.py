"""`mnemic token`: given out once, listed without its text, revoked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mnemic.clock import SystemClock
from mnemic.errors import BadInput
from mnemic.interfaces.cli.app import app
from mnemic.interfaces.tokens import Tokens


@pytest.fixture(autouse=True)
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMIC_CONFIG", str(tmp_path / "config"))


def run(tmp_path: Path, *words: str) -> str:
    done = CliRunner().invoke(app, ["--home", str(tmp_path / "home"), *words], catch_exceptions=False)
    return done.stdout


def test_a_token_is_given_out_listed_and_revoked(tmp_path: Path) -> None:
    text = run(tmp_path, "token", "add", "ci", "--scope", "read", "--scope", "write", "--for", "work").strip()
    grant = Tokens(tmp_path / "home", SystemClock()).grant(text)
    assert grant is not None and grant.namespaces == {"work"} and grant.scopes == {"read", "write"}
    row = json.loads(run(tmp_path, "token", "list", "--json"))[0]
    assert (row["name"], row["scopes"], row["namespaces"], row["expires"]) == ("ci", ["read", "write"], ["work"], None)
    assert run(tmp_path, "token", "list") == "ci  read, write  work\n"
    run(tmp_path, "token", "revoke", "ci")
    assert run(tmp_path, "token", "list") == "none\n"
    assert Tokens(tmp_path / "home", SystemClock()).grant(text) is None


def test_without_options_a_token_only_reads_the_namespace_that_is_meant(tmp_path: Path) -> None:
    text = json.loads(run(tmp_path, "--namespace", "work", "token", "add", "guest", "--json"))["token"]
    grant = Tokens(tmp_path / "home", SystemClock()).grant(text)
    assert grant is not None and grant.scopes == {"read"} and grant.namespaces == {"work"}


def test_all_namespaces_are_asked_for_by_name(tmp_path: Path) -> None:
    text = run(tmp_path, "token", "add", "root", "--all-namespaces", "--scope", "admin").strip()
    grant = Tokens(tmp_path / "home", SystemClock()).grant(text)
    assert grant is not None and grant.namespaces is None
    with pytest.raises(BadInput, match="exclude each other"):
        run(tmp_path, "token", "add", "both", "--all-namespaces", "--for", "work")
