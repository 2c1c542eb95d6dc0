"""The one table of REST: each route names a method of `Memory`, whose signature says what it takes.

From it come the handlers, OpenAPI, and the tests of what every route must refuse. What is not here is named, with its reason,
in `ELSEWHERE`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from mnemic.interfaces.mcp.server_memory import BOX as SERVER_MEMORY
from mnemic.interfaces.rest.own import OWN
from mnemic.interfaces.rest.shapes import Argument, Schema, arguments

if TYPE_CHECKING:
    from mnemic.interfaces.tokens import Scope
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
    """The method of `Memory`, or of a part of it: `facts.show`. Or of `own`."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Arguments that are always these."""
    page: Page = ""
    whole: str = ""
    """The argument that is the whole body."""
    guards: str = ""
    """What is read to see whether the thing is still what If-Match says."""
    steady: bool = False
    """Whether its answer has an ETag that If-Match takes."""
    scopes: tuple[Scope, ...] = ()
    """What a token must be good for; read for a GET and write for all else, where nothing is said."""
    wide: bool = False
    """Whether it is about the whole home: then a token that is bound to namespaces is not good for it."""
    own: bool = False
    """Whether its answer is what somebody keeps there, whatever its members are called: nothing in it tells of the home."""
    long: bool = False
    """Whether it takes long, and can be watched: what it tells of how far it is, and that it lives."""
    file: bool = False
    """Whether its answer is a file."""
    upload: bool = False
    """Whether its body is a file, the argument `file`; all others come in the query."""

    @property
    def needs(self) -> tuple[Scope, ...]:
        """The scopes that a token needs for it."""
        return self.scopes or (("read",) if self.method == "GET" else ("write",))

    @property
    def voices(self) -> tuple[str, ...]:
        """The arguments that say whose word it is."""
        return tuple(name for name in ("origin", "channel") if name in self.arguments)

    @property
    def personal(self) -> bool:
        """Whether it is a person's act, and nobody can say that it was an agent's."""
        return "write" in self.needs and not self.voices and self.target not in UNVOICED or self.target == "accept"

    @property
    def erases(self) -> tuple[str, ...]:
        """The arguments that need the scope erase where they are true."""
        return tuple(name for name in ("erase", "allow_erased") if name in self.arguments)

    def method_of(self, memory: Memory) -> Callable[..., Any]:
        """The one call of this route."""
        if self.target in OWN:
            return lambda **given: OWN[self.target](memory, **given)
        return _named(memory, self.target)

    def guard_of(self, memory: Memory) -> Callable[..., Any]:
        """The call that reads what If-Match is about."""
        if self.guards in OWN:
            return lambda **given: OWN[self.guards](memory, **given)
        found = _named(memory, self.guards)
        return partial(found, touch=False) if self.guards == "show" else found

    @property
    def definition(self) -> Callable[..., Any]:
        """The method without a memory."""
        if self.target in OWN:
            return OWN[self.target]
        part, _, name = self.target.rpartition(".")
        return getattr(parts()[part], name)  # type: ignore[no-any-return]

    @property
    def arguments(self) -> dict[str, Argument]:
        """What a client may give, but for pages."""
        left = {"limit", "after", "before"} if self.page else {"file"} if self.upload else set()
        return arguments(self.definition, {*self.fixed, *left})

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
        """Whether its method tells how far it is."""
        named = inspect.signature(self.definition).parameters
        return "progress" in named or "options" in named

    @property
    def queried(self) -> bool:
        """Whether its arguments come in the query."""
        return self.method in ("GET", "DELETE") or self.upload

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


NUMBERED: Mapping[str, tuple[str, ...]] = {
    "facts": ("approve", "confirm", "delete", "lock", "reject", "resolve", "unlock"),
    "concerns": ("approve", "delete", "reject", "status"),
    "experiences": ("archive", "delete", "demote", "evolve", "pin", "promote", "release", "report", "revise", "rollback",
                    "unpin", "verify"),
}  # fmt: skip
GRAPH = ("create_entities", "create_relations", "add_observations", "delete_entities", "delete_observations", "delete_relations",
         "open", "search")  # fmt: skip

WIKI = ("search", "resolve", "toc", "infobox", "links", "category", "read", "talk")


