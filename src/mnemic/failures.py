"""What a hook could not do, kept beside the home until it works again: a hook is silent, and `doctor` tells.

It has to be written when nothing else works, so it is one small file and needs the standard library alone. It holds no
text of memories, only what the error said.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from mnemic.environment import HOOK_FAILURES

REASON_CHARS = 300


def note(home: Path, event: str, reason: str, at: str) -> None:
    """Keep why an event failed, in place of why it failed before. Never raises."""
    known = _read(home)
    count = int(known.get(event, {}).get("count", 0)) + 1
    _write(home, {**known, event: {"at": at, "reason": " ".join(reason.split())[:REASON_CHARS], "count": count}})


def clear(home: Path, event: str) -> None:
    """Forget why an event failed: it works again. Never raises."""
    known = _read(home)
    if event in known:
        del known[event]
        _write(home, known)


def noted(home: Path) -> list[str]:
    """What failed and has not worked since, in sentences."""
    return [
        f"the hook {event!r} failed {row['count']} time{'s' if row['count'] > 1 else ''}, last at {row['at']}: {row['reason']}"
        for event, row in sorted(_read(home).items())
    ]


def _read(home: Path) -> dict[str, dict[str, Any]]:
    try:
        rows = json.loads((home / HOOK_FAILURES).read_bytes())
        return {str(name): row for name, row in rows.items() if {"at", "reason", "count"} <= row.keys()}
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}


def _write(home: Path, rows: dict[str, dict[str, Any]]) -> None:
    try:
        if not rows:  # that there is no such file tells a hook, without reading it, that nothing is to be cleared
            (home / HOOK_FAILURES).unlink(missing_ok=True)
            return
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = home / f"{HOOK_FAILURES}.{os.getpid()}"
        fresh.write_text(json.dumps(rows, ensure_ascii=False), "utf-8")
        fresh.chmod(0o600)
        fresh.replace(home / HOOK_FAILURES)
    except OSError:
        return
