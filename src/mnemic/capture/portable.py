"""A namespace as a folder that any program can read, and back.

    DIR/mnemic.json            what it is: version, namespace, head of the ledger, digests of the files below
        ledger.jsonl           every entry with payload and salt: the proof, and all that the state follows from
        texts.jsonl            every text, once, by its id
        vault.jsonl, vault/…   the vault's files, and whose text each is
        state/TABLE.jsonl      the rows as they stand, for readers; an import makes them from the ledger
        markdown/…             each document that is not forgotten, under its path

The same memory gives the same bytes. What comes back is the same memory: entries, rows, texts, and what was erased stays
away. Vectors are made anew; ids of operations, and what a dream was before it, do not travel.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

from mnemic.capture.trees import document_nodes
from mnemic.clock import Clock, iso, to_ms
from mnemic.errors import BadInput, Damaged, Refused
from mnemic.ledger import Ledger, canonical
from mnemic.ledger.record import digest
from mnemic.lifecycle.usage import hidden_by
from mnemic.models.document import SHELVES, Document, Message
from mnemic.models.event import Event, Head
from mnemic.store import Store, Transaction, batches
from mnemic.store.schema import TRUTH
from mnemic.text.tree import slug

FORMAT, VERSION = "mnemic-export", 1
MANIFEST = "mnemic.json"
READ = ("ledger.jsonl", "texts.jsonl", "state/documents.jsonl", "vault.jsonl")
"""What an import reads; the last names the digests of what else it does."""
SEGMENT_BYTES = 200
"""Of one segment of a path, as a file's name."""


class Files(Protocol):
    """What travels beside the store; the vault and this do not know each other."""

    def write(self, folder: Path) -> int:
        """Copy all into an export, with `vault.jsonl`; how many files."""
        ...

    def check(self, folder: Path) -> int:
        """Raise what speaks against `placed`; how many files."""
        ...

    def placed(self, folder: Path) -> AbstractContextManager[None]:
        """Put them where they belong; what fails inside takes them away again."""
        ...


