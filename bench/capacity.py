"""What many namespaces need, reckoned from what a few were measured to cost: `python -m bench.capacity`.

    python -m bench.capacity [--messages 1000] [--questions 20] [--exchanges 20] [--peak 3] [--busy 0.5] [--warm 0.1]
                             [--server-cores 16] [--server-gb 256] [--server-tb 4] [--page]

Reads bench/results/shared.json, which `python -m bench.shared --keep` wrote, and prints what one namespace, one question and
one exchange cost, and then the disk, memory, cores, servers and connections of a thousand, a million and a hundred million
namespaces, with the arithmetic. `--page` puts both tables into docs/capacity.md.

The profile: every namespace holds so many messages, and is asked and written to so often a day; at the busiest hour so many
times the average; cores are planned to be so busy; and so large a part of the namespaces is warm, that is, in the memory of
a process that serves it and in that of its server.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.scale import ROOT
from bench.shared import RESULTS

PAGE = ROOT / "docs" / "capacity.md"
SIZES = (1_000, 1_000_000, 100_000_000)
DAY = 86_400
LIMIT = 10
"""Connections that one process holds at most (`[store] connections`)."""
Report = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Profile:
    """How a namespace is used, and what a server has."""

    messages: int = 1_000
    questions: int = 20
    """A day, as `exchanges`."""
    exchanges: int = 20
    peak: float = 3.0
    busy: float = 0.5
    warm: float = 0.1
    server_cores: int = 16
    server_gb: float = 256.0
    server_tb: float = 4.0


@dataclass(frozen=True, slots=True)
class Cost:
    """What was measured of one home. Bytes, and milliseconds of the processor."""

    message: float
    question_client: float
    question_server: float
    exchange_client: float
    """Its indexing included, without the model."""
    exchange_server: float
    bare: float
    """Of a process that serves, when it has asked one namespace."""
    namespace: float
    """Of every further one."""


def cost(report: Report) -> Cost:
    """What one of everything costs, as bench.shared measured it when all clients worked as fast as they could."""
    asked, wrote, index = (report["modes"]["flat"], report["modes"]["write flat"], report["index"])
    memory = asked["memory_mb"]
    return Cost(
        message=report.get("bytes", report["captured_bytes"])["per_message"],
        question_client=asked["cpu_ms"]["client"], question_server=asked["cpu_ms"]["server"],
        exchange_client=wrote["cpu_ms"]["client"] + index["cpu_ms"]["client"],
        exchange_server=wrote["cpu_ms"]["server"] + index["cpu_ms"]["server"],
        bare=memory["client of one"] * 1e6, namespace=(memory["a namespace"] or 0) * 1e6,
    )  # fmt: skip


def measured(report: Report) -> list[str]:
    """A table of what one of everything costs in both homes."""
    both = (report, report["sqlite"])
    costs = [cost(one) for one in both]
    names = sorted({mode for one in both for mode in one["modes"]}, key=list(report["modes"]).index)
    rows: list[tuple[str, Sequence[str]]] = [
        ("on disk, bytes a message (all tables and indexes)", [f"{each.message:,.0f}" for each in costs]),
    ]
    for name in names:
        modes = [one["modes"][name] for one in both]
        what = "an exchange written" if "write" in name else "a question"
        label = f"{what}, {name.removeprefix('write ')}, {modes[0]['clients']} client{'s' * (modes[0]['clients'] > 1)}"
        rows.append((f"{label}: p50 / p95 ms", [f"{mode['p50_ms']} / {mode['p95_ms']}" for mode in modes]))
        if modes[0]["first"]["count"]:
            firsts = [mode["first"] for mode in modes]
            rows.append(("· the first to a namespace", [f"{one['p50_ms']} / {one['p95_ms']}" for one in firsts]))
        rows.append(("· a second, errors", [f"{mode['per_s']:,}, {mode['errors']}" for mode in modes]))
    rows += [
        ("CPU of a question, ms: client + server", [f"{one.question_client:.1f} + {one.question_server:.1f}" for one in costs]),
        ("· so questions a second and core", [f"{1000 / (one.question_client + one.question_server):,.0f}" for one in costs]),
        ("CPU of an exchange and its indexing, ms: client + server",
         [f"{one.exchange_client:.1f} + {one.exchange_server:.1f}" for one in costs]),
        ("· so exchanges a second and core", [f"{1000 / (one.exchange_client + one.exchange_server):,.0f}" for one in costs]),
        ("indexed exchanges a second, one process", [f"{one['index']['per_s']:,}" for one in both]),
        ("memory of a serving process, MB, with one namespace warm / with its share of them",
         [f"{held['client of one']} / {held['client']}" for held in (one["modes"]["flat"]["memory_mb"] for one in both)]),
        ("· for each more, MB", [f"{one.namespace / 1e6:.2f}" for one in costs]),
        ("memory of the server, MB, one client / all", [_server(one) for one in both]),
    ]  # fmt: skip
    if "backup" in report:
        backups = [one["backup"] for one in both]
        rows.append(("a backup: seconds, MB", [f"{one['seconds']:,} s, {one['bytes'] / 1e6:,.0f} MB" for one in backups]))
    rows.append(("load of the machine when that began, by others too", [str(one["load"]) for one in both]))
    head = f"{report['nodes']:,} messages in {report['namespaces']:,} namespaces"
    return [f"| {head} | PostgreSQL | SQLite |", "|---|---|---|", *(f"| {name} | {' | '.join(cells)} |" for name, cells in rows)]


def _server(report: Report) -> str:
    held = [report["modes"][name]["memory_mb"]["server"] for name in ("alone", "flat")]
    return f"{held[0]:,} / {held[1]:,}" if any(held) else "none"


def tables(report: Report) -> list[str]:
    """Which tables take the room of a PostgreSQL home."""
    found = report.get("bytes", report["captured_bytes"])
    largest = sorted(found["by"].items(), key=lambda pair: -pair[1])[:9]
    rest = found["bytes"] - sum(size for _, size in largest)
    cells = [*largest, ("all others", rest)]
    return ["| table | bytes a message | part |", "|---|---|---|", *(
        f"| {name} | {size / found['messages']:,.0f} | {size / found['bytes']:.0%} |" for name, size in cells
    )]  # fmt: skip


def needed(one: Cost, use: Profile) -> list[str]:
    """A table of what namespaces need that are used so, with how each line is reckoned."""
    rows: dict[str, list[str]] = {}
    for count in SIZES:
        for name, cell in _needs(one, use, count).items():
            rows.setdefault(name, []).append(cell)
    head = " | ".join(f"{count:,}" for count in SIZES)
    lines = [f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items()]
    return [f"| namespaces | {head} |", "|---|" + "---|" * len(SIZES), *lines]


def _needs(one: Cost, use: Profile, count: int) -> dict[str, str]:
    disk = count * use.messages * one.message
    growth = count * use.exchanges * 2 * one.message
    asked, written = count * use.questions / DAY * use.peak, count * use.exchanges / DAY * use.peak
    clients = (asked * one.question_client + written * one.exchange_client) / 1000 / use.busy
    servers = (asked * one.question_server + written * one.exchange_server) / 1000 / use.busy
    processes = max(1, math.ceil(clients))
    hot = use.warm * disk
    serving = processes * one.bare + use.warm * count * one.namespace
    shards = max(1, *map(math.ceil, (disk / use.server_tb / 1e12, servers / use.server_cores, hot / use.server_gb / 1e9)))
    return {
        f"messages: n × {use.messages:,}": f"{count * use.messages:,}",
        f"disk: messages × {one.message:,.0f} B": size(disk),
        f"· more each day: n × {use.exchanges} × 2 × {one.message:,.0f} B": size(growth),
        f"questions a second at the peak: n × {use.questions} ÷ 86,400 × {use.peak:g}": rate(asked),
        f"exchanges a second at the peak: n × {use.exchanges} ÷ 86,400 × {use.peak:g}": rate(written),
        f"cores that serve: (q × {one.question_client:.1f} + x × {one.exchange_client:.1f} ms) ÷ {use.busy:g}": rate(clients),
        f"cores of PostgreSQL: (q × {one.question_server:.1f} + x × {one.exchange_server:.1f} ms) ÷ {use.busy:g}": rate(servers),
        f"memory that serves: a process a core × {one.bare / 1e6:.0f} MB + n × {use.warm:g} × {one.namespace / 1e6:.2f} MB":
            size(serving),
        f"memory of PostgreSQL: {use.warm:g} × disk": size(hot),
        f"servers of {use.server_cores} cores, {use.server_gb:g} GB and {use.server_tb:g} TB, by what runs out first":
            f"{shards:,}",
        "· namespaces on each": f"{math.ceil(count / shards):,}",
        f"connections at most: processes × {LIMIT}": f"{processes * LIMIT:,}",
    }  # fmt: skip


def size(count: float) -> str:
    """Bytes in the unit that fits."""
    for unit in ("MB", "GB", "TB"):
        count /= 1e6 if unit == "MB" else 1e3
        if count < 1_000:
            break
    return f"{count:,.1f} {unit}" if count < 10 else f"{count:,.0f} {unit}"


def rate(count: float) -> str:
    """A number with as many digits as it is worth."""
    return f"{count:,.2f}" if count < 10 else f"{count:,.0f}"


def parts(report: Report, use: Profile) -> dict[str, list[str]]:
    """The tables of the page, by the name under which it has room for each."""
    return {"measured": measured(report), "tables": tables(report), "needed": needed(cost(report), use)}


def page(text: str, found: Mapping[str, Sequence[str]]) -> str:
    """The page with its tables made anew: each stands between two remarks that bear its name."""
    for name, lines in found.items():
        block = "\n".join([f"<!-- {name} -->", "", *lines, "", f"<!-- /{name} -->"])
        text, count = re.subn(rf"<!-- {name} -->.*?<!-- /{name} -->", lambda _, block=block: block, text, flags=re.S)  # type: ignore[misc]
        if count != 1:
            raise SystemExit(f"{PAGE.name} has no room for {name!r}: it needs <!-- {name} --> and <!-- /{name} --> once")
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--messages", type=int, default=1_000, help="in a namespace")
    parser.add_argument("--questions", type=float, default=20, help="to a namespace a day")
    parser.add_argument("--exchanges", type=float, default=20, help="in a namespace a day")
    parser.add_argument("--peak", type=float, default=3.0, help="times the average at the busiest hour")
    parser.add_argument("--busy", type=float, default=0.5, help="part of their time that cores are planned to work")
    parser.add_argument("--warm", type=float, default=0.1, help="part of the namespaces that is in memory")
    parser.add_argument("--server-cores", type=int, default=16)
    parser.add_argument("--server-gb", type=float, default=256.0, help="memory of a server")
    parser.add_argument("--server-tb", type=float, default=4.0, help="disk of a server")
    parser.add_argument("--page", action="store_true", help="put the tables into docs/capacity.md")
    options = vars(parser.parse_args())
    to_page = options.pop("page")
    report = json.loads(RESULTS.read_text("utf-8"))
    if "modes" not in report:
        raise SystemExit(f"{RESULTS.name} is of an older run: `python -m bench.shared --keep` first")
    found = parts(report, Profile(**options))
    if to_page:
        PAGE.write_text(page(PAGE.read_text("utf-8"), found), "utf-8")
    print("\n\n".join("\n".join(lines) for lines in found.values()))


if __name__ == "__main__":
    main()
