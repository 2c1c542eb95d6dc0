"""Git's index with a few entries changed: of ten thousand only these are made anew, which is what keeps a commit short.

The format is that of git's `index-format` documentation, version 2. An index with anything else in it (another
version, conflicts, sparse or split parts) is left to dulwich, which reads and writes all of it.
"""

from __future__ import annotations

import hashlib
import os
import struct
from bisect import bisect_left
from collections.abc import Mapping

_HEAD = struct.Struct(">4sLL")
_ENTRY = struct.Struct(">10L20sH")
_SIGNATURE, _VERSION = b"DIRC", 2
LONGEST = 0xFFE
"""How many bytes a name may have here; no system opens a path that is longer."""
_ODD = 0xF000
"""Flags of what is not a plain entry: assumed unchanged, extended, or one side of a conflict."""
_DIGEST = 20


def entry(name: bytes, found: os.stat_result, blob: bytes) -> bytes:
    """An entry for a regular file, whose name has at most `LONGEST` bytes. `blob`: its 20 bytes of SHA-1."""
    words = (
        *divmod(found.st_ctime_ns, 10**9), *divmod(found.st_mtime_ns, 10**9), found.st_dev, found.st_ino, 0o100644,
        found.st_uid, found.st_gid, found.st_size,
    )  # fmt: skip
    packed = _ENTRY.pack(*(word & 0xFFFFFFFF for word in words), blob, len(name)) + name
    return packed + b"\0" * (8 - len(packed) % 8)


def changed(raw: bytes, changes: Mapping[bytes, bytes | None]) -> bytes | None:
    """An index with entries put in by name, or taken out where None is given; None if it is not one for this function.

    What git derived from the entries and keeps behind them is dropped: it makes that anew.
    """
    found = _located(raw) if raw else ([], [])
    if found is None:
        return None
    names, starts = found
    body, done, count = [], _HEAD.size, len(names)
    end = starts.pop() if starts else _HEAD.size
    for name in sorted(changes):
        at = bisect_left(names, name)
        here = starts[at] if at < len(names) else end
        body.append(raw[done:here])
        done, fresh = here, changes[name]
        if at < len(names) and names[at] == name:
            done = starts[at + 1] if at + 1 < len(names) else end
            count -= 1
        if fresh is not None:
            body.append(fresh)
            count += 1
    data = b"".join([_HEAD.pack(_SIGNATURE, _VERSION, count), *body, raw[done:end]])
    return data + hashlib.sha1(data, usedforsecurity=False).digest()


def _located(raw: bytes) -> tuple[list[bytes], list[int]] | None:
    """The names of all entries, and where each begins and the last one ends."""
    if len(raw) < _HEAD.size + _DIGEST:
        return None
    signature, version, count = _HEAD.unpack_from(raw)
    if (signature, version) != (_SIGNATURE, _VERSION):
        return None
    names, starts, at = [], [], _HEAD.size
    for _ in range(count):
        starts.append(at)
        begun = at + _ENTRY.size
        if begun > len(raw):
            return None
        flags = raw[begun - 2] << 8 | raw[begun - 1]
        size = flags & ~_ODD
        if flags & _ODD or size > LONGEST:
            return None
        names.append(raw[begun : begun + size])
        at += (_ENTRY.size + size + 8) & ~7
    starts.append(at)
    return (names, starts) if _only_optional(raw, at) else None


def _only_optional(raw: bytes, at: int) -> bool:
    """Whether what follows the entries may be dropped: git marks that by a capital letter."""
    while at < len(raw) - _DIGEST:
        if not raw[at : at + 1].isupper():
            return False
        at += 8 + int.from_bytes(raw[at + 4 : at + 8])
    return at == len(raw) - _DIGEST
