"""A memory with a conversation in it, and judges that answer as a test wants."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mnemic.clock import FixedClock
from mnemic.llm.base import Reply
from mnemic.memory import Memory
from mnemic.models.document import Turn
from tests.homes import NOON

TALK = Path(__file__).parents[2] / "examples" / "talk.jsonl"


def opened(folder: Path, *, judge: Any = None, git: str = "off", clock: FixedClock | None = None) -> Memory:
    home = folder / "home"
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "mnemic.toml").exists():
        (home / "mnemic.toml").write_text(f'[vault]\ngit = "{git}"\n')
    return Memory.open(home, environ={"MNEMIC_CONFIG": str(folder / "config")}, clock=clock or FixedClock(NOON), judge=judge)


def talk(memory: Memory, *sessions: str) -> None:
    """Capture the example conversation, or only these sessions of it."""
    from mnemic.clock import to_ms
    from mnemic.text.when import parse_moment

    rows = [json.loads(line) for line in TALK.read_text("utf-8").splitlines()]
    names = list(dict.fromkeys(row["session"] for row in rows))
    for name in names:
        if not sessions or name in sessions:
            turns = [Turn(row["role"], row["content"], row["name"], to_ms(parse_moment(row["created_at"], NOON)))
                     for row in rows if row["session"] == name]  # fmt: skip
            memory.capture(turns, session=name, index=False)


def say(memory: Memory, session: str, *turns: tuple[str, str, str]) -> None:
    """Capture (role, name, text) turns a minute apart."""
    from mnemic.clock import to_ms

    rows = [Turn(role, text, name, to_ms(NOON) + 60_000 * place) for place, (role, name, text) in enumerate(turns)]
    memory.capture(rows, session=session, index=False)


def files(memory: Memory) -> dict[str, bytes]:
    """Every note of the vault that a dream may write, by path."""
    root = memory.vault.root
    found = (file for file in sorted(root.rglob("*")) if file.is_file())
    by_path = {str(file.relative_to(root)): file for file in found} if root.exists() else {}
    folders = ("articles/", "talk/", "moc/", "meta/Dreams")
    return {path: file.read_bytes() for path, file in by_path.items() if path.startswith(folders)}


def article(memory: Memory, title: str) -> str:
    return (memory.vault.root / "articles" / f"{title}.md").read_text("utf-8")


class Scripted:
    """A judge that answers what a function says; no answer is an error of its own."""

    identity = "test/scripted"

    def __init__(self, answer: Callable[[str, str], Any]) -> None:
        self._answer, self.asked = answer, list[tuple[str, str]]()

    def ask(self, stage: str, system: str, prompt: str, schema: Mapping[str, Any], max_tokens: int) -> Reply:
        self.asked.append((stage, prompt))
        return Reply(self._answer(stage, prompt), 100)


def shown(prompt: str) -> list[str]:
    """The texts of the items that a question shows."""
    rows = [json.loads(line) for line in prompt.splitlines() if line.startswith('{"')]
    return [row["text"] for row in rows if "path" in row]


def honest(stage: str, prompt: str) -> Any:
    """Answers that any check must let through."""
    said = shown(prompt)
    if stage == "segment":
        return {"starts": [0]}
    if stage == "worth":
        return {"keep": True}
    if stage == "subjects":
        names = [name for name in ("Pixel", "sourdough", "Odense", "rowing", "painting") if any(name in text for text in said)]
        return {"subjects": names}
    return {"sentences": [{"text": text, "cites": [place]} for place, text in enumerate(said, 1)]}
