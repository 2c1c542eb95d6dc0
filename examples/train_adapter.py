"""Trains a LoRA adapter on a set of `mnemic export training`, and ties it to the ledger: `python examples/train_adapter.py`.

mnemic trains nothing itself. This runs in an environment of its own, `pip install trl peft transformers datasets accelerate`
(and `gguf` for a base that is a GGUF file), reads the set and its manifest, and writes a folder that is complete in itself:
the adapter, the set, and `mnemic.json`, the manifest with the adapter's base and digest. docs/training.md tells what for.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
from pathlib import Path
from typing import Any


def main() -> None:
    options = _options().parse_args()
    made = manifest(options.set)
    model, tokenizer, base = loaded(options.base, options.commit)
    before = answers(model, tokenizer, options.set)
    trained, losses = train(model, tokenizer, options, made)
    save(trained, options, made, base)
    after = answers(trained, tokenizer, options.set)
    with trained.disable_adapter():
        without = answers(trained, tokenizer, options.set)
    report = {
        "examples": made["examples"], "ledger_head": made["ledger_head"], "adapter": made["adapter"],
        "losses": [round(loss, 4) for loss in losses],
        "known": {"before": known(before), "after": known(after), "adapter switched off": known(without)},
        "sample": {**after[0], "before": before[0]["said"]},
        "switched off is the base": [row["said"] for row in without] == [row["said"] for row in before],
    }  # fmt: skip
    print(json.dumps(report, ensure_ascii=False, indent=2))


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", type=Path, help="what `mnemic export training` wrote; its manifest lies beside it")
    parser.add_argument("adapter", type=Path, help="a folder that is made; name it after the ledger's head")
    parser.add_argument(
        "--base", required=True, help="a model of the hub, a folder, or a .gguf file"
    )
    parser.add_argument("--commit", default="", help="the base's revision on the hub: an adapter fits one base alone")
    parser.add_argument("--epochs", type=int, default=0, help="passes over the set; the criterion's, if not given")
    parser.add_argument("--rate", type=float, default=1e-4, help="learning rate")
    parser.add_argument("--batch", type=int, default=4)
    return parser


def manifest(file: Path) -> dict[str, Any]:
    """The set's manifest; refused where the set is not that of the manifest."""
    made: dict[str, Any] = json.loads(file.with_name(file.name + ".manifest.json").read_text("utf-8"))
    if digest(file) != made["sha256"]:
        raise SystemExit(f"{str(file)!r} is not the set of its manifest: export it anew")
    return made


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def loaded(base: str, commit: str) -> tuple[Any, Any, dict[str, str]]:
    """Model, tokenizer, and what names the base for good: the digest of its file, or its revision."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    file = Path(base)
    gguf = file.suffix == ".gguf"
    place, more = (str(file.parent), {"gguf_file": file.name}) if gguf else (base, {"revision": commit} if commit else {})
    tokenizer = AutoTokenizer.from_pretrained(place, **more)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    if not gguf:
        return (
            AutoModelForCausalLM.from_pretrained(place, dtype=torch.float32, **more),
            tokenizer,
            {"base": base, "commit": commit},
        )
    return unpacked(place, more), tokenizer, {"base": file.name, "base_sha256": digest(file)}


def unpacked(place: str, more: dict[str, str]) -> Any:
    """A model of a GGUF file as ordinary weights: a packed one is not trained on."""
    import torch
    from transformers import AutoModelForCausalLM, GgufConfig

    packed = AutoModelForCausalLM.from_pretrained(
        place, dtype=torch.float32, quantization_config=GgufConfig(dequantize=True), **more
    )
    packed.config.__dict__.pop("quantization_config", None)
    model = AutoModelForCausalLM.from_config(packed.config)
    model.load_state_dict(packed.state_dict())
    return model


def train(model: Any, tokenizer: Any, options: argparse.Namespace, made: dict[str, Any]) -> tuple[Any, list[float]]:
    """The model with its adapter, and the loss after each step. The loss is on the answer alone."""
    from datasets import load_dataset
    from peft import LoraConfig
    from trl import SFTConfig, SFTTrainer

    data = load_dataset("json", data_files=str(options.set), split="train")
    data = data.map(
        lambda row: {"prompt": row["messages"][:-1], "completion": row["messages"][-1:]}, remove_columns=data.column_names
    )
    trainer = SFTTrainer(
        model=model,
        processing_class=tokenizer,
        train_dataset=data,
        args=SFTConfig(
            output_dir=str(options.adapter), num_train_epochs=options.epochs or made["criterion"]["epochs"],
            learning_rate=options.rate, per_device_train_batch_size=options.batch, completion_only_loss=True, max_length=512,
            save_strategy="no", logging_steps=1, report_to="none", seed=0, use_cpu=_cpu(), bf16=False,
            gradient_checkpointing=False,
        ),
        peft_config=LoraConfig(r=8, lora_alpha=16, lora_dropout=0.05, target_modules="all-linear", task_type="CAUSAL_LM"),
    )  # fmt: skip
    trainer.train()
    return trainer.model, [row["loss"] for row in trainer.state.log_history if "loss" in row]


def _cpu() -> bool:
    import torch

    return not torch.cuda.is_available()


def save(trained: Any, options: argparse.Namespace, made: dict[str, Any], base: dict[str, str]) -> None:
    """Adapter, set and manifest, in one folder."""
    trained.save_pretrained(str(options.adapter))
    weights = options.adapter / "adapter_model.safetensors"
    made["adapter"] = {**base, "sha256": digest(weights), "bytes": weights.stat().st_size}
    (options.adapter / "mnemic.json").write_text(json.dumps(made, ensure_ascii=False, indent=2) + "\n", "utf-8")
    shutil.copy(options.set, options.adapter)


def answers(model: Any, tokenizer: Any, file: Path, most: int = 40) -> list[dict[str, str]]:
    """What the model says where each example of the set asks."""
    import torch

    model.eval()
    found = []
    for line in file.read_text("utf-8").splitlines():
        asked, lesson = (message["content"] for message in json.loads(line)["messages"])
        question = [{"role": "user", "content": asked}]
        prompt = tokenizer.apply_chat_template(question, add_generation_prompt=True, return_tensors="pt", return_dict=True)
        with torch.no_grad():
            said = model.generate(
                **prompt.to(model.device), max_new_tokens=most, do_sample=False, pad_token_id=tokenizer.pad_token_id
            )
        text = tokenizer.decode(said[0][prompt["input_ids"].shape[1] :], skip_special_tokens=True)
        found.append({"asked": asked, "lesson": lesson, "said": text.strip()})
    return found


def known(rows: list[dict[str, str]]) -> float:
    """Mean share of the words of a lesson's first line that an answer holds."""
    shares = []
    for row in rows:
        gist = set(row["lesson"].splitlines()[0].lower().split())
        shares.append(len(gist & set(row["said"].lower().split())) / len(gist))
    return round(sum(shares) / len(shares), 3) if shares else 0.0


if __name__ == "__main__":
    main()
