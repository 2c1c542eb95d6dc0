"""The window: a conversation never overflows its model. Old spans become summaries, and what matters now is brought back."""

from mnemic.context.budget import Budget, budget
from mnemic.context.window import ContextWindow, Prepared

__all__ = ["Budget", "ContextWindow", "Prepared", "budget"]
