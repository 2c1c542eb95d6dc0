"""The vault: Markdown files that people and agents both write, two-way and without loss."""

from mnemic.vault.cards import Cards
from mnemic.vault.vault import GONE, Door, Page, Report, Vault
from mnemic.vault.watch import Watch

__all__ = ["GONE", "Cards", "Door", "Page", "Report", "Vault", "Watch"]
