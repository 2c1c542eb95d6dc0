"""A process that remembers one numbered text after the other and prints each once it is acknowledged."""

from __future__ import annotations

import sys
from pathlib import Path

from mnemic.capture.intake import Intake, Note
from mnemic.clock import RandomIds, SystemClock
from mnemic.ledger import FolderWitness, Ledger
from mnemic.settings import CaptureSettings
from mnemic.store import open_sqlite


def main(folder: str, name: str, count: str) -> None:
    store = open_sqlite(Path(folder) / "home")
    ledger = Ledger(store, FolderWitness(Path(folder) / "config"), SystemClock(), RandomIds())
    intake = Intake(store, ledger, SystemClock(), CaptureSettings())
    for n in range(int(count)):
        receipt = intake.remember("default", Note(text=f"text {n} of {name}", title=f"{name} {n}"))
        print(receipt.path, flush=True)
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
