"""Whether anything of one namespace is ever seen from another: `python -m bench.isolation`.

    python -m bench.isolation [--operations 10000] [--seed 1] [--json]

Ten namespaces of one home, whose names were chosen to be taken for one another, get texts that each bear a secret of their
namespace. Random operations then go through every surface: the Python methods and their parts, the command line, REST and
MCP behind tokens that are each bound to one namespace, mem0's paths, hooks, adapters of other frameworks, imports, exports,
the wiki, and the window. Half of what they ask for belongs to another namespace: its words, paths, sessions, keys and
numbers. Whatever comes out, errors included, must hold no other namespace's secret, and neither may the files of a vault or
an export in the end.

A secret is never part of a question, so it cannot come out as an echo.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import logging
import os
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx

from mnemic import Memory
from mnemic.errors import MnemicError
from mnemic.interfaces import importers
from mnemic.interfaces.hooks import run as hooks
from mnemic.interfaces.integrations.mem0 import Mem0
from mnemic.interfaces.integrations.memory_files import CommandError, MemoryFiles
from mnemic.interfaces.mcp import server_memory
from mnemic.interfaces.mcp.server import answer
from mnemic.interfaces.rest.app import application
from mnemic.interfaces.rest.routes import ROUTES
from mnemic.interfaces.rest.serve import over_mcp
from mnemic.interfaces.tokens import SCOPES, Access, Grant, Tokens
from mnemic.models.answer import Scope
from mnemic.models.document import Turn

NAMES = (
    "default", "work", "Work", "work ", "w/ork", "../work", "work%2Fa", "wörk", "ＷＯＲＫ",
    f"work-{hashlib.sha256(b'Work').hexdigest()[:32]}",
)  # fmt: skip
OWNER = "the-token-of-the-owner"
TOPICS = ("window seat", "harbour", "trains", "budget", "garden", "piano", "visa", "dentist", "sourdough", "telescope")
CLI_EVERY, HEAVY_EVERY = 40, 200
"""One operation in so many is of the command line, which opens the home anew; or a heavy one: a dream, a sync, an export."""
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}}  # fmt: skip


@dataclass(slots=True)
class Report:
    """What was done and found. `crossings` and `faults` should be empty."""

    operations: int = 0
    namespaces: int = len(NAMES)
    surfaces: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    """Operations that ended in an error that mnemic means."""
    own: int = 0
    """Operations that showed a secret of the namespace itself: so much was there to be seen."""
    seconds: float = 0.0
    crossings: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """Errors that mnemic does not mean, and ledgers that do not verify."""

    @property
    def ok(self) -> bool:
        return not self.crossings and not self.faults


@dataclass(slots=True)
class Space:
    """One namespace and what is known of it."""

    place: int
    name: str
    memory: Memory
    mark: str
    """A word of its texts that others ask for."""
    secret: str
    headers: dict[str, str]
    paths: list[str] = field(default_factory=list)
    session: dict[str, str] = field(default_factory=dict)

    def text(self, dice: random.Random) -> str:
        return f"About the {dice.choice(TOPICS)} of {self.mark}: it is {self.secret}, number {dice.randrange(10**6)}."


@dataclass(slots=True)
class World:
    """Everything that an operation may use: `me` asks, `other` is somebody else."""

    dice: random.Random
    folder: Path
    spaces: list[Space]
    line: httpx.AsyncClient
    me: Space
    other: Space

    @property
    def text(self) -> str:
        return self.me.text(self.dice)

    @property
    def query(self) -> str:
        mark = self.dice.choice([self.me.mark, self.other.mark, ""])
        return f"{self.dice.choice(TOPICS)} {mark}".strip()

    @property
    def path(self) -> str:
        known = self.dice.choice([self.me.paths, self.other.paths]) or ["/notes", "/sessions"]
        return self.dice.choice([*known[-20:], "/notes", "/sessions", ""])

    @property
    def number(self) -> int:
        return self.dice.randint(1, 12)

    @property
    def name(self) -> str:
        """Of a session, key or card: the same in all namespaces."""
        return f"shared-{self.dice.randint(1, 6)}"


Act = Callable[[World], Any]


def of_memory() -> dict[str, Act]:
    """The methods of `Memory` and its parts."""
    lesson = {"kind": "positive", "situation": "deploying", "path": "1. build", "reasoning": "it is empty else"}

    def told(w: World, *texts: str) -> list[Turn]:
        return [Turn("user", w.text), Turn("assistant", w.text), *(Turn("user", one) for one in texts)]

    def window(w: World) -> Any:
        messages = [{"role": "user", "content": w.text if n % 2 else w.query} for n in range(w.dice.choice([1, 9]))]
        with w.me.memory.window(w.name, window=w.dice.choice([1_000, 8_000]), seconds=5) as made:
            out = made.prepare([*messages, {"role": "user", "content": w.query}]).json()
            return out, made.observe(w.text) if w.dice.random() < 0.5 else None

    def windows(w: World) -> Any:
        made = w.me.memory.windows(window=8_000, seconds=5)
        try:
            body = {"model": "m", "user": w.name, "messages": [{"role": "user", "content": w.query}]}
            return made.prepare(body).body
        finally:
            made.close()

    def took(w: World) -> Any:
        file = w.folder / f"import-{w.me.place}.jsonl"
        file.write_text(json.dumps({"messages": [{"role": "user", "content": w.text}, {"role": "assistant", "content": "ok"}]}))
        return asdict(importers.take(w.me.memory, "openai-jsonl", file, told=lambda row: None))

    return {
        "remember": lambda w: w.me.memory.remember(w.text, title=f"{w.name} {w.dice.choice(TOPICS)}", op_id=w.dice.choice([
            None, w.name])),
        "capture": lambda w: w.me.memory.capture(told(w), session=w.name),
        "observe": lambda w: w.me.memory.observe(w.name, Turn("user", w.text)),
        "flush": lambda w: w.me.memory.flush(),
        "recall": lambda w: w.me.memory.recall(w.query, mode=w.dice.choice([None, "deep", "creative"]), draw=1, frame=True),
        "recall within": lambda w: w.me.memory.recall(w.query, scope=Scope(within=w.path or None), why_not=[w.path or "/notes"]),
        "show": lambda w: w.me.memory.show(w.path), "tree": lambda w: w.me.memory.tree(w.path, depth=w.dice.randint(1, 5)),
        "forget": lambda w: w.me.memory.forget(w.path or "/nowhere", erase=w.dice.random() < 0.1, reason="bench")
        if w.dice.random() < 0.3 else None,
        "touch": lambda w: w.me.memory.touch(w.path or "/notes"), "tier": lambda w: w.me.memory.tier(w.path or "/notes", "core"),
        "undo": lambda w: w.me.memory.undo(w.dice.randint(1, 400), reason="bench") if w.dice.random() < 0.3 else None,
        "ledger": lambda w: w.me.memory.ledger(limit=30), "entry": lambda w: w.me.memory.ledger_entry(w.dice.randint(1, 300)),
        "ledger export": lambda w: w.me.memory.ledger_export()[-40:], "session": lambda w: w.me.memory.session(w.name),
        "bookmark": lambda w: (w.me.memory.bookmark(w.name), w.me.memory.set_bookmark(w.name, {"at": w.me.secret})),
        "path of": lambda w: w.me.memory.path_of(f"record:{w.name}"), "profile": lambda w: w.me.memory.profile(),
        "status": lambda w: (w.me.memory.status(), w.me.memory.stats()), "session start": lambda w: w.me.memory.session_start(
            follow=False),
        "diary add": lambda w: w.me.memory.diary.add(w.text), "diary": lambda w: w.me.memory.diary.list(),
        "diary show": lambda w: w.me.memory.diary.show(w.number),
        "fact add": lambda w: w.me.memory.facts.add("identity", w.name, w.me.secret),
        "facts": lambda w: w.me.memory.facts.list(), "fact show": lambda w: w.me.memory.facts.show(w.number),
        "fact edit": lambda w: w.me.memory.facts.edit(w.number, value=f"{w.me.secret} again", reason="bench"),
        "concerns": lambda w: w.me.memory.concerns.list(), "concern": lambda w: w.me.memory.concerns.show(w.number),
        "extract": lambda w: w.me.memory.extract({"proposals": [], "summary": "", "concerns": [
            {"action": "new", "title": w.name, "background": w.text, "source_diary_ids": [w.number]}]}),
        "experience add": lambda w: w.me.memory.experiences.add({**lesson, "family": w.name, "gist": w.text}, reason="bench"),
        "experience recall": lambda w: w.me.memory.experiences.recall(f"deploying {w.query}"),
        "experiences": lambda w: w.me.memory.experiences.list(),
        "card new": lambda w: w.me.memory.cards.new(w.name, type="contact", body=w.text),
        "card": lambda w: w.me.memory.cards.show(w.name), "cards": lambda w: w.me.memory.cards.list(),
        "state": lambda w: w.me.memory.state.write(w.text) if w.dice.random() < 0.3 else w.me.memory.state.show(),
        "dailies": lambda w: w.me.memory.daily.all(), "daily": lambda w: w.me.memory.daily.named(None),
        "record put": lambda w: w.me.memory.records.below(("app",)), "graph": lambda w: w.me.memory.graph.read(),
        "wiki": lambda w: (w.me.memory.wiki.list(), w.me.memory.wiki.search(w.query)),
        "work": lambda w: (w.me.memory.work_next(), w.me.memory.window_work_next()),
        "window": window, "windows": windows, "import": took, "dreams": lambda w: w.me.memory.dreams(),
    }  # fmt: skip


def heavy() -> dict[str, Act]:
    """What reads or writes all of a namespace."""

    def exported(w: World) -> Any:
        with tempfile.TemporaryDirectory(dir=w.folder) as folder:
            w.me.memory.export(Path(folder) / "out")
            return read_all(Path(folder) / "out")

    return {
        "dream": lambda w: w.me.memory.dream(), "sync": lambda w: w.me.memory.vault.sync(), "export": exported,
        "fold": lambda w: w.me.memory.fold(), "decay": lambda w: w.me.memory.decay(), "audit": lambda w: w.me.memory.audit(),
        "rebuild": lambda w: w.me.memory.vault.rebuild(), "reindex": lambda w: w.me.memory.reindex(),
        "pages": lambda w: w.me.memory.daily.pages(), "verify": lambda w: w.me.memory.verify(),
        "rotate": lambda w: w.me.memory.rotate(), "compress": lambda w: w.me.memory.compress_dailies(),
    }  # fmt: skip


def of_rest() -> dict[str, Act]:
    """Paths of REST, each with the token of one namespace; half of the time naming another, which must be refused."""

    def ask(method: str, path: Callable[[World], str], body: Callable[[World], Any] | None = None) -> Act:
        async def act(w: World) -> Any:
            headers, foreign = dict(w.me.headers), w.dice.random() < 0.1
            if foreign:
                headers["mnemic-namespace"] = quoted(w.other.name)
            more = {} if body is None else {"json": body(w)}
            found = await w.line.request(method, path(w), headers=headers, **more)
            if foreign and found.status_code != 403:
                raise AssertionError(f"another namespace was let in: {found.status_code}")
            if found.status_code >= 500 and found.status_code not in (501,):
                raise AssertionError(f"{method} {path(w)}: {found.text[:300]}")
            return found.content, dict(found.headers)

        return act

    api = "/api/v1"

    async def whole(w: World) -> Any:
        paths = ("/doctor", "/backups", "/exports", "/metrics")
        hook = await w.line.post(f"{api}/hooks/prompt", headers=w.me.headers, json={"session_id": w.name, "prompt": w.query})
        if hook.status_code != 403:
            raise AssertionError("a hook, which may name files of this machine, was answered")
        found = [await w.line.get(f"{'' if one == '/metrics' else api}{one}", headers=w.me.headers) for one in paths]
        if [one.status_code for one in found[:3]] != [403, 403, 403]:
            raise AssertionError("the whole home was shown to a token of one namespace")
        return [one.content for one in found]

    get, post = "GET", "POST"
    made: dict[str, Act] = {
        "remember": ask(post, lambda w: f"{api}/remember", lambda w: {"text": w.text}),
        "recall": ask(post, lambda w: f"{api}/recall", lambda w: {"query": w.query, "why_not": [w.path or "/notes"]}),
        "open": ask(post, lambda w: f"{api}/open", lambda w: {"path": w.path}),
        "page": ask(get, lambda w: f"{api}/page?path={quoted(w.path)}"),
        "tree": ask(get, lambda w: f"{api}/tree?path={quoted(w.path)}&depth=4"),
        "capture": ask(post, lambda w: f"{api}/capture", lambda w: {"session": w.name, "turns": [
            {"role": "user", "content": w.text}, {"role": "assistant", "content": "ok"}]}),
        "record": ask("PUT", lambda w: f"{api}/record", lambda w: {"key": ["app", w.name], "body": w.text}),
        "record get": ask(get, lambda w: f"{api}/record?key=app&key={w.name}"),
        "window": ask(post, lambda w: f"{api}/window/prepare", lambda w: {
            "session": w.name, "messages": [{"role": "user", "content": w.query}]}),
        "graph": ask(post, lambda w: f"{api}/graph/create-entities", lambda w: {"entities": [
            {"name": w.name, "entityType": "thing", "observations": [w.text]}]}),
        "undo": ask(post, lambda w: f"{api}/ledger/{w.dice.randint(1, 500)}/undo", lambda w: {"reason": "bench"}),
        "import": ask(post, lambda w: f"{api}/import/nothing", lambda w: {}),
        "whole home": whole,
        "mem0 add": ask(post, lambda w: "/mem0/v3/memories/add/", lambda w: {"messages": w.text, "user_id": w.name}),
        "mem0 search": ask(post, lambda w: "/mem0/v3/memories/search/", lambda w: {
            "query": w.query, "filters": {"user_id": w.name}}),
        "mem0 list": ask(get, lambda w: f"/mem0/memories?user_id={w.name}"),
    }  # fmt: skip
    reads = [
        route.path[1:] for route in ROUTES
        if route.method == "GET" and not route.wide and not any(one.required for one in route.arguments.values())
    ]  # fmt: skip
    for name in reads:
        made[name] = ask(get, lambda w, name=name: f"{api}/{name}")  # type: ignore[misc]
    for part in ("facts", "concerns", "diary", "ledger", "dreams", "sessions"):
        made[f"{part} one"] = ask(get, lambda w, part=part: f"{api}/{part}/{w.number}")  # type: ignore[misc]
    return made


def of_mcp() -> dict[str, Act]:
    """Tools and resources over HTTP, in a session of the namespace's token."""

    async def rpc(w: World, method: str, params: Any, headers: dict[str, str]) -> str:
        sent = {**headers, "accept": "application/json, text/event-stream"}
        if not w.me.session:
            begun = await w.line.post("/mcp", headers={**sent, **w.me.headers}, json=HELLO)
            w.me.session = {"mcp-session-id": begun.headers["mcp-session-id"]}
        ask = {"jsonrpc": "2.0", "id": 2, "method": method, "params": params}
        return (await w.line.post("/mcp", headers={**sent, **w.me.session}, json=ask)).text

    def tool(name: str, given: Callable[[World], Any]) -> Act:
        return lambda w: rpc(w, "tools/call", {"name": name, "arguments": given(w)}, w.me.headers)

    async def stolen(w: World) -> Any:
        found = await rpc(w, "tools/call", {"name": "recall", "arguments": {"query": w.query}}, w.other.headers)
        if "Session not found" not in found:
            raise AssertionError("a session went on with another token")
        return found

    return {
        "remember": tool("remember", lambda w: {"text": w.text}), "recall": tool("recall", lambda w: {"query": w.query}),
        "open": tool("open", lambda w: {"path": w.path or "/notes"}), "browse": tool("browse", lambda w: {"depth": 4}),
        "diary": tool("diary_entries", lambda w: {}), "profile": tool("profile", lambda w: {}),
        "cards": tool("cards", lambda w: {}), "card": tool("card", lambda w: {"path": w.name}),
        "wiki": tool("wiki", lambda w: {"view": "search", "words": w.query}), "status": tool("status", lambda w: {}),
        "experience": tool("recall_experience", lambda w: {"situation": f"deploying {w.query}"}),
        "work": tool("work_next", lambda w: {"of": "dream"}), "forget": tool("forget", lambda w: {"path": w.path or "/x",
                                                                                                  "reason": "bench"}),
        "resource": lambda w: rpc(w, "resources/read", {"uri": f"mnemic://at{w.path or '/notes'}"}, w.me.headers),
        "prompt": lambda w: rpc(w, "prompts/get", {"name": "memory_recall", "arguments": {"query": w.query}}, w.me.headers),
        "stolen session": stolen,
    }  # fmt: skip


