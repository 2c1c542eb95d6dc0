"""Taking text in: the only flow that turns what was said or written into memory."""

from mnemic.capture.buffer import ConversationBuffer
from mnemic.capture.indexing import Indexer
from mnemic.capture.intake import Intake, Note

__all__ = ["ConversationBuffer", "Indexer", "Intake", "Note"]
