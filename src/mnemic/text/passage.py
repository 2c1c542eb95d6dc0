"""What a node is found by: the words that are indexed and embedded for it.

A speaker's name belongs in the indexed text: without it half of the questions about two people find nothing
(docs/recall.md). A document's title belongs in the text of its root, unless the text begins with it anyway.
"""

from __future__ import annotations


def passage(body: str, start: int, reach: int, *, speaker: str = "", title: str = "") -> str:
    """The text that stands for body[start:reach] in full text and vectors; empty if the span is empty."""
    if reach <= start:
        return ""
    text = body[start:reach].strip()
    if title and not text.lstrip("# ").casefold().startswith(title.casefold()):
        text = f"{title}\n{text}"
    return f"{speaker}: {text}" if speaker else text
