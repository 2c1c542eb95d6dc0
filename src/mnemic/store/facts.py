"""What a home knows of itself, whichever engine keeps it: facts that are no memory, one text under each name."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable

from mnemic.text.tokens import tokenizer


class Facts(ABC):
    """Who a home is, by which key it knows erased texts, and by which rules its full text was made."""

    store_id: str
    erasure_key: bytes
    tokenizer: str

    @abstractmethod
    def meta(self, key: str) -> str | None:
        """A fact about the home that is no memory."""

    @abstractmethod
    def set_meta(self, key: str, value: str) -> None: ...

    @abstractmethod
    def add_meta(self, key: str, value: str) -> None:
        """Keep a fact, unless there is one under this name: of two processes that make a home the first names it."""

    def know(self) -> None:
        """Read what the home knows of itself; a new one is given it."""
        self.store_id = self._fact("store_id", lambda: secrets.token_hex(16))
        self.erasure_key = bytes.fromhex(self._fact("erasure_key", lambda: secrets.token_hex(32)))
        self.tokenizer = self._fact("tokenizer", tokenizer)

    def _fact(self, key: str, make: Callable[[], str]) -> str:
        found = self.meta(key)
        if found is None:
            self.add_meta(key, make())
            found = self.meta(key)
        assert found is not None
        return found

    def tokenized(self) -> None:
        """The full text was made anew, by the rules of now."""
        self.tokenizer = tokenizer()
        self.set_meta("tokenizer", self.tokenizer)

    def erasure_key_of(self, ns: str) -> bytes:
        """By which the erased texts of a namespace are known."""
        own = self.meta(f"erasure_key:{ns}")
        return bytes.fromhex(own) if own else self.erasure_key

    def take_erasure_key(self, key: bytes, ns: str | None = None) -> None:
        """Know erased texts, or those of a namespace, by the key of another home."""
        if ns is not None:
            self.set_meta(f"erasure_key:{ns}", key.hex())
            return
        self.set_meta("erasure_key", key.hex())
        self.erasure_key = key
