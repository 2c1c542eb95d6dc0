"""What is put into a host's files, each piece with its way in and its way out, as pure functions of the file's text.

A file belongs to its user: keys that are not ours stay, in their order; what cannot be read is not touched; and where a
name is taken by something else, that is said and nothing is written.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

from mnemic.errors import BadInput, Conflict
from mnemic.interfaces.hosts import jsonc

NAME = "mnemic"
START = Path(__file__).parent.parent / "hooks" / "start.py"
"""What a host runs at an event, by Python alone."""
_EVENT = re.compile(r"[a-z]+(?:-[a-z]+)*")


class Piece(Protocol):
    """Something of ours in one file. `None` stands for a file that is not there."""

    @property
    def file(self) -> Path: ...

    def put(self, text: str | None) -> str:
        """The file with it. Raises Conflict where its name is taken, BadInput for a file that cannot be read."""
        ...

    def take(self, text: str) -> str | None:
        """The file without it; `None` where nothing else is left in it. Raises BadInput."""
        ...


@dataclass(frozen=True, slots=True)
class Hooks:
    """Commands for a host's events in a JSON file: `{"hooks": {EVENT: [GROUP, …]}}`."""

    file: Path
    groups: Mapping[str, dict[str, Any]]
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Keys that the file needs beside, where it has none."""

    def put(self, text: str | None) -> str:
        data = _object(text, self.file)
        for key, value in self.extra.items():
            data.setdefault(key, value)
        events = _part(data, "hooks", self.file)
        for event in [name for name in events if name not in self.groups]:
            _drop(events, event)
        for event, group in self.groups.items():
            groups = events.setdefault(event, [])
            if not isinstance(groups, list):
                raise BadInput(f"{str(self.file)!r}: hooks.{event} is not a list: correct it first")
            places = [place for place, one in enumerate(groups) if _is_ours(one)]
            if places:
                groups[places[0]] = group
                for place in reversed(places[1:]):
                    del groups[place]
            else:
                groups.append(group)
        return _json(data, text, self.file)

    def take(self, text: str) -> str | None:
        data = _object(text, self.file)
        events = _part(data, "hooks", self.file)
        for event in list(events):
            _drop(events, event)
        if not events:
            del data["hooks"]
        return _json(data, text, self.file) if data.keys() - self.extra.keys() else None


@dataclass(frozen=True, slots=True)
class Server:
    """The MCP server in a JSON file: `{"mcpServers": {"mnemic": ENTRY}}`."""

    file: Path
    entry: Mapping[str, Any]

    def put(self, text: str | None) -> str:
        data = _object(text, self.file)
        servers = _part(data, "mcpServers", self.file)
        if NAME in servers and not _serves(servers[NAME]):
            raise Conflict(f"{str(self.file)!r} has an MCP server named {NAME!r} that is not ours: rename or remove it first")
        servers[NAME] = dict(self.entry)
        return _json(data, text, self.file)

    def take(self, text: str) -> str | None:
        data = _object(text, self.file)
        servers = _part(data, "mcpServers", self.file)
        if _serves(servers.get(NAME)):
            del servers[NAME]
        if not servers:
            del data["mcpServers"]
        return _json(data, text, self.file) if data else None


@dataclass(frozen=True, slots=True)
class Block:
    """A block between two marked lines of a text file, e.g. of TOML or Markdown."""

    file: Path
    body: str
    marks: tuple[str, str]
    table: Sequence[str] = ()
    """In TOML: the table that it defines, which must not be there already."""

    def put(self, text: str | None) -> str:
        rest = self._without(text or "")
        block = f"{self.marks[0]}\n{self.body.strip()}\n{self.marks[1]}\n"
        if text and (found := self._pattern().search(text)):
            made = text[: found.start()] + found["gap"] + block + text[found.end() :]
        else:
            gap = "" if not rest or rest.endswith("\n\n") else "\n" if rest.endswith("\n") else "\n\n"
            made = rest + gap + block
        if self.table:
            self._check(rest, made)
        return made

    def take(self, text: str) -> str | None:
        rest = self._without(text)
        return rest if rest.strip() else None

    def _without(self, text: str) -> str:
        return self._pattern().sub("", text, count=1)

    def _pattern(self) -> re.Pattern[str]:
        first, last = map(re.escape, self.marks)
        return re.compile(rf"(?P<gap>\n?){first}\n.*?{last}(?:\n|\Z)", re.DOTALL)

    def _check(self, rest: str, made: str) -> None:
        try:
            found: Any = tomllib.loads(rest)
        except tomllib.TOMLDecodeError as error:
            raise BadInput(f"{str(self.file)!r} cannot be read ({error}): correct it first") from None
        for name in self.table:
            found = found.get(name) if isinstance(found, dict) else None
        table = f"[{'.'.join(self.table)}]"
        if found is not None:
            raise Conflict(f"{str(self.file)!r} has a {table} that is not ours: remove it first")
        try:
            tomllib.loads(made)
        except tomllib.TOMLDecodeError as error:
            raise Conflict(f"{str(self.file)!r} has no place for a {table} ({error}): write {self.table[0]} as tables") from None


@dataclass(frozen=True, slots=True)
class Own:
    """A file that is ours alone."""

    file: Path
    body: str

    def put(self, text: str | None) -> str:
        if text is not None and text != self.body and NAME not in text[:400]:
            raise Conflict(f"{str(self.file)!r} is there already and is not ours: move it away first")
        return self.body

    def take(self, text: str) -> str | None:
        return text if text != self.body else None


def _is_ours(group: Any) -> bool:
    """Whether a group of hooks runs nothing but us."""
    if not isinstance(group, dict):
        return False
    inner = group.get("hooks", [group])
    return isinstance(inner, list) and bool(inner) and all(
        isinstance(one, dict) and _hooks(str(one.get("command", ""))) for one in inner
    )  # fmt: skip


def _hooks(line: str) -> bool:
    """Whether a command line is one of ours, as this or an earlier version wrote it: what runs more is its user's."""
    try:
        words = shlex.split(line)
    except ValueError:
        return False
    found = [list(part) for bar, part in groupby(words, lambda word: word == "||") if not bar]
    return bool(found) and all(_starts(part) for part in (found[:-1] if found[-1] == ["exit", "0"] else found))


