"""What a store offers: the protocol both engines fulfil, and the small values it speaks in.

Every call names a namespace, and a store returns nothing of any other. Reads may name a shelf where a row can
live on several; writes go to the hot shelf. Raw scores are the engine's own: only their order means anything.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from mnemic.errors import Interrupted
from mnemic.models.document import Document, Message, Node
from mnemic.models.event import Change, Event, Head, Row

Ids = NDArray[np.int64]
T = TypeVar("T")
TRIES = 4
"""How often a write is begun before its failure is told."""


@dataclass(frozen=True, slots=True)
class Lag:
    """How far a replica is behind the primary, as that stood when it was asked first."""

    server: str
    problem: str = ""
    """Why it does not answer, if so."""
    writes: int = 0
    """Of all namespaces together."""
    bytes: int | None = None
    """Of the server's log; None where it does not say."""
    seconds: float = 0.0
    """Since the last write that it has; 0 where none is missing."""


@dataclass(frozen=True, slots=True)
class NewNode:
    """A node about to be stored. `parent` is its parent's place in the list, or -1."""

    path: str
    kind: str
    title: str
    parent: int
    text_id: int | None
    start: int
    end: int
    reach: int
    created_at: int
    message: int | None = None
    speaker: str = ""
    passage: str = ""
    """What it is found by; empty for a node that is only a container."""
    session: str | None = None
    role: str = ""
    """Of a message and its parts: its conversation, and who spoke."""


@dataclass(frozen=True, slots=True)
class Found:
    """A node with all that recall needs to score and show it, joined with its document."""

    id: int
    parent: int | None
    path: str
    kind: str
    title: str
    text_id: int | None
    start: int
    end: int
    reach: int
    message: int | None
    speaker: str
    size: int
    """Number of index terms."""
    terms: bytes
    """Its index terms in order, as uint32 CRC-32 values."""
    document: int
    document_path: str
    document_kind: str
    document_title: str
    context: str
    origin: str
    importance: float
    session: str | None
    created_at: int
    """When its message was said, or its document made."""
    known_at: int
    """When it was first known: the earlier of said and recorded."""
    forgotten_at: int | None
    """When the document was forgotten."""
    shelf: str
    role: str = ""
    """Who said it, in a conversation: user, assistant, tool."""
    used_at: int = 0
    """When its document was last used: touched, or recorded anew."""
    uses: int = 0
    fixed: str | None = None
    """The tier that a person set."""


Scored = tuple[int, int, int, int, bool, bool, str, bytes]
"""A node as scoring sees it: its id; the number of its conversation and its message's seq there, or its document and -1;
when it was said; whether the user said it; whether it is a message, and no part of one; speaker; terms as `Found` has
them. Bare, because a question reads hundreds."""


@dataclass(frozen=True, slots=True)
class QueueRow:
    """A document whose vectors are not there yet."""

    document: int
    state: str
    attempts: int
    due_at: int
    error: str


@dataclass(frozen=True, slots=True)
class EmbedderRow:
    """An embedder whose vectors the store holds."""

    id: int
    identity: str
    dim: int
    canary: bytes | None


@dataclass(frozen=True, slots=True)
class VectorRow:
    """One vector to store: the node, a digest of the passage it was made from, float16 bytes."""

    node: int
    digest: bytes
    vector: bytes


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Compact codes of a run of vectors, by the stamps of its first and last: ids as int64 bytes, codes as they are."""

    first: int
    last: int
    nodes: bytes
    codes: bytes


@dataclass(frozen=True, slots=True)
class VaultFile:
    """What is known of a note in the vault since it was last read."""

    path: str
    """Relative to the vault, with `/`."""
    key: str
    """Under which links find it."""
    state: str
    """kept, empty (and maybe only half saved), refused, writing (by us), gone (and not yet in git)."""
    mtime_ns: int
    ctime_ns: int
    size: int
    """-1: it may have changed without a trace in its times, so it is read again."""
    inode: int
    digest: str
    """SHA-256 of its bytes."""
    intent: str
    """Digest of what mnemic was about to write; a file that has it was not written by a person."""
    origin: str
    kind: str
    type: str
    description: str
    status: str
    committed: int
    why: str
    """Why it was refused."""


def repeated(act: Callable[[], T]) -> T:
    """Do a write again that the engine broke off, with all that it looks up: nothing of it was stored. The last time its
    failure is the caller's."""
    for _ in range(TRIES - 1):
        with suppress(Interrupted):
            return act()
    return act()


