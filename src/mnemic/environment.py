"""What a hook has to know of the environment before anything is loaded: importing this costs next to nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def home_folder(environ: Mapping[str, str], home: str | Path | None = None) -> Path:
    """The folder that is meant: the given one, else that of the environment, else `~/.mnemic`."""
    return Path(home or environ.get("MNEMIC_HOME") or "~/.mnemic").expanduser().absolute()


def hook_seconds(environ: Mapping[str, str]) -> float | None:
    """`MNEMIC_HOOK_SECONDS`: how long a host's hook may take, for a slow machine; None for what is no such number."""
    try:
        seconds = float(environ.get("MNEMIC_HOOK_SECONDS") or 0)
    except ValueError:
        return None
    return seconds if 0 < seconds <= 600 else None
