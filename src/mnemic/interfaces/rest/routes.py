"""The one table of REST: each route names a method of `Memory`, whose signature says what it takes.

From it come the handlers, OpenAPI, and the tests of what every route must refuse. What is not here names files of this
machine (backup, restore, export) or is one conversation's own (window, which the proxy serves).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from mnemic.interfaces.hooks.run import SECONDS, answer
from mnemic.interfaces.mcp.server_memory import BOX as SERVER_MEMORY
from mnemic.interfaces.rest.shapes import Argument, Schema, arguments

if TYPE_CHECKING:
    from mnemic.memory import Memory

Page = Literal["", "slice", "latest", "ledger"]
"""How a list comes in pages: cut here; by its `limit`, of the latest, newest first; by the number before which it goes on."""


@dataclass(frozen=True, slots=True)
class Route:
    """One operation."""

    method: str
    path: str
    """Below /api/v1."""
    target: str
    """The method of `Memory`, or of a part of it: `facts.show`. Or of this module."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Arguments that are always these."""
    page: Page = ""
    whole: str = ""
    """The argument that is the whole body."""
    guards: str = ""
    """What is read to see whether the thing is still what If-Match says."""
    steady: bool = False
    """Whether its answer has an ETag that If-Match takes."""

    def method_of(self, memory: Memory) -> Callable[..., Any]:
        """The one call of this route."""
        if self.target in OWN:
            return lambda **given: OWN[self.target](memory, **given)
        return _named(memory, self.target)

    def guard_of(self, memory: Memory) -> Callable[..., Any]:
        """The call that reads what If-Match is about."""
        return _named(memory, self.guards)

    @property
    def definition(self) -> Callable[..., Any]:
        """The method without a memory."""
        if self.target in OWN:
            return OWN[self.target]
        part, _, name = self.target.rpartition(".")
        return getattr(_parts()[part], name)  # type: ignore[no-any-return]

    @property
    def arguments(self) -> dict[str, Argument]:
        """What a client may give, but for pages."""
        paged = {"limit", "after", "before"} if self.page else set()
        return arguments(self.definition, {*self.fixed, *paged})

    @property
    def inner(self) -> dict[str, Schema]:
        """What is known of arguments whose annotation does not say it: the graph's are those of server-memory."""
        part, _, name = self.target.rpartition(".")
        known = SERVER_MEMORY.by_name.get(name) if part == "graph" else None
        return {} if known is None else {key: one for key, one in known.schema["properties"].items() if key in self.arguments}

    @property
    def in_path(self) -> list[str]:
        return re.findall(r"{(\w+)}", self.path)

    @property
    def progresses(self) -> bool:
        """Whether it tells how far it is."""
        return "progress" in inspect.signature(self.definition).parameters

    @property
    def name(self) -> str:
        """The operation's own name."""
        return f"{self.method.lower()}_{re.sub(r'[^a-z0-9]+', '_', self.path.lower()).strip('_')}"

    @property
    def about(self) -> str:
        """What it is for."""
        words = " ".join((self.definition.__doc__ or "").split("\n\n")[0].split())
        return words


def _named(memory: Memory, target: str) -> Callable[..., Any]:
    found: Any = memory
    for name in target.split("."):
        found = getattr(found, name)
    return found  # type: ignore[no-any-return]


