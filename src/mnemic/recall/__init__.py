"""Recall: from a question to the few memories that answer it, with the reasons."""

from mnemic.recall.engine import Outdated, Recall
from mnemic.recall.index import VectorIndex
from mnemic.recall.score import SCORINGS

__all__ = ["SCORINGS", "Outdated", "Recall", "VectorIndex"]
