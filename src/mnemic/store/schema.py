"""What counts as truth, in one table that both engines and the ledger read.

A truth table's rows change only through events, so the ledger can replay them. Everything else (nodes, full-text
rows, vectors, codes, edges, the indexing queue) is derived and can be rebuilt.
"""

from __future__ import annotations

from dataclasses import dataclass

from mnemic.models.experience import EXPERIENCE_COLUMNS


@dataclass(frozen=True, slots=True)
class Table:
    """A truth table: its columns without the namespace, and which of them are its key inside a namespace."""

    name: str
    key: tuple[str, ...]
    columns: tuple[str, ...]
    digests: bool = False
    """Whether `digest` is the SHA-256 of the text that `text_id` names, so that verification covers the text."""


TRUTH: dict[str, Table] = {
    table.name: table
    for table in (
        Table("sessions", ("id",), ("id", "title", "context", "origin", "started_at", "recorded_at")),
        Table(
            "documents",
            ("path",),
            (
                "path", "id", "kind", "title", "context", "origin", "importance", "session", "text_id",
                "digest", "source", "created_at", "recorded_at", "shelf",
            ),
            digests=True,
        ),
        Table(
            "messages",
            ("session", "seq"),
            ("session", "seq", "document", "role", "name", "text_id", "digest", "created_at"),
            digests=True,
        ),
        Table("usage", ("document",), ("document", "last_accessed", "access_count", "tier")),
        Table("visibility", ("path",), ("path", "forgotten_at", "reason")),
        Table("experiences", ("id", "revision"), EXPERIENCE_COLUMNS),
        Table(
            "reports",
            ("experience", "number"),
            (
                "experience", "number", "revision", "outcome", "attribution", "counted", "evidence", "note",
                "tokens_used", "tokens_saved", "dedupe_key", "actor", "at",
            ),
        ),
        Table(
            "summaries",
            ("id",),
            (
                "id", "session", "level", "begins", "ends", "messages", "replaced", "text", "importance", "origin", "judge",
                "sources", "merged_from", "tier", "created_at",
            ),
        ),
        Table("consolidations", ("number",), ("number", "merged", "produced", "note", "at")),
        Table(
            "diary",
            ("id",),
            (
                "id", "kind", "content", "session", "tags", "context", "origin", "at", "recorded_at", "extracted_at",
                "extraction",
            ),
        ),
        Table(
            "extractions",
            ("id",),
            ("id", "trigger", "summary", "produced", "diary_count", "origin", "recorded_at"),
        ),
        Table(
            "facts",
            ("id", "revision"),
            (
                "id", "revision", "category", "key", "slot", "value", "status", "origin", "context", "locked",
                "corroboration", "sources", "valid_from", "valid_to", "affirmed_at", "recorded_at", "retired_at",
                "check_by", "supersedes", "superseded_by", "rival", "approved", "approved_by", "why",
            ),
        ),
        Table(
            "concerns",
            ("id", "revision"),
            (
                "id", "revision", "parent", "kind", "title", "slot", "background", "status", "origin", "context",
                "corroboration", "sources", "valid_from", "valid_to", "affirmed_at", "recorded_at", "retired_at",
                "approved", "approved_by", "why",
            ),
        ),
        Table("chunks", ("id",), ("id", "session", "first", "last", "digest", "state", "judge")),
        Table("subjects", ("key",), ("key", "title", "kind", "article")),
        Table("routes", ("chunk", "subject"), ("chunk", "subject", "turns", "state", "section")),
        Table("dreams", ("id",), ("id", "at", "judge", "report")),
    )
}  # fmt: skip

SEQUENCES = (
    "documents", "texts", "nodes", "vectors", "diary", "facts", "concerns", "extractions", "ingests", "reports",
    "consolidations", "summaries", "dreams",
)  # fmt: skip
"""What identifiers of the home are handed out for. Those of a namespace are named by a JSON array: what is counted, the
namespace, of what."""