def of_others() -> dict[str, Act]:
    """Hooks, and the shapes of other makers."""
    box = {tool.name: tool for tool in server_memory.BOX.tools}

    def files(act: Callable[[World, MemoryFiles], Any]) -> Act:
        def do(w: World) -> Any:
            try:
                return act(w, MemoryFiles(w.me.memory))
            except CommandError as error:
                return str(error)

        return do

    def graph(name: str, given: Callable[[World], Any]) -> Act:
        return lambda w: answer(box[name], Access(Grant(name="bench"), lambda: w.me.memory), given(w)).model_dump_json()

    def agents(w: World) -> Any:
        from mnemic.interfaces.integrations.openai_agents import MemorySession

        async def run() -> Any:
            session = MemorySession(w.name, w.me.memory)
            await session.add_items([{"role": "user", "content": w.text}])
            return await session.get_items()

        return run()

    def langgraph(w: World) -> Any:
        from mnemic.interfaces.integrations.langgraph import MemoryStore

        store = MemoryStore(w.me.memory)
        store.put(("users", w.name), w.name, {"text": w.text})
        found = store.get(("users", w.name), w.name)
        return [found and found.dict(), [item.dict() for item in store.search(("users",), query=w.query)],
                store.list_namespaces()]  # fmt: skip

    return {
        "hook start": lambda w: hooks.answer(w.me.memory, "session-start", {"session_id": w.name}),
        "hook prompt": lambda w: hooks.answer(w.me.memory, "prompt", {"session_id": w.name, "prompt": w.query}),
        "mem0": lambda w: (Mem0(w.me.memory).add(w.text, user_id=w.name), Mem0(w.me.memory).search(w.query, user_id=w.name)),
        "mem0 all": lambda w: Mem0(w.me.memory).get_all(filters={"user_id": "*"}),
        "file create": files(lambda w, f: f.create(f"/memories/{w.name}.md", w.text)),
        "file view": files(lambda w, f: (f.view("/memories"), f.view(f"/memories/{w.name}.md"))),
        "file rename": files(lambda w, f: f.rename(f"/memories/{w.name}.md", f"/memories/{w.name}.md")),
        "graph create": graph("create_entities", lambda w: {"entities": [
            {"name": w.name, "entityType": "x", "observations": [w.text]}]}),
        "graph read": graph("read_graph", lambda w: {}), "graph search": graph("search_nodes", lambda w: {"query": w.query}),
        "agents": agents, "langgraph": langgraph,
    }  # fmt: skip


