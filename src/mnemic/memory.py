"""`Memory`, the front door: opens a home, wires the parts, and has one short method for every verb.

    from mnemic import Memory

    with Memory.open("~/.mnemic") as memory:
        memory.remember("Ada prefers the window seat.")
        print(memory.recall("Where does Ada like to sit?").hits[0].text)
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import date, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar
from zipfile import ZipFile

from mnemic import failures
from mnemic import store as stores
from mnemic.capture import ConversationBuffer, Indexer, Intake, Note
from mnemic.capture.chosen import META, Chosen, embedder_for, inferred, opened
from mnemic.capture.folding import Folding
from mnemic.capture.forget import Forgetting
from mnemic.capture.graph import Graph
from mnemic.capture.indexing import Drained
from mnemic.capture.records import Records
from mnemic.capture.shards import Shards
from mnemic.clock import DAY_MS, Clock, FixedClock, Ids, RandomIds, SystemClock, iso, to_ms
from mnemic.embed import CENTRED, Embedder, Reranker, open_reranker
from mnemic.errors import (
    BadInput,
    Conflict,
    Damaged,
    DiskFull,
    MnemicError,
    ModelError,
    NotFound,
    QuotaExceeded,
    Refused,
    StoreError,
)
from mnemic.knowledge.concerns import Concerns
from mnemic.knowledge.diary import Diary
from mnemic.knowledge.erasure import Erasure, is_record
from mnemic.knowledge.experiences import Experiences
from mnemic.knowledge.extract import Extractor
from mnemic.knowledge.facts import Facts
from mnemic.knowledge.origin import actor, must_be_human
from mnemic.knowledge.placing import Placing
from mnemic.knowledge.profile import MAX_TOKENS, profile
from mnemic.ledger import FolderWitness, Ledger, Witness
from mnemic.ledger.chain import changes_of
from mnemic.ledger.chain import opened as unpacked
from mnemic.ledger.quota import Quota
from mnemic.ledger.record import NOT_UNDOABLE, digest, erasure_mac, shown
from mnemic.ledger.revisions import compared, revisions
from mnemic.ledger.served import checked
from mnemic.lifecycle import Rotation, Tending, Usages
from mnemic.lifecycle.usage import hidden_by
from mnemic.llm.base import Judge
from mnemic.models.answer import Answer, Budget, Scope
from mnemic.models.document import SHELVES, Document, Turn
from mnemic.models.event import Change, Draft, Head, Origin, Verdict
from mnemic.models.night import STAGES, Chore, Done
from mnemic.models.receipt import CaptureReport, Forgotten, Receipt
from mnemic.models.semantic import Profile
from mnemic.recall import Outdated, Recall
from mnemic.settings import Settings, checked_namespace, load
from mnemic.store import ENGINE_FILES, Store, batches, open_store
from mnemic.telemetry import Telemetry
from mnemic.text.clean import encodable
from mnemic.text.mention import names, paths
from mnemic.text.tree import slug
from mnemic.vault import BARE, GONE, Around, Audit, Cards, Compression, Daily, Page, State, Vault, Watch, archive, totals
from mnemic.vault.audit import Violation
from mnemic.vault.fading import mark
from mnemic.vault.files import file_name
from mnemic.vault.links import key_of
from mnemic.vault.moc import placed

if TYPE_CHECKING:
    from mnemic.capture.portable import Portable
    from mnemic.context import ContextWindow
    from mnemic.context.inject import Beside, Sought
    from mnemic.context.orders import WindowOrders
    from mnemic.context.start import Start
    from mnemic.context.summaries import Pyramid
    from mnemic.context.window import Summarise
    from mnemic.context.windows import Windows
    from mnemic.llm import Budgeted
    from mnemic.store.postgres.jobs import Round
    from mnemic.store.postgres.worker import Worked, Worker
    from mnemic.synthesis import Dream, Orders, Wiki
    from mnemic.synthesis import Judge as DreamJudge
    from mnemic.vault.state import Measure
    from mnemic.vault.travel import Travel

FRAME_CHARS = 9_000
LEFT = "its vectors are left to `mnemic worker`"
T = TypeVar("T")


class Memory:
    """One home, seen from one namespace. Use it as a context manager; it may be shared between threads."""

    def __init__(
        self, settings: Settings, *, store: Store | None = None, embedder: Embedder | None = None,
        clock: Clock | None = None, ids: Ids | None = None, witness: Witness | None = None,
        reranker: Reranker | None = None, judge: Judge | None = None, telemetry: Telemetry | None = None,
    ) -> None:  # fmt: skip
        self.settings = settings
        self.namespace = settings.namespace
        self.clock = clock or _clock(settings)
        self.ids = ids or RandomIds()
        self.telemetry = telemetry or Telemetry()
        self._store = store or open_store(
            settings.home, settings.store.url.value, connections=settings.store.connections,
            partitions=settings.store.partitions, replicas=[one.value for one in settings.store.replicas],
        )  # fmt: skip
        self._given = embedder
        self._chosen = self._store.meta(META)
        first, self._against = embedder_for(Chosen.read(self._chosen), settings.embed, embedder)
        self._quota = Quota(self._store, settings.limits)
        self._ledger = Ledger(
            self._store, witness or FolderWitness(settings.config), self.clock, self.ids, self._quota,
            self.telemetry.wrote,
        )  # fmt: skip
        self._intake = Intake(self._store, self._ledger, self.clock, settings.capture)
        self._forgetting = Forgetting(self._store, self._ledger, self._intake, self.clock)
        self._usages = Usages(self._store, self._ledger, self.clock, settings.decay)
        self.shards = Shards(self._store, self._ledger)
        self._rotation = Rotation(self._store, self._ledger, self.clock, settings.rotate)
        recall = settings.recall
        if reranker is None and recall.reranker:
            reranker = open_reranker(recall.reranker, download=settings.embed.download, threads=settings.embed.threads)
        self._reranker = reranker
        self._switching = threading.Lock()
        self._embed_by(first)
        parts = (self._store, self._ledger, self.clock, self.namespace)
        redact = settings.capture.redact
        self.diary = Diary(*parts, redact=redact)
        self.facts = Facts(self.diary, *parts, redact=redact)
        self.concerns = Concerns(self.diary, *parts, redact=redact)
        placing = Placing(self.diary, *parts, redact=redact)
        self._extractor = Extractor(self.diary, placing, self.concerns, *parts, redact=redact)
        self._erasure = Erasure(*parts, redact=redact)
        self._judge = judge
        self.experiences = Experiences(*parts, redact=redact)
        self.vault = Vault(
            _vault_folder(settings), settings.home / "vault.lock", self._store, self.clock, self.namespace,
            settings.vault, _VaultDoor(self),
        )  # fmt: skip
        self.cards = Cards(self.vault, self.clock)
        self.daily = Daily(self.vault, self._store, self._usages, self.clock, self.namespace, settings.decay)
        self.state = State(self.vault)
        for part in (self.diary, self.facts, self.concerns, self.experiences):
            part.used = self._use
        self.cards.used = self._use_file
        self.graph = Graph(self._store, self._intake, self._forgetting, self.namespace, settle=self._drain, redact=redact)
        self.records = Records(self._store, self._intake, self._forgetting, self.namespace, settle=self._drain, redact=redact)
        self._buffer: ConversationBuffer | None = None
        self._borrowed = False
        self._wiki: Wiki | None = None
        self.last_error: str | None = None
        self._crowded = False
        """Whether the last capture was refused for want of room."""
        if self.vault.together.interrupted:
            with suppress(MnemicError):  # another process is at it, or the next sync tells what is wrong
                self._recover()

    def _embed_by(self, embedder: Embedder) -> None:
        """Index and answer by this embedder from now on."""
        self._embedder, self._indexer = embedder, self._indexer_of(embedder)
        self._recall = Recall(
            self._store, embedder, self.clock, self._reranker, rerank_seconds=self.settings.recall.rerank_seconds,
            decay=self.settings.decay,
        )  # fmt: skip

    def _indexer_of(self, embedder: Embedder) -> Indexer:
        return Indexer(
            self._store, embedder, self.clock, similar=CENTRED.similar,
            retry_seconds=self.settings.capture.retry_seconds,
            bare=frozenset({"cold"} if self.settings.rotate.drop_cold_vectors else ()),
        )  # fmt: skip

    def _follow(self) -> bool:
        """Go over to the embedder that the home has gone over to since it was opened; whether it had."""
        if (text := self._store.meta(META)) == self._chosen:
            return False
        with self._switching:
            chosen = Chosen.read(text)
            if chosen and chosen.identity != self._embedder.identity:
                self._embed_by(chosen.opened(self.settings.embed))
            self._chosen, self._against = text, None
        return True

    @classmethod
    def open(
        cls, home: str | Path | None = None, *, namespace: str | None = None, environ: dict[str, str] | None = None,
        **parts: Any,
    ) -> Memory:  # fmt: skip
        """Open a home with the settings of its `mnemic.toml` and of the environment; `parts` replace the seams.

        Raises BadInput for a wrong setting, StoreError for a home that cannot be opened.
        """
        return cls(load(dict(os.environ) if environ is None else environ, home=home, namespace=namespace), **parts)

    def __enter__(self) -> Memory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Write what is buffered and close the files."""
        if self._buffer is not None:
            self._buffer.close()
        if not self._borrowed:
            self._store.close()

    def within(self, namespace: str) -> Memory:
        """The same home seen from another namespace; closing it writes what it has buffered and leaves the files open."""
        self._follow()
        made = Memory(
            replace(self.settings, namespace=checked_namespace(namespace)), store=self._store, clock=self.clock,
            embedder=self._embedder, ids=self.ids, witness=self._ledger.witness, judge=self._judge,
            reranker=self._reranker, telemetry=self.telemetry,
        )  # fmt: skip
        made._borrowed, made._given, made._against = True, self._given, self._against
        return made

    def namespaces(self) -> list[str]:
        """The namespaces of this home in which something stands."""
        return list(self._store.namespaces())

    # writing

    def remember(
        self, text: str, *, title: str = "", kind: str = "note", at: datetime | None = None,
        importance: float | None = None, context: str = "", source: str | None = None, origin: Origin = "user",
        op_id: str | None = None, allow_erased: bool = False, index: bool = True, reason: str = "",
    ) -> Receipt:  # fmt: skip
        """Store a text as a document and index it. `importance` is 0..1; `reason` stands in the ledger.

        Raises BadInput, QuotaExceeded.
        """
        if importance is not None and not 0 <= importance <= 1:
            raise BadInput(f"importance {importance!r} must lie between 0 and 1")
        note = Note(
            text=text, title=title, kind=kind, context=context, at=None if at is None else to_ms(at),
            importance=importance, source=source, origin=origin, actor=actor(origin), op_id=op_id,
            allow_erased=allow_erased, reason=reason,
        )  # fmt: skip
        receipt = self._intake.remember(self.namespace, note)
        return self._indexed(receipt) if index else receipt

    def capture(
        self, turns: Iterable[Turn], *, session: str | None = None, title: str = "", context: str = "",
        origin: Origin = "user", index: bool = True,
    ) -> CaptureReport:  # fmt: skip
        """Store a conversation, exchange by exchange; a new session is named `title`, else after its first words.

        Raises BadInput before anything is stored, and QuotaExceeded where there is no room.
        """
        turns = list(turns)
        report = self._intake.capture(
            self.namespace, turns, session=session, title=title, context=context, origin=origin
        )
        if report.messages:
            self._use_named(turns)
        if not index or not report.exchanges:
            return report
        why = self._drain()
        if why is None:
            return report
        queued = [
            replace(item, status="queued", reason=why) if item.status == "stored" else item
            for item in report.receipts
        ]
        return replace(report, receipts=tuple(queued))

    def _indexed(self, receipt: Receipt) -> Receipt:
        if receipt.status != "stored":
            return receipt
        why = self._drain()
        return receipt if why is None else replace(receipt, status="queued", reason=why)

    def _drain(self) -> str | None:
        """Index what waits; why that was not done, if so. What was acknowledged stays so, whatever fails here."""
        if self.settings.store.deferred:
            return LEFT
        try:
            return self._drained().error
        except (StoreError, Conflict) as error:
            return str(error)

    def _drained(self, progress: Callable[[int], None] | None = None) -> Drained:
        """Index what waits, again if the home went over to another embedder meanwhile."""
        self._follow()
        done = self._indexer.drain(self.namespace, progress=progress)
        return self._indexer.drain(self.namespace, progress=progress) if self._follow() else done

    def observe(self, session: str, turn: Turn) -> None:
        """Take a turn of a running conversation; returns at once. A worker thread writes whole exchanges.

        Raises QuotaExceeded where the last could not be written for want of room, and there is none yet.
        """
        if self._crowded:  # what is taken now would only wait, in this process's memory
            self._quota.check(self.namespace)
            self._crowded = False
        if self._buffer is None:
            capture = self.settings.capture
            self._buffer = ConversationBuffer(
                self._flushed, self.clock, idle_seconds=capture.idle_seconds, max_buffered=capture.max_buffered,
                failed=self._note_failure,
            )  # fmt: skip
            self._buffer.start()
        self._buffer.observe(session, turn)

    def flush(self) -> list[CaptureReport]:
        """Write everything that `observe` took."""
        return self._buffer.flush() if self._buffer is not None else []

    def bookmark(self, name: str) -> dict[str, Any]:
        """What `set_bookmark` kept under a name, e.g. how far a transcript was read; empty if nothing."""
        found: dict[str, Any] = json.loads(self._store.meta(f"bookmark:{self.namespace}:{name}") or "{}")
        return found

    def set_bookmark(self, name: str, place: Mapping[str, Any]) -> None:
        """Keep a small place under a name, for a reader that goes on where it stopped. It is no memory: no entry is made."""
        self._store.set_meta(f"bookmark:{self.namespace}:{name}", json.dumps(place, separators=(",", ":")))

    def session(self, name: str) -> dict[str, Any] | None:
        """What is kept about a session: its title, context, origin, and when it began, in ms; None if it is not there."""
        return self._store.row(self.namespace, "sessions", (encodable(name),))

    def path_of(self, source: str) -> str | None:
        """The path of the document that was read from a source."""
        document = self._store.document_by_source(self.namespace, encodable(source))
        return None if document is None else document.path

    def fingerprint(self, text: str) -> str:
        """A name for a text, the same in this home whenever it comes, from which nobody can guess the text."""
        return erasure_mac(self._store.erasure_key_of(self.namespace), encodable(text))

    def _flushed(self, session: str, turns: list[Turn]) -> CaptureReport:
        return self.capture(turns, session=session)

    def _note_failure(self, error: Exception) -> None:
        self.last_error = str(error)
        self._crowded = isinstance(error, QuotaExceeded)

    def index(self, progress: Callable[[int], None] | None = None) -> dict[str, Any]:
        """Embed what still waits for it."""
        return asdict(self._drained(progress))

    # asking

    def position(self) -> str | None:
        """How far this namespace has been written and read here, for `catch_up` elsewhere; None for files, which all share."""
        number = self._store.position(self.namespace)
        return None if number is None else f"{number}-{self._position_mark()}"

    def catch_up(self, position: str) -> None:
        """Answer from now on from a state that is no older than a `position` of this namespace. Raises BadInput."""
        number, _, mark = position.partition("-")
        known = mark == self._position_mark() and number.isascii() and number.isdigit() and len(number) < 19
        if not known or not self._store.catch_up(self.namespace, int(number)):
            raise BadInput(f"position {position[:60]!r} is none of this namespace: give what an answer about it said")

    def _position_mark(self) -> str:
        """What tells the positions of a namespace from those of others."""
        return digest(f"{self._store.store_id}\0{self.namespace}")[:12]

    def reads(self) -> dict[str, int]:
        """How many reads of this process went to which server: primary, replica, or fallback where no replica could answer."""
        return dict(self._store.reads())

    def recall(
        self, query: str, *, scope: Scope | None = None, budget: Budget | None = None, scoring: str | None = None,
        why_not: Sequence[str] = (), frame: bool = False, mode: str | None = None, draw: int | None = None,
    ) -> Answer:  # fmt: skip
        """The best memories for a query, with the numbers that put them there; never raises for what a query says.

        `mode` says which tiers are asked: heartbeat, normal, deep, or creative, which samples what has faded, the same
        for the same `draw`.
        """
        recall = self.settings.recall
        budget = budget or Budget(nodes=recall.nodes, chars=recall.chars, node_chars=recall.node_chars)
        with self.telemetry.recall() as told:
            while True:
                try:
                    answer = self._recall.ask(
                        self.namespace, query, scope=scope, budget=budget, scoring=scoring or recall.scoring, why_not=why_not,
                        mode=mode or recall.mode, draw=draw, outdated=lambda: self._store.meta(META) != self._chosen,
                    )  # fmt: skip
                    break
                except Outdated:
                    with suppress(StoreError):  # what cannot be read is told by the answer
                        self._follow()
            told(answer)
        if self._against:
            answer = replace(answer, degraded=(*answer.degraded, self._against))
        return replace(answer, frame=self._frame(answer)) if frame else answer

    def _frame(self, answer: Answer) -> str:
        from mnemic.text import frame as frames

        items = [frames.recalled(hit) for hit in answer.hits]
        return frames.render(items, self.ids.token(8), max_chars=FRAME_CHARS) if items else ""

    def show(self, path: str, *, touch: bool = True, channel: Origin = "user") -> dict[str, Any]:
        """A document or a node with its source text, neighbours and history. Opening it is a use: it is touched.

        Raises NotFound, and Damaged where a text is not what was recorded.
        """
        with self._store.reading():
            document, page = self._page(path)
        if touch:
            with suppress(MnemicError):  # what was forgotten stays so; a home that cannot be written can be read
                self._usages.touch(self.namespace, path, actor=actor(channel), reason="opened")
        return {**page, **self._usages.standing(self.namespace, document).json()}

    def _page(self, path: str) -> tuple[Document, dict[str, Any]]:
        ns = self.namespace
        document = self._store.document(ns, path)
        node = self._store.node(ns, path)
        if document is None and node is not None:
            document = self._store.document_by_id(ns, node.document)
        if document is None:
            raise NotFound(f"nothing stands at {path!r}: see `mnemic tree`")
        nodes = self._store.nodes(ns, document.id, document.shelf)
        messages = self._store.messages(ns, document=document.id)
        ids = sorted({n.text_id for n in nodes if n.text_id is not None})
        bodies = self._store.texts(ns, ids, document.shelf)
        checked(self._store, ns, document.id, document.path, bodies)
        if node is not None and node.text_id is not None and path != document.path:
            text = bodies.get(node.text_id, "")[node.start : node.end]
        elif messages:
            text = "\n\n".join(f"{m.name or m.role}: {bodies.get(m.text_id, '')}" for m in messages)
        else:
            text = bodies.get(document.text_id or -1, "")
        history = self._store.events(ns, object=f"document:{document.id}", limit=100, newest=True)[::-1]
        here = node.id if node else None
        return document, {
            "path": path,
            "kind": node.kind if node else document.kind,
            "title": (node.title if node else "") or document.title,
            "text": text,
            "document": document.path,
            "session": document.session,
            "context": document.context,
            "origin": document.origin,
            "importance": document.importance,
            "created_at": iso(document.created_at),
            "recorded_at": iso(document.recorded_at),
            "shelf": document.shelf,
            "forgotten": hidden_by(path, self._store.forgotten(ns)) is not None,
            "children": [n.path for n in nodes if n.parent == here and n.id != here],
            "history": [{k: shown(e)[k] for k in ("seq", "at", "op", "actor", "reason")} for e in history],
        }

    def tree(self, path: str = "", *, depth: int = 2) -> list[dict[str, Any]]:
        """What lies below a path: folders, documents and nodes down to a depth, in order. Raises NotFound."""
        with self._store.reading():
            return self._tree(path, depth)

    def _tree(self, path: str, depth: int) -> list[dict[str, Any]]:
        ns, base = self.namespace, path.rstrip("/")
        documents = self._store.documents(ns, below=base, limit=1_000_000)
        node = self._store.node(ns, base) if base and not documents else None
        if node is not None:
            home = self._store.document_by_id(ns, node.document)
            documents = [home] if home else []
        if base and not documents:
            raise NotFound(f"nothing stands at {path!r}: see `mnemic tree`")
        level = base.count("/")
        rows: dict[str, dict[str, Any]] = {}
        for document in documents:
            parts = document.path.split("/")
            for end in range(2, len(parts)):
                folder = "/".join(parts[:end])
                if level < end - 1 <= level + depth and folder.startswith(base):
                    rows.setdefault(folder, {"path": folder, "kind": "folder", "title": parts[end - 1]})
            if document.path.count("/") > level + depth:
                continue  # its nodes lie deeper still
            for item in self._store.nodes(ns, document.id, document.shelf):
                inside = item.path == base or item.path.startswith(base + "/")
                if inside and item.path.count("/") <= level + depth:
                    rows[item.path] = {"path": item.path, "kind": item.kind, "title": item.title or document.title}
        return list(rows.values())

    def around(self, path: str, *, steps: int = 2, limit: int = 200) -> dict[str, Any]:
        """The nodes around one, nearest first, and their edges: parts, what was said next, what is alike, cited or linked.

        `steps` is 1 to 6, `limit` at most 2,000 nodes; `omitted` counts what did not fit. Raises NotFound, BadInput.
        """
        with self._store.reading():
            return Around(self._store, self.namespace).look(path, steps, limit)

    def revisions(self, path: str, *, limit: int = 1_000) -> list[dict[str, Any]]:
        """The entries that changed what a document says, the latest first. `path` may name a file of the vault.

        Raises NotFound.
        """
        with self._store.reading():
            return [one.json() for one in revisions(self._store, self.namespace, self._document(path))[:limit]]

    def revision(self, path: str, seq: int) -> dict[str, Any]:
        """What a document said after one of those entries, and as a diff what it changed. Raises NotFound, Damaged."""
        with self._store.reading():
            document = self._document(path)
            found = revisions(self._store, self.namespace, document)
            return compared(self._store, self.namespace, document, found, seq)

    def _document(self, path: str) -> Document:
        """The document at a path, that a node there lies in, or of a file."""
        ns = self.namespace
        found = self._store.document(ns, path)
        if found is None and not path.startswith("/"):
            found = self._store.document_by_source(ns, self.vault.source(path))
        if found is None and (node := self._store.node(ns, path)) is not None:
            found = self._store.document_by_id(ns, node.document)
        if found is None:
            raise NotFound(f"nothing stands at {path!r}: see `mnemic tree`")
        return found

    # what is known about the user

    def extract(
        self, data: Mapping[str, Any], *, context: str = "", channel: Origin = "user", op_id: str | None = None
    ) -> dict[str, Any]:
        """Draw facts and concerns from the diary: `{"proposals", "concerns", "summary"}`; a receipt a proposal.

        Raises BadInput where the whole is not of this shape; a proposal that breaks a rule is rejected alone.
        """
        return self._extractor.extract(data, context=context, channel=channel, op_id=op_id)

    def extract_auto(self, *, context: str = "") -> dict[str, Any]:
        """Let the configured language model propose from what is pending; the same rules judge its proposals.

        Raises BadInput if none is configured, ModelError if it does not answer usably or its budget is spent.
        """
        from mnemic.llm import Budgeted, open_judge

        llm = self.settings.llm
        return self._extracted(Budgeted(self._judge or open_judge(llm), llm.calls, llm.tokens, llm.context), context)

    def _extracted(self, judge: Budgeted, context: str = "") -> dict[str, Any]:
        from mnemic.knowledge import auto

        return auto.extract(self._extractor, self.diary, self.facts, self.concerns, judge, self.ids.token(8), context)

    def profile(
        self, max_tokens: int = MAX_TOKENS, *, context: str | None = None, as_of: datetime | None = None
    ) -> Profile:
        """What an agent should know of the user, within a token budget; empty where nothing is known."""
        moment = None if as_of is None else to_ms(as_of)
        with self._store.reading():
            return profile(self.facts, self.concerns, self.clock, self.ids.token(8), max_tokens=max_tokens,
                           context=context, as_of=moment)  # fmt: skip

    # the window

    def window(
        self, session: str | None = None, *, window: int | None = None, headroom: float | None = None,
        judge: str = "rules", retrieve: bool = True, merged: str = "remove", seconds: float | None = None,
        **allotments: int,
    ) -> ContextWindow:  # fmt: skip
        """The context window of one conversation: `prepare(messages)` gives a prompt that fits, `observe(reply)` remembers.

        `window` is in tokens, of which the share `headroom` (0..0.9) stays free for the answer; `short`, `mid`, `long`
        and `retrieved` are allotments in tokens. `judge` says who summarises: rules, endpoint, or agent, which leaves
        the rules' summary until the agent hands in a better one (`window_work_next`). `merged` says what becomes of merged
        mids: remove or demote. Raises BadInput with the figures.
        """
        return self._windows(window, headroom, judge, merged, allotments)(session, self._beside(1, seconds) if retrieve else None)

    def windows(
        self, *, window: int | None = None, headroom: float | None = None, judge: str = "rules", retrieve: bool = True,
        merged: str = "remove", seconds: float | None = None, **allotments: int,
    ) -> Windows:  # fmt: skip
        """The context windows of many conversations, for a server: request bodies in, request bodies that fit out."""
        from mnemic.context.windows import SEARCHES, Windows

        make = self._windows(window, headroom, judge, merged, allotments)
        return Windows(make, self._beside(SEARCHES, seconds) if retrieve else None)

    def _windows(
        self, window: int | None, headroom: float | None, judge: str, merged: str, allotments: dict[str, int]
    ) -> Callable[[str | None, Beside | None], ContextWindow]:
        from mnemic.context import ContextWindow, budget
        from mnemic.context.budget import HEADROOM, WINDOW

        known = {"short", "mid", "long", "retrieved"}
        if unknown := sorted(allotments.keys() - known):
            raise BadInput(f"allotment {unknown[0]!r} is unknown: use {', '.join(sorted(known))}")
        if judge not in ("rules", "endpoint", "agent"):
            raise BadInput(f"judge {judge!r} is unknown: use rules, endpoint or agent")
        size = budget(WINDOW if window is None else window, HEADROOM if headroom is None else headroom, **allotments)
        pyramid, summarise = self._pyramid(merged), self._window_judge() if judge == "endpoint" else None
        return lambda session, beside: ContextWindow(
            self._store, pyramid, self.namespace, size, session=session, beside=beside, judge=summarise,
            awaits=judge == "agent", keep=lambda turns, name: self.capture(turns, session=name),
            redact=self.settings.capture.redact,
        )  # fmt: skip

    def _beside(self, threads: int, seconds: float | None) -> Beside:
        from mnemic.context.inject import SECONDS, Beside

        return Beside(self._sought, SECONDS if seconds is None else seconds, threads)

    def window_status(self) -> dict[str, Any]:
        """How many summaries stand for what, and which of them can never fall below the floor of forgetting."""
        return self._pyramid("remove").status()

    def window_summaries(self, session: str | None = None, *, limit: int = 1_000) -> list[dict[str, Any]]:
        """What stands for the left-out parts of conversations, or of one, the latest first."""
        return self._pyramid("remove").rows(session, limit)

    def window_work_next(self) -> dict[str, Any] | None:
        """The oldest summary that waits for the agent, as a work order; None if there is none."""
        return self._window_orders().next()

    def window_work_submit(self, id: str, answer: Any) -> dict[str, Any]:
        """Answer a work order. Raises NotFound, BadInput for a wrong shape, Refused for what the checks refuse, Conflict."""
        return self._window_orders().submit(id, answer)

    def _window_orders(self) -> WindowOrders:
        from mnemic.context.orders import WindowOrders

        return WindowOrders(self._store, self._pyramid("remove"), self.namespace, self.ids, self.settings.capture.redact)

    def _pyramid(self, merged: str) -> Pyramid:
        from mnemic.context.summaries import Pyramid

        if merged not in ("remove", "demote"):
            raise BadInput(f"merged {merged!r} is unknown: use remove or demote")
        return Pyramid(self._store, self._ledger, self.clock, self.namespace, "demote" if merged == "demote" else "remove")

    def _window_judge(self) -> Summarise:
        from mnemic.context.asked import asked
        from mnemic.llm import Budgeted, open_judge

        llm = self.settings.llm
        judge = self._judge or open_judge(llm)
        return asked(lambda: Budgeted(judge, llm.calls, llm.tokens, llm.context), lambda: self.ids.token(8))

    def _sought(self, query: str, tokens: int) -> Sought:
        from mnemic.context.inject import TOP_K
        from mnemic.text import frame as frames

        known = self.profile(tokens).frame if tokens else ""
        recall = self.settings.recall
        answer = self.recall(query, budget=Budget(nodes=2 * TOP_K, chars=2 * recall.chars, node_chars=recall.node_chars))
        return (frames.parse(known) if known else []), answer

    # the dream

    def dream(
        self, *, stages: Sequence[str] = (), judge: str = "rules", dry_run: bool = False, since: datetime | None = None,
        max_calls: int | None = None, max_tokens: int | None = None, progress: Callable[[str], None] = lambda name: None,
    ) -> dict[str, Any]:  # fmt: skip
        """All that is due at night, in order, or only these stages; the report, with an id that `undo` takes.

        `judge` is rules, endpoint or agent. Raises BadInput, and Conflict where a page was edited meanwhile.
        """
        if judge not in ("rules", "endpoint", "agent"):
            raise BadInput(f"judge {judge!r} is unknown: use rules, endpoint or agent")
        if not dry_run:
            progress("sync")
            self.vault.sync()
        budget = self._dream_budget(max_calls, max_tokens) if judge == "endpoint" else None
        moment = None if since is None else to_ms(since)
        return self._dreams().run(
            self._dream_judge(judge, budget), stages=stages, dry_run=dry_run, since=moment, spent=partial(self._spent, budget),
            progress=progress, chores=self._chores(budget, stages),
        )  # fmt: skip

    def _chores(self, budget: Budgeted | None, stages: Sequence[str]) -> dict[str, Chore]:
        """What other parts of memory do in a night, by the stage's name; what is switched off only where it is asked for."""
        chores: dict[str, Chore] = {
            "dedupe": self._dedupe, "edges": self._rebuild_edges, "pyramid": self._settle_pyramid,
            "audit": self._find_faults,
        }  # fmt: skip
        if self.settings.decay.timer or "decay" in stages:
            chores["decay"] = self._note_decay
        if self.settings.rotate.timer or "rotate" in stages:
            chores["rotate"] = self._move_shelves
        if budget is not None:
            chores["facts"] = partial(self._draw_facts, budget)
        return chores

    def _note_decay(self, dry_run: bool) -> Done:
        found = self.decay(dry_run=dry_run)
        return Done(found["documents"], len(found["moved"]))

    def _move_shelves(self, dry_run: bool) -> Done:
        moved = sum(self._rotate(dry_run)["moved"].values())
        return Done(moved, moved)

    def _dedupe(self, dry_run: bool) -> Done:
        folding = Folding(self._store, self._forgetting, self.namespace)
        notes, folds = folding.due()
        return Done(notes, len(folds), drafts=tuple(map(folding.draft, folds)))

    def _rebuild_edges(self, dry_run: bool) -> Done:
        if dry_run:
            return Done(self._indexer.edges(self.namespace).due())
        failed = self._drained().failed
        done = self._indexer.edges(self.namespace).rebuild()
        return Done(done.nodes, done.edges, failed)

    def _settle_pyramid(self, dry_run: bool) -> Done:
        from mnemic.context import budget

        drafts = self._pyramid("remove").due(budget(), dry_run=dry_run)
        return Done(self._store.count(self.namespace, "summaries", {"tier": "active"}), sum(len(d.changes) for d in drafts),
                    drafts=tuple(drafts))  # fmt: skip

    def _draw_facts(self, budget: Budgeted, dry_run: bool) -> Done:
        if dry_run:
            return Done(len(self.diary.list(pending=True, limit=1_000)))
        done = self._extracted(budget)
        parts = () if done["seq"] is None else (done["seq"],)
        return Done(done["applied"] + done["rejected"], done["applied"], done["rejected"], parts=parts)

    def _find_faults(self, dry_run: bool) -> Done:
        found = self.audit()
        return Done(found["checked"]["files"], len(found["violations"]), findings=tuple(found["violations"]))

    def fold(self, *, dry_run: bool = False) -> dict[str, Any]:
        """Hide notes that say just what an older one says: `{"notes", "folded": [{"path", "into", "seq"}]}`; `undo SEQ` unfolds.

        Only within a context, and never one of a higher origin. What was unfolded once is not folded again.
        """
        folding = Folding(self._store, self._forgetting, self.namespace)
        notes, folds = folding.due()
        rows = [{"path": fold.path, "into": fold.into, "seq": None if dry_run else folding.hide(fold)} for fold in folds]
        return {"notes": notes, "folded": rows, "dry_run": dry_run}

    def schedule(self, at: str = "03:00", *, cron: bool = False) -> dict[str, Any]:
        """A systemd service and timer, or a cron line, that dreams every night at `at` (HH:MM). Raises BadInput."""
        hour, _, minute = at.partition(":")
        if not (hour.isdecimal() and minute.isdecimal() and int(hour) < 24 and int(minute) < 60):
            raise BadInput(f"{at!r} is no time of day: write e.g. 03:00")
        command = shlex.join(["mnemic", "--home", self.settings.place, "--namespace", self.namespace, "dream"])
        if cron:
            return {"kind": "cron", "at": at, "text": f"{int(minute)} {int(hour)} * * * {command.replace('%', chr(92) + '%')}"}
        unit = "[Unit]\nDescription=mnemic dream\n\n[Service]\nType=oneshot\n"
        unit += f"ExecStart=/usr/bin/env {command.replace('%', '%%')}\n"
        timer = f"[Unit]\nDescription=mnemic dream every night\n\n[Timer]\nOnCalendar=*-*-* {int(hour):02}:{int(minute):02}:00\n"
        timer += "Persistent=true\n\n[Install]\nWantedBy=timers.target\n"
        text = f"# ~/.config/systemd/user/mnemic-dream.service\n{unit}\n# ~/.config/systemd/user/mnemic-dream.timer\n{timer}"
        text += "# systemctl --user enable --now mnemic-dream.timer\n"
        return {"kind": "systemd", "at": at, "text": text}

    def dreams(self, limit: int = 50) -> list[dict[str, Any]]:
        """The dreams that stand, newest first."""
        return self._dreams().list(limit)

    def dream_show(self, id: str | int) -> dict[str, Any]:
        """One dream: its report and what it changed. Raises NotFound."""
        return self._dreams().show(id)

    def work_next(self, again: str | None = None) -> dict[str, Any] | None:
        """The next question of a dream that waits for the agent, or `again` the one of this id; None if there is none."""
        return self._orders().next(again)

    def work_submit(self, id: str, answer: Any) -> dict[str, Any]:
        """Answer a work order. Raises NotFound, Refused, BadInput."""
        return self._orders().submit(id, answer)

    @property
    def wiki(self) -> Wiki:
        """The articles as they are now, to be read in small pieces."""
        from mnemic.synthesis import Wiki

        pages = _VaultPages(self.vault).read()
        if self._wiki is None or not self._wiki.is_of(pages):
            self._wiki = Wiki(pages, self._use_file)
        return self._wiki

    def _dreams(self) -> Dream:
        from mnemic.synthesis import Dream

        return Dream(self._store, self._ledger, self.clock, self.namespace, _VaultPages(self.vault))

    def _orders(self) -> Orders:
        from mnemic.synthesis import Orders

        return Orders(self.vault.together.folder, self.clock, self.ids)

    def _dream_judge(self, name: str, budget: Budgeted | None) -> DreamJudge:
        from mnemic.synthesis import Asked, Rules

        if budget is not None:
            return Asked("endpoint", budget.ask, lambda: self.ids.token(8), context=budget.context)
        if name == "rules":
            return Rules()
        orders = self._orders()
        mark = orders.nonce()
        return Asked("agent", orders.ask, lambda: mark, orders.refuse)

    def _dream_budget(self, max_calls: int | None, max_tokens: int | None) -> Budgeted:
        """What one dream may ask the language model, its extraction of facts included."""
        from mnemic.llm import Budgeted, open_judge

        llm = self.settings.llm
        tokens = llm.dream_tokens if max_tokens is None else max_tokens
        if llm.dream_money and llm.price:
            tokens = min(tokens, int(llm.dream_money / llm.price * 1_000_000))
        calls = llm.dream_calls if max_calls is None else max_calls
        return Budgeted(self._judge or open_judge(llm), calls, tokens, llm.context)

    def _spent(self, budget: Budgeted | None) -> dict[str, Any]:
        if budget is None:
            return {}
        cost = round(budget.spent / 1_000_000 * self.settings.llm.price, 6)
        return {"calls": budget.asked, "tokens": budget.spent, "money": cost, "model": budget.judge.identity}

    def _recover(self) -> None:
        with self.vault.alone(wait=False) as tick:
            self.vault.together.recover(tick)

    def export_training(self, target: str | Path) -> dict[str, Any]:
        """Write the experiences that are worth internalising as JSON lines in chat form, and a manifest beside it.

        Returns the manifest with the files' names. Raises BadInput if a file is there already.
        """
        from mnemic.knowledge import training

        file = Path(target).expanduser().absolute()
        beside = file.with_name(file.name + ".manifest.json")
        if taken := [str(one) for one in (file, beside) if one.exists()]:
            raise BadInput(f"{taken[0]!r} is there already: name another file")
        with self._store.reading():
            items = [item for item in self.experiences.list() if item["status"] != "superseded"]
            reports = {item["id"]: self._store.select(self.namespace, "reports", {"experience": item["id"]}) for item in items}
            judged = [training.worth(item, reports[item["id"]]) for item in items]
            worthy = [item for item, one in zip(items, judged, strict=True) if not one.why_not]
            entries = {
                item["id"]: [event.seq for event in self._store.events(self.namespace, object=f"experience:{item['id']}")]
                for item in worthy
            }
            head = self._store.head(self.namespace)
        body = training.lines(worthy, reports)
        seen = None if head is None else {"seq": head.seq, "hash": head.hash}
        made = training.manifest(body, judged, entries, seen, self._store.store_id, self.namespace)
        try:
            file.write_text(body, "utf-8")
            beside.write_text(json.dumps(made, ensure_ascii=False, indent=2) + "\n", "utf-8")
        except OSError as error:
            raise BadInput(f"{str(file)!r} cannot be written ({error.strerror}): name another file") from None
        return {"file": str(file), "manifest": str(beside), **made}

    # the vault's daily notes and budget

    def compress_dailies(self, *, dry_run: bool = False) -> dict[str, Any]:
        """Cut daily notes over 20 KB to 20 lines, once git holds them and their facts stand on cards."""
        if not dry_run:
            self.vault.sync()
        return Compression(self.vault, self.daily, self.clock, _kind).compress(dry_run=dry_run)

    def session_start(
        self, *, max_tokens: int | None = None, max_chars: int = FRAME_CHARS, follow: bool = True
    ) -> Start:
        """What a session begins with, as one block: the state, the profile, today's and yesterday's notes.

        With `follow`, the notes are brought up to date first. What cannot be read is left out and named in `degraded`.
        """
        from mnemic.context.start import SHARES, TOKENS, Part, started
        from mnemic.text import frame as frames

        tokens = TOKENS if max_tokens is None else max_tokens
        parts, degraded = list[Part](), list[str]()
        try:
            lines = tuple(self.state.body().splitlines())
            if lines and not self.vault.hidden("state.md"):
                parts.append(Part("state", "state.md", self.clock.now().date().isoformat(), self.state.origin, lines))
        except MnemicError as error:
            degraded.append(f"state.md: {error}")
        items = list[frames.Item]()
        try:
            known = self.profile(max(1, int(tokens * SHARES["profile"])))
            items, degraded = (frames.parse(known.frame) if known.frame else []), [*known.degraded, *degraded]
        except MnemicError as error:
            degraded.append(f"profile: {error}")
        try:
            pages, problems = self.daily.pages(follow=follow)
            names = {self.daily.today().isoformat(): "today"}
            parts += [
                Part(names.get(page.date, "yesterday"), page.path, page.date, page.origin, tuple(page.own), tuple(page.mirrored))
                for page in pages
            ]
            degraded += problems
        except (MnemicError, OSError) as error:
            degraded.append(f"daily: {error}")
        return started(parts, items, self.ids.token(8), tokens=tokens, chars=max_chars, degraded=degraded)

    def budget(self, files: Sequence[str | Path] = ()) -> dict[str, Any]:
        """What is loaded in every session, in bytes and tokens, against the targets; `files` are an agent's own, e.g. CLAUDE.md.

        Raises BadInput for a file that cannot be read.
        """
        loaded = self._loaded(files)
        return {"parts": [one.json() for one in loaded], "total": totals(loaded)}

    def audit(self, files: Sequence[str | Path] = ()) -> dict[str, Any]:
        """What a vault should not have: `{"ok", "violations": [{"rule", "path", "message", "value", "limit"}], "checked"}`."""
        from mnemic.synthesis import faults

        found = Audit(self.vault, self._store, self.clock, self.namespace).audit(self._loaded(files))
        wrong = [Violation("article", path, problem).json() for path, problem in
                 faults(self._store, self.namespace, _VaultPages(self.vault).read())]  # fmt: skip
        return {**found, "ok": found["ok"] and not wrong, "violations": [*found["violations"], *wrong]}

    def _loaded(self, files: Sequence[str | Path]) -> list[Measure]:
        from mnemic.vault.state import STATE_BYTES, measure

        state = [measure("state", "state.md", data, STATE_BYTES)] if (data := self._state_bytes()) else []
        rest = [
            measure(part["name"], part["path"], part["text"].encode())
            for part in self.session_start(follow=False).parts
            if part["name"] != "state"
        ]
        return [*state, *rest, *(measure("config", str(file), _bytes_of(Path(file).expanduser())) for file in files)]

    def _state_bytes(self) -> bytes:
        with suppress(MnemicError):
            return self.state.read()
        return b""

    # forgetting

    def forget(self, path: str, *, erase: bool = False, reason: str = "", channel: Origin = "user") -> Forgotten:
        """Hide a path from recall, or erase it for good; both work on a full disk. Raises NotFound.

        Only a person may erase. What is known can be erased too: `diary/1`, `facts/3`, `concerns/2`, `experiences/ID`.
        It is not hidden but deleted, by its own verb.
        """
        if erase:
            must_be_human(channel, "erase for good")
        files, left = self._files_behind(path) if erase else ([], ())
        spoken = self._spoken(path) if erase else {}
        told, days = self._told_of(path)
        done = self._with_room(lambda: self._forget(path, erase, reason, channel))
        if days:
            problems = self.daily.withdraw(days, told)
            in_git = ["the vault's git history"] if erase and self.vault.history.state() == "own" else []
            done = replace(done, elsewhere=tuple(dict.fromkeys([*done.elsewhere, *problems, *in_git])))
        if erase:
            self._with_room(self._store.sweep)
            self.vault.erased(files)
            copies = [f"the file {file.relative_to(self.settings.home)} of the home" for file in self.copies()]
            done = replace(done, elsewhere=tuple(dict.fromkeys([*done.elsewhere, *left, *self._heal(spoken), *copies])))
            self._store.settle_erasure()
            self._drain()
        return done

    def _spoken(self, path: str) -> dict[str, tuple[int, int]]:
        """The turns of the exchange that a path lies in, with their places: erasing one of them renames others."""
        node = self._store.node(self.namespace, path)
        document = self._store.document_by_id(self.namespace, node.document) if node else None
        if document is None or document.session is None:
            return {}
        rows = self._store.nodes(self.namespace, document.id, document.shelf)
        return {row.path: (document.id, row.message) for row in rows if row.kind == "message" and row.message is not None}

    def _heal(self, spoken: Mapping[str, tuple[int, int]]) -> tuple[str, ...]:
        """Take out of the articles what they quote of erased turns, and of memory what the articles were; what is left where."""
        ns = self.namespace
        if not self._store.count(ns, "dreams", {}):
            return ()
        self._orders().drop()
        self.vault.together.drop()
        now = {place: path for path in spoken for path, place in self._spoken(path).items()}
        moved = {path: now.get(place, "") for path, place in spoken.items() if now.get(place) != path}
        try:
            self.vault.sync()
            report = self._dreams().run(self._dream_judge("rules", None), stages=("ingest", "maps"), moved=moved)
        except MnemicError as error:
            return (f"articles that quote it: they could not be changed now ({error}); run `mnemic dream`",)
        if report["id"] is None:
            return ()
        for path in self.vault.together.written(f"mnemic.dream:{report['id']}"):
            self._bury(path)
        self.vault.together.drop()
        return ("the vault's git history",) if self.vault.history.state() == "own" else ()

    def _bury(self, file: str) -> None:
        """Erase what a note was before it was last written; all of it where its file is gone."""
        ns = self.namespace
        document = self._store.document_by_source(ns, self.vault.source(file))
        if document is None:
            return
        if not self.vault.folder.exists(file):
            self._forgetting.erase(ns, document.path, reason="")
            return
        with self._store.write(ns) as tx:
            tx.erase_other_texts(document.id, [document.text_id or 0], [], to_ms(self.clock.now()))

    def _with_room(self, act: Callable[[], T]) -> T:
        """Do it, and once more with the room kept for it where the disk is full."""
        try:
            return act()
        except DiskFull:
            if not self._store.give_room():
                raise
            return act()

    def _files_behind(self, path: str) -> tuple[list[str], tuple[str, ...]]:
        """The vault's files whose documents go with a path, and where else in the vault its text stays."""
        ns = self.namespace
        documents = self._store.documents(ns, below=path.rstrip("/"), limit=1_000_000) if path.startswith("/") else []
        files = [file for document in documents if (file := self.vault.file_of(document))]
        node = None if documents else self._store.node(ns, path)
        holder = self._store.document_by_id(ns, node.document) if node else None
        file = self.vault.file_of(holder) if holder else None
        kept = (f"the file {file!r}: take the part out there too",) if file else ()
        in_git = (files or file) and self.vault.history.state() == "own"
        return files, (*kept, "the vault's git history") if in_git else kept

    def _told_of(self, path: str) -> tuple[set[str], list[date]]:
        """The documents that a path means, and the days whose notes tell of them."""
        ns = self.namespace
        if not path.startswith("/") or not self.vault.folder.root.is_dir():
            return set(), []
        documents = self._store.documents(ns, below=path.rstrip("/"), limit=1_000_000)
        node = None if documents else self._store.node(ns, path)
        if node is not None and (holder := self._store.document_by_id(ns, node.document)) is not None:
            documents = [holder]
        return {document.path for document in documents}, self.daily.told_of(documents)

    def _forget(self, path: str, erase: bool, reason: str, channel: Origin) -> Forgotten:
        if is_record(path):
            if not erase:
                raise Refused(f"{path!r} is not hidden: delete it by its own verb, or erase it with --erase")
            return self._erasure.erase(path, reason=reason)
        if erase:
            return self._forgetting.erase(self.namespace, path, reason=reason)
        return self._forgetting.forget(self.namespace, path, reason=reason, actor=actor(channel), origin=channel)

    # the ledger

    def ledger(
        self, *, limit: int = 50, after: int = 0, before: int | None = None, op: str | None = None, actor: str | None = None,
        about: str | None = None,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """The latest entries, newest first; with `before`, those that precede it; with `after`, those that follow, in order.

        Narrowed to what was done (`op`), by whom (`actor`), and to what: a path and what lies below it, or the beginning of
        an object such as `experience:`; `fact:3` is just this one.
        """
        where: dict[str, Any] = {"op": op, "actor": actor}
        if about and about.startswith("/"):
            below = self._store.documents(self.namespace, below=about.rstrip("/"), limit=1_000_000)
            where["objects"] = [f"document:{one.id}" for one in below]
        elif about:
            where["object" if about.partition(":")[2] else "object_begins"] = about
        newest = before is not None or not after
        events = self._store.events(self.namespace, after=after, before=before, limit=limit, newest=newest, **where)
        return [shown(event) for event in events]

    def ledger_entry(self, seq: int) -> dict[str, Any]:
        """One entry with all it changed. Raises NotFound."""
        event = self._ledger.event(self.namespace, seq)
        return {**shown(event), "payload": unpacked(event.payload) if event.payload is not None else None}

    def ledger_export(self) -> list[dict[str, Any]]:
        """Every entry with payload and salt, as a second verifier needs them."""
        return [
            {**asdict(event), "namespace": self.namespace} for event in self._ledger.events(self.namespace)
        ]

    def verify(self) -> Verdict:
        """Whether the ledger is whole, and the state is what it says."""
        return self._ledger.verify(self.namespace)

    def accept(self, *, reason: str) -> Head | None:
        """Accept the store as it is although it lies behind the head seen before. A human's decision, on the record."""
        if not reason.strip():
            raise Refused("accepting a shortened ledger needs a reason: give --reason")
        head = self._store.head(self.namespace)
        witness = self._ledger.witness
        witness.note(self._store.store_id, self.namespace, head or Head(0, ""), force=True)
        with self._store.write(self.namespace) as tx:
            event = self._ledger.record(tx, self.namespace, Draft("accept", "ledger:head", "human", "user", reason))
        self._ledger.committed(self.namespace, event)
        return Head(event.seq, event.hash)

    def undo(self, seq: int | str, *, reason: str = "") -> dict[str, Any]:
        """Take one entry back, or a whole dream, `dream:ID`. Raises Refused, Conflict, NotFound, BadInput."""
        if isinstance(seq, str) and not seq.isdecimal():
            if not seq.startswith("dream:"):
                raise BadInput(f"{seq[:50]!r} cannot be undone: give an entry's number, or dream:ID")
            return self._dreams().undo(seq.removeprefix("dream:"), reason)
        seq = int(seq)
        entry = self._ledger.event(self.namespace, seq)
        if entry.op == "dream":
            return self._dreams().undo(entry.object, reason)
        for number in self._changed(seq):
            document = self._store.document_by_id(self.namespace, number)
            if document is not None:
                self._rotation.fetch(self.namespace, document)
        with self._store.write(self.namespace) as tx:
            event, changes = self._ledger.undo(tx, self.namespace, seq, actor="user", reason=reason)
            for number in sorted(_documents_in(changes)):
                self._intake.replant(tx, self.namespace, number)
        self._ledger.committed(self.namespace, event)
        self._drain()
        return {"undone": seq, "seq": event.seq, "path": shown(event)["path"], "changes": len(changes)}

    def _changed(self, seq: int) -> set[int]:
        """The documents that an entry, or a part of it, changed: taking it back changes them again."""
        event = self._ledger.event(self.namespace, seq)
        if event.payload is None or event.op in NOT_UNDOABLE:
            return set()
        found = _documents_in(changes_of(event.payload))
        return found.union(*(self._changed(part) for part in unpacked(event.payload)["note"].get("parts", ())))

    # out and back

    def export(self, folder: str | Path) -> dict[str, Any]:
        """Write all of this namespace into a new folder: Markdown, JSON lines, the vault's files and the ledger that proves it.

        It is as confidential as the home. `skipped`: what of the vault was left out. Raises Refused for a folder that is
        not empty.
        """
        portable, travel = self._portable()
        with self.vault.alone():
            return {**portable.export(self.namespace, Path(folder)), "skipped": travel.skipped}

    def read_export(self, folder: str | Path, *, dry_run: bool = False) -> dict[str, Any]:
        """Take back what `export` wrote, into a home that holds nothing yet: the same entries, rows, texts and files.

        Raises BadInput, Refused, and Damaged where a file is not what was exported.
        """
        portable, _ = self._portable()
        with self.vault.alone() as tick:
            done = portable.read(self.namespace, Path(folder), dry_run=dry_run)
            if done["vault"] and not (dry_run or done["duplicate"]):
                self.vault.look(tick)
        if done["stored"]:
            self._drain()
        return done

    @classmethod
    def copy(
        cls, source: str | Path, target: str | Path, *, namespace: str | None = None, environ: dict[str, str] | None = None,
        progress: Callable[[str, int, int], None] = lambda what, done, whole: None, **parts: Any,
    ) -> dict[str, Any]:  # fmt: skip
        """Copy a namespace, or all, from one home to another: `{"namespaces": [...], "ok"}`, each with its counts.

        Either home may be a folder or a database. Entries keep their numbers and hashes; cut short, a copy goes on where it
        ended. Nobody should write to the source meanwhile. What was copied is compared: counts, ledger, and answers.
        """
        environ = dict(os.environ) if environ is None else environ
        settings = load(environ, home=source)
        if not stores.is_made(settings.home, settings.store.url.value):
            raise NotFound(f"there is no home at {settings.place!r}: name one that is there")
        with cls.open(source, environ=environ, **parts) as one, cls.open(target, environ=environ, **parts) as two:
            if one._store.store_id == two._store.store_id:
                raise BadInput(f"{one.settings.place!r} and {two.settings.place!r} are the same home: name another to copy to")
            known = one._store.namespaces()
            if one._chosen is not None and two._chosen is None and not two._store.namespaces():
                two._store.set_meta(META, one._chosen)  # the vectors come along
                two._follow()
            if namespace is not None and namespace not in known:
                raise NotFound(f"no namespace {namespace!r} in {one.settings.place!r}: it has {', '.join(known) or 'none'}")
            done = [one.within(name)._copied(two.within(name), progress) for name in known if namespace in (None, name)]
        return {"from": one.settings.place, "to": two.settings.place, "namespaces": done, "ok": True}

    def _copied(self, other: Memory, progress: Callable[[str, int, int], None]) -> dict[str, Any]:
        from mnemic.capture.copying import SAMPLES, Copying

        if self._store.head(self.namespace) is None:
            return {"namespace": self.namespace, "entries": 0, "documents": 0, "nodes": 0, "there already": 0}
        done = Copying(self._ledger, other._ledger, self.clock, progress).run(self.namespace)
        done["vault"] = self._copied_files(other)
        documents = self._store.documents(self.namespace, limit=1_000_000)
        for document in documents[:: max(1, len(documents) // SAMPLES)]:
            mine, its = (memory.recall(document.title, mode="deep").hits for memory in (self, other))
            if [(hit.path, round(hit.score, 6)) for hit in mine] != [(hit.path, round(hit.score, 6)) for hit in its]:
                raise Damaged(f"the copy of {self.namespace!r} answers {document.title!r} otherwise: `mnemic reindex` on both")
        return done

    def _copied_files(self, other: Memory) -> int:
        """The vault's files, where the other has none of them yet; how many."""
        with TemporaryDirectory(prefix="mnemic-copy-") as folder, self.vault.alone():
            _, travel = self._portable()
            count = travel.write(Path(folder))
            if count:
                _, there = other._portable()
                with other.vault.alone() as tick:
                    there.check(Path(folder))
                    with there.placed(Path(folder)):
                        pass
                    other.vault.look(tick)
        return count

    def _portable(self) -> tuple[Portable, Travel]:
        from mnemic.capture.portable import Portable
        from mnemic.vault.travel import Travel

        parts = (self.vault, self._store, self.namespace)
        travel = Travel(*parts, without=[self.settings.home], never=ENGINE_FILES)
        return Portable(self._store, self._ledger, self.clock, travel), travel

    # use and age

    def touch(self, path: str, *, reason: str = "", channel: Origin = "user") -> dict[str, Any]:
        """A use of a document, as opening it is: one tier up. Raises NotFound, Refused for what was forgotten.

        A use of a record such as `facts/3` is one of every document behind it: `touched` names them, the rest is the first's.
        """
        if not is_record(path):
            return self._usages.touch(self.namespace, path, actor=actor(channel), reason=reason)
        touched = self._usages.touch_behind(self.namespace, path, actor=actor(channel), reason=reason)
        if not touched:
            raise NotFound(f"no document stands behind {path!r}: touch a path of `mnemic tree` instead")
        return {**touched[0], "path": path, "touched": [done["path"] for done in touched]}

    def _use(self, path: str, reason: str) -> None:
        """A use that comes with another act, which stands whatever becomes of this."""
        with suppress(MnemicError):  # what was forgotten stays so; a home that cannot be written can be read
            self.touch(path, reason=reason)

    def _use_file(self, file: str, reason: str) -> None:
        """A use of the document that a file of the vault holds."""
        document = self._store.document_by_source(self.namespace, self.vault.source(file))
        if document is not None:
            self._use(document.path, reason)

    def _use_named(self, turns: Iterable[Turn]) -> None:
        """What is named in a conversation of today is used: cards by the user, paths by anyone; once a day each."""
        today = to_ms(self.clock.now()) - DAY_MS
        for turn in turns:
            if turn.role not in ("user", "assistant") or (turn.created_at is not None and turn.created_at < today):
                continue
            with suppress(MnemicError):
                # Cleaning takes longer than looking, and leaves out what memory itself put there.
                if not self._named(turn, turn.content):
                    continue
                for path in self._named(turn, self._intake.cleaned(turn.content)):
                    if is_record(path) or not self._usages.touched_today(self.namespace, path):
                        self._use(path, "named" if turn.role == "user" else "cited")

    def _named(self, turn: Turn, text: str) -> list[str]:
        """What a turn may name: paths, and what the user calls by name."""
        return [*paths(text), *(self._cards_named(text) if turn.role == "user" else ())]

    def _cards_named(self, text: str) -> Iterable[str]:
        """The documents of the cards that a text names."""
        if not self.vault.root.is_dir():
            return
        for name in names(text):
            for file in self.vault.named(key_of(name)):
                document = self._store.document_by_source(self.namespace, self.vault.source(file))
                if document is not None and document.kind == "card":
                    yield document.path

    def tier(self, path: str, tier: str, *, reason: str = "") -> dict[str, Any]:
        """`core` keeps a document from fading, `auto` lets its use decide again. Raises BadInput, NotFound."""
        return self._usages.set_tier(self.namespace, path, tier, reason=reason)

    def decay(self, *, dry_run: bool = False) -> dict[str, Any]:
        """How many documents stand in each tier, and which moved since this was last asked; a dry run notes nothing.

        Tiers follow from use at any moment; what is written is the copy of them at the head of cards (`cards`: how many).
        """
        key = f"tiers:{self.namespace}"
        since: dict[str, str] = json.loads(self._store.meta(key) or "{}")
        found = self._usages.decay(self.namespace, since)
        stands = {number: tier for number, tier in found.pop("stands").items() if tier != "active"}
        if not dry_run and stands != since:
            self._store.set_meta(key, json.dumps(stands, separators=(",", ":")))
        return {**found, "cards": len(self._mark_cards(dry_run)), "dry_run": dry_run}

    def _mark_cards(self, dry_run: bool) -> list[str]:
        def head(path: str) -> dict[str, Any] | None:
            document = self._store.document_by_source(self.namespace, self.vault.source(path))
            if document is None:
                return None
            stands = self._usages.standing(self.namespace, document)
            used = date.fromisoformat(str(iso(stands.last_accessed))[:10])
            return {"last_accessed": used, "relevance": round(stands.relevance, 2), "tier": stands.tier,
                    "access_count": stands.access_count}  # fmt: skip

        return mark(self.vault, head, dry_run=dry_run) if self.settings.decay.cards else []

    def rotate(self, *, dry_run: bool = False) -> dict[str, Any]:
        """Move documents to the shelf of their age: `{"moved": {"warm", "cold"}, "shrunk"}`. Raises Refused if switched off."""
        if not self.settings.rotate.by_hand:
            raise Refused("rotation by hand is switched off: set by_hand = true in [rotate] of mnemic.toml")
        return self._rotate(dry_run)

    def _rotate(self, dry_run: bool = False) -> dict[str, Any]:
        if dry_run:
            due = [target for _, target in self._rotation.due(self.namespace)]
            return {"moved": {name: due.count(name) for name in ("warm", "cold")}, "shrunk": False, "dry_run": True}
        moved = self._rotation.rotate(self.namespace)
        if any(moved.values()):
            self._follow()
            self._indexer.seal(self.namespace)
        shrunk = self.vacuum()["shrunk"] if self.settings.rotate.vacuum and any(moved.values()) else False
        return {"moved": moved, "shrunk": shrunk, "dry_run": False}

    def vacuum(self) -> dict[str, Any]:
        """Shrink the files to what they hold; `shrunk` is false, with the reason, while somebody reads one of them."""
        before = self._store.sizes()
        held = self._store.vacuum()
        why = [f"{name}: not shrunk, {reason}" for name, reason in held.items() if reason]
        return {"shrunk": not why, "reason": "; ".join(why) or None, "before": before, "bytes": self._store.sizes()}

    def tend(self, *, starting: bool = False) -> dict[str, Any]:
        """Decay, rotation and a dream, if they are due and switched on; of many processes on one home, one does it.

        For a timer, and for a server some time after its start (`starting`). Does not run by itself.
        """
        rotate, now = self.settings.rotate, to_ms(self.clock.now())
        turning, dreaming = rotate.at_start if starting else rotate.timer, self.settings.dream.timer
        if not turning and not self.settings.decay.timer and not dreaming:
            return {"ran": False, "reason": "all are switched off"}
        if not self._store.take_lease("tend", self.ids.token(8), now, now + rotate.every_hours * 3_600_000):
            return {"ran": False, "reason": "it is not due, or another process does it"}
        found: dict[str, Any] = {"ran": True, "reason": None, "decay": {}, "rotate": {}, "dream": {}}
        for name in self._store.namespaces():
            space = self if name == self.namespace else self.within(name)
            if self.settings.decay.timer:
                found["decay"][name] = space.decay()["tiers"]
            if turning:
                found["rotate"][name] = space._rotate()["moved"]
            if dreaming:
                found["dream"][name] = self._tended(space)
        return found

    def _tended(self, space: Memory) -> dict[str, Any]:
        """The dream of a timer, whose failure is noted only."""
        try:
            return space._dreamt()
        except MnemicError as error:  # a page that somebody edits just now, a judge that is away: the next time comes
            self._note_failure(error)
            return {"failed": str(error)}

    def _dreamt(self) -> dict[str, Any]:
        """The dream of a timer: decay and rotation were done."""
        rest = [name for name in STAGES if name not in ("decay", "rotate")]
        return dict(self.dream(judge=self.settings.dream.judge, stages=rest)["articles"])

    def tending(self, **parts: Any) -> Tending:
        """The delayed start task and the timer, for what serves: `with memory.tending(): …`. Each can be switched off.

        Neither runs where that is left to a worker.
        """
        rotate, here = self.settings.rotate, not self.settings.store.deferred
        timer = rotate.timer or self.settings.decay.timer or self.settings.dream.timer
        return Tending(
            lambda starting: self.tend(starting=starting), start_seconds=rotate.start_seconds,
            every_seconds=3_600 * rotate.every_hours, at_start=here and rotate.at_start, timer=here and timer,
            failed=self._note_failure, **parts,
        )  # fmt: skip

    # jobs

    def worker(
        self, *, once: bool = False, at_once: int = 2, told: Callable[[Worked], None] = lambda job: None
    ) -> Worker:  # fmt: skip
        """What does the jobs of all namespaces of a home in a database: `run` it, and `stop` it from elsewhere.

        Jobs embed what waits, and every `rotate.every_hours` let each namespace decay, rotate, and dream, as far as those
        timers are on. `once`: only what is due; `at_once`: so many at the same time; `told` of each that came to an end.
        Raises BadInput for a home in a folder.
        """
        return stores.open_worker(
            self._store, self._work, self._round, at_once=at_once, once=once,
            retry_seconds=self.settings.capture.retry_seconds, told=told,
        )  # fmt: skip

    def jobs(self) -> dict[str, int] | None:
        """How many jobs of the home are waiting, doing and failed; None where no worker has been."""
        return self._store.jobs()

    def _round(self) -> Round:
        """What a worker lets every namespace do from time to time."""
        from mnemic.store.postgres.jobs import Round

        settings, now = self.settings, to_ms(self.clock.now())
        tend = ("tend",) if settings.decay.timer or settings.rotate.timer else ()
        dream = ("dream",) if settings.dream.timer else ()
        return Round(tend + dream, now, now + settings.rotate.every_hours * 3_600_000, self.ids.token(8))

    def _work(self, kind: str, namespace: str) -> None:
        """Do a job of a namespace. It may have been done before. Raises what it fails of."""
        with self.within(namespace) as space:
            if kind == "index":
                space._index_left()
            elif kind == "tend":
                if self.settings.decay.timer:
                    space.decay()
                if self.settings.rotate.timer:
                    space._rotate()
            elif kind == "dream":
                space._dreamt()

    def _index_left(self) -> None:
        """Index what waits, after the writes that are under way. Raises ModelError if something still waits then."""
        with self._store.write(self.namespace):
            pass  # a write that found this job waiting has not committed yet, and notes no other (store/postgres/jobs.py)
        error = self._drained().error
        left = [row.error for _, row in self._store.queue(self.namespace, limit=1_000) if row.state == "failed"]
        if error or left:
            raise ModelError(error or left[0])

    # care

    def stats(self) -> dict[str, Any]:
        """What there is by tier and by shelf, and how large the files are."""
        ns = self.namespace
        found = self._usages.decay(ns, {})
        shelves = {name: self._store.count(ns, "documents", {"shelf": name}) for name in SHELVES}
        return {"documents": found["documents"], "tiers": found["tiers"], "mean_relevance": found["mean_relevance"],
                "shelves": shelves, **self._room(), "bytes": self._store.sizes()}  # fmt: skip

    def _room(self) -> dict[str, Any]:
        """What the namespace holds of its quota, where it has one."""
        allowed = self.settings.limits.of(self.namespace).nodes
        return {"quota": {"held": self._quota.held(self.namespace), "allowed": allowed}} if allowed else {}

    def status(self) -> dict[str, Any]:
        """How much there is, and how it is being remembered."""
        self._follow()
        head = self._store.head(self.namespace)
        waiting = [row for _, row in self._store.queue(self.namespace, limit=10_000)]
        return {
            "home": self.settings.place,
            "namespace": self.namespace,
            "namespaces": len(self._store.namespaces()),
            **dict(self._store.counts(self.namespace)),
            "pending": sum(row.state == "pending" for row in waiting),
            "failed": sum(row.state == "failed" for row in waiting),
            **({} if (jobs := self._store.jobs(self.namespace)) is None else {"jobs": jobs}),
            "head": None if head is None else {"seq": head.seq, "hash": head.hash},
            "embedder": self._embedder.identity,
            "scoring": self.settings.recall.scoring,
            **self._room(),
            "bytes": self._store.sizes(),
            **({"replicas": [asdict(one) for one in lags]} if (lags := self._store.lags()) else {}),
        }

    def waiting(self) -> int:
        """How many documents of the home wait for their vectors, counted up to 10,000."""
        return len(self._store.queue(None, limit=10_000))

    def doctor(self) -> dict[str, Any]:
        """Check everything that can be checked here, and say what to do about what is wrong."""
        with suppress(StoreError):  # told below
            self._follow()
        problems, notes = self._store.check(), list[str]()
        for look in (self._ledger_problems, self._text_problems):
            try:
                problems += look()
            except StoreError as error:
                problems.append(str(error))
        try:
            notes += self._queue_notes() + self._job_notes() + self._vector_notes() + self._replica_notes()
        except StoreError as error:
            problems.append(str(error))
        if self._ledger.witness.problem:
            notes.append(self._ledger.witness.problem)
        if self.last_error:
            notes.append(f"the last capture failed: {self.last_error}")
        notes += failures.noted(self.settings.home)
        if self._against:
            notes.append(self._against)
        if self._embedder.identity.startswith("hashing/"):
            notes.append("words only: for recall by meaning, pip install 'mnemic[onnx]' and set a model")
        problems = list(dict.fromkeys(problems))
        return {"ok": not problems, "problems": problems, "notes": notes, **self._store.engine,
                "embedder": self._embedder.identity}  # fmt: skip

    def _ledger_problems(self) -> list[str]:
        found: list[str] = []
        for name in self._store.namespaces():
            try:
                verdict = self._ledger.verify(name)
            except StoreError as error:
                found.append(f"ledger of {name!r} cannot be read: {error}")
                continue
            if not verdict.ok:
                found.append(f"ledger of {name!r}: {verdict.problem}: restore a backup with `mnemic restore FILE`")
        return found

    def _text_problems(self) -> list[str]:
        from mnemic.text.tokens import tokenizer

        was, now = self._store.tokenizer, tokenizer()
        return [] if was == now else [f"the full text was made by {was!r}, this is {now!r}: run `mnemic reindex`"]

    def _replica_notes(self) -> list[str]:
        """What stands in the way of replicas."""
        found = []
        for one in self._store.lags():
            if one.problem:
                found.append(f"replica {one.server}: {one.problem}; the primary answers in its place")
            elif one.writes:
                found.append(f"replica {one.server} is {one.seconds:.1f} s behind; writes that it lacks: {one.writes:,}")
        return found

    def _queue_notes(self) -> list[str]:
        failed = [row for _, row in self._store.queue(None, limit=10_000) if row.state == "failed"]
        return [f"{len(failed)} documents wait for vectors: {failed[0].error}"] if failed else []

    def _job_notes(self) -> list[str]:
        found = self._store.jobs() or {}
        failed = found.get("failed", 0)
        notes = [f"{failed} jobs failed for good: a worker begins anew at its start or next round"] if failed else []
        if self.settings.store.deferred and not found:
            notes.append("embedding is left to a worker, and none has been here yet: start `mnemic worker`")
        return notes

    def _vector_notes(self) -> list[str]:
        from mnemic.capture.reembedding import CLOSING

        own, notes = self._indexer.row, list[str]()
        if self._store.meta(CLOSING):
            notes.append(f"going over to {own.identity!r} was cut short: repeat that `mnemic reembed`")
        for row in self._store.embedders():
            names = self._store.namespaces() if row.id != own.id else []
            counts = [self._store.vector_count(ns, row.id) - self._store.vector_count(ns, own.id) for ns in names]
            if lacking := sum(max(0, count) for count in counts):
                notes.append(f"{lacking} passages have vectors of {row.identity!r}, not {own.identity!r}: run `mnemic reembed`")
        return notes

    @classmethod
    def examine(
        cls, home: str | Path | None = None, *, namespace: str | None = None, environ: dict[str, str] | None = None
    ) -> dict[str, Any]:
        """`doctor` for a home that may be too damaged to be opened: then each of its files is checked by itself."""
        try:
            with cls.open(home, namespace=namespace, environ=environ) as memory:
                return memory.doctor()
        except StoreError as error:
            settings = load(dict(os.environ) if environ is None else environ, home=home, namespace=namespace)
            problems, engine = stores.examine(settings.home, settings.store.url.value)
            notes = ["the home does not open: its ledgers were not checked", *failures.noted(settings.home)]
            return {"ok": False, "problems": problems or [str(error)], "notes": notes, **engine, "embedder": None}

    def reindex(self, progress: Callable[[int], None] | None = None) -> dict[str, Any]:
        """Make trees, full text and missing vectors anew from what is stored. Recall answers the same afterwards.

        A document whose text is not what was recorded keeps the tree it has, and is named in `damaged`.
        """
        ns, done = self.namespace, 0
        damaged: list[str] = []
        for batch in batches(self._store, ns, 500):
            for document in batch:
                try:
                    self._intake.replanted(ns, document)
                except Damaged:
                    damaged.append(document.path)
                done += 1
                if progress:
                    progress(done)
        rows = self._store.rebuild_fulltext()
        drained = self._drained()
        return {"documents": done, "fulltext": rows, "embedded": drained.indexed, "error": drained.error,
                "damaged": damaged}  # fmt: skip

    def reembed(
        self, model: str | Path | None = None, *, embedder: str | Embedder | None = None, url: str | None = None,
        dim: int | None = None, drop_old: bool = False, progress: Callable[[int, int], None] = lambda done, whole: None,
    ) -> dict[str, Any]:  # fmt: skip
        """Let the whole home go over to another embedder: `{"from", "to", "embedded", "documents", "switched", "kept", …}`.

        New vectors are made beside those in use, and recall goes on by the old ones until all are there. Killed, the same
        call goes on where it was. `embedder` is hashing, onnx or http, else it follows from `model` and `url`; without any
        of them it is what the settings name. The old vectors are kept for a way back, or dropped.
        Raises BadInput for what does not fit, ModelError where the model fails; the home is then as it was.
        """
        from mnemic.capture.reembedding import CLOSING, Reembedding

        self._follow()
        began, old = self.clock.now(), self._embedder.identity
        target, chosen = self._target(model, embedder, url, dim)
        work = Reembedding(self._store, self._indexer_of(target), progress)
        switched = target.identity != old
        try:
            target.embed(["A model that answers."], "passage")
            work.fill()
            if switched:
                work.switch(chosen)
            elif self._store.meta(CLOSING) == target.identity:
                work.close()
        except ModelError as error:
            self._follow()
            raise ModelError(
                f"{error}. The home answers by {self._embedder.identity!r}; {work.embedded} documents were embedded anew, and"
                " the same command goes on after them"
            ) from error
        if not switched and self._chosen is not None and chosen.embedder is not None:
            # The same model, maybe in another place.
            self._store.set_meta(META, chosen.text)
        with self._switching:
            if switched:
                self._embed_by(target)
            self._chosen, self._against = self._store.meta(META), None
        dropped = work.drop_others() if drop_old else 0
        names = self._store.namespaces()
        kept = [row.identity for row in self._store.embedders() if row.identity != target.identity
                and any(self._store.vector_count(ns, row.id) for ns in names)]  # fmt: skip
        return {
            "from": old, "to": target.identity, "embedded": work.embedded,
            "documents": sum(self._store.count(ns, "documents", {}) for ns in names), "namespaces": len(names),
            "switched": switched, "dropped": dropped, "kept": kept, "seconds": (self.clock.now() - began).total_seconds(),
        }  # fmt: skip

    def _target(
        self, model: str | Path | None, embedder: str | Embedder | None, url: str | None, dim: int | None
    ) -> tuple[Embedder, Chosen]:  # fmt: skip
        """The embedder that a caller names, else a program or the settings, else the present one; and how it is opened."""
        embed = self.settings.embed
        if embedder is not None and not isinstance(embedder, str):
            return embedder, Chosen.of(embedder, None)
        if embedder is not None or model is not None or url is not None or dim is not None:
            embed = inferred(embed, embedder, None if model is None else str(model), url, dim)
            made = opened(embed)
            return made, Chosen.of(made, embed)
        if self._given is not None:
            return self._given, Chosen.of(self._given, None)
        if embed.embedder is not None:
            made = opened(embed)
            return made, Chosen.of(made, embed)
        return self._embedder, Chosen.read(self._chosen) or Chosen.of(self._embedder, embed)

    def watch(self, told: Callable[[dict[str, Any]], None] = lambda report: None) -> Watch:
        """What takes in the vault's changes as they happen: a context manager around what serves."""
        return Watch(self.vault, told)

    def backup(self, target: str | Path, *, progress: Callable[[str], None] | None = None) -> dict[str, Any]:
        """Write a verified copy of the whole home, the vaults' files included; `skipped`: what of those was left out.

        `progress` is told what is packed now.
        """
        file = Path(target).expanduser().absolute()
        skipped: dict[str, str] = {}

        def pack(packed: ZipFile) -> None:
            for name, root in _vaults(self.settings).items():
                if progress:
                    progress(name)
                left = archive.pack(packed, root, name, without=[file, self.settings.home], never=ENGINE_FILES)
                skipped.update({f"{name}/{path}": why for path, why in left.items()})

        with self.vault.alone():
            if progress:
                progress("databases")
            self._store.backup(file, pack)
        return {"file": str(file), "bytes": file.stat().st_size, "skipped": skipped}

    def copies(self, *kinds: str) -> list[Path]:
        """The backups of the home and the exports of this namespace in their `copies_folder`, or those of the named kind."""
        folders = [self.copies_folder(kind) for kind in kinds or ("backups", "exports")]
        return sorted(file for folder in folders if folder.is_dir() for file in folder.iterdir() if not file.name.startswith("."))

    def copies_folder(self, kind: str) -> Path:
        """Where a server keeps the backups or exports that it made for others to fetch: exports apart for each namespace."""
        return self.settings.home / kind / ("" if kind == "backups" else digest(self.namespace)[:32])

    def restore(self, source: str | Path, *, reason: str = "") -> dict[str, Any]:
        """Put a backup in place of the home; what stood there is kept beside it. Nobody else may have the home open."""
        parts = dict(embedder=self._embedder, clock=self.clock, ids=self.ids, witness=self._ledger.witness)
        return _restored(self.settings, Path(source), reason, self.close, parts)

    @classmethod
    def recover(
        cls, source: str | Path, home: str | Path | None = None, *, namespace: str | None = None,
        environ: dict[str, str] | None = None, reason: str = "",
    ) -> dict[str, Any]:  # fmt: skip
        """`restore` for a home that may be too damaged to be opened, or not be there at all."""
        settings = load(dict(os.environ) if environ is None else environ, home=home, namespace=namespace)
        return _restored(settings, Path(source), reason, lambda: None, {})


class _VaultDoor:
    """How the vault reaches capture: neither knows the other."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def room(self) -> None:
        self._memory._quota.check(self._memory.namespace)

    def take(self, page: Page) -> Receipt:
        memory, ns = self._memory, self._memory.namespace
        human = page.origin == "human-file"
        note = Note(
            text=page.text, title=page.title, kind=page.kind, at=page.at, source=page.source, origin=page.origin,
            actor="human" if human else page.origin, path=page.path, was=page.was, follows=True,
        )  # fmt: skip
        receipt = memory._intake.remember(ns, note)
        if receipt.path is not None:
            for why in (GONE, BARE):
                memory._forgetting.restore(ns, receipt.path, reason=why, actor="human", origin="human-file")
        return receipt

    def hide(self, source: str, why: str) -> None:
        memory, ns = self._memory, self._memory.namespace
        document = memory._store.document_by_source(ns, source)
        if document is not None and memory._store.row(ns, "visibility", (document.path,)) is None:
            memory._forgetting.forget(ns, document.path, reason=why, actor="human", origin="human-file")

    def settle(self) -> None:
        self._memory._drain()


class _VaultPages:
    """How the dream reaches the vault: neither knows the other."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self.write = vault.together.write
        self.written = vault.together.written

    def read(self) -> dict[str, str]:
        from mnemic.synthesis import CHANGELOG, MAP

        found: dict[str, str] = {}
        for row in self._vault.known():
            if row.kind in ("article", "talk") or row.path in (CHANGELOG, MAP):
                with suppress(MnemicError, UnicodeDecodeError):
                    found[row.path] = self._vault.folder.read(row.path).data.decode("utf-8")
        return found

    def path(self, title: str) -> str:
        return f"articles/{file_name(title)}.md"

    def mapped(self, text: str | None, listing: str) -> str:
        return placed((text or "").encode(), listing.encode(), "Wiki").decode()


def _documents_in(changes: Iterable[Change]) -> set[int]:
    """The documents whose rows, or whose messages' rows, are changed."""
    ids = {"documents": "id", "messages": "document"}
    return {int((c.after or c.before or {})[ids[c.table]]) for c in changes if c.table in ids}


def _kind(text: str) -> str:
    """What a text is to the rules: the weightiest of what its sentences are."""
    from mnemic.context.rules import KINDS, lines_of

    return min((line.kind for line in lines_of(text, "user", "")), key=KINDS.index, default="note")


def _bytes_of(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise BadInput(f"{str(file)!r} cannot be read ({error.strerror}): give the files that your agent loads") from None


def _vault_folder(settings: Settings) -> Path:
    if settings.namespace == settings.vault.namespace:
        return settings.home / Path(settings.vault.folder or "vault").expanduser()
    return settings.home / "vaults" / _folder_of(settings.namespace)


def _folder_of(namespace: str) -> str:
    """The folder of a namespace's vault: another for every namespace, whatever names somebody thinks up."""
    name = slug(namespace)
    plain = name == namespace and not re.search(r"-[0-9a-f]{32}$", name)
    return name if plain else f"{name}-{digest(namespace)[:32]}"


def _vaults(settings: Settings) -> dict[str, Path]:
    """The folders with all vaults of a home, by their names in a backup."""
    own = replace(settings, namespace=settings.vault.namespace)
    return {"vault": _vault_folder(own), "vaults": settings.home / "vaults"}


def _clock(settings: Settings) -> Clock:
    return FixedClock(settings.now) if settings.now else SystemClock()


def _restored(
    settings: Settings, source: Path, reason: str, close: Callable[[], None], parts: dict[str, Any]
) -> dict[str, Any]:
    """Unpack and check a backup beside the home, close it, swap the files, and check again. `parts` replace the seams."""
    clock, ids = parts.get("clock") or _clock(settings), parts.get("ids") or RandomIds()
    home, stamp = settings.home, clock.now().strftime("%Y%m%dT%H%M%S")
    fresh, kept = home / f".restore-{ids.token(4)}", home / f"before-restore-{stamp}-{ids.token(2)}"
    fresh.mkdir(mode=0o700, parents=True)
    try:
        stores.restore(
            home, settings.store.url.value, source.expanduser().absolute(), fresh=fresh, kept=kept, close=close,
            more=lambda packed, items: archive.unpack(packed, items, fresh),
        )  # fmt: skip
        placed = [
            str(archive.place(fresh / name, target.resolve(), kept, inside=target.resolve().is_relative_to(home.resolve())))
            for name, target in _vaults(settings).items() if (fresh / name).exists()
        ]  # fmt: skip
    finally:
        shutil.rmtree(fresh)
    with Memory(settings, **parts) as memory:
        for name in memory._store.namespaces():
            memory.within(name).accept(reason=reason or f"restored from {source.name}")
        verdict = memory.verify()
    if not verdict.ok:
        raise MnemicError(
            f"restored, but the ledger does not verify: {verdict.problem}; the old files are in {str(kept)!r}"
        )
    return {"ok": True, "kept": str(kept), "checked": verdict.checked, "vaults": placed}
