"""What time and use do to memories: tiers by last use (001), shelves by age (000). Nothing is ever deleted by either."""

from mnemic.lifecycle.rotation import Rotation
from mnemic.lifecycle.tending import Tending
from mnemic.lifecycle.usage import Usages

__all__ = ["Rotation", "Tending", "Usages"]
