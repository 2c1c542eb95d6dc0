"""What the proxy costs a turn: `python -m bench.proxy [--nodes 10000] [--requests 300] [--streams 50 --seconds 60] [--json]`.

A scripted model streams the same answer on a port of this machine. One client asks it directly and through the proxy, in
turn, from a memory of so many nodes (hashing embedder): what is added is the difference between the two of a pair, up to the
first byte and up to the last. Conversations grow to twenty messages and begin anew; every question is answered and
remembered. Model, proxy and client are processes of their own.

With `--seconds`, so many streams at once run against the proxy for that long, in two halves, of which the client leaves every
tenth. What the proxy's process holds at rest after the second half (open files and sockets, threads, tasks of its loop,
memory) is what it held after the first, or something leaks.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import multiprocessing
import os
import random
import socket
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import httpx

from bench.scale import sentences, spread
from mnemic import Memory

PARAGRAPHS = 100
"""Nodes of one document of the memory."""
MESSAGES = 20
CHUNKS = 20
LEAVING = 0.1
"""The share of streams that the client leaves."""
PAUSE = 0.1
"""Seconds between two chunks of a stream, where many run at once."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--pause", type=float, default=0.1, help="Seconds between an answer and the next question.")
    parser.add_argument("--streams", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=0.0, help="How long so many streams run; 0 leaves it out.")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = measure(Path(folder), options.nodes, options.requests, options.pause, options.streams, options.seconds)
    print(json.dumps(report, indent=1) if options.json else "\n".join(f"{key:<14}{value}" for key, value in report.items()))


def measure(folder: Path, nodes: int, requests: int, pause: float, streams: int, seconds: float) -> dict[str, Any]:
    said = sentences()
    with _memory(folder) as memory:
        fill(memory, said, nodes)
    model, proxy = _Process(_model), _Process(_proxy, str(folder))
    try:
        model_url = str(model.told())
        proxy.tell(model_url)
        proxy_url = str(proxy.told())
        report: dict[str, Any] = {"nodes": nodes, **latency(said, model_url, proxy_url, requests, pause)}
        if seconds:
            report["streams"] = asyncio.run(stress(proxy, proxy_url, said, streams, seconds))
        return report
    finally:
        proxy.end()
        model.end()


