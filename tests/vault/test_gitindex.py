from __future__ import annotations

import os
from pathlib import Path

import pytest
from dulwich.index import ConflictedIndexEntry, Index, IndexEntry
from dulwich.objects import ObjectID
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.vault.gitindex import changed, entry

FOUND = os.stat(__file__)
NAMES = st.sampled_from([b"a", b"a.b", b"a/b", b"ab", b"b" * 4094, "中".encode(), b"z"])


def read(folder: Path, raw: bytes) -> dict[bytes, bytes]:
    """What dulwich, which checks the digest, makes of an index."""
    file = folder / "index"
    file.write_bytes(raw)
    index = Index(str(file))
    found = {}
    for name in index:
        there = index[name]
        assert isinstance(there, IndexEntry)
        assert (there.size, there.mode, there.ino) == (FOUND.st_size, 0o100644, FOUND.st_ino & 0xFFFFFFFF)
        found[name] = bytes.fromhex(there.sha.decode())
    return found


@settings(max_examples=60)
@given(rounds=st.lists(st.dictionaries(NAMES, st.none() | st.binary(min_size=20, max_size=20)), max_size=4))
def test_an_index_holds_what_was_put_in_last_and_nothing_that_was_taken_out(
    tmp_path_factory: pytest.TempPathFactory, rounds: list[dict[bytes, bytes | None]]
) -> None:
    folder, raw, wanted = tmp_path_factory.mktemp("index"), b"", dict[bytes, bytes]()
    for changes in rounds:
        made = changed(raw, {name: entry(name, FOUND, blob) if blob else None for name, blob in changes.items()})
        assert made is not None
        raw = made
        wanted = {name: blob for name, blob in {**wanted, **changes}.items() if blob is not None}
        assert read(folder, raw) == wanted and list(read(folder, raw)) == sorted(wanted)


def test_an_index_that_is_odd_is_left_to_dulwich(tmp_path: Path) -> None:
    plain = changed(b"", {b"a": entry(b"a", FOUND, b"x" * 20)})
    assert plain is not None
    assert changed(plain[:-20] + b"TREE\0\0\0\x02ab" + plain[-20:], {}) == plain
    assert changed(plain[:-20] + b"link\0\0\0\x02ab" + plain[-20:], {}) is None
    assert changed(plain[:7] + b"\4" + plain[8:], {}) is None and changed(plain[:30], {}) is None
    index = Index(str(tmp_path / "conflicted"), read=False)
    index[b"a"] = ConflictedIndexEntry(this=IndexEntry((0, 0), (0, 0), 0, 0, 0o100644, 0, 0, 0, ObjectID(b"0" * 40), 0x1000, 0))
    index.write()
    assert changed((tmp_path / "conflicted").read_bytes(), {}) is None
