"""Tokens in their file: what is granted, refused, and kept."""

from __future__ import annotations

import json
import os
import stat
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from mnemic.clock import FixedClock
from mnemic.errors import BadInput, Conflict, NotFound, Refused
from mnemic.interfaces.tokens import FILE, Access, Grant, Tokens
from tests.homes import NOON

OWNERS = "the-token-of-the-owner"


def tokens(tmp_path: Path, clock: FixedClock | None = None) -> Tokens:
    return Tokens(tmp_path, clock or FixedClock(NOON), OWNERS)


def test_the_owner_may_do_everything_everywhere(tmp_path: Path) -> None:
    grant = tokens(tmp_path).grant(OWNERS)
    assert grant == Grant(name="owner") and grant.sees("anything") and not grant.lacks(["read", "write", "erase", "admin"])


def test_a_token_is_good_for_what_it_was_given_for(tmp_path: Path) -> None:
    text = tokens(tmp_path).add("ci", scopes=["read", "write"], namespaces=["work"])
    grant = tokens(tmp_path).grant(text)
    assert grant is not None
    assert (grant.name, grant.scopes, grant.namespaces) == ("ci", {"read", "write"}, {"work"})
    assert grant.lacks(["read", "erase", "admin"]) == ["erase", "admin"]
    assert not grant.sees("default") and tokens(tmp_path).grant(text + "x") is None and tokens(tmp_path).grant("") is None


def test_the_file_is_its_owners_alone_and_holds_no_token(tmp_path: Path) -> None:
    text = tokens(tmp_path).add("ci", scopes=["read"], namespaces=None)
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    assert text.removeprefix("mnemic_") not in (tmp_path / FILE).read_text() and len(text) == 50
    assert "digest" not in json.dumps(tokens(tmp_path).all())
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_a_token_ends_when_it_is_said_to(tmp_path: Path) -> None:
    clock = FixedClock(NOON)
    made = tokens(tmp_path, clock)
    text = made.add("guest", scopes=["read"], namespaces=["work"], expires=NOON + timedelta(days=1))
    assert made.grant(text) is not None and made.all()[0]["expired"] is False
    clock.advance(days=1)
    assert made.grant(text) is None and made.all()[0]["expired"] is True


def test_what_another_process_revokes_is_shut_at_once(tmp_path: Path) -> None:
    serving = tokens(tmp_path)
    text = serving.add("ci", scopes=["read"], namespaces=["work"])
    assert serving.grant(text) is not None
    tokens(tmp_path).revoke("ci")
    assert serving.grant(text) is None
    with pytest.raises(NotFound, match="token list"):
        serving.revoke("ci")


@pytest.mark.parametrize(("given", "words"), [
    ({"scopes": ["root"]}, "'root' is unknown"), ({"scopes": []}, "'none' is unknown"), ({"namespaces": []}, "opens nothing"),
    ({"namespaces": ["\0"]}, "cannot be used"), ({"name": " "}, "cannot be used"), ({"name": "owner"}, "cannot be used"),
    ({"name": "x" * 61}, "cannot be used"), ({"expires": NOON}, "is over"),
    ({"voice": "human-file"}, "nobody whose word"),
])  # fmt: skip
def test_a_token_that_cannot_be_is_refused(tmp_path: Path, given: Any, words: str) -> None:
    whole = {"name": "ci", "scopes": ["read"], "namespaces": ["work"], **given}
    with pytest.raises(BadInput, match=words):
        tokens(tmp_path).add(whole.pop("name"), **whole)
    assert not (tmp_path / FILE).exists()


def test_a_name_is_given_once(tmp_path: Path) -> None:
    tokens(tmp_path).add("ci", scopes=["read"], namespaces=["work"])
    with pytest.raises(Conflict, match="revoke it first"):
        tokens(tmp_path).add("ci", scopes=["write"], namespaces=["work"])


def row(**more: Any) -> str:
    """A file with one token."""
    return json.dumps({"tokens": [{"name": "a", "digest": "0" * 64, "scopes": ["read"], "namespaces": None, "voice": "user",
                                   "made": 1, "expires": None, **more}]})  # fmt: skip


@pytest.mark.parametrize(("text", "mode"), [
    *((row(**wrong), 0o600) for wrong in ({"made": 10**30}, {"expires": 10**30}, {"digest": "é" * 64})),
    ("{}", 0o600), ("[", 0o600), ('{"tokens": [{}]}', 0o600), ('{"tokens": 3}', 0o600), ("", 0o600), (None, 0o644),
    ('{"tokens": [{"name": "a", "digest": "b", "scopes": "admin", "namespaces": null, "voice": "user", "made": 1,'
     ' "expires": null}]}', 0o600),
])  # fmt: skip
def test_a_file_that_is_no_good_opens_nothing_and_is_named(tmp_path: Path, text: str | None, mode: int) -> None:
    made = tokens(tmp_path)
    given = made.add("ci", scopes=["read"], namespaces=["work"])
    assert made.grant(given) is not None
    if text is not None:
        (tmp_path / FILE).write_text(text)
    os.chmod(tmp_path / FILE, mode)
    assert made.grant(given) is None and made.grant(OWNERS) is not None
    with pytest.raises(BadInput, match=r"tokens\.json"):
        made.all()


def test_access_says_which_scope_is_lacking(tmp_path: Path) -> None:
    access = Access(Grant(name="ci", scopes=frozenset({"read"})), lambda: None)  # type: ignore[arg-type, return-value]
    access.need("read")
    with pytest.raises(Refused, match="'ci' lacks the scope write"):
        access.need("read", "write")
