"""What a shared home costs beside a folder: `python -m bench.shared`.

    python -m bench.shared [--url URL | --data DIR] [--namespaces 50] [--nodes 10000] [--captured 20] [--clients 8]
                           [--seconds 10] [--rate 1.0] [--backup] [--json] [--keep]

Fills both with the same messages (those of bench.scale, and its embedder that costs next to nothing), over many namespaces.
So many of them are captured (`--captured`); the others are copies of these, made row by row (bench.clones), because a
thousand real ones would take hours. Of each home some copies are verified and asked the same as their originals.

Then clients, each a process of its own that looks after its share of the namespaces, ask questions and write exchanges:

- alone: one client, one question after the other;
- paced: all clients, each with so many questions a second as `--rate` says, whatever the answers take. A question's time
  counts from when it was due, so what waits is seen;
- flat: all clients, one question after the other, as fast as they come: this measures the cores.

Half of its namespaces each client has asked before the clock runs; questions to these are the recall that is reported, in
all namespaces after the first. The first question to a namespace that a process does not know yet is told apart (`first`).
Recall is timed embedding aside. Without `--url` the wheel's PostgreSQL runs on a socket with everything that keeps an
acknowledged write; the folder is on the same disk. The clients and the server share the machine.

`--data DIR` (a short path) keeps both homes, filled, for the next run with the same sizes. `--keep` stores the figures in
bench/results/shared.json, from which `python -m bench.capacity` reckons.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from bench.clones import in_database, in_folder
from bench.scale import ROOT, START, TOPICS, Between, message, names, question, sentences
from mnemic import Memory
from mnemic.errors import MnemicError
from mnemic.models.document import Turn
from tests.servers import Server, serving

RESULTS = ROOT / "bench" / "results" / "shared.json"
SURE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "autovacuum": "on", "shared_buffers": "1GB",
        "max_connections": "200", "max_wal_size": "4GB"}  # fmt: skip
BATCH = 60
"""Messages that one capture of the filling brings."""
WARM = 3
"""Questions to a namespace before the clock runs."""
WRITING = 10
"""Seconds that exchanges are written for, at most: what is written stays."""
FRESH = "spawn"
"""How a client's process starts: with nothing in memory that it did not read itself."""
COMPARED = 3
"""Copies that are verified and asked the same as their originals."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a client is to do, in a process of its own."""

    home: str
    folder: str
    topics: tuple[str, ...]
    spaces: tuple[str, ...]
    seconds: float
    seed: int
    rate: float | None = None
    """Questions a second; None: the next when the last is answered."""