def of_cli() -> dict[str, Act]:
    """Verbs of the command line, in this process."""

    def run(*words: Callable[[World], str] | str) -> Act:
        def do(w: World) -> Any:
            from typer.testing import CliRunner

            from mnemic.interfaces.cli.app import app

            line = [word(w) if callable(word) else word for word in words]
            done = CliRunner().invoke(app, ["--home", str(w.folder / "home"), "--namespace", w.me.name, *line])
            if done.exception is not None and not isinstance(done.exception, (SystemExit, MnemicError)):
                raise done.exception
            return done.output, str(done.exception)

        return do

    return {
        "recall": run("recall", lambda w: w.query, "--json"), "remember": run("remember", lambda w: w.text, "--json"),
        "show": run("show", lambda w: w.path or "/notes", "--json"), "tree": run("tree", "--json"),
        "status": run("status", "--json"), "profile": run("profile"),
        "ledger": run("ledger", "list", "--json"), "facts": run("fact", "list", "--json"),
        "diary": run("diary", "list", "--json"), "cards": run("card", "list", "--json"), "state": run("state", "show"),
        "experiences": run("experience", "list", "--json"), "wiki": run("wiki", "list", "--json"),
        "daily": run("daily", "--json"),
    }  # fmt: skip


def quoted(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="")


