"""The front door: `from mnemic import Memory` is all a program needs.

`Memory` is loaded on first use, so that `import mnemic` alone costs nothing: the command line answers
`--help` and `--version` without waiting for numpy or the database.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, which alone would take longer to load than everything else here
if TYPE_CHECKING:
    from typing import Any

    from mnemic.memory import Memory

__all__ = ["Memory", "__version__"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name != "Memory":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}: it offers {', '.join(__all__)}")
    from mnemic.memory import Memory

    globals()["Memory"] = Memory
    return Memory
