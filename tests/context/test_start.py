from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from mnemic.context.budget import PROFILE
from mnemic.context.start import Part, started
from mnemic.models.document import Turn
from mnemic.text import frame as frames
from mnemic.text.tokens import estimate
from tests.homes import NOON
from tests.vault.homes import note, opened

NONCE = "abcd1234"


def part(name: str, *lines: str, latest: tuple[str, ...] = ()) -> Part:
    return Part(name, f"{name}.md", "2026-03-10", "human-file", lines, latest)


def begun(*parts: Part, tokens: int = 2_400, chars: int = 9_000) -> dict[str, str]:
    found = started(parts, [], NONCE, tokens=tokens, chars=chars)
    assert found.tokens <= tokens and len(found.frame) <= chars
    return {item["name"]: item["text"] for item in found.parts}


def test_everything_that_fits_stands_there_in_the_order_of_importance() -> None:
    profile = [frames.Item("profile/facts", "likes tea", "2026-03-10", "user")]
    found = started(
        [part("yesterday", "y"), part("today", "t", latest=("- 12:00 x",)), part("state", "s")], profile, NONCE,
        tokens=2_400, chars=9_000,
    )  # fmt: skip
    assert [(item.path, item.text) for item in frames.parse(found.frame)] == [
        ("state.md", "s"), ("profile/facts", "likes tea"), ("today.md", "t\n- 12:00 x"), ("yesterday.md", "y"),
    ]  # fmt: skip
    assert not any(item["cut"] for item in found.parts)


def test_nothing_known_is_no_frame() -> None:
    assert started([], [], NONCE, tokens=2_400, chars=9_000).json() == {"frame": "", "tokens": 0, "parts": [], "degraded": []}


def test_of_mirrored_lines_the_latest_stay_and_of_a_persons_the_first() -> None:
    found = begun(part("today", "mine", latest=tuple(f"- line {number} {'x' * 60}" for number in range(100))), tokens=600)
    lines = found["today"].splitlines()
    assert lines[0] == "mine" and lines[-1].startswith("- line 99 ") and len(lines) < 30
    found = begun(part("today", *(f"mine {number} {'x' * 60}" for number in range(100)), latest=("- late",)), tokens=600)
    assert found["today"].startswith("mine 0 ") and "late" not in found["today"]


def test_a_line_that_is_too_long_by_itself_is_begun() -> None:
    assert begun(part("state", "word " * 4_000), tokens=500)["state"].endswith("…")


def test_a_long_state_leaves_room_for_the_notes() -> None:
    found = begun(part("state", *["x" * 70] * 200), part("today", "mine"), part("yesterday", "older"))
    assert found["today"] == "mine" and found["yesterday"] == "older" and len(found["state"]) > 3_000


@settings(max_examples=60)
@example([], ["0" * 26, "0" * 45], 120, 503)
@example([], ["ﷺ<" * 200], 300, 2_000)
@given(
    st.lists(st.text(max_size=300), max_size=30), st.lists(st.text(max_size=300), max_size=30), st.integers(120, 3_000),
    st.integers(400, 9_000),
)  # fmt: skip
def test_the_block_never_exceeds_its_budget(own: list[str], latest: list[str], tokens: int, chars: int) -> None:
    parts = [part("state", *own), part("today", *own, latest=tuple(latest)), part("yesterday", latest=tuple(latest))]
    found = started(parts, [], NONCE, tokens=tokens, chars=chars)
    assert len(found.frame) <= chars and estimate(found.frame, PROFILE) == found.tokens <= tokens


def test_a_session_begins_with_state_profile_and_two_notes(tmp_path: Path) -> None:
    memory = opened(tmp_path, git="off")
    note(memory, "state.md", "---\nowner: me\n---\nFocus: the kiln.\n")
    memory.diary.add("I moved to Lisbon.")
    memory.extract({"proposals": [{"category": "identity", "key": "home_city", "value": "Lisbon", "source_diary_ids": [1]}]})
    for days in (0, 1, 2):
        at = int((NOON - timedelta(days=days)).timestamp() * 1000)
        memory.capture([Turn("user", f"question {days}", created_at=at)], session=f"s{days}")
    items = frames.parse(memory.session_start().frame)
    assert [(item.path, item.title) for item in items] == [
        ("state.md", "state"), ("profile/facts", ""), ("daily/2026-03-10.md", "today"), ("daily/2026-03-09.md", "yesterday"),
    ]  # fmt: skip
    assert items[0].text == "Focus: the kiln." and "[question 1](/sessions/s1/1)" in items[3].text


def test_what_a_session_began_with_is_not_captured_again(tmp_path: Path) -> None:
    memory = opened(tmp_path, git="off")
    note(memory, "state.md", "Focus: the walrus.")
    memory.capture([Turn("user", memory.session_start().frame), Turn("assistant", "Understood.")], session="s")
    assert memory.show("/sessions/s/1")["text"] == "assistant: Understood."


def test_a_session_begins_although_the_vault_cannot_be_read(tmp_path: Path) -> None:
    memory = opened(tmp_path, git="off")
    memory.vault.root.write_text("a file where the folder should be")
    found = memory.session_start()
    assert found.frame == "" and len(found.degraded) >= 1
