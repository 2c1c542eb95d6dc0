"""docs/reference/errors.md: what can be refused, and how each surface says it."""

from __future__ import annotations

import inspect
from typing import get_args

from mnemic import errors
from mnemic.interfaces.rest.problems import ANSWERS, STATUS
from mnemic.models.receipt import Receipt, Status
from reference.text import code, made_from, prose, table

HEAD = """# Errors and exit codes

A message says what happened, shows the value, and tells what to do next. The same refusal is an exception in Python, one line on
stderr on the command line, a problem document (RFC 9457) over REST and a tool error over MCP.

## Exit codes

| code | meaning |
|---|---|
| 0 | done; an empty answer is one too |
| 1 | refused or failed: one line on stderr says what to do next; an `audit`, `doctor` or `ledger verify` that found something |
| 2 | the command line itself was wrong: an unknown verb or option, a missing argument |

`mnemic hook` always ends with 0: a host's turn must not fail for it. Why it failed stands in `mnemic doctor`.

"""


def page() -> str:
    """The whole page."""
    kinds = [one for _, one in inspect.getmembers(errors, inspect.isclass) if issubclass(one, errors.MnemicError)]
    kinds.sort(key=lambda one: inspect.getsourcelines(one)[1])
    tree = (errors.__doc__ or "").split("\n\n")[1]
    rows = [[code(one.__name__), " ".join((one.__doc__ or "").split()), str(_status(one))] for one in kinds]
    parts = [
        made_from("src/mnemic/errors.py, models/receipt.py and interfaces/rest/problems.py"), HEAD,
        "## Exceptions\n\n`mnemic.errors`; catch `MnemicError` for all that mnemic refuses.\n\n```text\n",
        inspect.cleandoc(tree), "\n```\n\n", table(["exception", "raised where", "REST"], rows),
        "\n## REST\n\n", table(["status", "meaning"], [[str(status), text] for status, text in ANSWERS.items()]),
        "\n## Receipts\n\nWhat a write answers, on every surface: one of ", ", ".join(map(code, get_args(Status))), ".\n\n",
        prose("\n\n".join(inspect.cleandoc(Receipt.__doc__ or "").split("\n\n")[1:])), "\n",
    ]  # fmt: skip
    return "".join(parts)


def _status(kind: type[errors.MnemicError]) -> int:
    return next((STATUS[one] for one in kind.__mro__ if one in STATUS), 422)
