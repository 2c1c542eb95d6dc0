"""A worker whose model says that it was asked, and answers once a line comes in: whoever started it may kill it before."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from mnemic import Memory
from mnemic.embed import Kind, Vectors
from mnemic.embed.hashing import HashingEmbedder


class Asking(HashingEmbedder):
    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        print("asked", flush=True)
        sys.stdin.readline()
        return super().embed(texts, kind)


def main(url: str, folder: str) -> None:
    environ = {"MNEMIC_FILES": str(Path(folder) / "home"), "MNEMIC_CONFIG": str(Path(folder) / "config")}
    with Memory.open(url, environ=environ, embedder=Asking()) as memory:
        memory.worker(once=True, told=lambda job: print(job.outcome, flush=True)).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
