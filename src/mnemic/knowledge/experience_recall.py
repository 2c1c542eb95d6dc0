"""Which experiences fit a situation, and how far: read only, since showing one is not using it.

The pool gives those whose words overlap; they are ranked by overlap times weighted trust and taken while they fit into
the budget. Unproven candidates stand apart as trials. What was read somewhere appears once a person approved it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import islice

from mnemic.knowledge import trust
from mnemic.knowledge.experience_edit import may_guide, named, shown
from mnemic.knowledge.experience_input import lines
from mnemic.knowledge.experience_pool import Library, Pool, Scores
from mnemic.ledger.served import NEXT
from mnemic.models.experience import Experience, ExperienceAnswer, ExperienceStatus, Recalled
from mnemic.text import frame as frames
from mnemic.text.tokens import estimate

POOL = 3
"""So many times what is asked for is ranked by trust."""
HEADING = "What worked, or did not, in situations like this; report how it went"
Found = tuple[float, Experience]


def ask(
    library: Library, rules: trust.Rules, now: int, situation: str, intact: Callable[[Experience], bool], *, k: int,
    deep: bool, context: str, max_tokens: int,
) -> ExperienceAnswer:  # fmt: skip
    """The best experiences for a situation; the first one always, the others while they fit the budget.

    One that is not `intact` is left out, and named.
    """
    asked = trust.tokens(situation)
    statuses: tuple[ExperienceStatus, ...] = ("live", "archived") if deep else ("live",)
    with library.lock:
        pool = library.fresh()
        scores = pool.overlaps(asked)
        proven = _best(pool, scores, statuses, rules.recall_floor, context, POOL * k)
        trials = _best(pool, scores, ("candidate",), rules.trial_floor, context, rules.trials)
        due = _due(library, pool, rules, now)
    proven.sort(key=lambda found: -_rank(found, rules, now))
    items, omitted, spent, degraded = list[Recalled](), 0, 0, list[str]()

    def served(item: Experience) -> bool:
        whole = intact(item)
        if not whole:
            degraded.append(f"experience {named(item)} is not served: it is not what was recorded; {NEXT}")
        return whole

    for place, found in enumerate(proven):
        if len(items) == k:
            omitted += len(proven) - place
            break
        item = _recalled(found, asked, now)
        if items and spent + item.cost > max_tokens:
            omitted += 1
            continue
        if served(found[1]):
            items.append(item)
            spent += item.cost
    return ExperienceAnswer(
        items=tuple(items),
        candidate_trials=tuple(_trial(_recalled(found, asked, now)) for found in trials if served(found[1])),
        reason=None if items else "no experience here fits this situation", omitted=omitted, estimated_tokens=spent,
        consolidation_due=due, degraded=tuple(degraded),
    )  # fmt: skip


def framed(answer: ExperienceAnswer, nonce: str) -> str:
    """The block that goes into a prompt; empty if there is nothing to show."""
    items = [_shown(item) for item in (*answer.items, *answer.candidate_trials)]
    return frames.render(items, nonce, heading=HEADING) if items else ""


def _best(
    pool: Pool, scores: Scores, statuses: tuple[ExperienceStatus, ...], floor: float, context: str, limit: int
) -> list[Found]:
    found = pool.found(scores, statuses, floor)
    fitting = (each for each in found if _in_context(each[1], context) and may_guide(each[1]))
    return list(islice(fitting, limit))


def _in_context(item: Experience, context: str) -> bool:
    return not context or item.everywhere == 1 or item.context == context


def _rank(found: Found, rules: trust.Rules, now: int) -> float:
    score, item = found
    return trust.rank(score, trust.weighted_trust(item, now), bool(item.pinned), rules)


def _recalled(found: Found, asked: frozenset[str], now: int) -> Recalled:
    score, item = found
    row = shown(item, now)
    against = trust.conflicts(lines(item.limits), asked)
    cost = estimate(json.dumps(row, ensure_ascii=False), "cjk06")
    done = Recalled(experience=row, score=score, verdict=trust.verdict(score, bool(against)), conflicts=against, cost=cost)
    return done if item.approved_by else _trial(done)


def _trial(item: Recalled) -> Recalled:
    """Nothing has proved it, so however well it fits it is no more than a clue."""
    return replace(item, trial=True, verdict="clue")


def _due(library: Library, pool: Pool, rules: trust.Rules, now: int) -> bool:
    last = library.merged_at
    if last is not None and now - last < rules.consolidate_hours * 3_600_000:
        return False
    return pool.new_since(last) >= rules.consolidate_new


def _shown(item: Recalled) -> frames.Item:
    row = item.experience
    said = [str(row["gist"])]
    for name in ("situation", "path", "limits"):
        texts = row[name] if isinstance(row[name], list) else [row[name]] if row[name] else []
        said += [f"{name}: {text}" for text in texts]
    said += [f"failure: {row['failure_reason']}"] if row["failure_reason"] else []
    said += [f"a limit is in the way: {limit}" for limit in item.conflicts]
    return frames.Item(
        path=f"experience/{row['id']}@{row['revision']}", text="\n".join(said), date=str(row["valid_from"]),
        origin=str(row["origin"]), title=f"{row['family']} ({row['kind']}), trust {row['weighted_trust']:.2f}",
        kind="trial" if item.trial else item.verdict,
    )  # fmt: skip
