from __future__ import annotations

import pytest

from mnemic.text.mention import names, paths


def test_names_are_links_and_runs_of_words_that_begin_with_a_capital() -> None:
    assert names("see [[ada lovelace|Ada]] and [[kiln#Firing]]") == [
        "ada lovelace", "kiln", "Ada", "Ada]] and", "Ada]] and [[kiln", "Ada]] and [[kiln#Firing", "Firing",
    ]  # fmt: skip
    assert names("did Ada Lovelace answer?") == ["Ada", "Ada Lovelace", "Ada Lovelace answer", "Lovelace", "Lovelace answer"]
    assert names("Ada.\nGrace") == ["Ada", "Grace"]
    assert names("nobody") == []
    assert len(names("Ada " * 10_000)) == 4


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It stands in /notes/kiln.", ["/notes/kiln"]),
        ("(/sessions/s/1/m2) and facts/3, /notes/kiln/p2", ["/sessions/s/1/m2", "facts/3", "/notes/kiln/p2"]),
        ("https://example.org/notes/kiln", []),
        ("src/facts/3 and /tmp", []),
        ("either/or", []),
    ],
)
def test_paths_are_those_of_memory(text: str, found: list[str]) -> None:
    assert paths(text) == found