def read_all(folder: Path) -> str:
    """The names and bytes of all files below a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return "\n".join(f"{path}\n{path.read_bytes().decode('latin-1')}" for path in files)


async def measured(folder: Path, operations: int, seed: int) -> Report:
    """Plant, ask, look. The environment's MNEMIC_CONFIG is to be `folder`/config: the command line has it from there."""
    report, dice, began = Report(), random.Random(seed), time.monotonic()
    with Memory.open(folder / "home", environ={"MNEMIC_CONFIG": str(folder / "config")}) as memory:
        mcp = over_mcp(memory, ["localhost"], [])
        assert mcp is not None
        transport = httpx.ASGITransport(application(memory, OWNER, mcp=mcp))
        tokens = Tokens(memory.settings.home, memory.clock)
        spaces = [_space(memory, tokens, place, name, dice) for place, name in enumerate(NAMES)]
        async with mcp.router.lifespan_context(mcp), httpx.AsyncClient(transport=transport, base_url="http://localhost") as line:
            world = World(dice, folder, spaces, line, spaces[0], spaces[1])
            for space in spaces:
                for _ in range(5):
                    space.paths.append(str(space.memory.remember(space.text(dice), title=dice.choice(TOPICS)).path))
            await _run(world, operations, report)
        for space in spaces:
            _final(space, folder, spaces, report)
        for space in spaces[1:]:
            space.memory.close()
    report.seconds = round(time.monotonic() - began, 1)
    return report


