from __future__ import annotations

from pathlib import Path

from bench.vault import Figures, interleave_cards, links, sync


def test_a_generated_vault_with_hostile_names_keeps_every_byte_and_syncs_to_nothing_twice(tmp_path: Path) -> None:
    figures = Figures()
    sync(tmp_path, None, 60, 3, figures)
    assert figures.notes == 62 and figures.decay > 0 and figures.second_did == 0 and figures.rewritten > 0
    assert (figures.changed_bytes, figures.problems) == ([], [])


def test_links_and_maps_of_cards_are_all_there_after_a_rebuild(tmp_path: Path) -> None:
    figures = Figures()
    links(tmp_path, 90, figures)
    assert figures.cards == 90 and figures.problems == []


def test_what_a_person_saves_while_a_card_is_written_is_in_a_note_and_in_memory_afterwards(tmp_path: Path) -> None:
    figures = Figures()
    interleave_cards(tmp_path, 25, 7, figures)
    assert (figures.lost, figures.problems) == ([], []) and figures.card_saves > 10
