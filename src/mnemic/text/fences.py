"""Fenced code in Markdown, line by line: what looks like a heading or a link in it is none (CommonMark 0.31 §4.5)."""

from __future__ import annotations

import re

_MARK = re.compile(r" {0,3}(`{3,}|~{3,})")


class Fence:
    """Is shown the lines of a text one after the other and tells which are code."""

    __slots__ = ("_mark",)

    def __init__(self) -> None:
        self._mark = ""

    @property
    def open(self) -> bool:
        """Whether the line to come stands inside."""
        return bool(self._mark)

    def takes(self, line: str) -> bool:
        """Whether a line, with its end or without, belongs to fenced code; the lines that open and close it do."""
        mark = _MARK.match(line)
        if self._mark:
            if mark and mark[1].startswith(self._mark) and not line[mark.end() :].strip():
                self._mark = ""
            return True
        # Backticks after backticks are code within a line: ```such``` opens nothing.
        if mark is None or (mark[1][0] == "`" and "`" in line[mark.end() :]):
            return False
        self._mark = mark[1]
        return True
