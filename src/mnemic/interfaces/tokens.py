"""Who may do what over HTTP, and in which namespaces.

The token of the service's own file is its owner's: everything, everywhere. Others stand in `tokens.json` in the home, each as
the digest of its text alone, with the scopes and namespaces that it is good for; a token has 256 random bits, so a plain
digest gives nothing away. The file is read again when it changes: what is revoked is shut at once.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
import re
import secrets
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from mnemic.clock import Clock, from_ms, iso, to_ms
from mnemic.errors import BadInput, Conflict, MnemicError, NotFound, Refused
from mnemic.models.event import Origin
from mnemic.settings import checked_namespace

if TYPE_CHECKING:
    from mnemic.memory import Memory

_DIGEST = re.compile("[0-9a-f]{64}")
Scope = Literal["read", "write", "erase", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
FILE = "tokens.json"
VOICES: tuple[Origin, ...] = ("user", "agent", "tool", "web", "import")
NAME_CHARS = 60
OWNER = "owner"
LEAD = "mnemic_"
"""What the text of a token begins with, so that it is recognised where it should not be."""
ACCESS = "mnemic.access"
"""Where the door leaves an `Access` in the scope of a request."""
WHOLE_HOME = ("home", "namespaces", "bytes", "replicas")
"""Members of an answer that tell of the home as a whole: nothing for a token that is bound to namespaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a token is good for."""

    name: str
    scopes: frozenset[str] = frozenset(SCOPES)
    namespaces: frozenset[str] | None = None
    """None: all of the home, and the home itself."""
    expires: int | None = None
    """In ms; None: never."""
    voice: Origin = "user"
    """As whose what comes in with it counts at most."""

    def sees(self, namespace: str) -> bool:
        """Whether it is good for a namespace."""
        return self.namespaces is None or namespace in self.namespaces

    def lacks(self, needs: Iterable[str]) -> list[str]:
        """The scopes that are needed and not granted."""
        return [scope for scope in needs if scope not in self.scopes]

    def vouch(self) -> None:
        """Raises Refused where its word counts for less than an agent's, and would come to count as one."""
        from mnemic.knowledge.origin import AGENT, RANK

        if RANK[self.voice] < AGENT:
            raise Refused(f"this counts as an agent's word, the token {self.name!r} speaks as {self.voice}: use another token")

    def walled(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """An answer without what tells of the whole home, unless that is this token's to see."""
        return {name: item for name, item in row.items() if self.namespaces is None or name not in WHOLE_HOME}


@dataclass(frozen=True, slots=True)
class Access:
    """One request: who asks, and what memory it is about."""

    grant: Grant
    memory: Callable[[], Memory]

    def need(self, *scopes: str) -> None:
        """Raises Refused where the token is not good for one of them."""
        if lacking := self.grant.lacks(scopes):
            raise Refused(lacks(self.grant, lacking))


def lacks(grant: Grant, scopes: Iterable[str]) -> str:
    """What to say to a token that lacks scopes."""
    return (
        f"the token {grant.name!r} lacks the scope {', '.join(scopes)}: make one that has it with"
        " `mnemic token add NAME --scope …`"
    )


class Tokens:
    """The tokens of a home. `owner` is the text of its owner's."""

    def __init__(self, home: Path, clock: Clock, owner: str = "") -> None:
        self._file, self._clock = home / FILE, clock
        self._owner = _digest(owner) if owner else ""
        self._guard = threading.Lock()
        self._seen: tuple[int, int, int] | None = None
        self._rows: list[dict[str, Any]] = []

    def add(
        self, name: str, *, scopes: Iterable[str], namespaces: Iterable[str] | None, expires: datetime | None = None,
        voice: str = "user",
    ) -> str:  # fmt: skip
        """A new token; its text is told this once and kept nowhere. Raises BadInput, Conflict for a name that is taken."""
        scopes = list(dict.fromkeys(scopes))
        if unknown := [scope for scope in scopes if scope not in SCOPES] or (not scopes and ["none"]):
            raise BadInput(f"the scope {unknown[0]!r} is unknown: use {', '.join(SCOPES)}")
        if not name.strip() or len(name) > NAME_CHARS or not name.isprintable() or name == OWNER:
            raise BadInput(f"the name {name[:NAME_CHARS]!r} cannot be used: give 1 to {NAME_CHARS} printable characters")
        if voice not in VOICES:
            raise BadInput(f"{voice!r} is nobody whose word it could be: use {', '.join(VOICES)}")
        spaces = None if namespaces is None else [checked_namespace(one) for one in dict.fromkeys(namespaces)]
        if spaces == []:
            raise BadInput("a token without a namespace opens nothing: name one, or all")
        if expires is not None and to_ms(expires) <= to_ms(self._clock.now()):
            raise BadInput(f"{iso(to_ms(expires))} is over: give a later end, or none")
        text = LEAD + secrets.token_urlsafe(32)
        row = {"name": name, "digest": _digest(text), "scopes": scopes, "namespaces": spaces, "voice": voice,
               "made": to_ms(self._clock.now()), "expires": None if expires is None else to_ms(expires)}  # fmt: skip
        with self._alone() as rows:
            if any(one["name"] == name for one in rows):
                raise Conflict(f"there is a token {name!r} already: revoke it first, or take another name")
            self._write([*rows, row])
        return text

    def revoke(self, name: str) -> None:
        """Shut a token out, now. Raises NotFound."""
        with self._alone() as rows:
            left = [one for one in rows if one["name"] != name]
            if len(left) == len(rows):
                raise NotFound(f"there is no token {name!r}: `mnemic token list` names them")
            self._write(left)

    def all(self) -> list[dict[str, Any]]:
        """The tokens without what they are told by. Raises BadInput for a file that is no good."""
        now = to_ms(self._clock.now())
        return [
            {"name": row["name"], "scopes": row["scopes"], "namespaces": row["namespaces"], "as": row["voice"],
             "made": iso(row["made"]),
             "expires": iso(row["expires"]), "expired": row["expires"] is not None and row["expires"] <= now}
            for row in self._read()
        ]  # fmt: skip

    def grant(self, text: str) -> Grant | None:
        """What a token is good for; None for one that nobody gave out, or that is over."""
        given, now = _digest(text), to_ms(self._clock.now())
        found = Grant(name=OWNER) if hmac.compare_digest(given, self._owner) else None
        for row in self._now():  # to its end, whatever is found
            if hmac.compare_digest(given, row["digest"]) and (row["expires"] is None or now < row["expires"]):
                spaces = row["namespaces"]
                found = Grant(
                    name=row["name"], scopes=frozenset(row["scopes"]), expires=row["expires"], voice=row["voice"],
                    namespaces=None if spaces is None else frozenset(spaces),
                )  # fmt: skip
        return found

    # the file

    def _now(self) -> list[dict[str, Any]]:
        """The rows as they stand; none where the file is no good: `mnemic token list` says why."""
        try:
            info = os.stat(self._file)
            seen = (info.st_ctime_ns, info.st_size, info.st_ino)
        except OSError:
            return []
        with self._guard:
            if seen != self._seen:
                self._rows = []
                with suppress(MnemicError):
                    self._rows = self._read()
                self._seen = seen
            return self._rows

    def _read(self) -> list[dict[str, Any]]:
        try:
            stream = os.open(self._file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise BadInput(f"the tokens in {str(self._file)!r} cannot be read ({error.strerror}): correct or delete it") from None
        with os.fdopen(stream, "rb") as file:
            if stat.S_IMODE(os.fstat(stream).st_mode) & 0o077:
                raise BadInput(f"others may read {str(self._file)!r}: chmod 600 it")
            try:
                rows = json.loads(file.read())["tokens"]
                return [_checked(row) for row in rows]
            except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
                raise BadInput(f"{str(self._file)!r} holds no tokens of mnemic: delete it, and give out new ones") from None

    def _write(self, rows: Iterable[Mapping[str, Any]]) -> None:
        fresh = self._file.with_name(f".{FILE}.{secrets.token_hex(4)}")
        stream = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(stream, "w", encoding="utf-8") as file:
                json.dump({"tokens": list(rows)}, file, ensure_ascii=False, indent=1)
                file.flush()
                os.fsync(stream)
            os.replace(fresh, self._file)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise

    @contextmanager
    def _alone(self) -> Iterator[list[dict[str, Any]]]:
        """The rows, while no other process changes them."""
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = os.open(self._file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield self._read()
        finally:
            os.close(folder)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _checked(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the file. Raises ValueError, KeyError, TypeError or OverflowError for what is none: nothing is granted by half."""
    texts = [row["name"], row["digest"], *row["scopes"], *(row["namespaces"] or ())]
    times = [row["made"], *([row["expires"]] if row["expires"] is not None else [])]
    if not all(isinstance(one, str) for one in texts) or not all(isinstance(one, int) for one in times):
        raise ValueError(row)
    if (
        row["voice"] not in VOICES
        or isinstance(row["namespaces"], str)
        or isinstance(row["scopes"], str)
        or not _DIGEST.fullmatch(row["digest"])
    ):
        raise ValueError(row)
    for time in times:
        from_ms(time)
    return dict(row)
