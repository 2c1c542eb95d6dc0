"""How answers look on a terminal. Memory text is printed as plain text: no markup in it is ever read.

rich is loaded by what needs it: a command with --json prints none of this.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from textwrap import indent
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.tree import Tree

COLOURS = {"stored": "green", "queued": "yellow", "duplicate": "cyan", "nothing": "dim", "rejected": "red"}
SHOWN = 6


@cache
def console() -> Console:
    """The terminal."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True)


def _clean(text: object) -> str:
    """Printable text: control characters of a memory must not drive the terminal."""
    return "".join(char if char.isprintable() or char in "\n\t" else "�" for char in str(text))


def line(*parts: tuple[object, str]) -> None:
    """One line of (text, style) parts."""
    from rich.text import Text

    console().print(Text.assemble(*((_clean(text), style) for text, style in parts)))


def count(number: int, noun: str) -> str:
    """So many of a thing: 1 node, 2 nodes."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def receipt(row: dict[str, Any]) -> None:
    more = f"  {count(row['nodes'], 'node')}" + (f", {count(row['redacted'], 'secret')} redacted" if row["redacted"] else "")
    why = f"  {row['reason']}" if row["reason"] else ""
    line((row["status"], COLOURS[row["status"]]), (f"  {row['path'] or ''}", "bold"), (more + why, "dim"))


def capture(row: dict[str, Any]) -> None:
    line((", ".join(count(row[f"{noun}s"], noun) for noun in ("session", "exchange", "message")), "bold"))
    for item in row["receipts"][:50]:
        receipt(item)
    if len(row["receipts"]) > 50:
        line((f"… and {len(row['receipts']) - 50} more", "dim"))


def answer(row: dict[str, Any], explain: bool) -> None:
    for number, hit in enumerate(row["hits"], 1):
        line((f"{number}. ", "dim"), (hit["path"], "bold cyan"), (f"  {hit['score']:.2f}", "green"),
             (f"  {hit['created_at']}  {hit['kind']} from {hit['origin']}", "dim"))  # fmt: skip
        who = f"{hit['speaker']}: " if hit["speaker"] else ""
        line((indent(f"{who}{hit['text']}", "   "), ""))
        if explain:
            _signals(hit["signals"])
    if row["reason"]:
        line((row["reason"], "yellow"))
    for note in row["degraded"]:
        line((f"note: {note}", "yellow"))
    for item in row.get("why_not", ()):
        line(("why not ", "dim"), (item["path"], "bold"), (f"  {item['stage']}: {item['detail']}", "yellow"))
    more = f", {row['omitted']} more did not fit" if row["omitted"] else ""
    line((f"{row['scoring']} scoring, {row['embedder']}{more}", "dim"))


def _signals(signals: dict[str, float]) -> None:
    for name, value in sorted(signals.items(), key=lambda pair: -abs(pair[1]))[:SHOWN]:
        if abs(value) >= 0.005:
            bar = "█" * max(1, min(40, round(abs(value) * 3)))
            line((f"     {name:<8} ", "dim"), (bar, "magenta"), (f" {value:.2f}", "dim"))


def page(row: dict[str, Any]) -> None:
    line((row["path"], "bold cyan"), (f"  {row['kind']} from {row['origin']}, {row['created_at']}", "dim"))
    line((row["text"], ""))
    for child in row["children"]:
        line(("  ↳ ", "dim"), (child, "cyan"))
    for event in row["history"]:
        line((f"  #{event['seq']} {event['at']} {event['op']} by {event['actor']} {event['reason'] or ''}", "dim"))


def tree(rows: list[dict[str, Any]]) -> None:
    if not rows:
        line(('nothing is remembered yet: try `mnemic remember "…"`', "yellow"))
        return
    from rich.text import Text
    from rich.tree import Tree

    root = Tree("/", style="dim")
    places: dict[str, Tree] = {}
    for row in rows:
        parent = row["path"].rpartition("/")[0]
        name = _clean(row["path"].rpartition("/")[2])
        label = Text.assemble((name, "bold"), (f"  {_clean(row['title'])[:70]}", "dim"))
        places[row["path"]] = places.get(parent, root).add(label)
    console().print(root)


def events(rows: list[dict[str, Any]]) -> None:
    for row in _some(rows):
        what = "erased" if row["erased"] else f"{row['path'] or row['object']}  {row['reason'] or ''}"
        line((f"#{row['seq']:<5}", "bold"), (f"{row['at']}  ", "dim"), (f"{row['op']:<17} ", "green"),
             (f"{row['actor']:<7} ", "cyan"), (what, ""))  # fmt: skip


def lines(rows: list[dict[str, Any]]) -> None:
    """One JSON document a line."""
    for row in rows:
        print(json.dumps(row, ensure_ascii=False))


def _some(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows; a list of none says so."""
    if not rows:
        line(("none", "dim"))
    return rows


