"""The command line. Importing it costs nothing: `mnemic --version` answers before anything heavy is loaded.

`mnemic hook` runs at every prompt of a coding agent, so it does not load the command line framework either.
"""

from __future__ import annotations

import sys


def main() -> None:
    """The console script `mnemic`."""
    if sys.argv[1:] == ["--version"]:
        from mnemic import __version__

        print(f"mnemic {__version__}")
        return
    if hook := _hook(sys.argv[1:]):
        from mnemic.interfaces.hooks.run import main as answer

        answer(**hook)
        return
    from mnemic.interfaces.cli.app import run

    run()


def _hook(words: list[str]) -> dict[str, str]:
    """The options of `mnemic [--home H] [--namespace N] hook EVENT`; empty for anything else."""
    found: dict[str, str] = {}
    while len(words) > 2 and words[0] in ("--home", "--namespace"):
        found[words[0].lstrip("-")] = words[1]
        words = words[2:]
    return {**found, "event": words[1]} if len(words) == 2 and words[0] == "hook" and not words[1].startswith("-") else {}