def _space(memory: Memory, tokens: Tokens, place: int, name: str, dice: random.Random) -> Space:
    token = tokens.add(f"token {place}", scopes=SCOPES, namespaces=[name])
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    own = memory if name == memory.namespace else memory.within(name)
    mark, secret = (f"{word}{dice.getrandbits(48):012x}" for word in ("mark", "canary"))
    return Space(place, name, own, mark, secret, headers)


async def _run(world: World, operations: int, report: Report) -> None:
    light = [("memory", of_memory()), ("rest", of_rest()), ("mcp", of_mcp()), ("adapters", of_others())]
    for number in range(operations):
        world.me, world.other = world.dice.sample(world.spaces, 2)
        surface, acts = (
            ("heavy", heavy()) if number % HEAVY_EVERY == HEAVY_EVERY - 1
            else ("cli", of_cli()) if number % CLI_EVERY == CLI_EVERY - 1 else world.dice.choice(light)
        )  # fmt: skip
        name = world.dice.choice(sorted(acts))
        report.operations += 1
        report.surfaces[surface] += 1
        try:
            out: Any = acts[name](world)
            if inspect.isawaitable(out):
                out = await _awaited(out)
        except MnemicError as error:
            report.refused += 1
            out = str(error)
        except Exception as error:
            report.faults.append(f"{number} {surface} {name} in {world.me.name!r}: {type(error).__name__}: {str(error)[:300]}")
            out = str(error)
        _looked(world, f"{number} {surface} {name}", out, report)


