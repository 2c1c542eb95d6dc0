from __future__ import annotations

from pathlib import Path

import pytest

from mnemic.errors import BadInput
from mnemic.memory import Memory
from tests.vault.homes import note, opened


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return opened(tmp_path, git="off")


def test_the_state_is_written_measured_and_recalled(memory: Memory) -> None:
    assert memory.state.show()["bytes"] == 0
    row = memory.state.write("# Now\n\nFocus: the kiln.\n")
    assert (row["path"], row["bytes"], row["lines"], row["over"]) == ("state.md", 24, 3, False)
    assert (memory.vault.root / "state.md").read_text() == "# Now\n\nFocus: the kiln.\n"
    assert memory.recall("focus kiln").hits[0].path.startswith("/vault/state")
    memory.state.write("Focus: the boat.")
    assert memory.state.show()["body"] == "Focus: the boat.\n" and memory.verify().ok


@pytest.mark.parametrize("text", ["x" * 4095 + "\n", "x\n" * 81])
def test_a_state_over_its_limits_is_refused_with_the_figures(memory: Memory, text: str) -> None:
    memory.state.write("Focus: the kiln.")
    with pytest.raises(BadInput, match=r"[\d,]+ bytes and \d+ lines, it must stay below 4,096"):
        memory.state.write(text)
    assert memory.state.body() == "Focus: the kiln.\n"


def test_a_persons_head_and_line_ends_stay(memory: Memory) -> None:
    file = note(memory, "state.md", b"\xef\xbb\xbf---\r\nowner:  me # kept\r\n---\r\nold\r\n")
    memory.state.write("new\nlines\n")
    assert file.read_bytes() == b"\xef\xbb\xbf---\r\nowner:  me # kept\r\n---\r\nnew\r\nlines\r\n"


def test_what_an_agent_writes_there_is_the_agents(memory: Memory) -> None:
    memory.state.write("mine")
    assert memory.show("/vault/state")["origin"] == "user"
    memory.state.write("its own", origin="agent")
    assert memory.show("/vault/state")["origin"] == "agent"
    assert '"path": "state.md", "date": "2026-03-10", "origin": "agent"' in memory.session_start().frame


def test_secrets_and_frames_do_not_get_into_it(memory: Memory) -> None:
    memory.remember("The kiln fires at noon.")
    frame = memory.recall("kiln", frame=True).frame
    memory.state.write(f"{frame}\nkey AKIAIOSFODNN7EXAMPLE\n")
    assert "memory-recall" not in memory.state.body() and "AKIAIOSFODNN7EXAMPLE" not in memory.state.body()
