"""The dream: conversations become articles, each sentence with the turn that says it."""

from mnemic.synthesis.dream import STAGES, Dream, Pages
from mnemic.synthesis.judges import Asked, Judge, Rules
from mnemic.synthesis.orders import Orders
from mnemic.synthesis.wiki import Wiki

__all__ = ["STAGES", "Asked", "Dream", "Judge", "Orders", "Pages", "Rules", "Wiki"]