@dataclass(slots=True)
class Done:
    """What a client saw: milliseconds of each question or write, of first questions, how often it failed, and what it took."""

    times: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    errors: int = 0
    cpu: float = 0.0
    """Seconds of the processor, the embedder's included."""
    embedding: float = 0.0
    empty: int = 0
    """Bytes of memory when one namespace had been asked, and at the end."""
    full: int = 0
    known: int = 0
    """Namespaces that it has asked at the end."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--url", help="an empty database whose user may do all; without, a server of its own")
    parser.add_argument("--data", type=Path, help="a folder with a short path that keeps the filled homes for the next run")
    parser.add_argument("--namespaces", type=int, default=50)
    parser.add_argument("--nodes", type=int, default=10_000, help="message nodes, over all namespaces")
    parser.add_argument("--captured", type=int, default=20, help="namespaces that are captured; the others are copies of them")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rate", type=float, default=1.0, help="questions a second of each client that is paced")
    parser.add_argument("--backup", action="store_true", help="back both homes up, too")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--keep", action="store_true", help="store the figures")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = options.data or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        if options.url:
            report = measure(options, folder, options.url)
        else:
            server = stack.enter_context(serving(SURE, options.data and options.data / "pg"))
            report = measure(options, folder, database(server, folder), server.folder)
    if options.keep:
        RESULTS.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    print(json.dumps(report, indent=1) if options.json else render(report))


def database(server: Server, folder: Path) -> str:
    """The home on a server: the one that a run before filled, or an empty one."""
    if (folder / "postgres.json").exists():
        return server.url("bench")
    server.drop("bench")
    return server.fresh("bench")


def measure(options: argparse.Namespace, folder: Path, url: str, place: Path | None = None) -> dict[str, Any]:
    """The figures of both homes, one after the other. `place`: the folder of the server, if it is our own."""
    said = sentences()
    topics = tuple(random.Random(1).sample(list(said), min(TOPICS, len(said))))
    spaces = tuple(f"user-{number}" for number in range(options.namespaces))
    found = []
    for name, home in (("sqlite", str(folder / "home")), ("postgres", url)):
        engine = Engine(place if name == "postgres" else None)
        job = Job(home, str(folder), topics, spaces, options.seconds, 0)
        filled = filling(job, options, engine, folder / f"{name}.json")
        load = round(os.getloadavg()[0], 1)  # of others, should the home have been filled before
        shares = [spaces[client :: options.clients] or spaces for client in range(options.clients)]
        jobs = [Job(home, str(folder), topics, share, options.seconds, seed) for seed, share in enumerate(shares)]
        paced = [replace(one, rate=options.rate) for one in jobs]
        short = [replace(one, seconds=min(one.seconds, WRITING)) for one in jobs]
        modes = {
            "alone": run(ask, jobs[:1], engine), "paced": run(ask, paced, engine), "flat": run(ask, jobs, engine),
            "write alone": run(write, short[:1], engine), "write flat": run(write, short, engine),
        }  # fmt: skip
        indexed = index(job, engine)
        found.append({
            "namespaces": options.namespaces, "nodes": options.nodes, "clients": options.clients,
            "recall": {key: modes["paced"][key] for key in ("p50_ms", "p95_ms", "per_s")},
            "capture_per_s": modes["write flat"]["per_s"],
            "errors": sum(mode["errors"] for mode in modes.values()),
            "rate": options.rate, "seconds": options.seconds, "load": load, "modes": modes, "index": indexed, **filled,
        })  # fmt: skip
        if options.backup:
            found[-1]["backup"] = backed_up(job, folder)
    return {**found[1], "sqlite": found[0]}


def opened(job: Job) -> Memory:
    environ = {"MNEMIC_CONFIG": f"{job.folder}/config-{job.seed}", "MNEMIC_FILES": f"{job.folder}/files-{job.seed}"}
    return Memory.open(job.home, environ=environ, embedder=Between(job.topics))


# filling


def filling(job: Job, options: argparse.Namespace, engine: Engine, noted: Path) -> dict[str, Any]:
    """Fill a home, unless a run before did; how fast that was, and what stands in it."""
    sizes = {name: getattr(options, name) for name in ("namespaces", "nodes", "captured")}
    if noted.exists():
        known = json.loads(noted.read_text("utf-8"))
        if known["sizes"] != sizes:
            raise SystemExit(f"{noted.parent} holds {known['sizes']}: give the same sizes, or another --data")
        there: dict[str, Any] = known["filled"]
        return there
    if "://" not in job.home:
        shutil.rmtree(job.home, ignore_errors=True)  # a run before was cut short
    captured = job.spaces[: options.captured]
    each = options.nodes // options.namespaces
    count = each * len(captured)
    before, mine, started = engine.cpu(), time.process_time(), time.perf_counter()
    fill(replace(job, spaces=captured), each)
    took, client = time.perf_counter() - started, (time.process_time() - mine) / count * 1000
    filled: dict[str, Any] = {
        "captured": len(captured), "filled_per_s": round(count / took, 1),
        "fill_cpu_ms": {"client": round(client, 3), "server": engine.ms(before, count)}, "captured_bytes": stored(job, count),
    }  # fmt: skip
    if copies := {name: captured[place % len(captured)] for place, name in enumerate(job.spaces[len(captured) :])}:
        started = time.perf_counter()
        if "://" in job.home:
            in_database(job.home, copies)
        else:
            in_folder(Path(job.home), copies)
        filled["copied_s"] = round(time.perf_counter() - started, 1)
        compare(job, copies)
        filled["bytes"] = stored(job, each * len(job.spaces))
    noted.write_text(json.dumps({"sizes": sizes, "filled": filled}, indent=1), "utf-8")
    return filled


def fill(job: Job, each: int, *, indexed: bool = True) -> None:
    """Capture so many messages into every namespace, and index them."""
    said, draw = sentences(), random.Random(2)
    named = names(draw)
    with opened(job) as memory:
        for name in job.spaces:
            space = memory.within(name)
            for at in range(0, each, BATCH):
                turns = [
                    Turn("user" if place % 2 == 0 else "assistant", message(said, named, draw), created_at=START + place * 60_000)
                    for place in range(at, min(at + BATCH, each))
                ]
                space.capture(turns, session=f"session_{at // BATCH}", index=False)
            if indexed:
                space.index()


def index(job: Job, engine: Engine) -> dict[str, Any]:
    """Index the exchanges that were written, so that the next run finds the home as this one did; how fast that was."""
    before, mine, started = engine.cpu(), time.process_time(), time.perf_counter()
    with opened(job) as memory:
        count = sum(memory.within(name).index()["indexed"] for name in job.spaces)
    took, each = time.perf_counter() - started, max(count, 1)
    cpu = {"client": round((time.process_time() - mine) / each * 1000, 2), "server": engine.ms(before, each)}
    return {"exchanges": count, "per_s": round(count / took, 1), "cpu_ms": cpu}


def stored(job: Job, messages: int) -> dict[str, Any]:
    """Bytes on disk by file or table, in all and for each message; and how many nodes there are, those without words too."""
    with opened(job) as memory:
        sizes = {name: size for name, size in memory._store.sizes().items() if size}
    whole = sum(sizes.values())
    return {"messages": messages, "bytes": whole, "per_message": round(whole / messages), "by": dict(sorted(sizes.items()))}


def compare(job: Job, copies: Mapping[str, str]) -> None:
    """Stop the run where a copy does not prove itself or answers otherwise than its original."""
    draw = random.Random(3)
    with opened(job) as memory:
        for name in draw.sample(sorted(copies), min(COMPARED, len(copies))):
            copy, original = memory.within(name), memory.within(copies[name])
            verdict = copy.verify()
            if not verdict.ok:
                raise SystemExit(f"the copy {name} does not verify: {verdict.problem}")
            for text in draw.sample(_texts(original), WARM):
                asked = question(text, draw)
                one, two = ([(hit.path, round(hit.score, 6)) for hit in space.recall(asked).hits] for space in (original, copy))
                if not one or one != two:
                    raise SystemExit(f"the copy {name} answers {asked!r} otherwise: {one} and {two}")


def backed_up(job: Job, folder: Path) -> dict[str, float]:
    """Seconds that a backup of the home takes, and its bytes."""
    target, started = folder / "backup.zip", time.perf_counter()
    with opened(job) as memory:
        memory._store.backup(target)
    found = {"seconds": round(time.perf_counter() - started, 1), "bytes": target.stat().st_size}
    target.unlink()
    return found


# the clients


def run(work: Callable[[Job, Callable[[], Any]], Done], jobs: list[Job], engine: Engine) -> dict[str, Any]:
    """Let clients work at the same time, each in a process that was started afresh, and say what they and the server took."""
    context: Any = get_context(FRESH)
    gate, answers = context.Barrier(len(jobs) + 1), context.Queue()
    clients = [context.Process(target=_client, args=(work, job, gate, answers), daemon=True) for job in jobs]
    for client in clients:
        client.start()
    gate.wait()  # all are warm
    before, started = engine.cpu(), time.perf_counter()
    gate.wait()  # all have answered what was due
    took, spent, held = time.perf_counter() - started, engine.cpu() - before, engine.memory()
    gate.wait()
    done = [Done(**answers.get(timeout=60)) for _ in jobs]
    for client in clients:
        client.join()
    times, first = np.concatenate([one.times for one in done]), np.concatenate([one.first for one in done])
    count = len(times) + len(first)
    learnt = [(one.full - one.empty) / (one.known - 1) for one in done if one.known > 1]
    return {
        "clients": len(jobs), "p50_ms": _at(times, 50), "p95_ms": _at(times, 95), "p99_ms": _at(times, 99),
        "count": len(times), "per_s": round(count / took, 1), "errors": sum(one.errors for one in done),
        "first": {"p50_ms": _at(first, 50), "p95_ms": _at(first, 95), "count": len(first)},
        "cpu_ms": {"client": round((sum(one.cpu - one.embedding for one in done)) / max(count, 1) * 1000, 2),
                   "server": round(spent / max(count, 1) * 1000, 2)},
        "memory_mb": {
            "client": round(max(one.full for one in done) / 1e6), "client of one": round(max(one.empty for one in done) / 1e6),
            "a namespace": round(float(np.mean(learnt)) / 1e6, 2) if learnt else None, "server": round(held / 1e6),
        },
    }  # fmt: skip


def _client(work: Callable[[Job, Callable[[], Any]], Done], job: Job, gate: Any, answers: Any) -> None:
    try:
        done = work(job, gate.wait)
        gate.wait()
        gate.wait()
    except BaseException:
        gate.abort()
        raise
    answers.put(asdict(done))


def _at(times: Any, part: float) -> float | None:
    return round(float(np.percentile(times, part)), 2) if len(times) else None


def ask(job: Job, ready: Callable[[], Any]) -> Done:
    """Questions to namespaces drawn at random, half of which this process has asked before."""
    draw, done = random.Random(job.seed), Done()
    with opened(job) as memory:
        spaces = [memory.within(name) for name in job.spaces]
        texts = {space.namespace: _texts(space) for space in spaces}
        known = set[str]()
        for space in spaces[: (len(spaces) + 1) // 2]:
            known.add(space.namespace)
            for _ in range(WARM):
                space.recall(question(draw.choice(texts[space.namespace]), draw))
            done.empty = done.empty or _held()
        ready()
        spent, started = _spent(), time.perf_counter()
        for due in _moments(job, started, draw):
            space = draw.choice(spaces)
            asked = question(draw.choice(texts[space.namespace]), draw)
            before = time.perf_counter() if due is None else due
            try:
                answer = space.recall(asked)
                done.errors += bool(answer.degraded)
                embedding = answer.timings.get("embed", 0.0)
            except MnemicError:
                done.errors, embedding = done.errors + 1, 0.0
            done.embedding += embedding / 1000
            taken = (time.perf_counter() - before) * 1000 - embedding
            (done.times if space.namespace in known else done.first).append(taken)
            known.add(space.namespace)
        done.cpu, done.full, done.known = _spent() - spent, _held(), len(known)
    return done


def write(job: Job, ready: Callable[[], Any]) -> Done:
    """Exchanges of two messages, each acknowledged before the next."""
    said, draw, done = sentences(), random.Random(1_000 + job.seed), Done()
    named, session = names(draw), f"live-{time.time_ns()}"  # what a run before wrote would be known
    with opened(job) as memory:
        spaces = [memory.within(name) for name in job.spaces]
        spaces[0].status()
        ready()
        spent, started = _spent(), time.perf_counter()
        for _ in _moments(job, started, draw):
            turns = [Turn("user", message(said, named, draw)), Turn("assistant", message(said, named, draw))]
            before = time.perf_counter()
            try:
                draw.choice(spaces).capture(turns, session=session, index=False)
                done.times.append((time.perf_counter() - before) * 1000)
            except MnemicError:
                done.errors += 1
        done.cpu = _spent() - spent
    return done


def _moments(job: Job, started: float, draw: random.Random) -> Iterator[float | None]:
    """When the next question is due: at once, or after gaps drawn as of callers who know nothing of each other (Poisson)."""
    if job.rate is None:
        while time.perf_counter() - started < job.seconds:
            yield None
        return
    due = started + draw.expovariate(job.rate)
    while due - started < job.seconds:
        time.sleep(max(0.0, due - time.perf_counter()))
        yield due
        due += draw.expovariate(job.rate)


def _texts(memory: Memory) -> list[str]:
    """Some texts of a namespace."""
    store, ns = memory._store, memory.namespace
    documents = store.documents(ns, limit=50)
    return [body for document in documents for body in store.document_texts(ns, document.id, document.shelf).values()]


def _spent() -> float:
    """Seconds of the processor that this process took."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _held(process: int | str = "self") -> int:
    """Bytes that a process holds, of those it shares with others its part; 0 where the system does not tell."""
    try:
        found = re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{process}/smaps_rollup").read_text("ascii"), re.M)
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0


