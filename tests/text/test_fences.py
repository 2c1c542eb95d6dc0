from __future__ import annotations

import pytest

from mnemic.text.fences import Fence


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ("a|```|b|```|c", " ### "),
        ("~~~|```|~~~|a", "### "),
        ("````|```|````|a", "### "),
        ("```|````|a", "## "),
        ("```|``` x|```", "###"),
        ("```python|a", "##"),
        ("   ```|a", "##"),
        ("    ```|a", "  "),
        ("```such``` is code in a line|a", "  "),
        ("~~~ `a`|b|~~~", "###"),
    ],
)
def test_fenced_lines_are_code_from_the_opening_to_a_closing_that_is_as_long(lines: str, code: str) -> None:
    fence = Fence()
    assert "".join("#" if fence.takes(line) else " " for line in lines.split("|")) == code


def test_a_fence_that_nothing_closed_is_open() -> None:
    fence = Fence()
    fence.takes("```")
    assert fence.open and not Fence().open
