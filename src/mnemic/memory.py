"""`Memory`, the front door: opens a home, wires the parts, and has one short method for every verb.

    from mnemic import Memory

    with Memory.open("~/.mnemic") as memory:
        memory.remember("Ada prefers the window seat.")
        print(memory.recall("Where does Ada like to sit?").hits[0].text)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from mnemic.capture import ConversationBuffer, Indexer, Intake, Note
from mnemic.capture.forget import Forgetting, Forgotten
from mnemic.clock import Clock, FixedClock, Ids, RandomIds, SystemClock, iso, to_ms
from mnemic.embed import CENTRED, Embedder, open_embedder
from mnemic.errors import BadInput, MnemicError, NotFound, Refused
from mnemic.knowledge.experiences import Experiences
from mnemic.ledger import FolderWitness, Ledger, Witness
from mnemic.ledger.record import shown
from mnemic.models.answer import Answer, Budget, Scope
from mnemic.models.document import Turn
from mnemic.models.event import Draft, Head, Origin, Verdict
from mnemic.models.receipt import CaptureReport, Receipt
from mnemic.recall import Recall
from mnemic.recall.engine import Reranker
from mnemic.settings import Settings, checked_namespace, load
from mnemic.store import SqliteStore, open_sqlite
from mnemic.store.sqlite import backups
from mnemic.text import frame as frames

FRAME_CHARS = 9_000


class Memory:
    """One home, seen from one namespace. Use it as a context manager; it may be shared between threads."""

    def __init__(
        self, settings: Settings, *, store: SqliteStore | None = None, embedder: Embedder | None = None,
        clock: Clock | None = None, ids: Ids | None = None, witness: Witness | None = None,
        reranker: Reranker | None = None,
    ) -> None:  # fmt: skip
        self.settings = settings
        self.namespace = settings.namespace
        self.clock = clock or (FixedClock(settings.now) if settings.now else SystemClock())
        self.ids = ids or RandomIds()
        self._store = store or open_sqlite(settings.home)
        embed = settings.embed
        self._embedder = embedder or open_embedder(
            embed.embedder, model=embed.model, dim=embed.dim, url=embed.url, key=embed.key.value or None,
            download=embed.download, threads=embed.threads,
        )  # fmt: skip
        self._ledger = Ledger(self._store, witness or FolderWitness(settings.config), self.clock, self.ids)
        self._intake = Intake(self._store, self._ledger, self.clock, settings.capture)
        self._forgetting = Forgetting(self._store, self._ledger, self._intake, self.clock)
        self._indexer = Indexer(
            self._store, self._embedder, self.clock, similar=CENTRED.similar,
            retry_seconds=settings.capture.retry_seconds,
        )  # fmt: skip
        self._recall = Recall(self._store, self._embedder, self.clock, reranker)
        self.experiences = Experiences(self._store, self._ledger, self.clock, self.namespace)
        self._buffer: ConversationBuffer | None = None
        self.last_error: str | None = None

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
        self._store.close()

    def within(self, namespace: str) -> Memory:
        """The same home seen from another namespace; close only the first."""
        return Memory(
            replace(self.settings, namespace=checked_namespace(namespace)), store=self._store, clock=self.clock,
            embedder=self._embedder, ids=self.ids, witness=self._ledger.witness,
        )  # fmt: skip

    # writing

    def remember(
        self, text: str, *, title: str = "", kind: str = "note", at: datetime | None = None,
        importance: float | None = None, context: str = "", source: str | None = None, origin: Origin = "user",
        op_id: str | None = None, allow_erased: bool = False, index: bool = True,
    ) -> Receipt:  # fmt: skip
        """Store a text as a document and index it. `importance` is 0..1. Raises BadInput."""
        if importance is not None and not 0 <= importance <= 1:
            raise BadInput(f"importance {importance!r} must lie between 0 and 1")
        note = Note(
            text=text, title=title, kind=kind, context=context, at=None if at is None else to_ms(at),
            importance=importance, source=source, origin=origin, op_id=op_id, allow_erased=allow_erased,
        )  # fmt: skip
        receipt = self._intake.remember(self.namespace, note)
        return self._indexed(receipt) if index else receipt

    def capture(
        self, turns: Iterable[Turn], *, session: str | None = None, context: str = "", origin: Origin = "user",
        index: bool = True,
    ) -> CaptureReport:  # fmt: skip
        """Store a conversation, exchange by exchange. Raises BadInput before anything is stored."""
        report = self._intake.capture(self.namespace, list(turns), session=session, context=context, origin=origin)
        if not index or not report.exchanges:
            return report
        drained = self._indexer.drain(self.namespace)
        if drained.error is None:
            return report
        queued = [
            replace(item, status="queued", reason=drained.error) if item.status == "stored" else item
            for item in report.receipts
        ]
        return replace(report, receipts=tuple(queued))

    def _indexed(self, receipt: Receipt) -> Receipt:
        if receipt.status != "stored":
            return receipt
        drained = self._indexer.drain(self.namespace)
        return receipt if drained.error is None else replace(receipt, status="queued", reason=drained.error)

    def observe(self, session: str, turn: Turn) -> None:
        """Take a turn of a running conversation; returns at once. A worker thread writes whole exchanges."""
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

    def _flushed(self, session: str, turns: list[Turn]) -> CaptureReport:
        return self.capture(turns, session=session)

    def _note_failure(self, error: Exception) -> None:
        self.last_error = str(error)

    def index(self, progress: Callable[[int], None] | None = None) -> dict[str, Any]:
        """Embed what still waits for it."""
        return asdict(self._indexer.drain(self.namespace, progress=progress))

    # asking

    def recall(
        self, query: str, *, scope: Scope | None = None, budget: Budget | None = None, scoring: str | None = None,
        why_not: Sequence[str] = (), frame: bool = False,
    ) -> Answer:  # fmt: skip
        """The best memories for a query, with the numbers that put them there; never raises for what a query says."""
        recall = self.settings.recall
        budget = budget or Budget(nodes=recall.nodes, chars=recall.chars, node_chars=recall.node_chars)
        answer = self._recall.ask(
            self.namespace, query, scope=scope, budget=budget, scoring=scoring or recall.scoring, why_not=why_not
        )
        return replace(answer, frame=self._frame(answer)) if frame else answer

    def _frame(self, answer: Answer) -> str:
        items = [
            frames.Item(path=hit.path, text=f"{hit.speaker}: {hit.text}" if hit.speaker else hit.text,
                        date=iso(hit.created_at) or "", origin=hit.origin, title=hit.title, kind=hit.kind)
            for hit in answer.hits
        ]  # fmt: skip
        return frames.render(items, self.ids.token(8), max_chars=FRAME_CHARS) if items else ""

    def show(self, path: str) -> dict[str, Any]:
        """A document or a node with its source text, neighbours and history. Raises NotFound."""
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
        if node is not None and node.text_id is not None and path != document.path:
            text = bodies.get(node.text_id, "")[node.start : node.end]
        elif messages:
            text = "\n\n".join(f"{m.name or m.role}: {bodies.get(m.text_id, '')}" for m in messages)
        else:
            text = bodies.get(document.text_id or -1, "")
        history = self._store.events(ns, object=f"document:{document.id}", limit=100)
        here = node.id if node else None
        return {
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
            "forgotten": any(path == p or path.startswith(p + "/") for p in self._store.forgotten(ns)),
            "children": [n.path for n in nodes if n.parent == here and n.id != here],
            "history": [{k: shown(e)[k] for k in ("seq", "at", "op", "actor", "reason")} for e in history],
        }

    def tree(self, path: str = "", *, depth: int = 2) -> list[dict[str, Any]]:
        """What lies below a path: folders, documents and nodes down to a depth, in order. Raises NotFound."""
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
            for item in self._store.nodes(ns, document.id, document.shelf):
                inside = item.path == base or item.path.startswith(base + "/")
                if inside and item.path.count("/") <= level + depth:
                    rows[item.path] = {"path": item.path, "kind": item.kind, "title": item.title or document.title}
        return list(rows.values())

    # forgetting

    def forget(self, path: str, *, erase: bool = False, reason: str = "") -> Forgotten:
        """Hide a path from recall, or erase it for good. Raises NotFound."""
        if not erase:
            return self._forgetting.forget(self.namespace, path, reason=reason)
        done = self._forgetting.erase(self.namespace, path, reason=reason)
        self._store.settle_erasure()
        self._indexer.drain(self.namespace)
        return done

    # the ledger

    def ledger(self, *, limit: int = 50, after: int = 0) -> list[dict[str, Any]]:
        """The latest entries, newest first; with `after`, those that follow it, in order."""
        events = self._store.events(self.namespace, after=after, limit=limit, newest=not after)
        return [shown(event) for event in events]

    def ledger_entry(self, seq: int) -> dict[str, Any]:
        """One entry with all it changed. Raises NotFound."""
        from mnemic.ledger.chain import opened

        event = self._ledger.event(self.namespace, seq)
        return {**shown(event), "payload": opened(event.payload) if event.payload is not None else None}

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

    def undo(self, seq: int, *, reason: str = "") -> dict[str, Any]:
        """Take one entry back. Raises Refused, Conflict, NotFound."""
        with self._store.write(self.namespace) as tx:
            event, changes = self._ledger.undo(tx, self.namespace, seq, actor="user", reason=reason)
            touched: set[int] = set()
            for change in changes:
                row = change.after or change.before or {}
                if change.table == "documents":
                    touched.add(int(row["id"]))
                elif change.table == "messages":
                    touched.add(int(row["document"]))
            for number in sorted(touched):
                self._intake.replant(tx, self.namespace, number)
        self._ledger.committed(self.namespace, event)
        self._indexer.drain(self.namespace)
        return {"undone": seq, "seq": event.seq, "path": shown(event)["path"], "changes": len(changes)}

    # care

    def status(self) -> dict[str, Any]:
        """How much there is, and how it is being remembered."""
        head = self._store.head(self.namespace)
        waiting = [row for _, row in self._store.queue(self.namespace, limit=10_000)]
        return {
            "home": str(self.settings.home),
            "namespace": self.namespace,
            "namespaces": len(self._store.namespaces()),
            **dict(self._store.counts(self.namespace)),
            "pending": sum(row.state == "pending" for row in waiting),
            "failed": sum(row.state == "failed" for row in waiting),
            "head": None if head is None else {"seq": head.seq, "hash": head.hash},
            "embedder": self._embedder.identity,
            "scoring": self.settings.recall.scoring,
            "bytes": self._store.sizes(),
        }

    def doctor(self) -> dict[str, Any]:
        """Check everything that can be checked here, and say what to do about what is wrong."""
        from mnemic.store.sqlite.connection import engine
        from mnemic.text.tokens import TOKENIZER

        problems = self._store.check()
        for name in self._store.namespaces():
            verdict = self._ledger.verify(name)
            if not verdict.ok:
                problems.append(f"ledger of {name!r}: {verdict.problem}")
        if self._store.tokenizer != TOKENIZER:
            problems.append("the full text was made by another tokenizer: run `mnemic reindex`")
        notes = []
        failed = [row for _, row in self._store.queue(None, limit=10_000) if row.state == "failed"]
        if failed:
            notes.append(f"{len(failed)} documents wait for vectors: {failed[0].error}")
        if self._ledger.witness.problem:
            notes.append(self._ledger.witness.problem)
        if self.last_error:
            notes.append(f"the last capture failed: {self.last_error}")
        if self._embedder.identity.startswith("hashing/"):
            notes.append("words only: for recall by meaning, pip install 'mnemic[onnx]' and set a model")
        return {"ok": not problems, "problems": problems, "notes": notes, "sqlite": engine(),
                "embedder": self._embedder.identity}  # fmt: skip

    def reindex(self, progress: Callable[[int], None] | None = None) -> dict[str, Any]:
        """Make trees, full text and missing vectors anew from what is stored. Recall answers the same afterwards."""
        ns, after, done = self.namespace, 0, 0
        while batch := self._store.documents(ns, after=after, limit=500):
            for document in batch:
                with self._store.write(ns) as tx:
                    self._intake.replant(tx, ns, document.id)
                after, done = document.id, done + 1
                if progress:
                    progress(done)
        rows = self._store.rebuild_fulltext()
        drained = self._indexer.drain(ns)
        return {"documents": done, "fulltext": rows, "embedded": drained.indexed, "error": drained.error}

    def backup(self, target: str | Path) -> dict[str, Any]:
        """Write a verified copy of the whole home."""
        file = Path(target).expanduser().absolute()
        self._store.backup(file)
        return {"file": str(file), "bytes": file.stat().st_size}

    def restore(self, source: str | Path, *, reason: str = "") -> dict[str, Any]:
        """Put a backup in place of the home; what stood there is kept beside it. Nobody else may have the home open."""
        home = self.settings.home
        stamp = self.clock.now().strftime("%Y%m%dT%H%M%S")
        fresh, kept = home / f".restore-{self.ids.token(4)}", home / f"before-restore-{stamp}-{self.ids.token(2)}"
        fresh.mkdir(mode=0o700)
        try:
            backups.unpack(Path(source).expanduser().absolute(), fresh)
            self.close()
            backups.swap(fresh, home, kept)
        finally:
            for leftover in fresh.glob("*"):
                leftover.unlink()
            fresh.rmdir()
        with Memory(self.settings, embedder=self._embedder, clock=self.clock, ids=self.ids,
                    witness=self._ledger.witness) as memory:  # fmt: skip
            for name in memory._store.namespaces():
                memory.within(name).accept(reason=reason or f"restored from {Path(source).name}")
            verdict = memory.verify()
        if not verdict.ok:
            raise MnemicError(
                f"restored, but the ledger does not verify: {verdict.problem}; the old files are in {str(kept)!r}"
            )
        return {"ok": True, "kept": str(kept), "checked": verdict.checked}