def table(rows: list[dict[str, Any]]) -> None:
    """One line for each row: what it is called, then the rest; a table of none says so."""
    for row in _some(rows):
        (_, first), *rest = row.items()
        line((first, "bold"), (f"  {', '.join(_pair(key, item) for key, item in rest if item != '')}", "dim"))


def record(row: dict[str, Any]) -> None:
    """A line for each key; what is a list of rows has a line for each of these."""
    width = max([13, *map(len, row)]) + 1
    for name, value in row.items():
        if isinstance(value, list | tuple) and value and all(isinstance(item, dict) for item in value):
            line((name, "dim"))
            for item in value:
                line((f"  {_plain(item)}", ""))
        else:
            line((f"{name:<{width}}", "dim"), (_plain(value), ""))


def _plain(value: object) -> object:
    """A value in words rather than in Python's notation."""
    if value is None or value in ({}, [], ()):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(_pair(key, item) for key, item in value.items())
    if isinstance(value, list | tuple):
        return "; ".join(str(_plain(item)) for item in value)
    return value


def _pair(key: object, value: object) -> str:
    return f"{key} ({_plain(value)})" if isinstance(value, dict) and value else f"{key} {_plain(value)}"


@contextmanager
def progress(what: str, total: int | None = None, *, quiet: bool = False) -> Iterator[Callable[..., None]]:
    """A progress bar on stderr, which is told what of it changes: `advance` or `completed`, `total`, `description`. None where
    nobody watches."""
    if quiet or not sys.stderr.isatty():
        yield lambda **change: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        yield partial(bar.update, bar.add_task(what, total=total))


LIFE = {"live": "green", "candidate": "yellow", "challenged": "red", "cold": "red"}


def experience_receipt(row: dict[str, Any]) -> None:
    for item in row.get("receipts", [row]):
        hidden = f", {count(item['redacted'], 'secret')} redacted" if item["redacted"] else ""
        where = f"  {item['id']}@{item['revision']} {item['state']}" if item["id"] else ""
        line((item["op"] or item["status"], COLOURS.get(item["status"], "")), (where, "bold"),
             (f"{hidden}  {item['reason'] or ''}", "dim"))  # fmt: skip
        for moved in item["archived"]:
            line((f"  archived {moved}: its family was full", "dim"))
    if row["seq"]:
        line((f"entry {row['seq']}; `mnemic undo {row['seq']}` takes it back", "dim"))


def experience_answer(row: dict[str, Any]) -> None:
    for item in [*row["items"], *row["candidate_trials"]]:
        use = "trial" if item["trial"] else item["verdict"]
        line((f"{use}  ", "green"), (f"{item['id']}@{item['revision']}", "bold cyan"), (f"  {item['score']:.2f}", "green"),
             (f"  trust {item['weighted_trust']:.2f} from {item['origin']}", "dim"))  # fmt: skip
        line((f"   {item['gist']}", ""))
        for limit in item["conflicts"]:
            line((f"   a limit is in the way: {limit}", "yellow"))
    if row["reason"]:
        line((row["reason"], "yellow"))
    if row["omitted"]:
        line((f"{row['omitted']} more did not fit", "dim"))
    for note in row["degraded"]:
        line((f"note: {note}", "yellow"))
    if row["consolidation_due"]:
        line(("a consolidation is due: `mnemic experience consolidate`", "yellow"))


