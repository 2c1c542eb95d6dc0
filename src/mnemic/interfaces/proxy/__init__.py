"""`mnemic proxy`: any client of a language model gets memory and endless context by changing its base URL."""

from mnemic.interfaces.proxy.serve import serve

__all__ = ["serve"]
