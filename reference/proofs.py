"""docs/reference/tests.md: each test that a page calls as its witness, with its source.

A page names a test by a link to `reference/tests.md#tests.FOLDER.FILE.NAME`; this page then shows it. So a reader of a claim
sees what proves it without leaving the site, and a claim whose test was renamed or removed fails the build.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from reference.text import made_from

HEAD = """# Tests that are cited

Each test that a page of this site names as its witness, as it stands in the tree. `python -m pytest FILE -k NAME` runs one.

"""
CITED = re.compile(r"\(\S*tests\.md#(tests(?:\.\w+)+)\)")


def page(root: Path) -> str:
    """The whole page. Raises LookupError for a test that is not there."""
    files: dict[str, set[str]] = {}
    for name in sorted(cited(root)):
        module, test = located(root, name)
        files.setdefault(module, set()).update([test] if test else [])
    parts = ["---\nsearch:\n  exclude: true\n---\n", made_from("the links of docs/*.md"), HEAD]
    for module, tests in sorted(files.items()):
        parts.append(f"## {module.replace('.', '/')}.py {{ #{module} }}\n\n{_about(root, module)}\n\n")
        parts += [_shown(module, test) for test in _ordered(root, module, tests)]
    return "".join(parts)


def _shown(module: str, test: str) -> str:
    """Its name is a sentence, and stands there as one."""
    said = test.removeprefix("test_").replace("_", " ")
    said = said[:1].upper() + said[1:]
    options = {"heading": said, "toc_label": said, "show_source": "true", "show_signature": "false"}
    options |= {"show_symbol_type_heading": "false", "separate_signature": "false"}
    return f"::: {module}.{test}\n    options:\n" + "".join(f"      {name}: {value}\n" for name, value in options.items()) + "\n"


def cited(root: Path) -> set[str]:
    """The dotted names that pages link to."""
    pages = [*root.glob("docs/*.md"), root / "README.md"]
    return {name for page in pages for name in CITED.findall(page.read_text("utf-8"))}


def located(root: Path, name: str) -> tuple[str, str]:
    """The module and the test in it, empty where the module itself is meant. Raises LookupError."""
    if _file(root, name).is_file():
        return name, ""
    module, _, test = name.rpartition(".")
    if not _file(root, module).is_file() or test not in _tests(root, module):
        raise LookupError(f"a page cites the test {name!r}, which is not there: correct the link")
    return module, test


def _file(root: Path, module: str) -> Path:
    return root / f"{module.replace('.', '/')}.py"


def _tests(root: Path, module: str) -> list[str]:
    body = ast.parse(_file(root, module).read_text("utf-8")).body
    return [item.name for item in body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)]


def _ordered(root: Path, module: str, tests: set[str]) -> list[str]:
    return [name for name in _tests(root, module) if name in tests]


def _about(root: Path, module: str) -> str:
    return (ast.get_docstring(ast.parse(_file(root, module).read_text("utf-8"))) or "").split("\n\n")[0]