def made_by(receipt: str) -> set[int]:
    """The entries that an operation's receipt names."""
    told = json.loads(receipt)
    return {row["seq"] for row in (told, *told.get("receipts", ())) if row.get("seq")}


class Transaction(Protocol):
    """One atomic write to the hot shelf of one namespace."""

    def allocate(self, name: str, count: int = 1) -> int:
        """The first of `count` fresh identifiers of a kind; they are never handed out again.

        A kind of the home is one of schema.SEQUENCES, a namespace's own is named by a JSON array. What a write that
        fails was given may be given again or be left out for ever, as the engine likes.
        """
        ...

    def allocate_each(self, wanted: Mapping[str, int]) -> list[int]:
        """As `allocate`, of several kinds at once: the first of each, in order."""
        ...

    def reserve(self, name: str, value: int) -> None:
        """Identifiers of a kind up to a number are taken, by what was copied from another home."""
        ...

    def head(self) -> Head | None:
        """The end of the chain as this transaction sees it."""
        ...

    def row(self, table: str, key: tuple[str | int, ...]) -> dict[str, Any] | None:
        """A row of truth as this transaction sees it."""
        ...

    def select(self, table: str, where: Mapping[str, Any], *, limit: int = -1, newest: bool = False) -> list[Row]:
        """Rows of truth whose columns equal what is given, as this transaction sees them."""
        ...

    def apply(self, changes: Iterable[Change]) -> None:
        """Write after-images. Raises Conflict where the row is not as `before` says."""
        ...

    def append(self, event: Event) -> None:
        """Add an event to the ledger with its payload."""
        ...

    def add_text(self, text_id: int, document: int, body: str) -> None: ...

    def remember_operation(self, op_id: str, request: str, receipt: str, document: int | None) -> None: ...

    def replace_nodes(self, document: int, nodes: Sequence[NewNode], shelf: str = "hot") -> list[int]:
        """Put a document's tree in place of the one before; returns the ids. Full text follows at once."""
        ...

    def enqueue(self, document: int, due_at: int) -> None: ...

    def settle(self, document: int, error: str | None, due_at: int) -> None:
        """Indexing ended: without an error the document leaves the queue, with one it waits until `due_at`."""
        ...

    def put_vectors(self, embedder: int, rows: Sequence[VectorRow], shelf: str = "hot") -> None: ...

    def drop_vectors(self, embedder: int, limit: int) -> int:
        """Remove vectors of an embedder, on any shelf and at most so many, and all its codes; returns how many vectors went."""
        ...

    def move(self, document: int, source: str, target: str, *, with_vectors: bool) -> None:
        """Let a document's rows stand on another shelf: where the shelves are files, copied, verified, and then taken away.

        Raises Conflict where an engine that copies has no `note_stray` for the target, committed before.
        """
        ...

    def note_stray(self, document: int, shelf: str) -> None:
        """Note that rows of a document may be on a shelf that is not its own, or soon will be; nothing where that cannot be."""
        ...

    def shelve_entries(self, after: int, limit: int) -> int | None:
        """Let entries about documents that have left the hot shelf follow them; the number of the last, if there were any.

        Committed and read back there before they go here, so being killed in between loses nothing. None at once where
        the ledger stands in one place.
        """
        ...

    def put_codes(self, embedder: int, blocks: Sequence[CodeBlock], shelf: str = "hot") -> None: ...

    def drop_codes(self, embedder: int, shelf: str = "hot") -> None:
        """Remove the codes of an embedder, and its coder."""
        ...

    def put_coder(self, embedder: int, count: int, coder: bytes, shelf: str = "hot") -> None: ...

    def put_edges(self, rows: Sequence[tuple[int, int, str, float]]) -> None: ...

    def drop_edges(self, rows: Sequence[tuple[int, int, str]]) -> None: ...

    def put_vault_file(self, row: VaultFile) -> None: ...

    def drop_vault_file(self, path: str) -> None: ...

    def put_vault_links(self, path: str, rows: Sequence[tuple[str, str, str, str]]) -> None:
        """Put a note's links in place of those before: (key, target, heading, alias) in order."""
        ...

    def put_vault_rename(self, path: str, target: str | None) -> None:
        """Note that a note is being renamed, with its links; without a target: that it is done."""
        ...

    def erase_document(self, document: int, macs: Sequence[str], at: int) -> list[int]:
        """Remove a document's texts, tree, vectors, operations and the payloads of its events.

        Returns the `seq` of every event whose payload was erased. Rows of truth are the ledger's business, but for the
        messages of a document on another shelf than the hot one: they go with it.
        """
        ...

    def erase_texts(self, text_ids: Sequence[int], macs: Sequence[str], at: int) -> None: ...

    def erase_other_texts(self, document: int, in_use: Sequence[int], macs: Sequence[str], at: int) -> None:
        """Erase every text of a document, earlier revisions included, but those in use."""
        ...

    def erase_payloads(self, objects: Sequence[str]) -> list[int]: ...

    def erase_entries(self, seqs: Collection[int]) -> None:
        """Remove what some entries carried; the receipts of the operations that made them become `{}`."""
        ...


