"""The retrieval data sets by name, for the benches that run over all of them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from bench import beam, cmrc, locomo, longmemeval
from bench.retrieval import Collection


def arguments(doc: str | None) -> argparse.ArgumentParser:
    """A path for every set, none required."""
    parser = argparse.ArgumentParser(description=(doc or "").split("\n")[0])
    for name in ("locomo", "longmemeval", "haystacks", "beam", "cmrc"):
        parser.add_argument(f"--{name}", type=Path, metavar="FILE")
    parser.add_argument("--vectors", type=Path, metavar="FILE.npz", help="keep embeddings here from run to run")
    parser.add_argument("--json", action="store_true")
    return parser


def chosen(options: argparse.Namespace) -> dict[str, Sequence[Collection]]:
    """The sets whose paths were given, read."""
    found: dict[str, Sequence[Collection]] = {}
    if options.locomo:
        found["locomo"] = locomo.conversations(json.loads(options.locomo.read_text("utf-8")))
    if options.longmemeval:
        found["longmemeval"] = [longmemeval.read(options.longmemeval)]
    if options.longmemeval and options.haystacks:
        found["longmemeval+haystacks"] = [longmemeval.read(options.longmemeval, options.haystacks)]
    if options.beam:
        found["beam"] = beam.read(options.beam)
    if options.cmrc:
        found["cmrc"] = [cmrc.collection(json.loads(options.cmrc.read_text("utf-8")))]
    return found
