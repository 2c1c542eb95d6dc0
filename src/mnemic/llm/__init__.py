"""The seam to language models: a judge answers one question in a given shape, within a budget. Off unless configured."""

from mnemic.llm.base import Budgeted, Judge, Reply
from mnemic.llm.endpoint import Endpoint, open_judge

__all__ = ["Budgeted", "Endpoint", "Judge", "Reply", "open_judge"]