class Store(Protocol):
    """A home's rows."""

    @property
    def store_id(self) -> str: ...

    def erasure_key_of(self, ns: str) -> bytes:
        """By which the erased texts of a namespace are known: the home's key, or that of the home it was copied from."""
        ...

    @property
    def tokenizer(self) -> str:
        """By which rules the full text was made."""
        ...

    @property
    def engine(self) -> Mapping[str, str]:
        """What keeps the rows: name and version of each part."""
        ...

    def namespaces(self) -> list[str]: ...

    def write(self, namespace: str) -> AbstractContextManager[Transaction]: ...

    def close(self) -> None: ...

    def reading(self) -> AbstractContextManager[None]:
        """Several reads that see one state: of the hot shelf at least, of all where one engine keeps them."""
        ...

    def read(self, ns: str, question: Callable[[], T]) -> T:
        """What several reads about a namespace tell that see one state. It may be that of another server which has all that
        this process wrote or was shown; if that one fails, the question is asked anew, so it must change nothing."""
        ...

    def position(self, ns: str) -> int | None:
        """How many writes of a namespace this process has seen: all that it reads from now on has seen them too. None where
        nobody could miss any."""
        ...

    def catch_up(self, ns: str, position: int) -> bool:
        """Let all that this process reads from now on have seen so many writes; whether there were so many."""
        ...

    def lags(self) -> list[Lag]:
        """How far the servers are behind that follow this one. Raises StoreError."""
        ...

    def reads(self) -> Mapping[str, int]:
        """How many reads of this process went to which server: primary, replica, or fallback, the primary where no replica
        could answer. Empty of files."""
        ...

    def settle_erasure(self) -> str | None:
        """Let erased bytes leave every file of the engine's; why they may still be in one, if so."""
        ...

    def give_room(self) -> bool:
        """Give up what was kept free for a full disk, so that an erasure can go through; whether there was any."""
        ...

    def sweep(self) -> int:
        """Remove what stands on a shelf that is not its document's own; returns how many notes were settled."""
        ...

    def vacuum(self) -> dict[str, str | None]:
        """Give back the room of what is gone; by file or table why it was not done, or `None` where it was."""
        ...

    def take_lease(self, name: str, holder: str, now: int, until: int) -> bool:
        """Whether this holder may do what a lease is for: nobody has it up to now (ms); it is taken until then."""
        ...

    def meta(self, key: str) -> str | None:
        """A fact about the home that is no memory."""
        ...

    def set_meta(self, key: str, value: str) -> None: ...

    def sequences(self, ns: str) -> dict[str, int]:
        """How far identifiers were handed out, by name: those of the home that rows of truth bear, and the namespace's own."""
        ...

    def erased(self, ns: str) -> list[tuple[str, int]]:
        """The keyed digests of what was erased, in order, with when that was."""
        ...

    def take_erasure_key(self, key: bytes, ns: str | None = None) -> None:
        """Know erased texts by the key of another home: those of a namespace that holds nothing yet, or of such a home."""
        ...

    def rebuild_fulltext(self) -> int:
        """Make all full-text rows anew from the nodes' texts, on every shelf; returns how many."""
        ...

    def check(self) -> list[str]:
        """What is wrong with what is stored, as far as the engine can tell; empty if nothing is."""
        ...

    def backup(self, target: Path, more: Callable[[ZipFile], None] | None = None) -> None:
        """Write a copy of everything stored, as of one moment, and what `more` adds, as one archive."""
        ...

    def sizes(self) -> dict[str, int]:
        """Bytes on disk by file or table."""
        ...

    def jobs(self, ns: str | None = None) -> dict[str, int] | None:
        """How many jobs are waiting, doing and failed, of a namespace or of all; None where there is no queue of jobs."""
        ...

    # truth
    def row(self, ns: str, table: str, key: tuple[str | int, ...]) -> dict[str, Any] | None: ...

    def rows(self, ns: str, table: str) -> Iterator[Row]: ...

    def select(self, ns: str, table: str, where: Mapping[str, Any], *, limit: int = -1, newest: bool = False,
               by: Sequence[str] = ()) -> list[Row]:  # fmt: skip
        """Rows of truth whose columns equal what is given (`None`: is null), by some columns and then the key;
        newest: from the end."""
        ...

    def count(self, ns: str, table: str, where: Mapping[str, Any]) -> int:
        """How many rows `select` would give."""
        ...

    def document(self, ns: str, path: str) -> Document | None: ...

    def document_by_id(self, ns: str, document: int) -> Document | None: ...

    def documents(self, ns: str, *, below: str = "", kind: str | None = None, after: int = 0,
                  limit: int = 1000) -> list[Document]: ...  # fmt: skip

    def documents_of(self, ns: str, since: int, until: int) -> list[Document]: ...

    def documents_by_digest(self, ns: str, digest: str) -> list[Document]: ...

    def document_by_source(self, ns: str, source: str) -> Document | None: ...

    def session_documents(self, ns: str, session: str, last: int) -> list[Document]: ...

    def messages(self, ns: str, *, session: str | None = None, document: int | None = None,
                 last: int | None = None) -> list[Message]: ...  # fmt: skip

    def text(self, ns: str, text_id: int, shelf: str = "hot") -> str | None: ...

    def texts(self, ns: str, text_ids: Sequence[int], shelf: str = "hot") -> dict[int, str]: ...

    def left_texts(self, ns: str) -> list[int]:
        """Ids of the documents that are gone and whose texts are still there: an undo takes out rows of truth only."""
        ...

    def text_digests(self, ns: str, documents: Collection[int]) -> dict[int, dict[int, str]]:
        """The digests that rows of truth name for the texts now in use, by document and text."""
        ...

    def document_texts(self, ns: str, document: int, shelf: str = "hot") -> dict[int, str]: ...

    def when_erased(self, ns: str, macs: Sequence[str]) -> dict[str, int]:
        """Which of some keyed digests are those of erased texts, with when that was."""
        ...

    def operation(self, ns: str, op_id: str) -> tuple[str, str] | None: ...

    def operations(self, ns: str, *, after: str = "", limit: int = 1000) -> list[tuple[str, str, str, int | None]]:
        """Operations already done, in the order of their ids after one: id, request, receipt, document."""
        ...

    def forgotten(self, ns: str) -> dict[str, int]: ...

    # ledger
    def head(self, ns: str) -> Head | None: ...

    def events(self, ns: str, *, after: int = 0, before: int | None = None, limit: int = 1000, newest: bool = False,
               object: str | None = None, objects: Sequence[str] | None = None, object_begins: str | None = None,
               op: str | None = None, actor: str | None = None) -> list[Event]:  # fmt: skip
        """Entries between two numbers, in order; with `newest`, the last ones, newest first; only those that fit."""
        ...

    def last_events(self, ns: str, objects: Collection[str]) -> Mapping[str, Event]:
        """The last entry about each of some objects, by object."""
        ...

    def event(self, ns: str, seq: int) -> Event | None: ...

    # the vault
    def vault_files(self, ns: str) -> list[VaultFile]: ...

    def vault_listed(self, ns: str, below: str) -> list[tuple[str, str, str, str]]: ...

    def vault_file(self, ns: str, path: str) -> VaultFile | None: ...

    def vault_named(self, ns: str, key: str) -> list[str]: ...

    def vault_links(self, ns: str, *, key: str | None = None, path: str | None = None
                    ) -> list[tuple[str, str, str, str]]: ...  # fmt: skip

    def vault_uncommitted(self, ns: str) -> list[tuple[str, str]]: ...

    def vault_renames(self, ns: str) -> list[tuple[str, str]]: ...

    # derived
    def node(self, ns: str, path: str) -> Node | None: ...

    def nodes(self, ns: str, document: int, shelf: str = "hot") -> list[Node]: ...

    def found(self, ns: str, ids: Sequence[int], shelf: str = "hot") -> list[Found]: ...

    def beside(self, ns: str, runs: Sequence[int], reach: int, shelf: str = "hot") -> list[Scored]: ...

    def turns(self, ns: str, runs: Sequence[tuple[int, int, int]], shelf: str = "hot") -> Ids: ...

    def document_frequencies(self, ns: str, terms: Sequence[str], shelf: str = "hot") -> dict[str, int]: ...

    def postings(self, ns: str, terms: Sequence[str], shelf: str = "hot") -> dict[str, Ids]:
        """By term, every node that holds it, in no order; for a prefix term, one that begins so."""
        ...

    def nodes_within(self, ns: str, *, below: str = "", documents: Collection[str] | None = None,
                     context: str | None = None, kinds: Sequence[str] = (), since: int | None = None,
                     until: int | None = None, known: int | None = None, limit: int,
                     shelf: str = "hot") -> list[int]: ...  # fmt: skip

    def nodes_below(self, ns: str, paths: Sequence[str], limit: int, shelf: str = "hot") -> Ids:
        """Nodes with words of their own that stand at or below any of some paths, ascending; at most `limit`."""
        ...

    def has_unused(self, ns: str, since: int) -> bool: ...

    def nodes_used(self, ns: str, since: int, *, core: bool, limit: int, shelf: str = "hot") -> list[int]: ...

    def nodes_faded(self, ns: str, since: int) -> list[tuple[int, str]]: ...

    def same_tree(self, ns: str, document: int, nodes: Sequence[NewNode], shelf: str) -> bool: ...

    def phrase(self, ns: str, terms: Sequence[str], limit: int, shelf: str = "hot") -> list[int]: ...

    def lexicon(self, ns: str, shelf: str | None = None) -> tuple[int, int, int]: ...

    def queue(self, ns: str | None, *, due: int | None = None, limit: int = 100) -> list[tuple[str, QueueRow]]: ...

    def waiting(self, ns: str) -> int: ...

    def embedder(self, identity: str, dim: int, canary: bytes | None = None) -> EmbedderRow: ...

    def embedders(self) -> list[EmbedderRow]: ...

    def vectors(self, ns: str, embedder: int, ids: Sequence[int], shelf: str = "hot") -> dict[int, bytes]: ...

    def vectors_since(self, ns: str, embedder: int, stamp: int, limit: int, shelf: str = "hot", *,
                      until: int | None = None) -> list[tuple[int, int, bytes]]: ...  # fmt: skip

    def vectors_after(
        self, ns: str, embedder: int, stamp: int, limit: int, *, until: int | None = None, shelf: str = "hot"
    ) -> int: ...

    def vectors_last(self, ns: str, embedder: int, shelf: str = "hot") -> int: ...

    def vectors_before(self, ns: str, embedder: int, node: int, limit: int, shelf: str = "hot"
                       ) -> list[tuple[int, bytes]]: ...  # fmt: skip

    def digests(self, ns: str, embedder: int, ids: Sequence[int], shelf: str = "hot") -> dict[int, bytes]: ...

    def codes(self, ns: str, embedder: int, after: int = 0, limit: int = -1, shelf: str = "hot") -> list[CodeBlock]: ...

    def codes_last(self, ns: str, embedder: int, shelf: str = "hot") -> int: ...

    def coder(self, ns: str, embedder: int, shelf: str = "hot") -> tuple[int, bytes] | None: ...

    def vector_count(self, ns: str, embedder: int) -> int: ...

    def edges(self, ns: str, ids: Sequence[int], kind: str) -> list[tuple[int, int, float]]: ...

    def counts(self, ns: str) -> Mapping[str, int]: ...


def batches(store: Store, ns: str, size: int, *, kind: str | None = None) -> Iterator[list[Document]]:
    """All documents of a namespace, or those of a kind, in the order of their ids, so many at a time."""
    after = 0
    while batch := store.documents(ns, kind=kind, after=after, limit=size):
        yield batch
        after = batch[-1].id
