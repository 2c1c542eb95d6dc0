from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.vault.log import appended, only_appended


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", b"## History\n\n- x\n"),
        (b"text", b"text\n\n## History\n\n- x\n"),
        (b"---\ntype: note\n---\n", b"---\ntype: note\n---\n## History\n\n- x\n"),
        (b"## History\n", b"## History\n\n- x\n"),
        (b"# A\n\n## History\n\n- a\n\n\n## Next\r\n", b"# A\n\n## History\n\n- a\r\n- x\r\n\n\n## Next\r\n"),
        (b"## history ##\r\n\r\n- a", b"## history ##\r\n\r\n- a\r\n- x\r\n"),
        (b"## History\n- a\n### 2025\n- b\n# Next\n", b"## History\n- a\n### 2025\n- b\n- x\n# Next\n"),
        (b"```\n## History\n```\n", b"```\n## History\n```\n\n## History\n\n- x\n"),
        (b"```such``` is code in a line\n## History\n- a\n", b"```such``` is code in a line\n## History\n- a\n- x\n"),
        (b"## History\n~~~\n# no end\n~~~\n## End\n", b"## History\n~~~\n# no end\n~~~\n- x\n## End\n"),
    ],
)
def test_a_line_comes_last_in_the_history_and_nothing_else_changes(data: bytes, expected: bytes) -> None:
    assert appended(data, "x") == expected


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (b"## History\n- a\n- b\n", True), (b"## History\n- a\n- b\n- c\n## End\n", True),
        (b"new top\n## History\n- a\n- b\n", True), (b"## History\r\n- a\n- b\r\n- c", True),
        (b"## History\n- a\n", False), (b"## History\n- b\n- a\n", False), (b"## History\n- a\n- bc\n", False),
        (b"- a\n- b\n", False), (b"## History\n- new\n- a\n- b\n", False), (b"## Histories\n- a\n- b\n", False),
    ],
)  # fmt: skip
def test_what_stands_in_a_history_may_not_change(after: bytes, expected: bool) -> None:
    assert only_appended(b"## History\n- a\n- b\n", after) == expected


PIECES = st.lists(st.sampled_from([b"## History", b"# A", b"- a", b"```", b"", b"text", b"### b", b"~~~~", b"\xff"]), max_size=9)


@given(PIECES, st.sampled_from([b"\n", b"\r\n"]), st.booleans(), st.text(max_size=9))
def test_appending_is_appending_whatever_the_note(lines: list[bytes], newline: bytes, ended: bool, entry: str) -> None:
    data = newline.join(lines) + (newline if ended else b"")
    once = appended(data, entry)
    assert only_appended(data, once) and only_appended(once, appended(once, "more"))
    assert len(once) > len(data)
    rest = iter(once)
    assert all(byte in rest for byte in data)  # all old bytes are there, in their order