def experiences(rows: list[dict[str, Any]]) -> None:
    for row in _some(rows):
        pinned = ", pinned" if row["pinned"] else ""
        line((f"{row['id']}@{row['revision']}  ", "bold"), (row["status"], LIFE.get(row["status"], "dim")),
             (f"  {row['family']}: {row['gist']}", ""),
             (f"  {row['origin']}, trust {row['trust']:.2f}, value {row['value']}{pinned}", "dim"))  # fmt: skip


def experience_page(row: dict[str, Any]) -> None:
    experiences([row])
    for name in ("situation", "path", "reasoning", "limits", "failure_reason", "why", "sources"):
        value = row[name]
        for text in value if isinstance(value, list) else [value] if value else []:
            line((f"  {name:<15}", "dim"), (text, ""))
    for other in row["revisions"]:
        if other["revision"] != row["revision"]:
            line((f"  revision {other['revision']} is {other['status']}: {other['gist']}", "dim"))
    for event in row["history"]:
        line((f"  #{event['seq']} {event['at']} {event['op']} by {event['actor']} {event['reason'] or ''}", "dim"))
    line((f"  seal {row['seal']}", "dim"))


STATES = {"current": "green", "provisional": "yellow", "ongoing": "green", "recurring": "green", "paused": "yellow",
          "conflict": "red", "quarantined": "red", "claimed": "yellow", "parked": "yellow"}  # fmt: skip


def entry_receipt(row: dict[str, Any]) -> None:
    why = f"  {row['reason']}" if row["reason"] else ""
    hidden = f", {count(row['redacted'], 'secret')} redacted" if row["redacted"] else ""
    line((row["status"], COLOURS.get(row["status"], "")), (f"  diary {row['id'] or ''}", "bold"), (hidden + why, "dim"))
    if row.get("extraction_due"):
        line((f"{len(row['pending'])} entries wait to be extracted: `mnemic extract` (see `mnemic skill`)", "yellow"))
        entries(row["pending"])


def entries(rows: list[dict[str, Any]]) -> None:
    for row in _some(rows):
        mark = "✓" if row["extracted"] else "·"
        line((f"{mark} {row['id']:<5}", "bold"), (f"{row['at']}  {row['kind']} from {row['origin']}  ", "dim"),
             (row["content"], ""))  # fmt: skip


def extraction(row: dict[str, Any]) -> None:
    line((f"{row['applied']} applied, {row['rejected']} rejected", "bold"))
    for item in row["receipts"]:
        colour = "red" if item["status"] == "rejected" else STATES.get(item["status"], "green")
        line((f"{item['what']} {item['id'] or ''}  ", "bold"), (item["status"], colour), (f"  {item['reason'] or ''}", "dim"))


def fact(row: dict[str, Any]) -> None:
    until = f" until {row['valid_to']}" if row["valid_to"] else ""
    marks = "".join(f", {word}" for word in ("locked", "due") if row[word])
    told = f"  {row['origin']}, ×{row['corroboration']}, since {row['valid_from']}{until}{marks}  {row['why']}"
    line((f"{row['id']:<5}", "bold"), (f"[{row['category']}] {row['key']}: {row['value']}  ", ""),
         (row["status"], STATES.get(row["status"], "dim")), (told, "dim"))  # fmt: skip


def facts(rows: list[dict[str, Any]]) -> None:
    for row in _some(rows):
        fact(row)


def concern(row: dict[str, Any]) -> None:
    line((f"{row['id']:<5}", "bold"), (f"({row['kind']}) {row['title']}  ", ""),
         (row["status"], STATES.get(row["status"], "dim")), (f"  {row['origin']}  {row['background']}", "dim"))  # fmt: skip


def concerns(rows: list[dict[str, Any]]) -> None:
    for row in _some(rows):
        concern(row)


def known(row: dict[str, Any]) -> None:
    """A fact or a concern in full."""
    (fact if "category" in row else concern)(row)
    for item in row["evidence"]:
        line((f"  “{item['content']}”", ""), (f"  diary {item['id']} from {item['origin']}", "dim"))
    for item in row.get("mentions", ()):
        line(("  ↳ ", "dim"), (f"{item['title']}", ""), (f"  {item['status']}", "dim"))
    for event in row["history"]:
        line((f"  #{event['seq']} {event['at']} {event['op']} by {event['actor']}", "dim"))
    if "seal" in row:
        line((f"  seal {row['seal']}", "dim"))
