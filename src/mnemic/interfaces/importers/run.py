"""An import from its first file to its report: every item goes in through `Memory`, as any other conversation or text does.

What is there already is recognised, so an import can be repeated, and one that was killed goes on by being started
again. Texts bear the origin `import`: they are quoted, and raise no fact by themselves. Vectors are made at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mnemic.clock import from_ms, to_ms
from mnemic.errors import BadInput
from mnemic.interfaces.importers import agents, chats, notes, slack
from mnemic.interfaces.importers.files import Source, opened
from mnemic.interfaces.importers.items import Conversation, Graph, Item, Page, Row, Skipped, Totals
from mnemic.models.document import Turn
from mnemic.models.receipt import Receipt

if TYPE_CHECKING:
    from mnemic.memory import Memory

FORMATS: dict[str, Callable[[Source], Iterator[Item]]] = {
    "chatgpt": chats.chatgpt,
    "claude": chats.claude,
    "claude-code": agents.claude_code,
    "codex": agents.codex,
    "gemini": chats.gemini,
    "openai-jsonl": chats.openai_jsonl,
    "sharegpt": chats.sharegpt,
    "slack": slack.slack,
    "obsidian": notes.obsidian,
    "markdown": notes.markdown,
    "mem0": notes.mem0,
    "server-memory": notes.server_memory,
}
TOLD = 1000
"""Of what was not taken in, so many are listed; all are counted."""


def take(
    memory: Memory, format: str, path: Path, *, dry_run: bool = False, told: Callable[[Row], None] = lambda row: None,
    progress: Callable[[int, int], None] = lambda done, whole: None, indexing: Callable[[int], None] = lambda done: None,
) -> Totals:  # fmt: skip
    """Import a file, folder or zip archive. `told` hears of every conversation and page, `progress` of bytes read and all,
    `indexing` of documents that have their vectors.

    Raises BadInput for an unknown format or a path that is no good; what is wrong inside is in the report.
    """
    if format not in FORMATS:
        raise BadInput(f"format {format!r} is unknown: use mnemic, {', '.join(FORMATS)}")
    done = 0

    def read(count: int) -> None:
        nonlocal done
        done += count
        progress(done, whole)

    source = opened(path, read)
    whole = source.size
    run = _Run(memory, Totals(format=format, dry_run=dry_run), told)
    try:
        for skipped in source.skipped:
            run.skip(skipped)
        for item in FORMATS[format](source):
            run.item(item)
        run.close()
        if not run.totals.conversations + run.totals.pages + len(run.totals.skipped):
            run.skip(Skipped(source.name, f"nothing in the shape of {format} was found in it"))
    finally:
        source.close()
    if not dry_run:  # also where nothing is new: the import that brought it may have been killed before this
        drained = memory.index(indexing)
        run.totals.indexed, run.totals.reason = drained["indexed"], drained["error"]
    return run.totals


class _Run:
    """One import under way."""

    def __init__(self, memory: Memory, totals: Totals, told: Callable[[Row], None]) -> None:
        self.totals = totals
        self._memory, self._told = memory, told
        self._row: Row | None = None

    def item(self, item: Item) -> None:
        if isinstance(item, Skipped):
            self.skip(item)
        elif isinstance(item, Conversation):
            self._conversation(item)
        elif isinstance(item, Page):
            self._page(item)
        else:
            self._graph(item)

    def skip(self, skipped: Skipped) -> None:
        self.totals.broken += skipped.broken
        if len(self.totals.skipped) < TOLD:
            self.totals.skipped.append(skipped)

    def close(self) -> None:
        """Tell of the last one."""
        if self._row is not None:
            row, self._row = self._row, None
            self.totals.add(row)
            self.totals.conversations += row.kind == "conversation"
            self.totals.pages += row.kind != "conversation"
            self._told(row)

    def _begin(self, where: str, kind: str, name: str, title: str, known: bool) -> Row:
        if self._row is None or (self._row.kind, self._row.name) != (kind, name):
            self.close()
            self._row = Row(where=where, kind=kind, name=name, title=title, known=known)
        return self._row

    def _conversation(self, item: Conversation) -> None:
        memory = self._memory
        name = item.session or f"{self.totals.format}-{memory.fingerprint(_words(item.turns))[:16]}"
        before = memory.session(name)
        row = self._begin(item.where, "conversation", name, item.title, before is not None)
        row.left_out += item.left_out
        at = item.at if item.at is not None or before is None else before["started_at"]
        turns = _timed(list(_pieces(item.turns, memory.settings.capture.max_chars)), at, to_ms(memory.clock.now()))
        row.messages += len(turns)
        if turns:
            row.since = min(turn.created_at or 0 for turn in turns) if row.since is None else row.since
            row.until = max(turn.created_at or 0 for turn in turns)
        if self.totals.dry_run or not turns:
            return
        try:
            report = memory.capture(
                turns, session=name, context=item.context, origin="import", title=item.title, index=False
            )
        except BadInput as error:
            self.skip(Skipped(item.where, str(error)))
            return
        self._count(row, report.receipts)

    def _page(self, item: Page) -> None:
        memory = self._memory
        name = item.source or item.title
        known = bool(item.source) and memory.path_of(item.source or "") is not None
        row = self._begin(item.where, "page", name, item.title, known)
        row.messages += 1
        row.since = row.until = item.at
        if self.totals.dry_run:
            return
        try:
            receipt = memory.remember(
                item.text, title=item.title, kind=item.kind, at=None if item.at is None else from_ms(item.at),
                context=item.context, source=item.source, origin="import", index=False,
            )  # fmt: skip
        except BadInput as error:
            self.skip(Skipped(item.where, str(error)))
            return
        self._count(row, [receipt])

    def _graph(self, item: Graph) -> None:
        row = self._begin(item.where, "graph", item.where, "", False)
        found = self._memory.graph.take(item.lines, dry_run=self.totals.dry_run)
        fresh = found["entities"] + found["observations"] + found["relations"]
        row.messages, row.duplicate = found["read"], found["read"] - fresh
        row.stored = 0 if self.totals.dry_run else fresh
        for one in found["skipped"]:
            self.skip(Skipped(f"{item.where}, line {one['line']}", one["why"]))

    def _count(self, row: Row, receipts: Sequence[Receipt]) -> None:
        for receipt in receipts:
            row.stored += receipt.status in ("stored", "queued")
            row.duplicate += receipt.status == "duplicate"
            row.rejected += receipt.status == "rejected"
            row.redacted += receipt.redacted if receipt.status in ("stored", "queued") else 0


def _words(turns: Sequence[Turn]) -> str:
    return "\0".join(f"{turn.role}\0{turn.name}\0{turn.content}" for turn in turns)


def _pieces(turns: Sequence[Turn], most: int) -> Iterator[Turn]:
    """The turns, each that is over the limit of one message as several."""
    for turn in turns:
        if len(turn.content) <= most:
            yield turn
        else:
            for start in range(0, len(turn.content), most):
                yield replace(turn, content=turn.content[start : start + most])


def _timed(turns: Sequence[Turn], at: int | None, now: int) -> list[Turn]:
    """The turns with a time each: their own, else that of the one before, of the next that has one, or `at`.

    The same whenever it is read, so that a second import recognises them.
    """
    last = next((turn.created_at for turn in turns if turn.created_at is not None), now if at is None else at)
    found = []
    for turn in turns:
        last = turn.created_at if turn.created_at is not None else last
        found.append(replace(turn, created_at=last))
    return found
