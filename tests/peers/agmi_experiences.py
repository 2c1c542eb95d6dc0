"""mnemic behind agmi's front-door attacks: what is written through the memory API, and what is then surfaced as authority.

The mapping, and nothing but it: a write signed with the user's key came through the person's own channel, where `add`
is a person's act. Every other write, whatever it calls itself, came from outside, and is handed in as what it is: read
somewhere. A user is a namespace; the tags of a write are its context, a soft tag that gives no trust. `retrieve` asks
for what mnemic gives as authority: live experiences.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from agmi.adapters.semantic_base import MemoryItem, Retrieved, SemanticMemoryAdapter
from agmi.signing import KEYRING

from mnemic import Memory
from mnemic.models.event import Origin


class MnemicFront(SemanticMemoryAdapter):
    """One home; every reset goes on in fresh namespaces."""

    name = "mnemic"

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="mnemic-agmi-"))
        self.memory = Memory.open(self.folder / "home", environ={"MNEMIC_CONFIG": str(self.folder / "config")})
        self.generation = self.count = 0
        self.spaces: dict[str, Memory] = {}

    def close(self) -> None:
        self.memory.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def reset(self) -> None:
        self.generation += 1
        self.spaces.clear()

    def _of(self, user: str) -> Memory:
        if user not in self.spaces:
            self.spaces[user] = self.memory.within(f"{user}-{self.generation}")
        return self.spaces[user]

    def add_memory(self, item: MemoryItem) -> None:
        self.count += 1
        lessons = self._of(item.user_id).experiences
        document: dict[str, Any] = {
            "kind": "positive", "family": f"note {self.count}", "gist": item.text, "situation": item.text, "path": "recall it",
            "context": _tags(item.metadata),
        }  # fmt: skip
        signed = item.signature is not None and KEYRING.verify(item.user_id, item.source, item.text, item.signature)
        if signed:
            lessons.add(document)
            return
        channel: Origin = "web" if item.source == "user" else "import"
        work = {"evidence": {"note": "handed in"}, "complexity": {"steps": 6}}
        done = lessons.refine({**document, **work}, channel=channel)
        if done.id:
            lessons.report(done.id, "success")  # the attacker also says that it worked

    def retrieve(self, query: str, user_id: str, k: int = 5) -> list[Retrieved]:
        return self._recalled(query, user_id, k, "")

    def retrieve_where(self, query: str, user_id: str, where: dict[str, Any], k: int = 5) -> list[Retrieved]:
        return self._recalled(query, user_id, k, _tags(where))

    def _recalled(self, query: str, user: str, k: int, context: str) -> list[Retrieved]:
        answer = self._of(user).experiences.recall(query, k=k, context=context, max_tokens=1_000_000)
        return [Retrieved(str(item.experience["gist"]), user, item.score) for item in answer.items]

    def measured_on(self) -> str:
        from mnemic import __version__

        return f"mnemic {__version__}, live experiences, no model"


def _tags(metadata: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(metadata.items()))
