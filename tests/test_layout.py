"""Imports go one way: a part imports only itself and parts named before it in ORDER.

Parts joined by "|" stand side by side and do not know each other. An import counts wherever it stands:
inside a function, or for the type checker alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "mnemic"
ORDER = [
    "errors",
    "clock",
    "models",
    "environment",
    "settings",
    "failures",
    "background",
    "telemetry",
    "text",
    "store|embed|llm",
    "ledger",
    "knowledge",
    "lifecycle",
    "recall",
    "capture|vault|synthesis|context",
    "memory",
    "testing",
    "interfaces",
]
RANK = {part: rank for rank, group in enumerate(ORDER) for part in group.split("|")}
DOORS = {"__init__", "__main__"}  # the package root: it re-exports Memory and starts the command


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


FILES = [path for path in sorted(PACKAGE.rglob("*.py")) if part_of(path) in RANK]


def imported_names(source: str, package: tuple[str, ...]) -> Iterator[str]:
    """Full dotted names that `source`, a module directly inside `package`, imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            stem = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{stem}.{alias.name}" for alias in node.names)


def faults(source: str, package: tuple[str, ...]) -> list[str]:
    """Imports in `source` that do not point down. What the root itself offers counts as memory."""
    me = package[1]
    found = []
    for name in imported_names(source, package):
        root, part = [*name.split("."), "memory"][:2]
        target = part if part in RANK else "memory"
        if root == "mnemic" and target != me and RANK[target] >= RANK[me]:
            found.append(name)
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    folders = path.relative_to(PACKAGE).parent.parts
    package = ("mnemic", *(folders or (path.stem,)))
    assert faults(path.read_text(encoding="utf-8"), package) == []


def test_every_part_has_a_place_in_the_order() -> None:
    assert {part_of(path) for path in PACKAGE.rglob("*.py")} - DOORS - set(RANK) == set()


@pytest.mark.parametrize(
    ("source", "package"),
    [
        ("from mnemic.recall.engine import Engine", ("mnemic", "store")),
        ("import mnemic.memory", ("mnemic", "recall")),
        ("from mnemic import Memory", ("mnemic", "capture")),
        ("from mnemic import recall", ("mnemic", "ledger")),
        ("from ..recall import engine", ("mnemic", "text")),
        ("from ...capture import intake", ("mnemic", "store", "sqlite")),
        ("def f():\n    from mnemic.embed.base import Embedder", ("mnemic", "store")),
        ("if TYPE_CHECKING:\n    from mnemic.vault import Vault", ("mnemic", "capture")),
    ],
)
def test_an_import_that_points_up_or_sideways_is_found(source: str, package: tuple[str, ...]) -> None:
    assert len(faults(source, package)) == 1


@pytest.mark.parametrize(
    ("source", "package"),
    [
        ("from mnemic.errors import BadInput", ("mnemic", "store")),
        ("from .base import Store", ("mnemic", "store")),
        ("from ..base import Store", ("mnemic", "store", "sqlite")),
        ("from mnemic.store import base", ("mnemic", "ledger")),
        ("import numpy", ("mnemic", "recall")),
    ],
)
def test_an_import_that_points_down_is_let_through(source: str, package: tuple[str, ...]) -> None:
    assert faults(source, package) == []
