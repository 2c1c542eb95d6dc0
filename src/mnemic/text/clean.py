"""What every text passes before anything is stored: our own frames out, secrets out, and encodable."""

from __future__ import annotations

from dataclasses import dataclass


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
