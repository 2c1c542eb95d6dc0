"""docs/reference/settings.md, from the settings themselves: the keys of mnemic.toml, and the variables that are read."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from typing import Any, get_args

import mnemic
from mnemic import settings
from reference.text import code, made_from, prose, table, without_sources

HEAD = """# Settings

Read once, from arguments, environment, `mnemic.toml` in the home, and defaults, in that order. An unknown key is an error that
lists the known ones. Everything works without any of it.

```toml title="mnemic.toml"
namespace = "default"      # the hard wall: a tenant, a user, a project

[embed]
embedder = "onnx"
model = "~/models/multilingual-e5-small"

[recall]
nodes = 8
```

"""
VARIABLES: Mapping[str, str] = {
    "MNEMIC_HOME": "The folder that holds everything, `~/.mnemic` if not given, or a database: `postgresql://…`."
    " `--home` comes before it.",
    "MNEMIC_REPLICAS": "`store.replicas`: URLs of servers that follow the database, with spaces between them.",
    "MNEMIC_FILES": "Of a database, the folder for what is a file: the vault, locks, notes."
    " Else one of its own among the user's data.",
    "MNEMIC_NAMESPACE": "The namespace. `--namespace` comes before it, `namespace` in `mnemic.toml` after it.",
    "MNEMIC_CONFIG": "The folder outside the home where the heads of the ledgers are noted; `mnemic` in `$XDG_CONFIG_HOME`"
    " or in `~/.config` if not given.",
    "MNEMIC_NOW": "What the clock says, as ISO 8601: for tests, and for trying out what time does.",
    "MNEMIC_EMBEDDER": "`embed.embedder`: hashing, onnx or http.",
    "MNEMIC_MODEL_DIR": "`embed.model` where the embedder is onnx: the model's folder.",
    "MNEMIC_MODEL": "`embed.model`: a hub's name, or for http the model's name.",
    "MNEMIC_DOWNLOAD": "`embed.download`: 1, true or yes lets a hub's name be downloaded.",
    "MNEMIC_EMBED_URL": "`embed.url`.",
    "MNEMIC_EMBED_KEY": "`embed.key`.",
    "MNEMIC_LLM_URL": "`llm.url`.",
    "MNEMIC_LLM_MODEL": "`llm.model`.",
    "MNEMIC_LLM_KEY": "`llm.key`.",
    "MNEMIC_RERANKER_DIR": "`recall.reranker`: the folder of a cross-encoder.",
    "MNEMIC_HOOK_SECONDS": "How long a hook of a coding agent may take, for a slow machine: up to 600.",
}
"""Each variable that the package reads; one that is missing here is an error."""


def page() -> str:
    """The whole page. Raises KeyError for a variable that is read and not told here."""
    parts = [made_from("src/mnemic/settings.py"), HEAD]
    for section, kind in sections().items():
        about = without_sources(" ".join((kind.__doc__ or "").split())).partition(": ")[2]
        about = about[:1].upper() + about[1:]
        parts.append(f"## `[{section}]` {{ #{section} }}\n\n{prose(about)}\n\n{_table(kind)}\n")
    parts.append("## Environment\n\n")
    parts.append(table(["variable", "meaning"], [[code(name), VARIABLES[name]] for name in sorted(variables(), key=_order)]))
    return "".join(parts)


def sections() -> dict[str, type]:
    """Name of the table in mnemic.toml → the values it sets."""
    return {
        item.name: item.default_factory  # type: ignore[misc]
        for item in fields(settings.Settings) if is_dataclass(item.default_factory)
    }  # fmt: skip


def variables() -> set[str]:
    """The environment variables that the package reads."""
    names: set[str] = set()
    for file in Path(mnemic.__file__).parent.rglob("*.py"):
        names |= set(re.findall(r"environ(?:\.get)?[(\[]\"(MNEMIC_\w+)\"", file.read_text("utf-8")))
    return names


def _order(name: str) -> int:
    return list(VARIABLES).index(name) if name in VARIABLES else len(VARIABLES)


def _table(kind: type) -> str:
    told = {name: prose(without_sources(text)) for name, text in _told(kind).items()}
    rows = [[code(item.name), _kind(item), _default(item), told.get(item.name, "")] for item in fields(kind)]
    return table(["key", "kind", "default", "meaning"], rows)


def _told(kind: type) -> dict[str, str]:
    """Field → the text below it, those of the bases included."""
    told: dict[str, str] = {}
    for base in reversed(kind.__mro__[:-1]):
        body = ast.parse(inspect.getsource(base)).body[0]
        assert isinstance(body, ast.ClassDef)
        for item, after in zip(body.body, body.body[1:], strict=False):
            if isinstance(item, ast.AnnAssign) and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                told[ast.unparse(item.target)] = str(after.value.value)
    return told


def _kind(item: Field[Any]) -> str:
    """What may stand there, in words: a name that stands for several values is spelt out."""
    plain = str(item.type).removesuffix(" | None")
    named = getattr(settings, plain, None)
    if values := get_args(named):
        return " or ".join(code(value) for value in values)
    if plain == "tuple[Secret, ...]":
        return "list of texts"
    return {"str": "text", "Secret": "text", "int": "integer", "float": "number", "bool": "`true` or `false`"}.get(plain, "table")


def _default(item: Field[Any]) -> str:
    if item.default is MISSING:
        return ""
    if item.default == ():
        return "none"
    if isinstance(item.default, settings.Secret):
        return "none"
    if isinstance(item.default, bool):
        return code(str(item.default).lower())
    if isinstance(item.default, str):
        return code(f'"{item.default}"') if item.default else "none"
    return "none" if item.default is None else code(item.default)
