"""`state.md`, the hot page of a vault: focus, blockers, what is pending. It is read with every session, so it stays small.

The targets of everything that is loaded all the time stand here too (001 §2.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mnemic.errors import BadInput
from mnemic.models.event import Origin
from mnemic.text.clean import cleaned
from mnemic.text.tokens import estimate
from mnemic.vault import frontmatter
from mnemic.vault.vault import Vault

FILE = "state.md"
KB = 1024
STATE_BYTES, STATE_LINES = 4 * KB, 80
CONFIG_BYTES = 15 * KB
LOADED_BYTES = 25 * KB
DAILY_BYTES = 20 * KB
PROFILE = "bytes4"
"""How the vault's budgets count tokens: 1 KB is about 250."""


@dataclass(frozen=True, slots=True)
class Measure:
    """What one text that is loaded costs."""

    what: str
    """state, profile, today, yesterday or config."""
    path: str
    bytes: int
    tokens: int
    lines: int
    limit: int | None = None
    """Bytes that it must stay below."""
    over: bool = False

    def json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def measure(what: str, path: str, data: bytes, limit: int | None = None) -> Measure:
    """Measure a text; a state has a limit of lines too."""
    text = data.decode("utf-8", "replace")
    lines = len(text.splitlines())
    over = (limit is not None and len(data) >= limit) or (what == "state" and lines > STATE_LINES)
    return Measure(what, path, len(data), estimate(text, PROFILE), lines, limit, over)


class State:
    """The state file of one vault."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def read(self) -> bytes:
        """Its bytes; none where there is no such file."""
        return self._vault.folder.read(FILE).data if self._vault.folder.exists(FILE) else b""

    def body(self) -> str:
        """Its text without the head."""
        return frontmatter.split(self.read()).body.decode("utf-8", "replace")

    @property
    def origin(self) -> Origin:
        """Whose text it is."""
        return self._vault.origin_of(FILE)

    def show(self) -> dict[str, Any]:
        """The file and what it costs."""
        data = self.read()
        return {**measure("state", FILE, data, STATE_BYTES).json(), "body": self.body()}

    def write(self, text: str, *, redact: bool = True, origin: Origin = "user") -> dict[str, Any]:
        """Put another text into the state; its head stays. Raises BadInput for one that is too long, with the figures."""
        text = cleaned(text, redact=redact).text.strip("\r\n") + "\n"

        def edit(data: bytes) -> bytes:
            parts = frontmatter.split(data)
            head = data[: len(data) - len(parts.body)]
            made = head + text.replace("\r\n", "\n").replace("\n", parts.newline.decode()).encode()
            found = measure("state", FILE, made, STATE_BYTES)
            if found.over:
                raise BadInput(
                    f"this state has {found.bytes:,} bytes and {found.lines} lines, it must stay below {STATE_BYTES:,}"
                    f" and have at most {STATE_LINES} lines: move what is not needed in every session to a card"
                )
            return made

        if self._vault.folder.exists(FILE):
            self._vault.revise(FILE, edit, "state", origin)
        else:
            self._vault.write(FILE, edit(b""), origin, "state")
        return self.show()
