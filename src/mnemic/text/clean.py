"""What every text passes before anything is stored: our own frames out, secrets out, and encodable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mnemic.errors import BadInput


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A text as it may be stored."""

    text: str
    redacted: int
    """How many secrets were replaced."""
    frames: int
    """How many frames of recalled memory were taken out."""


def cleaned(text: str, *, redact: bool = True) -> Cleaned:
    """The text as it may be stored; with `redact`, every secret in it replaced by `[redacted:KIND]`."""
    text = encodable(text)
    frames = 0
    if "memory-recall" in text:
        from mnemic.text.frame import strip

        text, frames = strip(text)
    if not redact or not text:
        return Cleaned(text, 0, frames)
    from mnemic.text.secrets import redact as take_out

    text, findings = take_out(text)
    return Cleaned(text, len(findings), frames)


def encodable(text: str) -> str:
    """The text with NUL and lone surrogates, e.g. of a truncated JSON escape, replaced: no server can store them."""
    text = text.replace("\0", "\ufffd")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def storable(given: Any) -> Any:
    """What a client sent, with texts that can be stored. Raises BadInput for what is nested too deep or too large."""
    try:
        return _storable(given)
    except RecursionError:
        raise BadInput("the body is nested too deep: send it flat") from None


def _storable(given: Any) -> Any:
    if isinstance(given, str):
        return encodable(given)
    if isinstance(given, list):
        return [_storable(item) for item in given]
    if isinstance(given, dict):
        return {encodable(name): _storable(item) for name, item in given.items()}
    if isinstance(given, int) and abs(given) >= 2**63:
        raise BadInput(f"{str(given)[:30]} is too large a number: give one below 2^63")
    return given
