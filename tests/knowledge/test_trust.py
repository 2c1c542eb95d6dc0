from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.knowledge import trust
from mnemic.models.experience import Experience

DAY = 86_400_000


def made(**more: object) -> Experience:
    values: dict[str, object] = {
        "id": "a", "revision": 1, "kind": "positive", "family": "f", "gist": "g", "situation": '"s"', "path": '"p"',
        "reasoning": "", "limits": "[]", "failure_reason": "", "context": "", "everywhere": 0, "origin": "agent",
        "author": "agent", "status": "live", "why": "", "created_at": 0, "changed_at": 0,
    }  # fmt: skip
    return Experience(**{**values, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(("alpha", "beta", "expected"), [(0, 0, 0.5), (1, 0, 2 / 3), (0, 2, 0.25), (5, 2, 2 / 3)])
def test_trust_is_the_mean_over_a_uniform_prior(alpha: int, beta: int, expected: float) -> None:
    assert trust.trust(alpha, beta) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("skill", 0.667), ("document", 0.625), ("book", 0.625), ("conversation", 0.5), ("note", 0.4), ("other", 0.4)],
)
def test_a_kind_of_source_starts_with_its_trust(kind: str, expected: float) -> None:
    assert trust.trust(*trust.PRIORS[kind]) == pytest.approx(expected, abs=0.001)


def test_a_report_weighs_half_after_180_days() -> None:
    item = made(alpha=1, recent_alpha=1.0, recent_at=0)
    assert trust.weighted_trust(item, 0) == pytest.approx(2 / 3)
    assert trust.weighted_trust(item, 180 * DAY) == pytest.approx(1.5 / 2.5)


def test_a_persons_floor_and_a_sources_prior_do_not_fade() -> None:
    item = made(alpha=5, beta=2, prior_alpha=5, prior_beta=2)
    assert trust.weighted_trust(item, 3650 * DAY) == pytest.approx(0.667, abs=0.001)


def test_a_clock_that_went_back_makes_no_report_grow() -> None:
    assert trust.faded(1.0, 1000, 0) == 1.0


def test_a_pinned_experience_ranks_with_at_least_its_floor() -> None:
    assert trust.rank(0.5, 0.1, True) == pytest.approx(0.5 * 0.67)
    assert trust.rank(0.5, 0.9, True) == pytest.approx(0.45)
    assert trust.rank(0.5, 0.1, False) == pytest.approx(0.05)


def test_tokens_are_words_and_pairs_of_characters() -> None:
    assert trust.tokens("Pip install_x 2") == {"pip", "install_x", "2"}
    assert trust.tokens("安装依赖 慢") == {"安装", "装依", "依赖", "慢"}
    assert trust.tokens("Мост") == {"мост"}


def test_overlap_is_shared_tokens_over_the_geometric_mean() -> None:
    assert trust.overlap(trust.tokens("a b c d"), trust.tokens("c")) == pytest.approx(0.5)
    assert trust.overlap(frozenset(), trust.tokens("a")) == 0.0


@given(st.frozensets(st.integers(0, 9).map(str)), st.frozensets(st.integers(0, 9).map(str)))
def test_overlap_lies_between_nothing_and_one_and_has_no_direction(one: frozenset[str], other: frozenset[str]) -> None:
    assert 0 <= trust.overlap(one, other) <= 1 + 1e-12
    assert trust.overlap(one, other) == trust.overlap(other, one)


@pytest.mark.parametrize(
    ("score", "conflict", "expected"),
    [(0.45, False, "direct"), (0.4499, False, "reference"), (0.22, False, "reference"), (0.2199, False, "clue"),
     (0.9, True, "reference"), (0.1, True, "reference")],
)  # fmt: skip
def test_the_verdict_goes_by_the_score_and_a_limit_in_the_way_makes_it_a_reference(
    score: float, conflict: bool, expected: str
) -> None:
    assert trust.verdict(score, conflict) == expected


def test_a_limit_conflicts_from_half_its_tokens_on() -> None:
    asked = trust.tokens("deploy on windows behind a firewall")
    assert trust.conflicts(["windows servers", "only on mac os"], asked) == ("windows servers",)


@pytest.mark.parametrize(
    "evidence",
    ["network unreachable", "the request timed out", "read timeout", "EPERM", "open: EACCES", "connect ECONNREFUSED ::1",
     "getaddrinfo ENOTFOUND host", "HTTP 429", "503 from upstream", "quota exceeded", "rate limit hit", "rate-limited",
     "401 Unauthorized", "DNS failure", "proxy refused", "网络断开", "请求超时", "断网了", "没有权限", "配额用尽", "被限流",
     "服务不可用", "服务繁忙", "代理出错", "連線失敗", "請求逾時"],
)  # fmt: skip
@pytest.mark.parametrize("candidate", [True, False])
def test_evidence_of_the_environment_overrides_the_claim(evidence: str, candidate: bool) -> None:
    judged = trust.judge(False, "experience", evidence, candidate)
    assert (judged.attribution, judged.counted) == ("environment", "none")
    assert judged.note


@pytest.mark.parametrize("evidence", ["assertion failed in step 3", "port 84290 was wrong", "the adnsx broke", "第三步失败"])
def test_other_evidence_leaves_the_claim(evidence: str) -> None:
    assert trust.judge(False, "experience", evidence, False) == trust.Judged("experience", "beta")


@pytest.mark.parametrize(
    ("claimed", "evidence", "candidate", "expected"),
    [
        (None, "it broke", False, ("unknown", "none")),
        ("unknown", "it broke", False, ("unknown", "none")),
        ("unrelated", "it broke", False, ("unrelated", "none")),
        ("environment", "", False, ("environment", "none")),
        ("experience", "", False, ("unknown", "none")),
        ("experience", "  ", False, ("unknown", "none")),
        ("experience", "", True, ("experience", "beta")),
        (None, "", True, ("unknown", "none")),
    ],
)
def test_a_failure_counts_only_where_it_is_the_experiences_and_shown(
    claimed: object, evidence: str, candidate: bool, expected: tuple[str, str]
) -> None:
    judged = trust.judge(False, claimed, evidence, candidate)  # type: ignore[arg-type]
    assert (judged.attribution, judged.counted) == expected


def test_a_success_always_counts_for_the_experience() -> None:
    assert trust.judge(True, "environment", "network down", False) == trust.Judged("experience", "alpha")


@pytest.mark.parametrize(
    ("outcomes", "pressed"),
    [("F", False), ("FF", True), ("SF", False), ("SFF", True), ("FSF", True), ("SSF", False), ("FSFSF", True), ("SSSFSF", False)],
)
def test_two_failures_in_a_row_or_three_of_five_challenge(outcomes: str, pressed: bool) -> None:
    assert (trust.pressed(outcomes) is not None) == pressed


def test_the_window_keeps_six() -> None:
    assert trust.remembered("SSSSSS", False) == "SSSSSF"


def test_replay_foretells_success_where_a_fifth_of_the_words_are_its_own() -> None:
    own = trust.tokens("pip install mirror")
    samples = [("pip a b c d", True), ("a b c d e", False), ("pip a b c d e", True)]
    assert trust.replayed(own, samples) == pytest.approx(2 / 3)
    assert trust.replayed(own, []) == 0.0
