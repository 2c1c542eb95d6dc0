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
    leads nowhere.

    Of a database, the folder for what is a file: `MNEMIC_FILES`, else one of its own among the user's data.
    """
    if url := store_url(environ, home):
        data = environ.get("XDG_DATA_HOME") or "~/.local/share"
        folder = os.path.expanduser(environ.get("MNEMIC_FILES") or os.path.join(data, "mnemic", _file_name(shown_url(url))))
    else:
        folder = os.path.expanduser(home or environ.get("MNEMIC_HOME") or "~/.mnemic")
    if folder.startswith("~"):
        from mnemic.errors import BadInput

        raise BadInput(f"home {folder!r} names nobody who is known here: set MNEMIC_HOME, or HOME")
    return os.path.abspath(folder)


def store_url(environ: Mapping[str, str], home: str | os.PathLike[str] | None = None) -> str | None:
    """The URL of a database, where that is meant instead of a folder."""
    given = os.fspath(home or environ.get("MNEMIC_HOME") or "")
    return given if given.startswith(("postgresql://", "postgres://")) else None


def shown_url(url: str) -> str:
    """A URL without its password."""
    scheme, _, rest = url.partition("://")
    head, slash, tail = rest.partition("/")
    who, at, host = head.rpartition("@")
    tail, mark, query = tail.partition("?")
    kept = "&".join(part for part in query.split("&") if not part.lower().startswith(("password=", "sslpassword=", "passfile=")))
    return f"{scheme}://{who.partition(':')[0]}{at}{host}{slash}{tail}{mark if kept else ''}{kept}"


def _file_name(url: str) -> str:
    """A folder's name for a database, whoever asks for it."""
    rest = url.partition("://")[2]
    head, _, tail = rest.partition("/")
    database, _, query = tail.partition("?")
    hosts = [part[5:] for part in query.split("&") if part.startswith("host=")]
    words = [head.rpartition("@")[2] or ",".join(hosts) or "localhost", database or "default"]
    return "=".join("".join(c if c.isalnum() or c in "-_." else f"+{ord(c):x}" for c in word) for word in words)[-200:]


def hook_seconds(environ: Mapping[str, str]) -> float | None:
    """`MNEMIC_HOOK_SECONDS`: how long a host's hook may take, for a slow machine; None for what is no such number."""
    try:
        seconds = float(environ.get("MNEMIC_HOOK_SECONDS") or 0)
    except ValueError:
        return None
    return seconds if 0 < seconds <= 600 else None
