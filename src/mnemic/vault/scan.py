"""What lies in the vault's folder: notes by path with their stamps, and what was seen but not taken, with the reason."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path

from mnemic.vault.files import MAX_BYTES, Stamp, is_side_file
from mnemic.vault.links import ENDING

_COPY = re.compile(
    r"(?P<name>.+?)(?: \([^()]*(?:conflicted copy|conflict copy|case conflict|en conflit|in konflikt|冲突)[^()]*\)"
    r"|\.sync-conflict-[^.]+|\.conflict-[0-9a-f]{8}(?:-\d+)?)\Z",
    re.IGNORECASE | re.DOTALL,
)
_EVICTED = re.compile(r"\.(.+\.md)\.icloud\Z", re.IGNORECASE | re.DOTALL)


@dataclass(slots=True)
class Listing:
    """One look at the folder."""

    notes: dict[str, Stamp] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    """Names that were seen and not read, with the reason; nothing is concluded about what stood there before."""
    closed: list[str] = field(default_factory=list)
    """Folders that could not be listed: nothing below them counts as gone."""
    copies: dict[str, str] = field(default_factory=dict)
    """A sync tool's conflict copies, and what each is a copy of."""
    side: list[str] = field(default_factory=list)
    entries: int = 0
    """Of all kinds: a folder with none at all is a disk that is not mounted rather than a vault without notes."""

    def knows_absence(self, path: str) -> bool:
        """Whether it is certain that nothing stands at a path."""
        return (
            path not in self.notes
            and path not in self.skipped
            and path not in self.copies
            and not any(folder == "" or path.startswith(folder + "/") for folder in self.closed)
        )


def scan(root: Path) -> Listing:
    """List a vault; hidden folders and symlinks are not entered."""
    found = Listing()
    stack = [""]
    while stack:
        folder = stack.pop()
        try:
            with os.scandir(root / folder if folder else root) as entries:
                for entry in entries:
                    found.entries += 1
                    below = _look(entry, f"{folder}/{entry.name}" if folder else entry.name, found)
                    if below is not None:
                        stack.append(below)
        except OSError as error:
            found.closed.append(folder)
            found.skipped[folder or "."] = f"the folder cannot be listed ({error.strerror})"
    _set_copies_apart(found)
    return found


def _look(entry: os.DirEntry[str], path: str, found: Listing) -> str | None:
    """Note one entry; the path, if it is a folder to enter."""
    name = entry.name
    if evicted := _EVICTED.match(name):
        found.skipped[path[: -len(name)] + evicted[1]] = "it is in the cloud and not on this disk"
        return None
    if name.startswith("."):
        if is_side_file(name):
            found.side.append(path)
        return None
    is_note = name.lower().endswith(ENDING)
    try:
        if entry.is_symlink():
            if is_note or entry.is_dir():
                found.skipped[path] = "it is a symlink"
                if not is_note:
                    found.closed.append(path)
            return None
        if entry.is_dir(follow_symlinks=False):
            return path
        if not is_note:
            return None
        seen = entry.stat(follow_symlinks=False)
    except OSError as error:
        found.skipped[path] = f"it cannot be read ({error.strerror})"
        return None
    if not stat.S_ISREG(seen.st_mode):
        found.skipped[path] = "it is no regular file"
    elif not _is_text(path):
        found.skipped[path] = "its name is not UTF-8: rename it"
    elif seen.st_size > MAX_BYTES:
        found.skipped[path] = f"it has {seen.st_size:,} bytes, the limit is {MAX_BYTES:,}: split it"
    else:
        found.notes[path] = Stamp.of(seen)
    return None


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _set_copies_apart(found: Listing) -> None:
    for path in list(found.notes):
        match = _COPY.match(path[: -len(ENDING)]) if "onf" in path or "冲突" in path or "ONF" in path else None
        original = match["name"] + ENDING if match else None
        if original in found.notes:
            found.copies[path] = original
    for path in found.copies:
        del found.notes[path]
