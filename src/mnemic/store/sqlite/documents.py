"""Documents, sessions' messages, and texts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict

from mnemic.models.document import Document, Message
from mnemic.models.event import Row
from mnemic.store.sqlite.shelves import Shelves, bound, in_list
from mnemic.store.sqlite.truth import DIGEST, packed

_DOCUMENT = (
    f"id, path, kind, title, context, origin, importance, session, text_id, {DIGEST}, source, created_at, recorded_at,"
    " shelf"
)
_MESSAGE = f"session, seq, document, role, name, text_id, {DIGEST}, created_at"


class Documents(Shelves):
    """Reads of the catalogue; the catalogue lives in the hot shelf, texts and messages where their document is."""

    def document(self, ns: str, path: str) -> Document | None:
        """The document of exactly this path."""
        return self._document("path=?", (self.space(ns), path))

    def document_by_id(self, ns: str, document: int) -> Document | None:
        return self._document("id=?", (self.space(ns), document))

    def document_by_source(self, ns: str, source: str) -> Document | None:
        """The document that was read from a source, e.g. a file URI."""
        return self._document("source=?", (self.space(ns), source))

    def _document(self, condition: str, bindings: tuple[object, ...]) -> Document | None:
        found = self.hot.row(f"SELECT {_DOCUMENT} FROM documents WHERE ns=? AND {condition}", bindings)
        return None if found is None else Document(*found)

    def documents(
        self, ns: str, *, below: str = "", kind: str | None = None, after: int = 0, limit: int = 1000
    ) -> list[Document]:
        """Documents in the order of their ids, from below a path, after an id."""
        sql = f"SELECT {_DOCUMENT} FROM documents WHERE ns=? AND id>?"
        bindings: list[object] = [self.space(ns), after]
        if below:
            sql += " AND (path=? OR (path>=? AND path<?))"
            bindings += [below, below + "/", below + "0"]
        if kind:
            sql += " AND kind=?"
            bindings.append(kind)
        return [Document(*row) for row in self.hot.rows(sql + " ORDER BY id LIMIT ?", (*bindings, limit))]

    def documents_of(self, ns: str, since: int, until: int) -> list[Document]:
        """Documents that were made or recorded from one moment up to before another (ms), in the order of their ids.

        Nothing is recorded before it is made, so that the index by recording is enough.
        """
        sql = (
            f"SELECT {_DOCUMENT} FROM documents WHERE ns=?1 AND recorded_at>=?2 AND (recorded_at<?3"
            " OR (created_at>=?2 AND created_at<?3)) ORDER BY id"
        )
        return [Document(*row) for row in self.hot.rows(sql, (self.space(ns), since, until))]

    def documents_by_digest(self, ns: str, digest: str) -> list[Document]:
        """All documents with the same text, oldest first."""
        both = (digest, packed(digest))
        sql = f"SELECT {_DOCUMENT} FROM documents WHERE ns=? AND substr(digest,1,8) IN (?,?) AND digest IN (?,?) ORDER BY id"
        return [Document(*row) for row in self.hot.rows(sql, (self.space(ns), *(one[:8] for one in both), *both))]

    def session_documents(self, ns: str, session: str, last: int) -> list[Document]:
        """The last documents of a session, oldest of them first."""
        sql = f"SELECT {_DOCUMENT} FROM documents WHERE ns=? AND session=? ORDER BY id DESC LIMIT ?"
        return [Document(*row) for row in reversed(self.hot.rows(sql, (self.space(ns), session, last)))]

    def messages(
        self, ns: str, *, session: str | None = None, document: int | None = None, last: int | None = None
    ) -> list[Message]:
        """Messages of a session or of one document, in order; with `last`, only that many from the end."""
        # Without being told, the planner reads the whole namespace in order rather than one document and sort it.
        index = "INDEXED BY messages_document" if document is not None else ""
        sql = f"SELECT {_MESSAGE} FROM messages {index} WHERE ns=?"
        space = self.space(ns)
        bindings: list[object] = [space]
        for column, value in (("session", session), ("document", document)):
            if value is not None:
                sql += f" AND {column}=?"
                bindings.append(value)
        sql += " ORDER BY session DESC, seq DESC LIMIT ?"
        bindings.append(-1 if last is None else last)
        with self.hot.snapshot():
            rows = self.hot.rows(sql, bindings)
            away = self._away(space, session, document)
        for shelf in away:
            found = self.shelf(shelf).rows(sql, bindings)
            here = self.standing(space, {row[2] for row in found}, shelf)
            rows += [row for row in found if row[2] in here]
        rows.sort()
        return [Message(*row) for row in (rows if last is None else rows[max(0, len(rows) - last) :])]

    def _away(self, space: int, session: str | None, document: int | None) -> list[str]:
        """On which shelves but the hot one documents stand: one, those of a session, or any."""
        sql, bindings = "SELECT DISTINCT shelf FROM documents WHERE +ns=? AND shelf<>'hot'", [space]
        if document is not None:
            return [name for (name,) in self.hot.rows(f"{sql} AND id=?", (*bindings, document))]
        if session is not None:
            return [name for (name,) in self.hot.rows(f"{sql.replace('+', '')} AND session=?", (*bindings, session))]
        return ["warm", "cold"]

    def standing(self, space: int, documents: Collection[int], shelf: str) -> set[int]:
        """Those of some documents that stand on a shelf: on others than the hot one a copy may have been left behind."""
        sql = f"SELECT id FROM documents WHERE +ns=? AND shelf=? AND id IN ({in_list(documents)})"
        return {number for (number,) in self.hot.rows(sql, (space, shelf))}

    def rows(self, ns: str, table: str) -> Iterator[Row]:
        """Every row of a truth table in a namespace, in key order on each shelf."""
        yield from super().rows(ns, table)
        if table == "messages":
            for item in self._elsewhere(ns):
                yield asdict(item)

    def _elsewhere(self, ns: str) -> Iterator[Message]:
        """The messages of documents that have left the hot shelf."""
        space = self.space(ns)
        for shelf in ("warm", "cold"):
            with self.hot.snapshot():
                sql = "SELECT id FROM documents WHERE ns=? AND shelf=? AND session IS NOT NULL"
                here = {number for (number,) in self.hot.rows(sql, (space, shelf))}
            with self.shelf(shelf).snapshot() as db:
                for row in db.execute(f"SELECT {_MESSAGE} FROM messages WHERE ns=? ORDER BY session, seq", (space,)):
                    if row[2] in here:
                        yield Message(*row)

    def text(self, ns: str, text_id: int, shelf: str = "hot") -> str | None:
        """A text by its id; `None` once erased."""
        return self.texts(ns, (text_id,), shelf).get(text_id)

    def texts(self, ns: str, text_ids: Sequence[int], shelf: str = "hot") -> dict[int, str]:
        """Several texts of one shelf at once."""
        if not text_ids:
            return {}
        sql = f"SELECT id, body FROM texts WHERE +ns=? AND id IN ({in_list(text_ids)})"
        return dict(self.shelf(shelf).rows(sql, (self.space(ns),)))

    def left_texts(self, ns: str) -> list[int]:
        """Ids of the documents that are gone and whose texts are still there: an undo takes out rows of truth only."""
        sql = (
            "SELECT DISTINCT document FROM texts t WHERE ns=?"
            " AND NOT EXISTS(SELECT 1 FROM documents d WHERE d.id=t.document) ORDER BY document"
        )
        return [number for (number,) in self.hot.rows(sql, (self.space(ns),))]

    def text_digests(self, ns: str, documents: Collection[int]) -> dict[int, dict[int, str]]:
        """The digests that rows of truth name for the texts now in use, by document and text."""
        if not documents:
            return {}
        space = self.space(ns)
        sql = f"SELECT id, shelf, text_id, {DIGEST} FROM carray(?) AS place CROSS JOIN documents ON id=value WHERE +ns=?"
        rows = self.hot.rows(sql, (bound([*documents]), space))
        found = {number: {text_id: digest} for number, _, text_id, digest in rows if text_id is not None}
        sql = (
            f"SELECT document, text_id, {DIGEST} FROM carray(?) AS place CROSS JOIN messages INDEXED BY messages_document"
            " ON document=value WHERE ns=?"
        )
        for shelf in {shelf for _, shelf, text_id, _ in rows if text_id is None}:
            here = [number for number, stands, text_id, _ in rows if text_id is None and stands == shelf]
            for number, text_id, digest in self.shelf(shelf).rows(sql, (bound(here), space)):
                found.setdefault(number, {})[text_id] = digest
        return found

    def document_texts(self, ns: str, document: int, shelf: str = "hot") -> dict[int, str]:
        """Every text of a document, those of its earlier revisions included."""
        sql = "SELECT id, body FROM texts WHERE ns=? AND document=? ORDER BY id"
        return dict(self.shelf(shelf).rows(sql, (self.space(ns), document)))

    def when_erased(self, ns: str, macs: Sequence[str]) -> dict[str, int]:
        """Which of some keyed digests are those of erased texts, with when that was."""
        marks = ",".join("?" * len(macs))
        return dict(self.hot.rows(f"SELECT mac, at FROM erased WHERE ns=? AND mac IN ({marks})", (self.space(ns), *macs)))

    def operation(self, ns: str, op_id: str) -> tuple[str, str] | None:
        """The request digest and the receipt of an operation already done."""
        found = self.hot.row("SELECT request, receipt FROM operations WHERE ns=? AND id=?", (self.space(ns), op_id))
        return None if found is None else (str(found[0]), str(found[1]))

    def operations(self, ns: str, *, after: str = "", limit: int = 1000) -> list[tuple[str, str, str, int | None]]:
        """Operations already done, in the order of their ids after one: id, request, receipt, document."""
        sql = "SELECT id, request, receipt, document FROM operations WHERE ns=? AND id>? ORDER BY id LIMIT ?"
        return [(name, asked, told, number) for name, asked, told, number in self.hot.rows(sql, (self.space(ns), after, limit))]

    def forgotten(self, ns: str) -> dict[str, int]:
        """Every path that was forgotten, with the moment; what lies below one is hidden too."""
        sql = "SELECT path, forgotten_at FROM visibility WHERE ns=? AND forgotten_at IS NOT NULL"
        return dict(self.hot.rows(sql, (self.space(ns),)))
