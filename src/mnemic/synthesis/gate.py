"""The gate: what must hold of an article before it is written. It can only reject; it changes nothing.

Whoever drafted a text, a model or a rule, the same checks stand between it and the vault. Each returns what is wrong in
words; an empty list lets the text pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from itertools import pairwise

from mnemic.synthesis import article
from mnemic.synthesis.article import APPARATUS, LEAD, REFERENCES, SEE_ALSO, Source
from mnemic.text.secrets import redact

FLOOR = 0.7
"""Share of its words that an article must keep."""
ALARM = 0.9
"""Share of all words of all articles that a dream must leave; below it the whole dream stops."""
LARGEST = 400_000
"""Characters of an article."""
_LEAK = re.compile(
    r"\b(?:as an ai\b|as a (?:large )?language model|i(?: am|'m) (?:sorry|unable)|my instructions|system prompt"
    r"|i can(?:no|')t (?:help|assist|comply|provide)|you are (?:a|an) (?:helpful|assistant|editor|wiki)"
    r"|here(?:'s| is) the (?:section|article|rewritten|updated|draft)|as requested|ignore (?:all |any )?previous"
    r"|(?:the )?(?:provided|given|above) (?:statements?|sources?|text|conversation|json|schema)|response_format"
    r"|begin(?:_of_text|ning of prompt)|let me know if)"
    r"|<\|[a-z_]+\|>|<memory-recall|\[/?INST\]|</?s>|<script|<iframe|^sure[,!]",
    re.IGNORECASE | re.MULTILINE,
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufffd]")
_SENTENCE_END = re.compile(r"[.!?…。！？”\"'’)」]$")

Resolves = Callable[[Source], bool]
"""Whether a footnote's path opens, and is a turn of the conversation that the footnote names."""


def check(before: str | None, after: str, title: str, resolves: Resolves, pruned: Collection[str] = ()) -> list[str]:
    """What is wrong with `after` as an article, and as the successor of `before`. `pruned` may lose their citation."""
    return [*_form(after, title), *_citations(after, resolves), *_kept(before, after, pruned)]


def _form(text: str, title: str) -> list[str]:
    found: list[str] = []
    rows = article.headings(text)
    tops = [heading for level, heading in rows if level == 1]
    seconds = [heading for level, heading in rows if level == 2]
    if tops != [title]:
        found.append(f"its title must be {title!r} and stand once, not {tops[:3]!r}")
    if seconds.count(REFERENCES) != 1 or seconds[-1] != REFERENCES:
        found.append("References must stand once, as the last section")
    if seconds.count(SEE_ALSO) > 1:
        found.append("there is more than one See also")
    if twice := sorted({heading for heading in seconds if seconds.count(heading) > 1}):
        found.append(f"section {twice[0]!r} stands twice")
    if article.fence_open(text):
        found.append("a code fence is left open")
    if len(text) > LARGEST:
        found.append(f"it has {len(text):,} characters, the limit is {LARGEST:,}")
    if _CONTROL.search(text.replace("\r\n", "\n")):
        found.append("it has control characters")
    if not article.prose(text).strip():
        found.append("it has no text")
    return found


def _citations(text: str, resolves: Resolves) -> list[str]:
    cited, known = set(article.markers(text)), article.notes(text)
    found: list[str] = []
    if article.note_count(text) != len(known):
        found.append("a footnote is not of the form, or stands twice")
    if loose := sorted(cited - known.keys()):
        found.append(f"[^{loose[0]}] has no footnote")
    if unused := sorted(known.keys() - cited):
        found.append(f"footnote {unused[0]} is cited nowhere")
    if sorted(known) != list(range(1, len(known) + 1)):
        found.append("footnotes are not numbered 1, 2, 3, …")
    paths = [source.path for source in known.values()]
    if len(set(paths)) < len(paths):
        found.append("two footnotes name the same turn")
    if nowhere := next((source.path for source in known.values() if not resolves(source)), None):
        found.append(f"footnote to {nowhere!r} leads nowhere, or to another conversation than it says")
    if not known:
        found.append("nothing is cited")
    return found


def _kept(before: str | None, after: str, pruned: Collection[str]) -> list[str]:
    if before is None:
        return []
    found: list[str] = []
    had, has = article.words(article.prose(before)), article.words(article.prose(after))
    if has < FLOOR * had:
        found.append(f"it would shrink from {had} words to {has}")
    kept = {source.path for source in article.notes(after).values()} | set(pruned)
    if lost := sorted({source.path for source in article.notes(before).values()} - kept):
        found.append(f"the citation of {lost[0]!r} would be lost")
    return found


def outside(before: str, after: str, anchors: Collection[str]) -> list[str]:
    """What a patch changed beside its target: only these sections and the references, and new sections, may differ."""
    old, new = article.sections(before), {row.anchor: row for row in article.sections(after)}
    found: list[str] = []
    for row in old:
        if row.anchor in anchors or row.heading in APPARATUS or row.level > 2:
            continue
        now = new.get(row.anchor)
        if now is None or _bare(before[row.start : row.end], row) != _bare(after[now.start : now.end], now):
            found.append(f"section {row.heading or LEAD!r} would change, and it was not the target")
    return found


def _bare(text: str, row: article.Section) -> str:
    plain = text.rstrip("\n")
    return plain.replace(f"\n{article.STUB}", "").rstrip("\n") if row.anchor == LEAD else plain


def draft(text: str, longest: int) -> list[str]:
    """What is wrong with the words of one sentence, whoever wrote them."""
    found: list[str] = []
    if not text.strip():
        found.append("an empty sentence")
    if len(text) > longest:
        found.append(f"a sentence of {len(text):,} characters")
    if "\n" in text or text.lstrip().startswith(("#", "```", "~~~", "|", ">", "- ", "* ", "[^")) or _CONTROL.search(text):
        found.append("markup where a sentence should be")
    if "[^" in text or "conv:" in text or "http://" in text or "https://" in text or "[[" in text or "](" in text:
        found.append("a citation or link of its own")
    if _LEAK.search(text):
        found.append("it talks about the task instead of the subject")
    if redact(text)[1]:
        found.append("a secret")
    if text.strip() and not _SENTENCE_END.search(text.strip()):
        found.append("a sentence that breaks off")
    return found


def conserved(before: Mapping[str, str], after: Mapping[str, str | None], pruned: Collection[str] = ()) -> list[str]:
    """What a whole dream would lose: `before` and `after` are the texts of the pages it changes, by path."""
    found: list[str] = []
    dead = {path for path, text in before.items() if {source.path for source in article.notes(text).values()} <= set(pruned)}
    if gone := sorted(path for path in before if after.get(path) is None and path not in dead):
        found.append(f"{gone[0]!r} would vanish")
    had = {source.path for text in before.values() for source in article.notes(text).values()} - set(pruned)
    has = {source.path for text in after.values() if text for source in article.notes(text).values()}
    if lost := sorted(had - has):
        found.append(f"{len(lost)} sources would be cited nowhere any more, the first is {lost[0]!r}")
    was = sum(article.words(article.prose(text)) for text in before.values())
    now = sum(article.words(article.prose(text)) for text in after.values() if text)
    if now < ALARM * was and not pruned:
        found.append(f"the articles would shrink from {was} words to {now}")
    return found


def rising(places: Collection[int], turns: int) -> bool:
    """Whether these are the first turns of segments: within, in order, beginning with the first."""
    rows = list(places)
    return bool(rows) and rows[0] == 0 and all(a < b for a, b in pairwise(rows)) and rows[-1] < turns
