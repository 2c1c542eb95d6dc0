"""Articles that people edited, held to the gate's rules: what fails is told, and nobody mends it by machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from mnemic.store import Store
from mnemic.synthesis import article, gate
from mnemic.synthesis.reading import opens


def faults(store: Store, ns: str, pages: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Path and fault of every article that would not pass the gate; pages without a footnote are none of ours."""
    for path, text in sorted(pages.items()):
        if path.startswith("articles/") and article.note_count(text):
            title = article.title_of(text)
            for problem in gate.check(None, text, title, partial(opens, store, ns)):
                yield path, problem