def fill(memory: Memory, said: Sequence[str], nodes: int) -> None:
    """Documents of a hundred paragraphs each."""
    draw = random.Random(1)
    for place in range(nodes // PARAGRAPHS):
        text = "\n\n".join(" ".join(draw.choices(said, k=draw.randint(1, 4))) for _ in range(PARAGRAPHS))
        memory.remember(text, title=f"page {place}")


def latency(said: Sequence[str], model: str, proxy: str, requests: int, pause: float) -> dict[str, Any]:
    """Both ways in turn, the first of a pair being now the one, now the other."""
    draw = random.Random(2)
    times: dict[str, dict[str, list[float]]] = {way: {"first": [], "whole": []} for way in ("direct", "proxy")}
    history: list[dict[str, Any]] = []
    with httpx.Client(timeout=60) as client:
        for place in range(requests + 5):
            history = [*history, {"role": "user", "content": " ".join(draw.choices(said, k=2))}]
            ways = [("direct", model), ("proxy", proxy)]
            for way, url in ways if place % 2 else ways[::-1]:
                time.sleep(pause)
                first, whole = _asked(client, url, history)
                if place >= 5:  # the first ones warm up
                    times[way]["first"].append(first)
                    times[way]["whole"].append(whole)
            history = [*history, {"role": "assistant", "content": " ".join(draw.choices(said, k=3))}]
            history = [] if len(history) >= MESSAGES else history
        status = client.get(f"{proxy}/mnemic/status").json()
    added = {
        part: [two - one for one, two in zip(times["direct"][part], times["proxy"][part], strict=True)]
        for part in ("first", "whole")
    }
    return {
        "requests": requests,
        "direct_ms": {part: spread(found) for part, found in times["direct"].items()},
        "proxy_ms": {part: spread(found) for part, found in times["proxy"].items()},
        "added_ms": {part: spread(found) for part, found in added.items()},
        "prepare_ms": spread([turn["ms"]["prepare"] for turn in status["turns"]]),
        "counts": status["counts"],
    }


def _asked(client: httpx.Client, url: str, messages: list[dict[str, Any]]) -> tuple[float, float]:
    start = time.perf_counter()
    body = {"model": "m", "stream": True, "messages": messages}
    with client.stream("POST", f"{url}/v1/chat/completions", json=body) as answer:
        chunks = answer.iter_raw()
        next(chunks)
        first = time.perf_counter() - start
        for _ in chunks:
            pass
    return 1000 * first, 1000 * (time.perf_counter() - start)


async def stress(proxy: _Process, url: str, said: Sequence[str], streams: int, seconds: float) -> dict[str, Any]:
    """So many clients, each asking again and again, in two halves; what the proxy holds while they run, and after each half."""
    counts = {"whole": 0, "left": 0, "failed": 0}
    held: list[dict[str, int]] = []
    running: dict[str, int] = {}
    for half in range(2):
        end = time.perf_counter() + seconds / 2
        work = asyncio.gather(*(_client(url, f"u{half}-{number}", said, end, counts) for number in range(streams)))
        await asyncio.sleep(seconds / 4)
        running = await asyncio.to_thread(proxy.asked, "held")
        await work
        status = await _settled(url)
        held.append(await asyncio.to_thread(proxy.asked, "held"))
    return {"clients": streams, "seconds": seconds, **counts, "held_while_running": running, "held_after_first_half": held[0],
            "held_after_second_half": held[1], "ended": status["counts"]}  # fmt: skip


async def _client(url: str, user: str, said: Sequence[str], end: float, counts: dict[str, int]) -> None:
    draw = random.Random(user)
    async with httpx.AsyncClient(timeout=60) as line:
        while time.perf_counter() < end:
            messages = [{"role": "user", "content": draw.choice(said)}]
            body = {"model": "slow", "stream": True, "user": user, "messages": messages}
            leave = draw.random() < LEAVING
            try:
                async with line.stream("POST", f"{url}/v1/chat/completions", json=body) as answer:
                    async for _ in answer.aiter_raw():
                        if leave:
                            break
                counts["left" if leave else "whole"] += 1
            except httpx.HTTPError:
                counts["failed"] += 1


async def _settled(url: str) -> dict[str, Any]:
    """The status when all that was asked is over and remembered."""
    async with httpx.AsyncClient(timeout=60) as line:
        while True:
            status: dict[str, Any] = (await line.get(f"{url}/mnemic/status")).json()
            if not status["running"] and not status["waiting"]:
                return status
            await asyncio.sleep(0.2)


# the processes


class _Process:
    """A child that tells its address, and then answers questions."""

    def __init__(self, target: Any, *arguments: str) -> None:
        context = multiprocessing.get_context("spawn")
        self._line, theirs = context.Pipe()
        self._process = context.Process(target=target, args=(theirs, *arguments))
        self._process.start()

    def told(self) -> Any:
        return self._line.recv()

    def tell(self, word: str) -> None:
        self._line.send(word)

    def asked(self, word: str) -> Any:
        self.tell(word)
        return self.told()

    def end(self) -> None:
        with suppress(OSError):
            self.tell("end")
        self._process.join(20)
        if self._process.is_alive():
            self._process.terminate()


def _model(line: Connection) -> None:
    """Streams the same answer to whatever it is asked."""
    rows: list[dict[str, Any]] = [{"delta": {"content": f"word{place} "}} for place in range(CHUNKS)]
    rows.append({"delta": {}, "finish_reason": "stop"})
    chunks = [f"data: {json.dumps({'id': 'x', 'choices': [{'index': 0, **row}]})}\n\n".encode() for row in rows]

    async def app(scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        slow = b'"slow"' in body
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for chunk in [*chunks, b"data: [DONE]\n\n"]:
            if slow:
                await asyncio.sleep(PAUSE)
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    asyncio.run(_served(app, line, "off"))


def _proxy(line: Connection, folder: str) -> None:
    from mnemic.interfaces.proxy.relay import Relay
    from mnemic.interfaces.proxy.serve import application

    with _memory(Path(folder)) as memory:
        relay = Relay(memory, memory.windows(), line.recv())
        asyncio.run(_served(application(relay), line, "on"))


async def _served(app: Any, line: Connection, lifespan: Any) -> None:
    import uvicorn

    bound = socket.create_server(("127.0.0.1", 0), backlog=256)
    config = uvicorn.Config(app, log_level="critical", access_log=False, lifespan=lifespan, ws="none",
                            timeout_graceful_shutdown=1)  # fmt: skip
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(sockets=[bound]))
    line.send(f"http://127.0.0.1:{bound.getsockname()[1]}")
    while await asyncio.to_thread(line.recv) == "held":
        line.send(_held())
    server.should_exit = True
    await serving


def _held() -> dict[str, int]:
    """What this process has open."""
    import threading

    gc.collect()
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return {"files": len(os.listdir("/proc/self/fd")), "threads": threading.active_count(),
            "tasks": len(asyncio.all_tasks()), "rss_mb": pages * os.sysconf("SC_PAGE_SIZE") // 1_000_000}  # fmt: skip


def _memory(folder: Path) -> Memory:
    return Memory.open(folder / "home", environ={"MNEMIC_CONFIG": str(folder / "config")})


if __name__ == "__main__":
    main()