def hook(memory: Memory, event: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """An event of a coding agent's session, as `mnemic hook` takes it from its standard input."""
    return answer(memory, event, given) if event in SECONDS else {}


OWN: Mapping[str, Callable[..., Any]] = {"hook": hook}
NUMBERED: Mapping[str, tuple[str, ...]] = {
    "facts": ("approve", "confirm", "delete", "lock", "reject", "resolve", "unlock"),
    "concerns": ("approve", "delete", "reject", "status"),
    "experiences": ("archive", "delete", "demote", "evolve", "pin", "promote", "release", "report", "revise", "rollback",
                    "unpin", "verify"),
}  # fmt: skip
GRAPH = ("create_entities", "create_relations", "add_observations", "delete_entities", "delete_observations", "delete_relations",
         "open", "search")  # fmt: skip

WIKI = ("search", "resolve", "toc", "section", "infobox", "links", "category")


def _table() -> tuple[Route, ...]:
    post, get = "POST", "GET"
    plain = [Route(post, f"/{name.replace('_', '-')}", name) for name in (
        "remember", "capture", "observe", "flush", "recall", "extract", "extract_auto", "session_start", "forget", "accept",
        "touch", "tier", "decay", "rotate", "vacuum", "tend", "index", "reindex", "compress_dailies", "dream", "fold",
    )]  # fmt: skip
    read = [Route(get, f"/{name.replace('_', '-')}", name) for name in (
        "profile", "status", "stats", "doctor", "verify", "window_status", "schedule", "path_of", "fingerprint",
    )]  # fmt: skip
    # A caller from outside names no files of this machine.
    read += [Route(get, f"/{name}", name, fixed={"files": ()}) for name in ("audit", "budget")]
    acts = [
        Route(post, f"/{part}/{{number}}/{verb}", f"{part}.{verb}", guards=f"{part}.show")
        for part, verbs in NUMBERED.items() for verb in verbs
    ]  # fmt: skip
    cards = [
        Route(post, f"/cards/{verb}", f"cards.{verb}", guards="cards.show")
        for verb in ("set", "log", "link", "rename", "retire")
    ]
    return (
        *plain, *read,
        Route(get, "/page", "show", fixed={"touch": False}), Route(post, "/open", "show"),
        Route(get, "/tree", "tree", page="slice"),
        Route(get, "/bookmarks/{name}", "bookmark"), Route("PUT", "/bookmarks/{name}", "set_bookmark", whole="place"),
        Route(get, "/ledger", "ledger", page="ledger"), Route(get, "/ledger/{seq}", "ledger_entry"),
        Route(post, "/ledger/{seq}/undo", "undo"),
        Route(get, "/diary", "diary.list", page="latest"), Route(post, "/diary", "diary.add"),
        Route(get, "/diary/{number}", "diary.show"), Route(post, "/diary/{number}/ack", "diary.ack"),
        Route(get, "/facts", "facts.list", page="slice"), Route(post, "/facts", "facts.add"),
        Route(get, "/facts/{number}", "facts.show", steady=True),
        Route("PATCH", "/facts/{number}", "facts.edit", guards="facts.show"),
        Route(get, "/concerns", "concerns.list", page="slice"), Route(get, "/concerns/{number}", "concerns.show", steady=True),
        Route(get, "/experiences", "experiences.list", page="slice"), Route(post, "/experiences", "experiences.add"),
        Route(post, "/experiences/refine", "experiences.refine"), Route(post, "/experiences/ingest", "experiences.ingest"),
        Route(post, "/experiences/consolidate", "experiences.consolidate"),
        Route(post, "/experiences/recall", "experiences.recall"),
        Route(get, "/experiences/{number}", "experiences.show", steady=True), *acts,
        Route(get, "/vault", "vault.status"), Route(post, "/vault/sync", "vault.sync"),
        Route(post, "/vault/rebuild", "vault.rebuild"),
        Route(get, "/cards", "cards.list", page="slice"), Route(post, "/cards", "cards.new"),
        Route(get, "/card", "cards.show", steady=True), Route(get, "/card/links", "cards.links"), *cards,
        Route(get, "/state", "state.show", steady=True), Route("PUT", "/state", "state.write", guards="state.show"),
        Route(get, "/dailies", "daily.all", page="slice"), Route(get, "/daily", "daily.named"),
        Route(get, "/sessions/{name}", "session"),
        Route(get, "/dreams", "dreams", page="slice"), Route(get, "/dreams/{id}", "dream_show"),
        Route(post, "/dream/work/next", "work_next"), Route(post, "/dream/work/{id}/submit", "work_submit"),
        Route(post, "/window/work/next", "window_work_next"), Route(post, "/window/work/{id}/submit", "window_work_submit"),
        Route(get, "/wiki", "wiki.list"), *(Route(get, f"/wiki/{name}", f"wiki.{name}") for name in WIKI),
        Route(get, "/graph", "graph.read"), *(Route(post, f"/graph/{name.replace('_', '-')}", f"graph.{name}") for name in GRAPH),
        Route(post, "/hooks/{event}", "hook", whole="given"),
    )  # fmt: skip


def _parts() -> dict[str, type]:
    from mnemic.capture.graph import Graph
    from mnemic.knowledge.concerns import Concerns
    from mnemic.knowledge.diary import Diary
    from mnemic.knowledge.experiences import Experiences
    from mnemic.knowledge.facts import Facts
    from mnemic.memory import Memory
    from mnemic.synthesis import Wiki
    from mnemic.vault import Cards, Daily, State, Vault

    return {"": Memory, "diary": Diary, "facts": Facts, "concerns": Concerns, "experiences": Experiences, "graph": Graph,
            "vault": Vault, "cards": Cards, "daily": Daily, "state": State, "wiki": Wiki}  # fmt: skip


ROUTES = _table()