class Portable:
    """Writes and reads such folders."""

    def __init__(self, store: Store, ledger: Ledger, clock: Clock, files: Files) -> None:
        self._store, self._ledger, self._clock, self._files = store, ledger, clock, files

    # out

    def export(self, ns: str, folder: Path) -> dict[str, Any]:
        """Write a namespace into a folder that is new or empty. Raises Refused for one that is not."""
        folder = folder.expanduser().absolute()
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise Refused(f"{str(folder)!r} is not empty: give a new folder")
        part = folder.with_name(f".{folder.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(mode=0o700, parents=True)
        try:
            with self._store.reading():
                manifest = self._write(ns, part)
            if folder.exists():
                folder.rmdir()
            os.rename(part, folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
        return {"folder": str(folder), **{key: manifest[key] for key in ("namespace", "head", "counts")}}

    def _write(self, ns: str, folder: Path) -> dict[str, Any]:
        counts = {
            "entries": _write_lines(folder / "ledger.jsonl", (asdict(event) for event in self._ledger.events(ns))),
            "texts": _write_lines(folder / "texts.jsonl", self._texts(ns)),
        }
        for name in TRUTH:
            counts[name] = _write_lines(folder / "state" / f"{name}.jsonl", map(dict, self._store.rows(ns, name)))
        counts["markdown"] = self._write_markdown(ns, folder / "markdown")
        counts["vault"] = self._files.write(folder)
        head = self._store.head(ns)
        manifest = {
            "format": FORMAT, "version": VERSION, "namespace": ns, "head": None if head is None else asdict(head),
            "counts": counts, "files": _digests(folder), "sequences": self._store.sequences(ns),
            "erasure_key": self._store.erasure_key_of(ns).hex(), "erased": self._store.erased(ns),
        }  # fmt: skip
        (folder / MANIFEST).write_text(json.dumps(manifest, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        return manifest

    def _documents(self, ns: str) -> Iterator[Document]:
        return chain.from_iterable(batches(self._store, ns, 500))

    def _texts(self, ns: str) -> Iterator[dict[str, Any]]:
        """Every text, those of earlier revisions and of what was undone included: an undo may bring them back."""
        for document in self._documents(ns):
            for number, body in sorted(self._store.document_texts(ns, document.id, document.shelf).items()):
                yield {"id": number, "document": document.id, "text": body}
        for gone in self._store.left_texts(ns):
            for number, body in sorted(self._store.document_texts(ns, gone).items()):
                yield {"id": number, "document": gone, "text": body}

    def _write_markdown(self, ns: str, folder: Path) -> int:
        hidden, count = self._store.forgotten(ns), 0
        for document in self._documents(ns):
            if hidden_by(document.path, hidden) is None:
                messages = self._store.messages(ns, document=document.id)
                bodies = self._store.document_texts(ns, document.id, document.shelf)
                file = folder.joinpath(*map(_segment, document.path.strip("/").split("/")))
                file = file.with_name(file.name.removesuffix(".md") + ".md")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(_markdown(document, messages, bodies), encoding="utf-8", newline="")
                count += 1
        return count

    # back

    def read(self, ns: str, folder: Path, *, dry_run: bool = False) -> dict[str, Any]:
        """Take such a folder in: `{"entries", "documents", "vault", "stored", "duplicate"}`, the last two counting entries.

        Its entries keep their numbers and hashes, so it goes into a home that holds nothing yet, under the namespace that
        it was. In one transaction: killed, nothing has happened. Raises BadInput, Refused, and Damaged where a file is
        not what was exported.
        """
        folder = folder.expanduser()
        manifest = _manifest(folder)
        if manifest["namespace"] != ns:
            raise BadInput(f"this is an export of namespace {manifest['namespace']!r}: give --namespace with that name")
        head = Head(**manifest["head"]) if manifest["head"] else None
        counts = manifest["counts"]
        found = {"entries": head.seq if head else 0, "documents": counts["documents"], "vault": counts.get("vault", 0),
                 "stored": 0, "duplicate": 0}  # fmt: skip
        known = self._store.event(ns, head.seq) if head else None
        if head and known and known.hash == head.hash:
            return {**found, "duplicate": head.seq}
        if any(self._store.head(name) for name in self._store.namespaces()):
            raise Refused("this home holds something already, and an export keeps its numbers: give --home with a new folder")
        _check_files(folder, manifest)
        self._files.check(folder)
        if dry_run:
            return found
        with self._files.placed(folder):
            last = self._adopt(ns, folder, manifest)
        if last:
            self._ledger.committed(ns, last)
        self._store.sweep()
        return {**found, "stored": last.seq if last else 0}

    def _adopt(self, ns: str, folder: Path, manifest: Mapping[str, Any]) -> Event | None:
        self._store.take_erasure_key(bytes.fromhex(manifest["erasure_key"]))
        with self._store.write(ns) as tx:
            for row in _lines(folder / "state" / "documents.jsonl"):
                if row["shelf"] != SHELVES[0]:
                    tx.note_stray(row["id"], row["shelf"])
        with self._store.write(ns) as tx:
            last = self._ledger.adopt(tx, ns, (Event(**row) for row in _lines(folder / "ledger.jsonl")))
            if ({"seq": last.seq, "hash": last.hash} if last else None) != manifest["head"]:
                raise Damaged("the ledger does not end with the head that was exported: nothing was taken in")
            for row in _lines(folder / "texts.jsonl"):
                tx.add_text(row["id"], row["document"], row["text"])
            for mac, at in manifest["erased"]:
                tx.erase_texts((), [mac], at)
            for name, value in manifest["sequences"].items():
                tx.reserve(name, value)
            for document in list(self._documents(ns)):
                self._plant(tx, ns, document)
        return last

    def _plant(self, tx: Transaction, ns: str, document: Document) -> None:
        messages = self._store.messages(ns, document=document.id)
        bodies = self._store.document_texts(ns, document.id)
        named = [(document.text_id, document.digest)] if document.text_id else [(one.text_id, one.digest) for one in messages]
        for number, mark in named:
            if digest(bodies.get(number, "")) != mark:
                raise Damaged(f"the text of {document.path!r} is not what was recorded: nothing was taken in")
        tx.replace_nodes(document.id, document_nodes(document, messages, bodies))
        if document.shelf != SHELVES[0]:
            tx.move(document.id, SHELVES[0], document.shelf, with_vectors=False)
        tx.enqueue(document.id, to_ms(self._clock.now()))


def _write_lines(file: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    file.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with file.open("w", encoding="utf-8", newline="") as out:
        for row in rows:
            out.write(canonical(row) + "\n")
            count += 1
    return count


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            yield json.loads(line)


def _digests(folder: Path) -> dict[str, str]:
    return {name: _sha256(folder / name) for name in READ}


def _sha256(file: Path) -> str:
    found = sha256()
    with file.open("rb") as stream:
        while data := stream.read(1 << 20):
            found.update(data)
    return found.hexdigest()


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        known = found["format"] == FORMAT
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise BadInput(f"{str(folder)!r} is no export of mnemic ({why}): give a folder that `mnemic export` made") from None
    if not known or found["version"] != VERSION:
        raise BadInput(f"{str(folder)!r} has version {found.get('version')!r} of the export, this is {VERSION}: upgrade mnemic")
    return dict(found)


def _check_files(folder: Path, manifest: Mapping[str, Any]) -> None:
    for name in READ if READ[-1] in manifest["files"] or (folder / READ[-1]).exists() else READ[:-1]:
        if not (folder / name).is_file() or _sha256(folder / name) != manifest["files"].get(name):
            raise Damaged(f"{name} is not what was exported: nothing was taken in; export again")


def _segment(name: str) -> str:
    """A segment of a path as a file's name on any system."""
    safe = "".join("-" if char in '\\:*?"<>|' or ord(char) < 32 else char for char in name)
    if safe == name and len(name.encode()) <= SEGMENT_BYTES and name.strip(". "):
        return name
    return f"{slug(safe)[:60]}-{digest(name)[:8]}"


def _markdown(document: Document, messages: Iterable[Message], bodies: Mapping[int, str]) -> str:
    head = {
        "path": document.path, "kind": document.kind, "title": document.title, "created_at": iso(document.created_at),
        "origin": document.origin, "importance": document.importance, "context": document.context,
        "session": document.session, "source": document.source,
    }  # fmt: skip
    # JSON is YAML, and no text can break out of it.
    block = "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in head.items() if value not in (None, ""))
    if document.text_id is not None:
        return f"---\n{block}---\n\n{bodies.get(document.text_id, '')}\n"
    said = "".join(
        f"**{one.name or one.role}** · {iso(one.created_at)}\n\n{bodies.get(one.text_id, '')}\n\n" for one in messages
    )
    return f"---\n{block}---\n\n{said}"
