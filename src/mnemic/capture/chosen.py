"""Which embedder a home uses, once it was embedded anew: it stands in the home, for every process that opens it.

Until then the settings say it. Afterwards the home does, because the vectors are in the home: settings that name another
embedder change nothing but that everybody is told (`Chosen.against`), and `mnemic reembed` makes them true.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from mnemic.embed import Embedder, Later, open_embedder
from mnemic.errors import BadInput, MnemicError, ModelError
from mnemic.settings import EmbedderName, EmbedSettings, Secret
from mnemic.store import Store

META = "embedder"
"""Under which it is kept in the home."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """An embedder, and how it is opened."""

    identity: str
    dim: int
    embedder: EmbedderName | None
    """None: it was given as an object, so whoever opens the home has to give it."""
    model: str | None = None
    """With an absolute path, where it is a folder."""
    url: str | None = None

    @classmethod
    def of(cls, embedder: Embedder, embed: EmbedSettings | None) -> Chosen:
        """An embedder that settings opened; without them, one that a program gave."""
        if embed is None:
            return cls(embedder.identity, embedder.dim, None)
        if embed.embedder in (None, "hashing"):
            return cls(embedder.identity, embedder.dim, "hashing")
        return cls(embedder.identity, embedder.dim, embed.embedder, folder_of(embed.model), embed.url)

    @classmethod
    def read(cls, text: str | None) -> Chosen | None:
        """What a home keeps; None in one that was never embedded anew."""
        return None if text is None else cls(**json.loads(text))

    @property
    def text(self) -> str:
        """What a home keeps."""
        return json.dumps(asdict(self), separators=(",", ":"))

    def named_by(self, embed: EmbedSettings) -> bool:
        """Whether settings name just this."""
        if embed.embedder != self.embedder:
            return False
        if embed.embedder == "hashing":
            return (embed.dim or 256) == self.dim
        server = embed.embedder == "http"
        return folder_of(embed.model) == self.model and (not server or (embed.url, embed.dim) == (self.url, self.dim))

    def opened(self, embed: EmbedSettings) -> Embedder:
        """The embedder, opened when it is first asked. A key goes to no server but the one that the settings name it for."""
        if self.embedder is None:
            return Later(self.identity, self.dim, partial(_missing, self.identity))
        key = embed.key.value if embed.url in (None, self.url) else ""
        make = partial(
            open_embedder, self.embedder, model=self.model, dim=self.dim, url=self.url, key=key or None,
            download=embed.download, threads=embed.threads,
        )  # fmt: skip
        return Later(self.identity, self.dim, make)

    def against(self, other: str) -> str:
        """What is said where the settings or the program name another embedder."""
        return (
            f"{other} is named, but this home's vectors are of {self.identity!r}, which it goes on with: run `mnemic reembed`"
            " to change over, or name that one"
        )


def opened(embed: EmbedSettings) -> Embedder:
    """The embedder that settings name; where they name none, the one that is always there."""
    return open_embedder(
        embed.embedder or "hashing", model=embed.model, dim=embed.dim, url=embed.url, key=embed.key.value or None,
        download=embed.download, threads=embed.threads,
    )  # fmt: skip


def embedder_for(chosen: Chosen | None, embed: EmbedSettings, given: Embedder | None) -> tuple[Embedder, str | None]:
    """The embedder that a home is opened with, and what is said where settings or the program name another one."""
    if chosen is None:
        return opened(embed) if given is None else given, None
    if given is None and (embed.embedder is None or chosen.named_by(embed)):
        return chosen.opened(embed), None
    try:
        named = opened(embed) if given is None else given
    except MnemicError as error:
        return chosen.opened(embed), chosen.against(f"an embedder that cannot be opened ({error})")
    if named.identity == chosen.identity:
        return named, None
    return chosen.opened(embed), chosen.against(repr(named.identity))


def uses(store: Store, identity: str) -> bool:
    """Whether a home has not gone over to another embedder."""
    chosen = Chosen.read(store.meta(META))
    return chosen is None or chosen.identity == identity


def inferred(
    present: EmbedSettings, embedder: str | None, model: str | None, url: str | None, dim: int | None
) -> EmbedSettings:
    """The settings of an embedder of which somebody named a part: a server's where there is a URL, else a model's here.

    Raises BadInput where the parts do not fit.
    """
    if embedder is None:
        here = model is not None and Path(model).expanduser().is_dir()
        server = url is not None or (present.embedder == "http" and not here)
        embedder = "http" if server else "onnx"
    if embedder not in ("hashing", "onnx", "http"):
        raise BadInput(f"the embedder is {embedder!r}: choose 'hashing', 'onnx' or 'http'")
    if embedder == "hashing" and (model or url):
        raise BadInput(f"the hashing embedder has no model and no server: leave {(model or url)!r} out")
    if embedder == "onnx" and url:
        raise BadInput(f"an onnx model runs here: leave --url {url!r} out, or give --embedder http")
    if embedder == "http":
        url = url or present.url
    own = present.model if embedder == present.embedder != "hashing" else None
    key = present.key if present.url in (None, url) else Secret("")
    return replace(present, embedder=embedder, model=folder_of(model) or own, url=url, dim=dim, key=key)  # type: ignore[arg-type]


def folder_of(model: str | None) -> str | None:
    """A model as it is kept: a folder by its absolute path, a name as it is."""
    if model is None:
        return None
    folder = Path(model).expanduser()
    return str(folder.resolve()) if folder.is_dir() else model


def _missing(identity: str) -> Embedder:
    raise ModelError(f"the home's embedder {identity!r} was given by a program: give it to Memory.open(embedder=...)")
