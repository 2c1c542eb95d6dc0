"""Documents, sessions' messages, and texts."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mnemic.models.document import Document, Message
from mnemic.store.postgres.migrations import PATH
from mnemic.store.postgres.shelves import Shelves, capped, checked_shelf

_DOCUMENT = "id, path, kind, title, context, origin, importance, session, text_id, digest, source, created_at, recorded_at, shelf"
_MESSAGE = "session, seq, document, role, name, text_id, digest, created_at"


class Documents(Shelves):
    """Reads of the catalogue."""

    def document(self, ns: str, path: str) -> Document | None:
        """The document of exactly this path."""
        return self._document(ns, "path=%s", (path,))

    def document_by_id(self, ns: str, document: int) -> Document | None:
        return self._document(ns, "id=%s", (document,))

    def document_by_source(self, ns: str, source: str) -> Document | None:
        """The document that was read from a source, e.g. a file URI."""
        return self._document(ns, f"right(source, {PATH})=right(%s, {PATH}) AND source=%s", (source, source))

    def _document(self, ns: str, condition: str, values: tuple[object, ...]) -> Document | None:
        space = self.space(ns)
        found = self._row(space, f"SELECT {_DOCUMENT} FROM documents WHERE ns=%s AND {condition} LIMIT 1", (space, *values))
        return None if found is None else Document(*found)

    def documents(
        self, ns: str, *, below: str = "", kind: str | None = None, after: int = 0, limit: int = 1000
    ) -> list[Document]:
        """Documents in the order of their ids, from below a path, after an id."""
        space = self.space(ns)
        query, values = f"SELECT {_DOCUMENT} FROM documents WHERE ns=%s AND id>%s", list[object]([space, after])
        if below:
            query += " AND (path=%s OR (path>=%s AND path<%s))"
            values += [below, below + "/", below + "0"]
        if kind:
            query += " AND kind=%s"
            values.append(kind)
        return [Document(*row) for row in self._rows(space, query + " ORDER BY id LIMIT %s", (*values, capped(limit)))]

    def documents_of(self, ns: str, since: int, until: int) -> list[Document]:
        """Documents that were made or recorded from one moment up to before another (ms), in the order of their ids.

        Nothing is recorded before it is made, so that the index by recording is enough.
        """
        space = self.space(ns)
        query = (
            f"SELECT {_DOCUMENT} FROM documents WHERE ns=%s AND recorded_at>=%s AND (recorded_at<%s"
            " OR (created_at>=%s AND created_at<%s)) ORDER BY id"
        )
        return [Document(*row) for row in self._rows(space, query, (space, since, until, since, until))]

    def documents_by_digest(self, ns: str, digest: str) -> list[Document]:
        """All documents with the same text, oldest first."""
        space = self.space(ns)
        query = f"SELECT {_DOCUMENT} FROM documents WHERE ns=%s AND digest=%s ORDER BY id"
        return [Document(*row) for row in self._rows(space, query, (space, digest))]

    def session_documents(self, ns: str, session: str, last: int) -> list[Document]:
        """The last documents of a session, oldest of them first."""
        space = self.space(ns)
        query = f"SELECT {_DOCUMENT} FROM documents WHERE ns=%s AND session=%s ORDER BY id DESC LIMIT %s"
        return [Document(*row) for row in reversed(self._rows(space, query, (space, session, capped(last))))]

    def messages(
        self, ns: str, *, session: str | None = None, document: int | None = None, last: int | None = None
    ) -> list[Message]:
        """Messages of a session or of one document, in order; with `last`, only that many from the end."""
        space = self.space(ns)
        query, values = f"SELECT {_MESSAGE} FROM messages WHERE ns=%s", list[object]([space])
        for column, value in (("session", session), ("document", document)):
            if value is not None:
                query += f" AND {column}=%s"
                values.append(value)
        query += " ORDER BY session DESC, seq DESC LIMIT %s"
        rows = self._rows(space, query, (*values, None if last is None else max(0, last)))
        return [Message(*row) for row in reversed(rows)]

    def text(self, ns: str, text_id: int, shelf: str = "hot") -> str | None:
        """A text by its id; `None` once erased."""
        return self.texts(ns, (text_id,), shelf).get(text_id)

    def texts(self, ns: str, text_ids: Sequence[int], shelf: str = "hot") -> dict[int, str]:
        """Several texts of one shelf at once."""
        if not text_ids:
            return {}
        space = self.space(ns)
        query = "SELECT id, body FROM texts WHERE ns=%s AND id=ANY(%s) AND shelf=%s"
        return dict(self._rows(space, query, (space, list(map(int, text_ids)), checked_shelf(shelf))))

    def left_texts(self, ns: str) -> list[int]:
        """Ids of the documents that are gone and whose texts are still there: an undo takes out rows of truth only."""
        space = self.space(ns)
        query = (
            "SELECT DISTINCT document FROM texts t WHERE ns=%s AND shelf='hot'"
            " AND NOT EXISTS(SELECT 1 FROM documents d WHERE d.ns=t.ns AND d.id=t.document) ORDER BY document"
        )
        return [number for (number,) in self._rows(space, query, (space,))]

    def text_digests(self, ns: str, documents: Collection[int]) -> dict[int, dict[int, str]]:
        """The digests that rows of truth name for the texts now in use, by document and text."""
        if not documents:
            return {}
        space, wanted = self.space(ns), list(map(int, documents))
        query = (  # a document has a text or messages
            "SELECT id, text_id, digest FROM documents WHERE ns=%s AND id=ANY(%s) AND text_id IS NOT NULL"
            " UNION ALL SELECT document, text_id, digest FROM messages WHERE ns=%s AND document=ANY(%s)"
        )
        found: dict[int, dict[int, str]] = {}
        for number, text_id, digest in self._rows(space, query, (space, wanted, space, wanted)):
            found.setdefault(number, {})[text_id] = digest
        return found

    def document_texts(self, ns: str, document: int, shelf: str = "hot") -> dict[int, str]:
        """Every text of a document, those of its earlier revisions included."""
        space = self.space(ns)
        query = "SELECT id, body FROM texts WHERE ns=%s AND document=%s AND shelf=%s ORDER BY id"
        return dict(self._rows(space, query, (space, document, checked_shelf(shelf))))

    def when_erased(self, ns: str, macs: Sequence[str]) -> dict[str, int]:
        """Which of some keyed digests are those of erased texts, with when that was."""
        space = self.space(ns)
        return dict(self._rows(space, "SELECT mac, at FROM erased WHERE ns=%s AND mac=ANY(%s)", (space, list(macs))))

    def operation(self, ns: str, op_id: str) -> tuple[str, str] | None:
        """The request digest and the receipt of an operation already done."""
        space = self.space(ns)
        found = self._row(space, "SELECT request, receipt FROM operations WHERE ns=%s AND id=%s", (space, op_id))
        return None if found is None else (str(found[0]), str(found[1]))

    def operations(self, ns: str, *, after: str = "", limit: int = 1000) -> list[tuple[str, str, str, int | None]]:
        """Operations already done, in the order of their ids after one: id, request, receipt, document."""
        space = self.space(ns)
        query = "SELECT id, request, receipt, document FROM operations WHERE ns=%s AND id>%s ORDER BY id LIMIT %s"
        return [(name, asked, told, number) for name, asked, told, number in self._rows(space, query, (space, after, limit))]

    def forgotten(self, ns: str) -> dict[str, int]:
        """Every path that was forgotten, with the moment; what lies below one is hidden too."""
        space = self.space(ns)
        query = "SELECT path, forgotten_at FROM visibility WHERE ns=%s AND forgotten_at IS NOT NULL ORDER BY path"
        return dict(self._kept(space, query, (space,)))
