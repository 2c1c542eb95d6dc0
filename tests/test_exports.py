"""What `import mnemic` offers, and what it must not cost."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import mnemic

SOURCES = Path(__file__).parent.parent / "src"
HEAVY = {"numpy", "apsw", "typer"}


def loaded_by(statement: str) -> set[str]:
    """Names of the top-level modules a fresh interpreter holds after `statement`."""
    code = f"import sys; sys.path.insert(0, {str(SOURCES)!r}); {statement}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in run.stdout.split()}


def test_importing_mnemic_loads_no_heavy_library() -> None:
    loaded = loaded_by("import mnemic")
    assert "mnemic" in loaded
    assert loaded & HEAVY == set()


def test_a_heavy_library_would_be_seen() -> None:
    assert loaded_by("import mnemic, numpy") & HEAVY == {"numpy"}


def test_the_package_offers_memory_and_its_version() -> None:
    assert mnemic.__all__ == ["Memory", "__version__"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", mnemic.__version__)


def test_memory_is_the_one_of_its_module() -> None:
    from mnemic.memory import Memory

    assert mnemic.Memory is Memory


def test_an_unknown_name_is_refused_with_what_is_offered() -> None:
    with pytest.raises(AttributeError, match="'Memry': it offers Memory, __version__"):
        mnemic.Memry  # noqa: B018


def test_the_commands_load_neither_rich_nor_the_database_before_one_of_them_runs() -> None:
    assert loaded_by("import mnemic.interfaces.cli.app") & {"numpy", "apsw", "rich"} == set()
