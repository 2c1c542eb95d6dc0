"""Every error that mnemic raises on purpose, in one small tree.

    MnemicError
    ├── BadInput          the caller gave something that cannot be used
    ├── NotFound          no such path, event, session or identifier
    ├── Refused           a rule of memory forbids it (an impossible transition, a missing reason)
    ├── QuotaExceeded     the namespace holds all that it may; nothing was stored
    ├── RateLimited       too much was asked in too short a time; nothing was done
    ├── Conflict          the state is not what the change was based on
    │   └── Interrupted   the server broke a write off; nothing was stored, and repeating it is safe
    ├── StoreError        the home cannot be opened, read or written
    │   ├── DiskFull      there is no room to write; nothing was stored
    │   ├── NewerSchema   the home was written by a newer mnemic
    │   └── Damaged       what is stored does not match what was recorded
    └── ModelError        an embedder, reranker or language model did not answer usably
        ├── MissingExtra  an optional dependency is not installed
        └── BudgetSpent   the calls or tokens of this run are spent, or an answer is still awaited

Callers catch `MnemicError` for "anything mnemic refused", or a branch of it for what they can act on.
A message says what happened, shows the value, and tells what to do next.
"""

from __future__ import annotations


class MnemicError(Exception):
    """Anything that mnemic refuses or could not do."""


class BadInput(MnemicError):
    """The caller gave something that cannot be used."""


class NotFound(MnemicError):
    """Nothing stands under the given name."""


class Refused(MnemicError):
    """A rule of memory forbids it."""


class QuotaExceeded(MnemicError):
    """The namespace holds all that it may: nothing was stored. What reads, forgets, erases or takes back still works."""


class RateLimited(MnemicError):
    """Too much was asked in too short a time: nothing was done, and the same request is good after `seconds`."""

    def __init__(self, why: str, seconds: int) -> None:
        super().__init__(why)
        self.seconds = seconds


class Conflict(MnemicError):
    """The state is no longer what the change was based on."""


class Interrupted(Conflict):
    """The server broke a write off: nothing was stored, and repeating it is safe."""


class StoreError(MnemicError):
    """The home cannot be opened, read or written."""


class DiskFull(StoreError):
    """There is no room to write."""


class NewerSchema(StoreError):
    """The home was written by a newer mnemic than this one."""


class Damaged(StoreError):
    """What is stored does not match what was recorded."""


class ModelError(MnemicError):
    """An embedder, a reranker or a language model did not answer usably."""


class MissingExtra(ModelError):
    """An optional dependency is not installed; the message names the pip command."""


class BudgetSpent(ModelError):
    """What this run may ask is asked: what is left waits for the next one."""
