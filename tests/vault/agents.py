"""One agent of several on one vault: `python -m tests.vault.agents HOME NAME ROUNDS`. Prints the lines it wrote."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.vault.homes import opened


def main() -> None:
    folder, name, rounds = sys.argv[1:]
    lines = []
    with opened(Path(folder)) as memory:
        for number in range(int(rounds)):
            lines.append(memory.cards.log("Ada", f"thing {number}", by=name)["line"])
            memory.cards.set("Ada", {f"seen-by-{name}": f"round {number}", "mood": f"{name} {number}"})
            memory.touch("/cards/people/ada")
            memory.cards.new(f"{name} {number}", "note", body="[[Ada]]", origin="agent")
    print(json.dumps(lines))


if __name__ == "__main__":
    main()
