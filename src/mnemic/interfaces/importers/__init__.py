"""Importers: what other tools exported, taken in through the front door."""

from mnemic.interfaces.importers.items import Row, Skipped, Totals
from mnemic.interfaces.importers.run import FORMATS, take

__all__ = ["FORMATS", "Row", "Skipped", "Totals", "take"]
