"""How far an experience has proved itself, and how well it fits: the formulas of seed 002, pure.

    trust           (α + 1) / (α + β + 2), α and β being the priors and every counted report
    weighted trust  the same with each report weighted 0.5^(age / 180 days); priors and a person's floor do not fade
    overlap         shared tokens / √(|question| · |text|)
    rank            overlap · weighted trust (pinned: at least 0.67)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from mnemic.clock import DAY_MS
from mnemic.models.experience import Attribution, Counted, Experience
from mnemic.text.normal import nfkc

HALF_LIFE_MS = 180 * DAY_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Every number of the life of an experience (seed 002, digest §3.3)."""

    recall_k: int = 6
    budget_tokens: int = 1200
    recall_floor: float = 0.1
    trials: int = 3
    trial_floor: float = 0.18
    consecutive_fails: int = 2
    window: int = 6
    window_fail_rate: float = 0.6
    window_least: int = 3
    family_cap: int = 12
    token_gate: int = 4000
    step_gate: int = 6
    duplicate_overlap: float = 0.85
    shadow_pass: float = 0.8
    human_alpha: int = 5
    human_beta: int = 2
    pinned_trust: float = 0.67
    consolidate_new: int = 6
    consolidate_hours: int = 24


RULES = Rules()

PRIORS: dict[str, tuple[int, int]] = {
    "skill": (5, 2), "document": (4, 2), "book": (4, 2), "conversation": (2, 2), "note": (1, 2), "other": (1, 2),
}  # fmt: skip
"""What a kind of source is worth before anything was tried, as α and β."""


def trust(alpha: float, beta: float) -> float:
    """The mean of a Beta posterior over a uniform prior, 0 to 1."""
    return (alpha + 1) / (alpha + beta + 2)


def faded(count: float, since: int, now: int) -> float:
    """What a count from `since` weighs at `now` (ms). A clock that went back does not make it grow."""
    return float(count * 0.5 ** (max(0, now - since) / HALF_LIFE_MS))


def weighted_trust(item: Experience, now: int) -> float:
    """Trust in which old reports weigh less. What a source or a person vouched for stays."""
    successes = faded(item.recent_alpha, item.recent_at, now)
    failures = faded(item.recent_beta, item.recent_at, now)
    return trust(item.prior_alpha + successes, item.prior_beta + failures)


def rank(score: float, weighted: float, pinned: bool, rules: Rules = RULES) -> float:
    """The order of recall: how well it fits times how far it is trusted."""
    return score * (max(weighted, rules.pinned_trust) if pinned else weighted)


# --- fit -----------------------------------------------------------------------------------------------

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}]+|[^\W{_CJK}]+")
_IS_CJK = re.compile(f"[{_CJK}]")


def tokens(text: str) -> frozenset[str]:
    """The distinct tokens of a text: words in lower case, and of CJK the pairs (a single character stays)."""
    found: set[str] = set()
    for word in _WORD.findall(nfkc(text).lower()):
        if len(word) > 1 and _IS_CJK.match(word):
            found.update(a + b for a, b in pairwise(word))
        else:
            found.add(word)
    return frozenset(found)


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Shared tokens over the geometric mean of both counts, 0 to 1."""
    return shared(len(one & other), len(one), len(other))


def shared(hits: int, one: int, other: int) -> float:
    """The overlap from its counts."""
    return hits / float((one * other) ** 0.5) if hits else 0.0


def conflicts(limits: Iterable[str], asked: frozenset[str]) -> tuple[str, ...]:
    """The limits of which at least half the tokens are in the question."""
    found = []
    for limit in limits:
        words = tokens(limit)
        if words and 2 * len(words & asked) >= len(words):
            found.append(limit)
    return tuple(found)


def verdict(score: float, conflict: bool) -> Literal["direct", "reference", "clue"]:
    """How an experience may be used: as it is, adapted, or as a hint. A limit in the way is never `direct`."""
    if conflict:
        return "reference"
    return "direct" if score >= 0.45 else "reference" if score >= 0.22 else "clue"


# --- reports -------------------------------------------------------------------------------------------

ATTRIBUTIONS: tuple[Attribution, ...] = ("experience", "environment", "unrelated", "unknown")
_ENVIRONMENT = re.compile(
    r"network|time(?:d[ -]?)?[ -]?out|unreachable|rate[ _-]?limit|unauthori[sz]ed|permission denied|service unavailable"
    r"|(?<![a-z0-9])(?:eperm|eacces|econnrefused|econnreset|etimedout|enotfound|eai_again|dns|proxy|quota|429|503)(?![a-z0-9])"
    r"|网络|網絡|網路|超时|超時|逾時|断网|斷網|连接失败|連線失敗|权限|權限|配额|配額|限流|未授权|未授權|代理|域名解析"
    r"|服务不可用|服務不可用|服务繁忙|服務繁忙",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Judged:
    """What a report is put down to, and what it counts."""

    attribution: Attribution
    counted: Counted
    note: str = ""
    """Why it is not what was claimed."""


def judge(success: bool, claimed: Attribution | None, evidence: str, candidate: bool) -> Judged:
    """What a report counts. A failure that its evidence puts on the environment counts nothing, whatever is claimed.

    A failure blamed on the experience needs evidence; for a candidate the failed trial is the evidence.
    """
    if success:
        return Judged("experience", "alpha")
    if _ENVIRONMENT.search(evidence):
        note = "" if claimed == "environment" else "the evidence speaks of the environment: not counted"
        return Judged("environment", "none", note)
    if claimed == "experience" and not evidence.strip() and not candidate:
        return Judged("unknown", "none", "a failure blamed on the experience needs evidence: not counted")
    attribution = claimed or "unknown"
    return Judged(attribution, "beta" if attribution == "experience" else "none")


def remembered(outcomes: str, success: bool, rules: Rules = RULES) -> str:
    """The window of counted outcomes with one more."""
    return (outcomes + ("S" if success else "F"))[-rules.window :]


def pressed(outcomes: str, rules: Rules = RULES) -> str | None:
    """Why a live experience must be challenged after its last counted failure, if it must."""
    if outcomes.endswith("F" * rules.consecutive_fails):
        return f"{rules.consecutive_fails} failures in a row"
    if len(outcomes) >= rules.window_least and outcomes.count("F") >= rules.window_fail_rate * len(outcomes):
        return f"{outcomes.count('F')} failures in the last {len(outcomes)} reports"
    return None


def replayed(own: frozenset[str], samples: Sequence[tuple[str, bool]], rules: Rules = RULES) -> float:
    """Shadow replay: the share of samples (situation, whether it succeeded there) that a draft foretells; 0 for none.

    It foretells success where at least twice the recall floor of a situation's tokens are its own.
    """
    if not samples:
        return 0.0
    right = 0
    for situation, succeeded in samples:
        words = tokens(situation)
        relevance = len(words & own) / len(words) if words else 0.0
        right += (relevance >= 2 * rules.recall_floor) == succeeded
    return right / len(samples)