def _starts(words: list[str]) -> bool:
    """Whether a command starts a hook of ours, `mnemic … hook EVENT` or `python -I -S …/start.py … EVENT`, and does no more."""
    if Path(words[0]).stem == NAME:
        verb, rest = ["hook"], words[1:]
    elif words[1:3] == ["-m", NAME]:
        verb, rest = ["hook"], words[3:]
    elif words[1:3] == ["-I", "-S"] and Path("".join(words[3:4])).parts[-4:] == START.parts[-4:]:
        verb, rest = [], words[4:]
    else:
        return False
    while rest[:1] in (["--home"], ["--namespace"]):
        rest = rest[2:]
    return rest[:-1] == verb and len(rest) > len(verb) and bool(_EVENT.fullmatch(rest[-1]))


def _serves(entry: Any) -> bool:
    """Whether an entry starts our server."""
    if not isinstance(entry, dict) or not isinstance(entry.get("args"), list):
        return False
    words = [str(entry.get("command", "")), *map(str, entry["args"])]
    return "mcp" in words[1:] and any(Path(word).stem == NAME for word in words)


def _drop(events: dict[str, Any], event: str) -> None:
    """Take our groups out of an event; the event too where nothing is left that was not ours."""
    groups = events[event]
    if isinstance(groups, list) and any(map(_is_ours, groups)):
        events[event] = [group for group in groups if not _is_ours(group)]
        if not events[event]:
            del events[event]


def _object(text: str | None, file: Path) -> dict[str, Any]:
    if text is None or not text.strip():
        return {}
    try:
        data = jsonc.parsed(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{str(file)!r} is not JSON ({error}): nothing was changed; correct it first") from None
    if not isinstance(data, dict):
        raise BadInput(f"{str(file)!r} holds no JSON object: nothing was changed; correct it first")
    return data


def _part(data: dict[str, Any], key: str, file: Path) -> dict[str, Any]:
    part = data.setdefault(key, {})
    if not isinstance(part, dict):
        raise BadInput(f"{str(file)!r}: {key!r} is not an object: nothing was changed; correct it first")
    return part


def _json(data: Mapping[str, Any], was: str | None, file: Path) -> str:
    try:
        return jsonc.rewritten(was, data)
    except ValueError as error:
        raise BadInput(f"{str(file)!r}: {error}: nothing was changed; put the comments elsewhere first") from None