ELSEWHERE: Mapping[str, str] = {
    "copy": "from this home to another, which only a person at this machine may name: the command line",
    "open": "how a home is opened", "close": "how it is closed", "within": "the header mnemic-namespace",
    "position": "the header mnemic-position of an answer", "catch_up": "that of a request", "reads": "GET /metrics",
    "examine": "for a home that does not open", "recover": "for a home that does not open",
    "reembed": "it names a model or a server of this machine's: the command line; what serves follows by itself",
    "restore": "nobody else may have the home open, so not what serves it either: the command line",
    "window": "POST /window/prepare and /window/observe: a window lives for one call",
    "windows": "what a proxy holds open: `mnemic proxy`", "tending": "what serves does it", "watch": "what serves does it",
    "copies": "GET /backups and /exports", "copies_folder": "files of this machine",
    "waiting": "GET /metrics", "jobs": "GET /metrics", "worker": "`mnemic worker`", "wiki": "a part, as facts are: GET /wiki/…",
    "diary.evidence": "inside a transaction", "diary.said": "inside a transaction", "diary.marks": "inside a transaction",
    "diary.corroboration": "inside a transaction",
    "diary.due": "`extraction_due` of GET /status", "facts.top": "GET /profile", "facts.count": "GET /status",
    "concerns.top": "GET /profile", "concerns.intact": "GET /concerns", "concerns.matter": "inside a transaction",
    "concerns.propose": "POST /extract",
    "graph.take": "POST /import/server-memory",
    "daily.note": "GET /daily", "daily.pages": "POST /session-start", "daily.days": "GET /dailies",
    "daily.standing": "GET /dailies",
    "daily.today": "GET /daily", "daily.told_of": "what forgetting asks", "daily.withdraw": "what forgetting does",
    "state.read": "GET /state", "state.body": "GET /state", "state.origin": "GET /state",
    "wiki.is_of": "whether it is still the same",
    **{f"shards.{verb}": "for whoever looks after the servers: the command line"
       for verb in ("list", "where", "add", "remove", "move")},
}  # fmt: skip
"""Public methods that are no route, and why, or what does it instead."""
UNVOICED = frozenset({
    "flush", "set_bookmark", "vault.sync", "take", "export_delete", "records.put", "records.remove",
    "window_prepare", "work_next", "work_submit", "window_work_next", "window_work_submit",
})  # fmt: skip
"""What writes and is nobody's word: an import's is quoted, a record's and an order's the agent's, whoever brings it."""
AGENTS = frozenset({"records.put", "work_submit", "window_work_submit"})
"""What counts as an agent's word, whoever brings it: nothing for a token that counts for less."""
INSIDE = frozenset({"vault"})
"""Parts whose other methods are the door of other parts to the files, and no verbs of a user."""


