"""The pages of docs/reference are what the code makes of them, and leave nothing out."""

from __future__ import annotations

import ast
from dataclasses import fields

import pytest

import reference
from mnemic.interfaces.mcp.tools import BOX
from mnemic.interfaces.rest.routes import ROUTES
from mnemic.interfaces.rest.routes import parts as rest_parts
from reference import cli, proofs, python, settings
from tests.docs.reading import MADE, ROOT, text_of


@pytest.mark.parametrize("name", reference.PAGES)
def test_a_page_is_what_the_code_makes_of_it_now(name: str) -> None:
    assert text_of(MADE / name) == reference.PAGES[name](), f"docs/reference/{name} is out of date: run `make reference`"


def test_no_page_stands_there_that_nothing_makes() -> None:
    assert {file.name for file in MADE.iterdir()} == set(reference.PAGES)


def test_every_verb_has_its_entry_and_options() -> None:
    page = text_of(MADE / "cli.md")
    for path, command in cli.commands(cli.root(), ()):
        assert f"### mnemic {' '.join(path)}\n" in page
        assert all(f"`{one}" in page or f"/ {one}" in page or f", {one}" in page for one in cli.options(command))


def test_every_route_and_every_tool_stands_on_its_page() -> None:
    rest, mcp = text_of(MADE / "rest.md"), text_of(MADE / "mcp.md")
    assert [route for route in ROUTES if f"`{route.method} {route.path}`" not in rest] == []
    assert [tool.name for tool in BOX.tools if f"### `{tool.name}`" not in mcp] == []


def test_every_setting_says_what_it_is_for() -> None:
    silent = [
        f"{section}.{item.name}" for section, kind in settings.sections().items() for item in fields(kind)
        if not settings._told(kind).get(item.name)
    ]  # fmt: skip
    assert silent == []


def test_every_variable_that_is_read_is_told_and_no_other() -> None:
    assert settings.variables() == set(settings.VARIABLES)


def test_every_part_of_memory_that_rest_reaches_is_shown_in_python() -> None:
    shown = set(python.parts().values())
    reached = {kind.__name__ for name, kind in rest_parts().items() if name}
    assert reached <= {one.rpartition(".")[2] for one in shown}


def test_a_test_that_is_not_there_is_refused_by_name() -> None:
    with pytest.raises(LookupError, match="tests.docs.test_reference.test_nothing"):
        proofs.located(ROOT, "tests.docs.test_reference.test_nothing")


def test_what_is_cited_is_a_test_and_no_helper() -> None:
    names = [name.rpartition(".")[2] for name in proofs.cited(ROOT)]
    assert len(names) > 50 and [name for name in names if not name.startswith("test_")] == []


def test_a_cited_test_holds_an_assertion_or_calls_what_does() -> None:
    for name in sorted(proofs.cited(ROOT)):
        module, test = proofs.located(ROOT, name)
        body = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text("utf-8")).body
        for item in body:
            if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) and item.name == test:
                assert any(isinstance(one, ast.Assert | ast.With | ast.Call) for one in ast.walk(item)), name
