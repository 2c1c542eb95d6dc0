"""An embedder that is opened when it is first asked: a home whose model is away still opens, and answers by words."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from mnemic.embed.base import Embedder, Kind, Vectors
from mnemic.errors import BadInput, ModelError


class Later:
    """The embedder of a known identity; `make` opens it. Safe to call from several threads."""

    def __init__(self, identity: str, dim: int, make: Callable[[], Embedder]) -> None:
        self.identity, self.dim = identity, dim
        self._make = make
        self._made: Embedder | None = None
        self._guard = threading.Lock()

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Unit vectors, shape (len(texts), dim). Raises ModelError, also where another model is found in its place."""
        return self._opened().embed(texts, kind)

    def _opened(self) -> Embedder:
        with self._guard:
            if self._made is None:
                try:
                    made = self._make()
                except BadInput as error:
                    raise ModelError(f"the home's embedder {self.identity!r} cannot be opened: {error}") from error
                if made.identity != self.identity:
                    raise ModelError(
                        f"where the home's embedder {self.identity!r} was, there is {made.identity!r}: put the model back,"
                        " or run `mnemic reembed --model MODEL`"
                    )
                self._made = made
            return self._made
