"""`python -m mnemic` is the `mnemic` command, for a machine where scripts are not on the path."""

from __future__ import annotations

from mnemic.interfaces.cli import main

if __name__ == "__main__":
    main()
