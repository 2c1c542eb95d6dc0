"""The seam to language models: a judge answers one question in a given shape, within a budget. Off unless configured."""

from mnemic.llm.base import CONTEXT, Budgeted, Failed, Judge, Reply, bound, parted
from mnemic.llm.endpoint import Endpoint, open_judge

__all__ = ["CONTEXT", "Budgeted", "Endpoint", "Failed", "Judge", "Reply", "bound", "open_judge", "parted"]
