"""What a hook has to know of the environment before anything is loaded: importing this costs next to nothing.

So it needs `os` alone: pathlib and typing would take a hook longer than its answer.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

HOOK_FAILURES = "hook-failures.json"
"""In a home: what its hooks could not do."""


def home_folder(environ: Mapping[str, str], home: str | os.PathLike[str] | None = None) -> str:
    """The folder that is meant: the given one, else that of the environment, else `~/.mnemic`. Raises BadInput for a `~` that
    leads nowhere."""
    folder = os.path.expanduser(home or environ.get("MNEMIC_HOME") or "~/.mnemic")
    if folder.startswith("~"):
        from mnemic.errors import BadInput

        raise BadInput(f"home {folder!r} names nobody who is known here: set MNEMIC_HOME, or HOME")
    return os.path.abspath(folder)


def hook_seconds(environ: Mapping[str, str]) -> float | None:
    """`MNEMIC_HOOK_SECONDS`: how long a host's hook may take, for a slow machine; None for what is no such number."""
    try:
        seconds = float(environ.get("MNEMIC_HOOK_SECONDS") or 0)
    except ValueError:
        return None
    return seconds if 0 < seconds <= 600 else None
