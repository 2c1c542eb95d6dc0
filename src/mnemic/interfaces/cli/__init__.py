"""The command line. Importing it costs nothing: `mnemic --version` answers before anything heavy is loaded."""

from __future__ import annotations

import sys


def main() -> None:
    """The console script `mnemic`."""
    if sys.argv[1:] == ["--version"]:
        from mnemic import __version__

        print(f"mnemic {__version__}")
        return
    from mnemic.interfaces.cli.app import run

    run()
