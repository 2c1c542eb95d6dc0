"""The dream: conversations become articles, each sentence with the turn that says it."""

from mnemic.synthesis.dream import STAGES, Dream, Pages, Spent
from mnemic.synthesis.judges import Asked, Judge, Rules

__all__ = ["STAGES", "Asked", "Dream", "Judge", "Pages", "Rules", "Spent"]
