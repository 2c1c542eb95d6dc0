"""A text under a key, as other frameworks' stores hold it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record as it stands."""

    key: Key
    head: Mapping[str, Any]
    """What only its own surface reads."""
    body: str
    """What recall finds."""
    path: str
    """Where its document stands."""
    origin: str
    created_at: datetime
    updated_at: datetime
