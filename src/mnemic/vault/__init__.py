"""The vault: Markdown files that people and agents both write, two-way and without loss."""

from mnemic.vault.around import Around
from mnemic.vault.audit import Audit, totals
from mnemic.vault.cards import Cards
from mnemic.vault.compress import Compression
from mnemic.vault.daily import Daily
from mnemic.vault.state import State
from mnemic.vault.vault import BARE, GONE, Door, Page, Report, Vault
from mnemic.vault.watch import Watch

__all__ = [
    "BARE", "GONE", "Around", "Audit", "Cards", "Compression", "Daily", "Door", "Page", "Report", "State", "Vault", "Watch",
    "totals",
]  # fmt: skip
