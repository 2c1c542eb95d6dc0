"""The seam between memory and the engine that keeps it.

A store keeps rows and gives candidates with raw scores. It knows nothing of ranking, trust or Markdown, and it
never changes a row of truth except through `Transaction.apply`, which `mnemic.ledger` alone calls, in the
same transaction as the event that explains the change.
"""

from mnemic.store.base import (
    CodeBlock,
    EmbedderRow,
    Found,
    Ids,
    NewNode,
    QueueRow,
    Said,
    Store,
    Transaction,
    VaultFile,
    VectorRow,
)
from mnemic.store.sqlite import SqliteStore, open_sqlite

__all__ = [
    "CodeBlock",
    "EmbedderRow",
    "Found",
    "Ids",
    "NewNode",
    "QueueRow",
    "Said",
    "SqliteStore",
    "Store",
    "Transaction",
    "VaultFile",
    "VectorRow",
    "open_sqlite",
]
