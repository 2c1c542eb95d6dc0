"""Everything mnemic does, once through `Memory` and once through the command line, in a process that watches itself.

Prints one JSON object: the files of the live home that Python opened, the network calls that were tried, and what
each command answered. `python tour.py FOLDER [probe]`; with `probe` it breaks both rules itself at the end, which
shows that breaking them is seen.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1])
HOME = FOLDER / "home"
SHELVES = ("memory.db", "memory-warm.db", "memory-cold.db")
LIVE = {str(HOME / (name + end)) for name in SHELVES for end in ("", "-wal", "-shm", "-journal")}
NETWORK = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "socket.bind")
opened: list[str] = []
called: list[str] = []


class Closed(OSError):
    """There is no network here."""


def watch(event: str, given: tuple[Any, ...]) -> None:
    if event == "open" and isinstance(given[0], str | bytes | os.PathLike):
        path = os.path.abspath(os.fsdecode(given[0]))
        if path in LIVE:
            opened.append(path)
    elif event in NETWORK:
        called.append(event)
        raise Closed(f"{event} in a process without network")


def through_memory() -> None:
    from mnemic import Memory
    from mnemic.models.document import Turn

    environ = {"MNEMIC_CONFIG": str(FOLDER / "config")}
    with Memory.open(HOME, environ=environ) as memory:
        note = memory.remember("# Zoo\n\nThe walrus naps at noon.\n\n## Birds\n\nThe kiwi runs.", title="Zoo")
        memory.remember("Ada lives in Rome since last month.")
        memory.capture([Turn("user", "I moved to Lisbon"), Turn("assistant", "How is it there?")], session="move")
        memory.observe("move", Turn("user", "Sunny"))
        memory.flush()
        assert memory.recall("Who naps at noon?", frame=True).hits
        assert note.path is not None
        memory.show(note.path)
        memory.tree()
        memory.backup(FOLDER / "one.zip")
        hidden = memory.forget(note.path)
        memory.undo(hidden.seq)
        memory.forget(note.path, erase=True)
        memory.reindex()
        memory.index()
        assert memory.verify().ok
        assert memory.doctor()["ok"]
        memory.status()
        memory.ledger()
        memory.ledger_export()
        assert memory.restore(FOLDER / "one.zip")["ok"]
    with Memory.open(HOME, environ=environ) as memory:
        assert memory.recall("Who naps at noon?").hits


def command(*words: str) -> int:
    """Run one command in this process; its exit code."""
    from mnemic.interfaces.cli import main

    sys.argv = ["mnemic", "--home", str(HOME), *words, "--json"]
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as told:
        try:
            main()
        except SystemExit as ended:
            if ended.code:
                return int(ended.code)
    json.loads(out.getvalue())
    assert not told.getvalue()
    return 0


def through_commands() -> dict[str, int]:
    turns = FOLDER / "talk.jsonl"
    turns.write_text('{"role":"user","content":"The heron fishes at dawn"}\n{"role":"assistant","content":"Noted"}\n')
    page = FOLDER / "page.md"
    page.write_text("# Heron\n\nIt fishes at dawn.\n")
    lines = [
        ("remember", "The heron stands still."), ("remember", str(page)), ("capture", str(turns)),
        ("recall", "When does the heron fish?", "--explain", "--since", "last year"), ("show", "/files/heron"),
        ("tree",), ("forget", "/files/heron", "--reason", "old"), ("forget", "/files/heron", "--erase"), ("status",),
        ("doctor",), ("reindex",), ("backup", str(FOLDER / "two.zip")), ("ledger", "list"), ("ledger", "show", "1"),
        ("ledger", "verify"), ("ledger", "export"), ("restore", str(FOLDER / "two.zip")), ("undo", "1"),
    ]  # fmt: skip
    return {f"{place} {words[0]}": command(*words) for place, words in enumerate(lines)}


def probe() -> None:
    with open(HOME / "memory.db", "rb"), suppress(Closed):
        socket.create_connection(("127.0.0.1", 9))


def main() -> None:
    os.environ["MNEMIC_CONFIG"] = str(FOLDER / "config")
    sys.addaudithook(watch)
    through_memory()
    codes = through_commands()
    if PROBE:
        probe()
    print(json.dumps({"opened": opened, "called": called, "codes": codes}))


PROBE = sys.argv[2:] == ["probe"]

if __name__ == "__main__":
    main()
