"""docs/reference/python.md: which classes are shown. Their text is taken from the docstrings when the site is built."""

from __future__ import annotations

import ast
import inspect

from mnemic import memory
from reference.text import made_from

HEAD = """# Python

`from mnemic import Memory` is all a program needs. A tour of it: [Python](../python.md). What it raises:
[errors](errors.md#exceptions).

"""
OWN = {"wiki": "mnemic.synthesis.Wiki"}
"""Parts that are made when they are asked for."""
GIVEN = (
    "mnemic.models.receipt.Receipt", "mnemic.models.receipt.CaptureReport", "mnemic.models.receipt.Forgotten",
    "mnemic.models.answer.Answer", "mnemic.models.answer.Hit", "mnemic.models.answer.WhyNot", "mnemic.models.answer.Scope",
    "mnemic.models.answer.Budget", "mnemic.models.document.Turn", "mnemic.models.event.Verdict", "mnemic.models.event.Head",
    "mnemic.models.semantic.Profile", "mnemic.context.ContextWindow", "mnemic.context.windows.Windows",
)  # fmt: skip
"""What methods take and answer."""


def parts() -> dict[str, str]:
    """Attribute of `Memory` → the full name of its class: what the constructor makes, and what is made on demand."""
    made = next(item for item in _tree().body if isinstance(item, ast.FunctionDef) and item.name == "__init__")
    found: dict[str, str] = {}
    for one in ast.walk(made):
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call) and isinstance(one.value.func, ast.Name):
            target = one.targets[0]
            kind = getattr(memory, one.value.func.id, None)
            if isinstance(target, ast.Attribute) and not target.attr.startswith("_") and inspect.isclass(kind):
                found[target.attr] = f"{kind.__module__}.{kind.__qualname__}"
    return found | OWN


def page() -> str:
    """The whole page."""
    entries = [made_from("the docstrings of src/mnemic"), HEAD, _shown("mnemic.memory.Memory", "Memory")]
    entries += [_shown(kind, f"memory.{name}") for name, kind in parts().items()]
    entries += ["## Values\n\nWhat methods take and answer.\n\n", *(_shown(kind) for kind in GIVEN)]
    return "".join(entries)


def _tree() -> ast.ClassDef:
    body = ast.parse(inspect.getsource(memory.Memory)).body[0]
    assert isinstance(body, ast.ClassDef)
    return body


def _shown(kind: str, heading: str = "") -> str:
    options = (
        f"    options:\n      heading: {heading}\n      heading_level: 2\n      show_symbol_type_heading: false\n"
        if heading
        else ""
    )
    return f"::: {kind}\n{options}\n"