async def _awaited(out: Awaitable[Any]) -> Any:
    return await out


def _looked(world: World, what: str, out: Any, report: Report) -> None:
    """Note the paths in what came out, and whether it shows what it should not."""
    said = _text(out)
    report.own += world.me.secret in said
    for space in world.spaces:
        if space is not world.me and space.secret in said:
            report.crossings.append(f"{what} in {world.me.name!r} shows {space.name!r}")
    found = re.findall(r"/(?:notes|sessions|records|cards)/[\w/.-]+", said)
    world.me.paths += [path for path in found if "canary" not in path][:5]  # or asking for it would be an echo
    del world.me.paths[:-200]


def _text(out: Any) -> str:
    if hasattr(out, "json"):
        out = out.json()
    if isinstance(out, bytes):
        return out.decode("utf-8", "replace")
    if isinstance(out, (list, tuple)):
        return "\n".join(_text(one) for one in out)
    return out if isinstance(out, str) else json.dumps(out, ensure_ascii=False, default=str)


def _final(space: Space, folder: Path, spaces: list[Space], report: Report) -> None:
    """All that a namespace holds in the end: its rows by the ledger, its vault, its export."""
    space.memory.flush()
    with tempfile.TemporaryDirectory(dir=folder) as out:
        space.memory.export(Path(out) / "out")
        held = {"export": read_all(Path(out) / "out"), "vault": read_all(space.memory.vault.root)}
    held["ledger"] = json.dumps(space.memory.ledger_export(), ensure_ascii=False, default=str)
    for what, text in held.items():
        for other in spaces:
            if other is not space and other.secret in text:
                report.crossings.append(f"the {what} of {space.name!r} shows {other.name!r}")
    if not (verdict := space.memory.verify()).ok:
        report.faults.append(f"the ledger of {space.name!r}: {verdict.problem}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--operations", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    logging.disable(logging.WARNING)  # the SDK tells of each session that is refused
    for name in [name for name in os.environ if name.startswith("MNEMIC_")]:
        del os.environ[name]  # nobody's own settings
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MNEMIC_CONFIG"] = str(Path(folder) / "config")
        report = anyio.run(measured, Path(folder), options.operations, options.seed)
    row = {**asdict(report), "surfaces": dict(report.surfaces), "ok": report.ok}
    print(json.dumps(row, ensure_ascii=False, indent=1) if options.json else render(report))
    raise SystemExit(0 if report.ok else 1)


def render(report: Report) -> str:
    """A Markdown table."""
    rows = [
        ("operations", f"{report.operations:,}"),
        ("namespaces", str(report.namespaces)),
        *((f"… of them over {name}", f"{count:,}") for name, count in sorted(report.surfaces.items())),
        ("refused", f"{report.refused:,}"),
        ("showed the namespace's own secret", f"{report.own:,}"),
        ("crossings", str(len(report.crossings))),
        ("faults", str(len(report.faults))),
        ("seconds", f"{report.seconds:,}"),
    ]
    table = ["| | |", "|---|---|", *(f"| {name} | {figure} |" for name, figure in rows)]
    return "\n".join([*table, *report.crossings[:20], *report.faults[:20]])


if __name__ == "__main__":
    main()
