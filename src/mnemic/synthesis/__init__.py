"""The dream: conversations become articles, each sentence with the turn that says it."""

from mnemic.synthesis.audit import faults
from mnemic.synthesis.dream import CHANGELOG, MAP, Dream, Pages
from mnemic.synthesis.judges import Asked, Judge, Rules
from mnemic.synthesis.orders import Orders
from mnemic.synthesis.wiki import Wiki

__all__ = ["CHANGELOG", "MAP", "Asked", "Dream", "Judge", "Orders", "Pages", "Rules", "Wiki", "faults"]
