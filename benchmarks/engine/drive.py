"""Driving a session as its documentation says, and taking the time.

A closed loop: every sender says something, reads the stream of what it leads to up to its end, and
then says the next thing. So there are as many messages under way as there are senders, which is
what a chat is like: nobody goes on before they see what happened. Sending everything at once would
measure how long the queue is, and one sender alone would never let two writes share a sync.
`in_flight` has each person say several things before they look.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, process_time, time
from typing import Any, Final

from benchmarks.engine import script, usage
from benchmarks.engine.figures import first_tenth, last_tenth, percentile
from benchmarks.engine.measurement import Measurement
from benchmarks.engine.package import Package
from benchmarks.engine.workload import SENDERS, line

SESSION_ID: Final = "bench"
QUIET: Final = 0.25  # seconds without a write after which there will be none
GRACE: Final = 60.0  # seconds to end what is under way when the time is up


@dataclass(slots=True)
class Talk:
    """A session under load. `latencies` are in the order of the calls to `handle`."""

    package: Package
    session: Any
    until: float
    latencies: list[float] = field(default_factory=list)
    answers: int = 0

    async def run(self, messages: int, in_flight: int) -> None:
        """Let all senders say their part, or stop when the time is up."""
        async with asyncio.TaskGroup() as group:
            for sender in range(SENDERS):
                numbers = iter(range(sender, messages, SENDERS))
                for _ in range(in_flight):
                    group.create_task(self._say(numbers))

    async def _say(self, numbers: Iterator[int]) -> None:
        for number in numbers:
            await self._say_one(number)
            if perf_counter() > self.until:
                return

    async def _say_one(self, number: int) -> None:
        said = line(number)
        message = self.package.message(
            content=said.content, sender=said.sender, request_id=said.request_id
        )
        place = len(self.latencies)
        self.latencies.append(0.0)
        began = perf_counter()
        execution = self.session.handle(message)
        async for element in execution.stream():
            self.answers += isinstance(element, self.package.message)
        self.latencies[place] = perf_counter() - began


async def measure(
    package: Package,
    folder: Path,
    messages: int,
    in_flight: int,
    limit: float,
    *,
    settle: bool = False,
    sync: str | None = None,
) -> Measurement:
    """Run the workload in an empty folder; `TimeoutError` if what was begun does not end.

    With `settle` the session is stopped only when its files have ceased to grow, and the wait counts up to then. For an engine
    that forgets at its end what it has not written, that is the only way to keep everything.
    """
    store = package.store(folder, sync=sync) if sync else package.store(folder)
    session = package.session(
        id=SESSION_ID,
        group_reasoner_factory=script.reasoner_factory(package),
        agent_factory=script.agent_factory(package),
        data_store=store,
    )
    memory_before, written_before = usage.peak_memory(), usage.bytes_written()
    began, began_cpu = perf_counter(), process_time()
    talk = Talk(package, session, until=began + limit)
    async with asyncio.timeout(limit + GRACE):
        await talk.run(messages, in_flight)
        idle = await _settled(folder) if settle else 0.0
        session.stop()
        await session.join()
    seconds, cpu = perf_counter() - began - idle, process_time() - began_cpu
    written, peak = usage.bytes_written(), usage.peak_memory()
    first, last = first_tenth(talk.latencies), last_tenth(talk.latencies)
    return Measurement(
        package=package.name,
        version=package.version,
        asked=messages,
        handled=len(talk.latencies),
        seconds=seconds,
        cpu=cpu,
        first_p50=percentile(first, 50),
        first_p99=percentile(first, 99),
        last_p50=percentile(last, 50),
        last_p99=percentile(last, 99),
        written=None if written is None or written_before is None else written - written_before,
        memory_before=memory_before,
        memory_peak=peak,
        expected=len(talk.latencies) + talk.answers,
        found=await _messages_found(package, folder),
    )


async def _settled(folder: Path) -> float:
    """Wait until nothing is written to a folder any more; return for how long that has been so."""
    while (quiet := time() - _last_write(folder)) < QUIET:  # noqa: ASYNC110 - a file reports nothing
        await asyncio.sleep(QUIET - quiet)
    return quiet


def _last_write(folder: Path) -> float:
    return max(each.stat().st_mtime for each in (folder, *folder.rglob("*.jsonl")))


async def _messages_found(package: Package, folder: Path) -> int:
    async with package.store(folder).narrow(SESSION_ID) as store:
        return len(await package.session.load_messages(store) or ())
