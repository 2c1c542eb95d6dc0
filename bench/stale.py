"""How often an outdated fact is shown as current: `python -m bench.stale`.

    python -m bench.stale [--seed 1] [--renamed 0] [--json]

A scripted life: a user who moves, changes preferences, makes plans and withdraws them, knows people whose names look
alike, and says numbers and negations, in English and Chinese. What is said goes through the public API: diary, then
extractions as a competent extractor proposes them, with keys in other case and spacing, values said again, entries
that arrive late and tell of earlier times, values that the agent only believes, and values quoted from pages. After
every extraction each thing is asked for, and the answer is compared with what the user last said of it, by the time
of saying. `--renamed` lets the extractor call so great a share of the things by another name: the known weak spot.

Three naive stores stand beside it: `overwrite` keeps the value that was recorded last for each thing, whoever said it;
`latest` only adds, and answers from the last recorded of the entries that share most words with the question; `all`
shows every value that was ever said of the thing.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from mnemic import Memory
from mnemic.clock import CountingIds, FixedClock, to_ms
from mnemic.embed import HashingEmbedder
from mnemic.knowledge.facet import same
from mnemic.text.tokens import query_terms, terms

START = datetime(2025, 1, 1, 8, tzinfo=UTC)
CHANGES = 9
"""Changes of each thing."""
BATCH = 12
"""Entries between extractions."""
LATE = 0.15
"""Share of entries that reach the diary later than what was said after them."""
NOISE = {"again": 0.35, "past": 0.2, "agent": 0.2, "page": 0.2}
"""How often a change is followed by: the value again, an earlier value told as past, the agent's error, a page's."""


NAMES = ("mnemic", "profile", "overwrite", "latest", "all")


@dataclass(frozen=True)
class Thing:
    """Something about the user that changes."""

    category: str
    key: str
    alias: str
    """What an extractor with a bad day calls it."""
    question: str
    say: str
    again: str
    values: Sequence[str]
    over: str = ""
    """How it is withdrawn; empty for what only changes."""


CITIES = ("Porto", "Lisbon", "Braga", "Faro", "Evora", "Aveiro", "Lisboa Norte", "New Porto")
PLACES = ("上海", "北京", "杭州", "苏州", "南京", "北海", "上饶", "南宁")
THINGS = (
    Thing(
        "identity",
        "home_city",
        "residence",
        "In which city do I live?",
        "I moved to the city of {}.",
        "{} is a fine city to live in.",
        CITIES,
    ),
    Thing(
        "background",
        "employer",
        "company",
        "Which employer do I work for?",
        "I work for {} now, my new employer.",
        "Busy week at {}, the employer.",
        ("Acme", "Acme Labs", "Borealis", "Cygnus", "Cygnet", "Delphi"),
    ),
    Thing(
        "background",
        "job_title",
        "position",
        "What is my job title?",
        "My job title is {} now.",
        "As a {} by title I see many people.",
        ("engineer", "senior engineer", "lead engineer", "architect", "manager", "engineering manager"),
    ),
    Thing(
        "background",
        "rent",
        "monthly_rent",
        "How much is my rent?",
        "My rent is {} euros from now on.",
        "I paid {} euros rent again.",
        ("850", "860", "805", "1150", "1,050", "950"),
    ),
    Thing(
        "habit",
        "weekly_km",
        "running_distance",
        "How many km do I run a week?",
        "I run {} km a week these days.",
        "Ran my {} km this week.",
        ("10", "12", "21", "20", "30", "31"),
        "I do not run any more, not a km a week.",
    ),
    Thing(
        "preference",
        "drink",
        "favourite_beverage",
        "What drink do I prefer?",
        "My favourite drink is {} now.",
        "Had {} again, my drink.",
        ("green tea", "black tea", "tea", "coffee", "cocoa", "mate"),
        "I have no favourite drink any more.",
    ),
    Thing(
        "preference",
        "editor",
        "ide",
        "Which editor do I use?",
        "I switched my editor to {}.",
        "Still happy with {} as editor.",
        ("vim", "neovim", "emacs", "zed", "helix", "nano"),
    ),
    Thing(
        "communication",
        "reply_language",
        "answer_language",
        "In which reply language should you answer?",
        "Please reply in {} language from now on.",
        "Good that you reply in {} language.",
        ("English", "French", "German", "Dutch", "Spanish", "Portuguese"),
    ),
    Thing(
        "communication",
        "reply_length",
        "verbosity",
        "What reply length do I want?",
        "Make the length of a reply {} please.",
        "Your {} reply length is right.",
        ("short", "very short", "long", "medium", "one line", "not short"),
    ),
    Thing(
        "habit",
        "meat",
        "diet",
        "Do I eat meat?",
        "From today on I say of meat: {}.",
        "As I said of meat: {}.",
        ("I eat it", "I do not eat it", "only on Sundays", "not on Sundays", "never"),
    ),
    Thing(
        "habit",
        "coffee",
        "caffeine",
        "Do I drink coffee?",
        "About coffee: {}.",
        "Once more about coffee: {}.",
        ("I drink it", "I don't drink it", "decaf only", "no decaf", "not after noon"),
    ),
    Thing(
        "delegation",
        "meeting_day",
        "standup_day",
        "Which meeting day did I set?",
        "Put my meeting day on {}.",
        "The meeting day {} suits me.",
        ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday"),
        "Drop the meeting day, there is none.",
    ),
    Thing(
        "value",
        "marathon_plan",
        "race_goal",
        "What is my marathon plan?",
        "My marathon plan: run in {}.",
        "Training for the marathon plan in {}.",
        ("Berlin", "Boston", "Paris", "Oslo", "Rome"),
        "I gave up my marathon plan.",
    ),
    Thing(
        "value",
        "trip_plan",
        "travel_plan",
        "What is my trip plan?",
        "I plan a trip to {}.",
        "Looking forward to the trip to {}, as planned.",
        ("Japan", "Java", "Jordan", "Iceland", "Ireland"),
        "I cancelled the trip I planned.",
    ),
    Thing(
        "value",
        "course_plan",
        "study_plan",
        "Which course do I plan?",
        "I plan to take a course in {}.",
        "The course in {} will be fun, I plan well.",
        ("Latin", "statistics", "sewing", "welding", "pottery"),
        "I will not take the course I planned.",
    ),
    *(
        Thing(
            "background",
            f"{name.lower()}_city",
            f"{name.lower()}_home",
            f"Where does {name} live?",
            f"{name} lives in {{}} now.",
            f"{name} likes it in {{}}.",
            CITIES,
        )
        for name in ("Anna", "Hanna", "Anne", "Joanna", "Ann-Marie", "Annmarie")
    ),
    Thing("identity", "居住城市", "住处", "我住在哪个城市？", "我搬到{}这个城市住了。", "住在{}这个城市挺好。", PLACES),
    Thing(
        "background",
        "公司",
        "雇主",
        "我在哪家公司上班？",
        "我现在的公司是{}。",
        "在{}公司又忙了一周。",
        ("华云", "华芸", "云图", "星河", "星海", "远山"),
    ),
    Thing(
        "background",
        "房租",
        "月租",
        "我的房租是多少？",
        "我的房租现在是{}元。",
        "又交了{}元房租。",
        ("3000", "3500", "5300", "3050", "4000", "4500"),
    ),
    Thing(
        "preference",
        "饮料",
        "喝的",
        "我喜欢什么饮料？",
        "我现在最喜欢的饮料是{}。",
        "又喝了饮料{}。",
        ("绿茶", "红茶", "咖啡", "豆浆", "酸梅汤"),
        "我没有喜欢的饮料了。",
    ),
    Thing(
        "habit",
        "吃辣",
        "口味",
        "我吃辣吗？",
        "关于吃辣：{}。",
        "再说一次吃辣：{}。",
        ("能吃", "不能吃", "少吃", "不少吃", "戒了"),
    ),
    Thing(
        "value",
        "旅行计划",
        "出游",
        "我的旅行计划是什么？",
        "我的旅行计划是去{}。",
        "期待去{}的旅行计划。",
        ("云南", "海南", "河南", "西藏", "新疆"),
        "我取消了旅行计划。",
    ),
    *(
        Thing(
            "background",
            f"{name}的城市",
            f"{name}的家",
            f"{name}住在哪里？",
            f"{name}现在住在{{}}。",
            f"{name}说{{}}不错。",
            PLACES,
        )
        for name in ("李明", "李铭", "李鸣", "小李明")
    ),
)


@dataclass(frozen=True)
class Saying:
    """One entry, and what an extractor draws from it."""

    thing: int
    text: str
    at: datetime
    value: str | None
    """None: withdrawn."""
    voice: str = "user"
    """user, agent or page."""
    past: bool = False
    """Told as past: with an end, so it changes nothing that holds."""


@dataclass
class Naive:
    """A store that only adds."""

    entries: list[tuple[int, Saying, set[str]]] = field(default_factory=list)

    def add(self, saying: Saying) -> None:
        self.entries.append((len(self.entries), saying, set(terms(saying.text))))

    def latest(self, thing: Thing) -> list[str]:
        wanted = set(query_terms(thing.question))
        best = max(self.entries, key=lambda entry: (len(wanted & entry[2]), entry[0]), default=None)
        if best is None or not wanted & best[2] or best[1].value is None:
            return []
        return [best[1].value]

    def overwrite(self, number: int) -> list[str]:
        last = [said.value for _, said, _ in self.entries if said.thing == number][-1:]
        return [value for value in last if value]

    def all(self, number: int) -> list[str]:
        return list(dict.fromkeys(said.value for _, said, _ in self.entries if said.thing == number and said.value))


@dataclass
class Score:
    """Answers counted: of questions with an answer, and of those without."""

    known: int = 0
    unknown: int = 0
    right: int = 0
    outdated: int = 0
    """Shown as current: a value that is not what the user last said; of a thing that holds, or that was withdrawn."""
    retired: int = 0
    """The right value is not shown."""
    silent: int = 0
    """Nothing is shown where nothing holds or nothing was ever said."""

    def count(self, answer: Sequence[str], truth: str | None) -> None:
        shown = {same(value) for value in answer}
        right = set() if truth is None else {same(truth)}
        self.outdated += bool(shown - right)
        if truth is None:
            self.unknown += 1
            self.silent += not shown
        else:
            self.known += 1
            self.right += shown == right
            self.retired += not right <= shown

    def row(self) -> dict[str, Any]:
        questions = self.known + self.unknown
        return {
            "questions": questions, "right": _share(self.right, self.known), "outdated": _share(self.outdated, questions),
            "retired_by_mistake": _share(self.retired, self.known), "retired_count": self.retired,
            "outdated_count": self.outdated, "silent_where_nothing": _share(self.silent, self.unknown),
        }  # fmt: skip


def life(draw: random.Random, changes: int = CHANGES) -> tuple[list[Saying], int]:
    """What is said, in the order in which it reaches the diary; and how many changes are in it."""
    moments = iter(_moments(draw))
    order = [number for number in range(len(THINGS)) for _ in range(changes)]
    draw.shuffle(order)
    held: dict[int, list[str]] = {number: [] for number in range(len(THINGS))}
    said: list[Saying] = []
    for number in order:
        thing, values = THINGS[number], held[number]
        now = values[-1] if values else ""
        if thing.over and now and draw.random() < 0.3:
            said.append(Saying(number, thing.over, next(moments), None))
            values.append("")
        else:
            value = draw.choice([value for value in thing.values if value != now])
            said.append(Saying(number, thing.say.format(value), next(moments), value))
            values.append(value)
        said += _noise(draw, number, values, moments)
    arrived = [(place + (draw.randint(5, 60) if draw.random() < LATE else 0), place, one) for place, one in enumerate(said)]
    return [one for _, _, one in sorted(arrived, key=lambda item: item[:2])], len(order)


def _noise(draw: random.Random, number: int, values: list[str], moments: Iterator[datetime]) -> Iterator[Saying]:
    thing = THINGS[number]
    others = [value for value in thing.values if value != values[-1]]
    earlier = [value for value in values[:-1] if value and value != values[-1]]
    if values[-1] and draw.random() < NOISE["again"]:
        yield Saying(number, thing.again.format(values[-1]), next(moments), values[-1])
    if earlier and draw.random() < NOISE["past"]:
        value = draw.choice(earlier)
        yield Saying(number, f"Earlier it was: {thing.again.format(value)}", next(moments), value, past=True)
    if draw.random() < NOISE["agent"]:
        value = draw.choice(others)
        yield Saying(number, f"The user: {thing.again.format(value)}", next(moments), value, "agent")
    if draw.random() < NOISE["page"]:
        value = draw.choice(others)
        yield Saying(number, f"From a page: {thing.say.format(value)}", next(moments), value, "page")


def _moments(draw: random.Random) -> Iterator[datetime]:
    moment = START
    while True:
        moment += timedelta(minutes=draw.randint(20, 900))
        yield moment


def _proposal(draw: random.Random, saying: Saying, source: int, renamed: float) -> dict[str, Any]:
    """As a competent extractor writes it, on another day in another case and spacing."""
    thing = THINGS[saying.thing]
    name = thing.alias if draw.random() < renamed else thing.key
    key = draw.choice((name, name, name.replace("_", " "), name.upper(), name.title().replace("_", "  "), f" {name} "))
    item: dict[str, Any] = {"category": thing.category, "key": key, "source_diary_ids": [source]}
    if saying.value is None:
        return {**item, "action": "withdraw"}
    item["value"] = draw.choice((saying.value, saying.value, saying.value.upper(), f"{saying.value}."))
    if saying.past:
        item["valid_from"], item["valid_to"] = "2023", "2024"
    return item


def run(folder: Path, seed: int, renamed: float = 0.0, changes: int = CHANGES) -> dict[str, Any]:
    """Live the life, ask after every extraction, and score."""
    draw = random.Random(seed)
    said, total = life(draw, changes)
    clock, naive = FixedClock(START), Naive()
    scores = {name: Score() for name in NAMES}
    truth: dict[int, Saying] = {}
    rejected = 0
    environ = {"MNEMIC_CONFIG": str(folder / "config")}
    with Memory.open(folder / "home", environ=environ, clock=clock, ids=CountingIds(), embedder=HashingEmbedder(64)) as memory:
        for start in range(0, len(said), BATCH):
            batch = said[start : start + BATCH]
            clock.moment = max([clock.moment, *(saying.at for saying in batch)]) + timedelta(minutes=1)
            rejected += _extract(memory, draw, batch, renamed)
            for saying in batch:
                naive.add(saying)
                known = truth.get(saying.thing)
                if saying.voice == "user" and not saying.past and (known is None or known.at < saying.at):
                    truth[saying.thing] = saying
            _ask(memory, naive, truth, scores)
        verified = memory.verify().ok
        held = memory.status()
    return {
        "seed": seed, "renamed": renamed, "things": len(THINGS), "changes": total, "entries": len(said),
        "rejected_proposals": rejected, "facts": held["facts"], "ledger": held["ledger"], "verified": verified,
        **{name: score.row() for name, score in scores.items()},
    }  # fmt: skip


def _extract(memory: Memory, draw: random.Random, batch: Sequence[Saying], renamed: float) -> int:
    """Write the entries down and extract from them, in no order; returns how many proposals were rejected."""
    proposals: dict[str, list[dict[str, Any]]] = {"user": [], "agent": []}
    for saying in batch:
        channel = "agent" if saying.voice == "agent" else "user"
        entry = memory.diary.add(
            saying.text, at=to_ms(saying.at), session="chat", channel="agent" if channel == "agent" else "user",
            origin="web" if saying.voice == "page" else None,
        )  # fmt: skip
        proposals[channel].append(_proposal(draw, saying, entry["id"], renamed))
    rejected = 0
    for channel, items in proposals.items():
        draw.shuffle(items)
        done = memory.extract({"proposals": items, "summary": ""}, channel="agent" if channel == "agent" else "user")
        rejected += int(done["rejected"])
    return rejected


def _ask(memory: Memory, naive: Naive, truth: dict[int, Saying], scores: dict[str, Score]) -> None:
    shown = memory.profile(100_000).facts
    for number, thing in enumerate(THINGS):
        last = truth.get(number)
        right = None if last is None else last.value
        rows = memory.facts.list(category=thing.category, key=thing.key)
        rows += memory.facts.list(category=thing.category, key=thing.alias)
        answers = {
            "mnemic": [row["value"] for row in rows if row["status"] in ("current", "provisional")],
            "profile": [row["value"] for row in shown if same(row["key"].replace("_", " ")) in _names(thing)],
            "latest": naive.latest(thing),
            "overwrite": naive.overwrite(number),
            "all": naive.all(number),
        }
        for name, answer in answers.items():
            scores[name].count(answer, right)


def _names(thing: Thing) -> set[str]:
    return {same(thing.key.replace("_", " ")), same(thing.alias.replace("_", " "))}


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--renamed", type=float, default=0.0, help="share of proposals whose key is another name")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = run(Path(folder), options.seed, options.renamed)
    print(json.dumps(report, indent=1, ensure_ascii=False) if options.json else render(report))


def render(report: dict[str, Any]) -> str:
    """The report as a table."""
    lines = [
        f"{report['changes']} changes of {report['things']} things, {report['entries']} entries, seed {report['seed']},"
        f" renamed {report['renamed']:.0%}; ledger {'verifies' if report['verified'] else 'DOES NOT VERIFY'}",
        f"{'':<10}{'questions':>10}{'right':>9}{'outdated':>10}{'retired':>9}{'silent':>9}",
    ]
    for name in NAMES:
        row = report[name]
        lines.append(f"{name:<10}{row['questions']:>10}{row['right']:>9.1%}{row['outdated']:>10.1%}"
                     f"{row['retired_by_mistake']:>9.1%}{row['silent_where_nothing']:>9.1%}")  # fmt: skip
    return "\n".join(lines)


if __name__ == "__main__":
    main()