def _table() -> tuple[Route, ...]:
    post, get, put, delete = "POST", "GET", "PUT", "DELETE"
    read: tuple[Scope, ...] = ("read",)
    both: tuple[Scope, ...] = ("read", "write")
    care: tuple[Scope, ...] = ("admin",)
    writes = [Route(post, f"/{name.replace('_', '-')}", name) for name in (
        "remember", "capture", "observe", "flush", "extract", "touch",
    )]  # fmt: skip
    asks = [Route(post, f"/{name.replace('_', '-')}", name, scopes=read) for name in ("recall", "session_start")]
    reads = [Route(get, f"/{name.replace('_', '-')}", name) for name in (
        "profile", "status", "stats", "verify", "window_status", "schedule", "path_of", "fingerprint", "namespaces",
    )]  # fmt: skip
    # A caller from outside names no files of this machine.
    reads += [Route(get, f"/{name}", name, fixed={"files": ()}) for name in ("audit", "budget")]
    cares = [Route(post, f"/{name.replace('_', '-')}", name, scopes=care, long=True) for name in (
        "decay", "rotate", "index", "compress_dailies", "dream", "fold", "extract_auto",
    )]  # fmt: skip
    homes = [Route(post, f"/{name}", name, scopes=care, wide=True, long=True) for name in ("vacuum", "tend", "reindex")]
    acts = [
        Route(post, f"/{part}/{{number}}/{verb}", f"{part}.{verb}", guards=f"{part}.show")
        for part, verbs in NUMBERED.items() for verb in verbs
    ]  # fmt: skip
    cards = [
        Route(post, f"/cards/{verb}", f"cards.{verb}", guards="cards.show") for verb in ("set", "log", "link", "rename", "retire")
    ]
    files = [
        Route(post, "/backups", "backup", scopes=care, wide=True, long=True),
        Route(get, "/backups", "backups", scopes=care, wide=True, page="slice"),
        Route(get, "/backups/{name}", "backup_file", scopes=care, wide=True, file=True),
        Route(delete, "/backups/{name}", "backup_delete", scopes=care, wide=True),
        # An export holds the key by which the whole home knows what was erased.
        Route(post, "/exports", "export", scopes=read, wide=True, long=True),
        Route(post, "/exports/training", "export_training", scopes=read, wide=True),
        Route(get, "/exports", "exports", wide=True, page="slice"),
        Route(get, "/exports/{name}", "export_file", wide=True, file=True),
        Route(delete, "/exports/{name}", "export_delete", wide=True),
        Route(post, "/import/mnemic", "read_export", wide=True, long=True, upload=True),
        Route(post, "/import/{format}", "take", long=True, upload=True),
    ]
    return (
        *writes, *asks, *reads, *cares, *homes, *files,
        Route(post, "/accept", "accept", scopes=care), Route(get, "/doctor", "doctor", scopes=care, wide=True),
        Route(get, "/page", "show", fixed={"touch": False}, steady=True), Route(post, "/open", "show", scopes=read),
        Route(post, "/forget", "forget", guards="show"), Route(post, "/tier", "tier", guards="show"),
        Route(get, "/tree", "tree", page="slice"), Route(get, "/around", "around"),
        Route(get, "/revisions", "revisions", page="slice"), Route(get, "/revisions/{seq}", "revision"),
        Route(get, "/bookmarks/{name}", "bookmark", steady=True, own=True),
        Route(put, "/bookmarks/{name}", "set_bookmark", whole="place", guards="bookmark", own=True),
        Route(get, "/ledger", "ledger", page="ledger"), Route(get, "/ledger/{seq}", "ledger_entry"),
        Route(get, "/ledger-export", "ledger_export", page="slice"), Route(post, "/ledger/{seq}/undo", "undo"),
        Route(get, "/diary", "diary.list", page="latest"), Route(post, "/diary", "diary.add"),
        Route(get, "/diary/{number}", "diary.show", steady=True),
        Route(post, "/diary/{number}/ack", "diary.ack", guards="diary.show"),
        Route(get, "/facts", "facts.list", page="slice"), Route(post, "/facts", "facts.add"),
        Route(get, "/facts/{number}", "facts.show", steady=True),
        Route("PATCH", "/facts/{number}", "facts.edit", guards="facts.show"),
        Route(get, "/concerns", "concerns.list", page="slice"), Route(get, "/concerns/{number}", "concerns.show", steady=True),
        Route(get, "/experiences", "experiences.list", page="slice"), Route(post, "/experiences", "experiences.add"),
        Route(post, "/experiences/refine", "experiences.refine"), Route(post, "/experiences/ingest", "experiences.ingest"),
        Route(post, "/experiences/consolidate", "experiences.consolidate"),
        Route(post, "/experiences/recall", "experiences.recall", scopes=read),
        Route(get, "/experiences/families", "experiences.families", page="slice"),
        Route(get, "/experiences/{number}", "experiences.show", steady=True), *acts,
        Route(get, "/vault", "vault.status"), Route(post, "/vault/sync", "vault.sync", long=True),
        Route(post, "/vault/rebuild", "vault.rebuild", scopes=care, long=True),
        Route(get, "/cards", "cards.list", page="slice"), Route(post, "/cards", "cards.new"),
        Route(get, "/card", "cards.show", steady=True), Route(get, "/card/links", "cards.links"), *cards,
        Route(get, "/state", "state.show", steady=True, own=True),
        Route(put, "/state", "state.write", guards="state.show", own=True),
        Route(get, "/dailies", "daily.all", page="slice"), Route(get, "/daily", "daily.named"),
        Route(get, "/sessions/{name}", "session"),
        Route(get, "/dreams", "dreams", page="slice"), Route(get, "/dreams/{id}", "dream_show"),
        Route(post, "/dream/work/next", "work_next", scopes=both), Route(post, "/dream/work/{id}/submit", "work_submit"),
        Route(get, "/window/summaries", "window_summaries", page="slice"), Route(get, "/proxy", "proxy"),
        Route(post, "/window/work/next", "window_work_next", scopes=both),
        Route(post, "/window/work/{id}/submit", "window_work_submit"),
        Route(post, "/window/prepare", "window_prepare", scopes=both), Route(post, "/window/observe", "window_observe"),
        Route(get, "/wiki", "wiki.list"), *(Route(get, f"/wiki/{name}", f"wiki.{name}") for name in WIKI),
        Route(get, "/wiki/section", "wiki.section", fixed={"touch": False}),
        Route(get, "/graph", "graph.read"),
        *(Route(post, f"/graph/{name.replace('_', '-')}", f"graph.{name}", scopes=read if name in ("open", "search") else ())
          for name in GRAPH),
        Route(get, "/records", "records.below", page="slice"), Route(get, "/record", "records.get", steady=True),
        Route(put, "/record", "records.put", guards="records.get"), Route(post, "/records/remove", "records.remove"),
        # What it captures from is a file of this machine, which the host names: not for whoever may only see a namespace.
        Route(post, "/hooks/{event}", "hook", whole="given", scopes=(*both, "admin"), wide=True),
    )  # fmt: skip


def parts() -> dict[str, type]:
    """The class of `Memory` and those of its parts, by the name that leads a target."""
    from mnemic.capture.graph import Graph
    from mnemic.capture.records import Records
    from mnemic.capture.shards import Shards
    from mnemic.knowledge.concerns import Concerns
    from mnemic.knowledge.diary import Diary
    from mnemic.knowledge.experiences import Experiences
    from mnemic.knowledge.facts import Facts
    from mnemic.memory import Memory
    from mnemic.synthesis import Wiki
    from mnemic.vault import Cards, Daily, State, Vault

    return {"": Memory, "diary": Diary, "facts": Facts, "concerns": Concerns, "experiences": Experiences, "graph": Graph,
            "vault": Vault, "cards": Cards, "daily": Daily, "state": State, "wiki": Wiki, "records": Records,
            "shards": Shards}  # fmt: skip


ROUTES = _table()
