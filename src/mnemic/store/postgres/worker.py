"""Whoever works the jobs off: as many at once as asked for, from the queue of one database or of several, until it is stopped.

What a job means is the caller's (`Work`); here it is fetched, tried again later if it failed, and told. A job may be done
twice, so what it calls must bear being repeated: its worker may die after the work and before the note of it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import psycopg

from mnemic.errors import MnemicError, StoreError
from mnemic.store.postgres.connection import first_line
from mnemic.store.postgres.jobs import JOBS, KINDS, QUEUE, STALE_SECONDS, TASK, TRIES, Jobs, Round, lock_of, missing

if TYPE_CHECKING:
    from procrastinate import App, JobContext
    from procrastinate.jobs import Job

BEAT_SECONDS = 10.0
"""How often a worker gives a sign of life."""
POLL_SECONDS = 5.0
"""How often it looks by itself; otherwise the server tells it of a new job."""
TICK = "* * * * * */15"
"""When some worker takes up what dead ones left, and notes what is due: every 15 seconds, as cron writes it."""
LONGEST_WAIT = 3_600
"""Seconds between two tries, at most."""
PAUSES = (0.5, 30.0)
"""Seconds that a worker whose server is away waits before it looks again: at first, and at most."""
LATER = -1
"""The priority of what is tried again: nothing fresh of its namespace waits for it."""
Work = Callable[[str, str], None]
"""Does a job, by kind and namespace; what it raises means that it is to be tried again."""
Outcome = Literal["done", "again", "failed"]


@dataclass(frozen=True, slots=True)
class Worked:
    """A job that came to an end."""

    namespace: str
    kind: str
    ms: float
    outcome: Outcome
    error: str | None = None
    """What kind of error it was; what it says may hold content."""


class Worker:
    """Works jobs off while `run` runs; `stop` ends it after the jobs that are under way."""

    def __init__(
        self, queues: Sequence[Jobs], work: Work, due: Callable[[], Round], *, at_once: int, once: bool, retry_seconds: int,
        told: Callable[[Worked], None], seconds: Callable[[], float] = time.perf_counter,
    ) -> None:  # fmt: skip
        """`once`: end when nothing is due any more. `at_once`: jobs of one database at the same time. `retry_seconds`: how
        long after its first failure a job is begun again; twice as long after each further one.
        """
        self._queues, self._work, self._due = queues, work, due
        self._at_once, self._once, self._retry_seconds = at_once, once, retry_seconds
        self._told, self._seconds = told, seconds
        self._ended = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end = asyncio.Event()
        self._count = 0

    def run(self) -> int:
        """Work until `stop`, or until nothing is due; how many jobs were done. Raises MissingExtra, StoreError."""
        try:
            import procrastinate
        except ImportError as error:
            raise missing(error) from None
        logging.getLogger(procrastinate.__name__).addHandler(logging.NullHandler())  # its texts name arguments: not for stderr
        for queue in self._queues:
            queue.install()
        return asyncio.run(self._run())

    def stop(self) -> None:
        """End `run`. From any thread, and from a signal's handler."""
        self._ended = True
        if self._loop is not None:
            with suppress(RuntimeError):  # it is closed: that was the end
                self._loop.call_soon_threadsafe(self._end.set)

    async def _run(self) -> int:
        self._end = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        if self._ended:
            self._end.set()
        with ThreadPoolExecutor(self._at_once * len(self._queues), "mnemic-job") as threads:
            await asyncio.gather(*(self._serve(queue, threads) for queue in self._queues))
        return self._count

    async def _serve(self, queue: Jobs, threads: ThreadPoolExecutor) -> None:
        """Work off one queue; a server that goes away is waited for, but not where nobody waits."""
        from procrastinate.exceptions import ConnectorException

        pause, starting = PAUSES[0], True
        while not self._end.is_set():
            before = self._count
            try:
                await asyncio.to_thread(queue.tick, self._due(), starting=starting)
                starting = False
                await self._until_ended(queue, threads)
            except (ConnectorException, psycopg.Error, StoreError) as error:
                if self._once or starting:  # never begun: somebody has to see to it
                    cause = error.__cause__ or error
                    raise error if isinstance(error, StoreError) else StoreError(
                        f"{queue.base.name}: {first_line(cause)}: start the worker again"
                    ) from error  # fmt: skip
            if self._once and self._count == before:
                return
            if not self._once:
                pause = PAUSES[0] if self._count > before else min(2 * pause, PAUSES[1])
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._end.wait(), pause)

    async def _until_ended(self, queue: Jobs, threads: ThreadPoolExecutor) -> None:
        app = self._app(queue, threads)
        async with app.open_async():
            working = asyncio.create_task(
                app.run_worker_async(
                    queues=[QUEUE], concurrency=self._at_once, wait=not self._once, listen_notify=not self._once,
                    install_signal_handlers=False, delete_jobs="successful", fetch_job_polling_interval=POLL_SECONDS,
                    update_heartbeat_interval=BEAT_SECONDS, stalled_worker_timeout=STALE_SECONDS,
                )
            )  # fmt: skip
            ending = asyncio.create_task(self._end.wait())
            await asyncio.wait({working, ending}, return_when=asyncio.FIRST_COMPLETED)
            ending.cancel()
            if self._end.is_set():
                working.cancel()  # it ends what is under way first
            with suppress(asyncio.CancelledError):
                await working

    def _app(self, queue: Jobs, threads: ThreadPoolExecutor) -> App:
        """procrastinate, with a task for each kind of job."""
        from procrastinate import App, PsycopgConnector

        connector = PsycopgConnector(
            conninfo=queue.base.url, min_size=1, max_size=self._at_once + 2, configure=_configure, name=queue.base.name
        )
        app = App(connector=connector)
        retry = _retry(self._retry_seconds)
        running = set[int]()
        for kind in KINDS:
            app.task(name=TASK + kind, queue=QUEUE, pass_context=True, retry=retry)(self._task(kind, app, threads, running))
        if not self._once:
            ended = set[int]()

            async def tick(context: JobContext, timestamp: int) -> None:
                with suppress(MnemicError):  # the next one comes
                    await asyncio.to_thread(queue.tick, self._due())
                if context.job.worker_id is not None:
                    await let_go(app, context.job.worker_id, running | {context.job.id or 0}, ended)

            task = app.task(name=TASK + "tick", queue=QUEUE, queueing_lock="tick", pass_context=True)(tick)
            app.periodic(cron=TICK)(task)
        return app

    def _task(self, kind: str, app: App, threads: ThreadPoolExecutor, running: set[int]) -> Callable[..., Any]:
        async def task(context: JobContext, namespace: str) -> None:
            number = context.job.id or 0
            running.add(number)
            try:
                await work(context, namespace)
            finally:
                running.discard(number)

        async def work(context: JobContext, namespace: str) -> None:
            began = self._seconds()
            loop = asyncio.get_running_loop()
            try:
                await loop.run_in_executor(threads, self._work, kind, namespace)
            except Exception as error:
                last = context.job.attempts + 1 >= TRIES
                waits = not last and not await _put_off(app, context.job, kind, namespace)
                if last:
                    await _clear(app, kind, namespace)
                self._tell(namespace, kind, began, "failed" if last else "again", type(error).__name__)
                if not waits:  # else the same is tried again anyway
                    raise
            else:
                await _clear(app, kind, namespace)
                self._tell(namespace, kind, began, "done", None)

        return task

    def _tell(self, namespace: str, kind: str, began: float, outcome: Outcome, error: str | None) -> None:
        self._count += 1
        self._told(Worked(namespace, kind, round((self._seconds() - began) * 1000, 1), outcome, error))


