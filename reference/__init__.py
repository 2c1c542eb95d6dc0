"""The pages of docs/reference, made from the code: `python -m reference` writes them, `--check` says which are out of date.

A page that is written by hand drifts from the code; one that is made from it cannot. tests/docs fails while one is out of date.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from reference import cli, errors, mcp, proofs, python, rest, settings

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "reference"
PAGES: Mapping[str, Callable[[], str]] = {
    "cli.md": cli.page,
    "python.md": python.page,
    "rest.md": rest.page,
    "mcp.md": mcp.page,
    "settings.md": settings.page,
    "errors.md": errors.page,
    "tests.md": lambda: proofs.page(ROOT),
}
"""File in docs/reference → what it holds."""


def outdated() -> list[str]:
    """The pages that are not what the code would make of them."""
    return [name for name, made in PAGES.items() if _text(FOLDER / name) != made()]


def write() -> list[str]:
    """Write all pages; the names of those that changed."""
    changed = []
    for name, made in PAGES.items():
        if _text(FOLDER / name) != (text := made()):
            (FOLDER / name).write_text(text, "utf-8")
            changed.append(name)
    return changed


def _text(file: Path) -> str:
    return file.read_text("utf-8") if file.is_file() else ""
