"""docs/reference/cli.md, from the parser that the program itself uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import typer

from reference.text import code, made_from, prose, table

HEAD = """# Command line

Each verb as `mnemic VERB --help` tells it. What the verbs have in common, and how they go together:
[the command line](../cli.md).

"""
COMMON = ("--json", "--help")


def page() -> str:
    """The whole page."""
    parser = root()
    parts = [made_from("the parser of src/mnemic/interfaces/cli"), HEAD, "## Before every verb\n\n"]
    parts.append(_table(parser))
    parts.append("\n`--json` stands after every verb that answers: one JSON document on stdout. It is not repeated below.\n")
    for panel, verbs in _panels(parser):
        parts.append(f"\n## {panel}\n")
        parts += [_entry(path, command) for verb in verbs for path, command in commands(parser.commands[verb], (verb,))]
    return "".join(parts)


@cache
def root() -> Any:
    """The parser."""
    from mnemic.interfaces.cli.app import _arrange, app

    _arrange()
    return typer.main.get_command(app)


def commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """A verb and the verbs below it."""
    if path:
        yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*path, name))


def options(command: Any) -> set[str]:
    """All options of a verb."""
    return {name for one in command.params if one.param_type_name == "option" for name in (*one.opts, *one.secondary_opts)}


def _panels(parser: Any) -> list[tuple[str, Sequence[str]]]:
    from mnemic.interfaces.cli.app import PANELS

    named = {verb for verbs in PANELS.values() for verb in verbs.split()}
    rest = [name for name in parser.commands if name not in named]
    found = [(panel, [verb for verb in verbs.split() if verb in parser.commands]) for panel, verbs in PANELS.items()]
    return [*found, *([("Others", rest)] if rest else [])]


def _entry(path: tuple[str, ...], command: Any) -> str:
    name = "mnemic " + " ".join(path)
    about = prose(" ".join((command.help or "").split()))
    below = " | ".join(getattr(command, "commands", {}))
    usage = " ".join([name, *(_argument(one) for one in command.params if one.param_type_name == "argument")])
    usage += f" {below}" if below else ""
    usage += " [OPTIONS]" if options(command) - set(COMMON) else ""
    rows = _table(command)
    return f"\n### {name}\n\n{about}\n\n```text\n{usage}\n```\n" + (f"\n{rows}" if rows else "")


def _argument(one: Any) -> str:
    name = _name(one) + ("..." if one.nargs == -1 else "")
    return name if one.required else f"[{name}]"


def _name(one: Any) -> str:
    return str(one.metavar or one.name).upper()


def _table(command: Any) -> str:
    rows = [[code(_named(one)), prose(_about(one))] for one in command.params if not set(one.opts) & set(COMMON)]
    return table(["", "meaning"], [row for row in rows if row[1] or row[0].startswith("`--")]) if rows else ""


def _named(one: Any) -> str:
    if one.param_type_name == "argument":
        return _name(one)
    names = ", ".join(one.opts) + "".join(f" / {name}" for name in one.secondary_opts)
    return names if one.is_flag or one.secondary_opts else f"{names} {_kind(one)}"


def _kind(one: Any) -> str:
    kind = str(getattr(one.type, "name", "text"))
    return "NUMBER" if kind.startswith(("int", "float")) else "PATH" if "path" in kind.lower() else "TEXT"


def _about(one: Any) -> str:
    given = " ".join((one.help or "").split())
    least, most = getattr(one.type, "min", None), getattr(one.type, "max", None)
    bounds = f"{least} to {most}" if least is not None and most is not None else f"from {least}" if least is not None else ""
    shown = one.default not in (None, False, "", (), []) and not callable(one.default)
    notes = [bounds, f"default {one.default}" if shown and not one.secondary_opts else "", "required" if _needed(one) else ""]
    said = [note for note in notes if note]
    return f"{given} ({'; '.join(said)})".strip() if said else given


def _needed(one: Any) -> bool:
    return bool(one.param_type_name == "option" and one.required)