async def _configure(connection: psycopg.AsyncConnection[Any]) -> None:
    await connection.set_autocommit(True)
    await connection.execute(f"SET search_path = {JOBS}")


async def let_go(app: App, worker: int, running: set[int], ended: set[int]) -> None:
    """Let be taken up again what a worker did but could not note, e.g. because its connection broke just then.

    `ended`: what seemed so the last time, and may merely have been about to begin or to be noted; what seems so now is put there.
    """
    rows = await app.connector.execute_query_all_async(
        "SELECT id FROM procrastinate_jobs WHERE status='doing' AND worker_id=%(worker)s", worker=worker
    )
    found = {row["id"] for row in rows} - running
    left = found & ended
    for number in left:
        await app.connector.execute_query_async(
            "UPDATE procrastinate_jobs SET worker_id=NULL WHERE id=%(id)s AND status='doing'", id=number
        )
    ended.clear()
    ended.update(found - left)


async def _put_off(app: App, job: Job, kind: str, namespace: str) -> bool:
    """Let a failed job stand beside a fresh one of its kind; false if one that failed before it stands there already."""
    rows = await app.connector.execute_query_all_async(
        "UPDATE procrastinate_jobs SET queueing_lock=%(lock)s WHERE id=%(id)s AND NOT EXISTS"
        " (SELECT 1 FROM procrastinate_jobs WHERE queueing_lock=%(lock)s AND status='todo') RETURNING id",
        id=job.id, lock=lock_of(kind, namespace, again=True),
    )  # fmt: skip
    return bool(rows)


async def _clear(app: App, kind: str, namespace: str) -> None:
    """Remove what failed for good before: the same was done now, or failed in its place."""
    await app.connector.execute_query_async(
        "DELETE FROM procrastinate_jobs WHERE lock=%(lock)s AND status='failed' AND task_name=%(task)s",
        lock=namespace, task=TASK + kind,
    )  # fmt: skip


def _retry(first_seconds: int) -> Any:
    from procrastinate import BaseRetryStrategy, RetryDecision

    class Doubling(BaseRetryStrategy):
        """After each failure twice as long as after the one before, and `TRIES` times in all."""

        def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
            if job.attempts + 1 >= TRIES:
                return None
            seconds = min(first_seconds * 2**job.attempts, LONGEST_WAIT)
            return RetryDecision(retry_in={"seconds": seconds}, priority=LATER)

    return Doubling()
