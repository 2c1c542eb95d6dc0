"""The text that teaches an agent to keep memory; it ships with the package."""

from __future__ import annotations

from importlib.resources import files


def text() -> str:
    """The skill, as Markdown."""
    return files("mnemic.knowledge").joinpath("skill.md").read_text("utf-8")
