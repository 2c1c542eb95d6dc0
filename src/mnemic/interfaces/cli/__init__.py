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
        from mnemic.interfaces.hooks.client import main as answer

        answer(hook)
        return
    from mnemic.interfaces.cli.app import run

    run()


def _hook(words: list[str]) -> list[str]:
    """What the client of hooks is told by `mnemic [--home H] [--namespace N] hook EVENT`; empty for anything else."""
    place = 0
    while words[place : place + 1] in (["--home"], ["--namespace"]):
        place += 2
    if words[place : place + 1] != ["hook"] or len(words) != place + 2 or words[place + 1].startswith("-"):
        return []
    return [*words[:place], words[place + 1]]