@dataclass(frozen=True, slots=True)
class Engine:
    """The processes of a server that runs from a folder, if it is our own."""

    folder: Path | None = None

    def _processes(self) -> list[int]:
        if self.folder is None:
            return []
        first = int((self.folder / "data" / "postmaster.pid").read_text("ascii").split()[0])
        children = Path(f"/proc/{first}/task/{first}/children")
        return [first, *map(int, children.read_text("ascii").split())] if children.exists() else [first]

    def cpu(self) -> float:
        """Seconds of the processor that it took so far, with those of connections that ended."""
        ticks = 0
        for place, process in enumerate(self._processes()):
            try:
                fields = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
            except OSError:
                continue
            ticks += sum(map(int, fields[11:13] if place else fields[11:15]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def ms(self, before: float, count: int) -> float:
        """Milliseconds of the processor for each of so many, since it had taken so much."""
        return round((self.cpu() - before) / count * 1000, 3)

    def memory(self) -> int:
        """Bytes that it holds, its buffers in them as far as they were touched."""
        return sum(map(_held, self._processes()))


def render(report: dict[str, Any]) -> str:
    """A Markdown table."""
    head = f"{report['nodes']:,} messages in {report['namespaces']:,} namespaces"
    columns = ("", "clients", "p50 ms", "p95 ms", "first p50 / p95 ms", "a second", "CPU ms client / server", "errors")
    rows = [head, "", f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    for name, row in (("PostgreSQL", report), ("SQLite", report["sqlite"])):
        for mode, one in row["modes"].items():
            first = f"{one['first']['p50_ms']} / {one['first']['p95_ms']}" if one["first"]["count"] else ""
            cells = (f"{name}, {mode}", one["clients"], one["p50_ms"], one["p95_ms"], first, f"{one['per_s']:,}",
                     f"{one['cpu_ms']['client']} / {one['cpu_ms']['server']}", one["errors"])  # fmt: skip
            rows.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
