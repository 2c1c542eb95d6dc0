from __future__ import annotations

from pathlib import Path

from bench.vault import Figures, links, sync


def test_a_generated_vault_with_hostile_names_keeps_every_byte_and_syncs_to_nothing_twice(tmp_path: Path) -> None:
    figures = Figures()
    sync(tmp_path, None, 40, 3, figures)
    assert figures.notes == 41 and figures.second_did == 0 and figures.rewritten > 0
    assert (figures.changed_bytes, figures.problems) == ([], [])


def test_links_and_maps_of_cards_are_all_there_after_a_rebuild(tmp_path: Path) -> None:
    figures = Figures()
    links(tmp_path, 60, figures)
    assert figures.cards == 60 and figures.problems == []
