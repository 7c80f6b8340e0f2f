import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar

import pytest
from tests.limits import scaled

from genie_core.errors import ActorStopped, InvalidSetting
from genie_core.runtime.actor import Actor

Work = Callable[[], Awaitable[str]]


class Worker(Actor[Work, str]):
    def __init__(self, idle_timeout: float | None = None) -> None:
        super().__init__("worker", idle_timeout)
        self.log: list[str] = []
        self.start_errors: list[Exception] = []
        self.start_hangs = False
        self.close_error: Exception | None = None
        self.closed = asyncio.Event()

    @asynccontextmanager
    async def resources(self) -> AsyncIterator[None]:
        if self.start_errors:
            raise self.start_errors.pop(0)
        if self.start_hangs:
            await asyncio.Event().wait()
        self.log.append("open")
        self.closed.clear()
        try:
            yield
        finally:
            self.log.append("close")
            self.closed.set()
        if self.close_error:
            raise self.close_error

    async def serve(self, request: Work) -> str:
        return await request()


def says(text: str) -> Work:
    async def work() -> str:
        return text

    return work


async def fails() -> str:
    raise ValueError("broken")


pytestmark = pytest.mark.timeout(100)


async def test_requests_run_one_by_one_in_order() -> None:
    worker = Worker()
    running = 0
    order = []

    def numbered(number: int) -> Work:
        async def work() -> str:
            nonlocal running
            running += 1
            assert running == 1
            await asyncio.sleep(0)
            order.append(number)
            running -= 1
            return str(number)

        return work

    replies = [worker.submit(numbered(number)) for number in range(20)]
    assert await asyncio.gather(*replies) == [str(number) for number in range(20)]
    assert order == list(range(20))


async def test_an_error_is_one_requests_reply() -> None:
    worker = Worker()
    bad, good = worker.submit(fails), worker.submit(says("fine"))
    with pytest.raises(ValueError, match="broken"):
        await bad
    assert await good == "fine"


async def test_failed_start_fails_one_request() -> None:
    worker = Worker()
    worker.start_errors = [OSError("no server")]
    first, second, third = (worker.submit(says(text)) for text in "abc")
    with pytest.raises(OSError, match="no server"):
        await first
    assert [await second, await third] == ["b", "c"]
    assert worker.log == ["open"]


async def test_cancelled_reply_stops_one_request() -> None:
    worker = Worker()
    started, stopped = asyncio.Event(), asyncio.Event()

    async def endless() -> str:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return "never"

    running, waiting, last = (
        worker.submit(endless),
        worker.submit(fails),
        worker.submit(says("fine")),
    )
    await started.wait()
    waiting.cancel()
    running.cancel()
    assert await last == "fine"
    assert stopped.is_set()


async def test_idle_resources_are_reacquired() -> None:
    worker = Worker(idle_timeout=0.01)
    assert await worker.submit(says("a")) == "a"
    await worker.closed.wait()
    assert await worker.submit(says("b")) == "b"
    await worker.closed.wait()
    assert worker.log == ["open", "close", "open", "close"]


async def test_the_idle_timer_does_not_run_during_work() -> None:
    worker = Worker(idle_timeout=0.01)

    async def slow() -> str:
        await asyncio.sleep(0.1)
        return ",".join(worker.log)

    assert await worker.submit(slow) == "open"


async def test_request_during_release_is_served() -> None:
    worker = Worker(idle_timeout=0.01)
    late: list[asyncio.Future[str]] = []
    worker.close_error = OSError("did not close cleanly")
    await worker.submit(says("a"))
    worker.closed.set()
    worker.closed.clear()

    async def submit_when_closed() -> None:
        await worker.closed.wait()
        late.append(worker.submit(says("b")))

    await submit_when_closed()
    assert await late[0] == "b"


async def test_stop_serves_queued_refuses_new() -> None:
    worker = Worker()
    replies = [worker.submit(says(text)) for text in "ab"]
    worker.stop()
    with pytest.raises(ActorStopped):
        _ = worker.submit(says("c"))
    await worker.join()
    assert [reply.result() for reply in replies] == ["a", "b"]
    assert worker.log == ["open", "close"]
    assert not worker.active


async def test_joining_one_that_never_started_returns() -> None:
    worker = Worker()
    worker.stop()
    await worker.join()


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
async def test_a_senseless_timeout_is_refused(timeout: float) -> None:
    with pytest.raises(InvalidSetting, match="idle_timeout"):
        Worker(timeout)


async def test_killed_worker_fails_all_replies() -> None:
    worker = Worker()
    started = asyncio.Event()

    async def endless() -> str:
        started.set()
        await asyncio.Event().wait()
        return "never"

    before = asyncio.all_tasks()
    replies = [worker.submit(endless), worker.submit(says("b"))]
    (task,) = asyncio.all_tasks() - before
    await started.wait()
    task.cancel()
    for reply in replies:
        with pytest.raises(ActorStopped):
            await reply


async def test_uncancellable_work_is_left_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("genie_core.runtime.actor.CANCEL_GRACE", 0.02)
    worker = Worker()
    started, may_end = asyncio.Event(), asyncio.Event()

    async def stubborn() -> str:
        started.set()
        while not may_end.is_set():
            try:
                await may_end.wait()
            except asyncio.CancelledError:
                continue
        return "too late"

    reply, waiting = worker.submit(stubborn), worker.submit(says("fine"))
    await started.wait()
    reply.cancel()
    assert await waiting == "fine"
    assert worker.log == ["open", "close", "open"]
    worker.stop()
    await worker.join()
    assert not worker.active
    assert worker.abandoned == [stubborn]
    may_end.set()
    async with asyncio.timeout(scaled(60)):
        while worker.abandoned:
            await asyncio.sleep(0)


async def test_work_within_grace_keeps_resources() -> None:
    worker = Worker()
    started = asyncio.Event()

    async def slow_to_end() -> str:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
        return "never"

    reply, waiting = worker.submit(slow_to_end), worker.submit(says("fine"))
    await started.wait()
    reply.cancel()
    assert await waiting == "fine"
    assert worker.log == ["open"]


async def test_cancelled_waiter_cancels_start() -> None:
    worker = Worker()
    worker.start_hangs = True
    first, second = (worker.submit(says(text)) for text in "ab")
    await asyncio.sleep(0)
    first.cancel()
    worker.start_hangs = False
    assert await second == "b"
    assert worker.log == ["open"]


async def test_stop_gives_up_hanging_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("genie_core.runtime.resource_task.GRACE", 0.02)
    worker = Worker()
    worker.start_hangs = True
    replies = [worker.submit(says(text)) for text in "abc"]
    worker.stop()
    await worker.join()
    for reply in replies:
        with pytest.raises(ActorStopped, match="worker did not start"):
            await reply
    assert worker.log == []


async def test_broken_resources_are_reacquired() -> None:
    broken = asyncio.Event()

    class Breaking(Worker):
        @asynccontextmanager
        async def resources(self) -> AsyncIterator[None]:
            self.log.append("open")
            async with asyncio.TaskGroup() as group:
                group.create_task(self.fail_when_told())
                yield

        async def fail_when_told(self) -> None:
            await broken.wait()
            raise OSError("the server died")

    worker = Breaking()
    assert await worker.submit(says("a")) == "a"
    broken.set()
    await worker.join()
    broken.clear()
    reply = worker.submit(says("b"))
    assert await reply == "b"
    assert worker.log == ["open", "open"]
    broken.set()
    await worker.join()


async def test_death_during_start_fails_replies() -> None:
    worker = Worker()
    worker.start_hangs = True
    before = asyncio.all_tasks()
    replies = [worker.submit(says(text)) for text in "ab"]
    (task,) = asyncio.all_tasks() - before
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    for reply in replies:
        with pytest.raises(ActorStopped):
            await reply
    await worker.join()
    worker.start_hangs = False
    assert await worker.submit(says("c")) == "c"


async def test_resting_worker_closes_unless_busy() -> None:
    worker = Worker(idle_timeout=60)
    assert not worker.rest()
    started, may_end = asyncio.Event(), asyncio.Event()

    async def slow() -> str:
        started.set()
        await may_end.wait()
        return "done"

    reply = worker.submit(slow)
    await started.wait()
    assert not worker.rest()
    may_end.set()
    assert await reply == "done"
    while not worker.rest():
        await asyncio.sleep(0)
    assert not worker.rest()
    await worker.closed.wait()
    assert await worker.submit(says("again")) == "again"


class LateToClose(Worker):
    """Ignores that it is cancelled, the first time it is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.closing, self.may_close = asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def resources(self) -> AsyncIterator[None]:
        self.log.append("open")
        yield
        self.closing.set()
        while not self.may_close.is_set():
            try:
                await self.may_close.wait()
            except asyncio.CancelledError:
                continue
        self.log.append("close")


async def test_late_close_wakes_no_new_waiter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("genie_core.runtime.resource_task.CLOSE_GRACE", 0.02)
    monkeypatch.setattr("genie_core.runtime.resource_task.CANCEL_GRACE", 0.02)
    worker = LateToClose()
    before = asyncio.all_tasks()
    await worker.submit(says("a"))
    (old,) = (each for each in asyncio.all_tasks() - before if "resources" in each.get_name())
    while not worker.rest():
        await asyncio.sleep(0)
    await worker.closing.wait()
    assert await worker.submit(says("b")) == "b"
    worker.may_close.set()
    await asyncio.wait({old}, timeout=scaled(60))
    assert await worker.submit(says("c")) == "c"
    assert worker.log == ["open", "open", "close"]


async def test_work_goes_on_though_the_resources_break() -> None:
    broken = asyncio.Event()

    class Breaking(Worker):
        @asynccontextmanager
        async def resources(self) -> AsyncIterator[None]:
            self.log.append("open")
            async with asyncio.TaskGroup() as group:
                if len(self.log) == 1:
                    group.create_task(self.fail_when_told())
                yield
            self.log.append("close")

        async def fail_when_told(self) -> None:
            await broken.wait()
            raise OSError("the server died")

        async def serve(self, request: Work) -> str:
            answer = await request()
            return answer if self._in_charge() else "left behind"

    worker = Breaking()
    before = asyncio.all_tasks()

    async def breaks_its_own() -> str:
        (held,) = (each for each in asyncio.all_tasks() - before if "resources" in each.get_name())
        broken.set()
        await asyncio.wait({held}, timeout=scaled(60))
        return "an answer"

    first, second = worker.submit(breaks_its_own), worker.submit(says("b"))
    assert await first == "an answer"
    assert await second == "b"
    assert worker.log == ["open", "open"]


async def test_twice_killed_worker_fails_replies() -> None:
    worker = Worker()
    started, told, may_end = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def slow_to_end() -> str:
        try:
            started.set()
            await asyncio.Event().wait()
        finally:
            told.set()
            await may_end.wait()
        return "never"

    before = asyncio.all_tasks()
    reply = worker.submit(slow_to_end)
    (task,) = asyncio.all_tasks() - before
    await started.wait()
    task.cancel()
    await told.wait()
    task.cancel()
    with pytest.raises(ActorStopped):
        await reply
    may_end.set()
    await worker.join()


async def test_request_has_submitters_context() -> None:
    asker: ContextVar[str] = ContextVar("asker", default="nobody")
    worker = Worker()

    async def ask() -> str:
        before = asker.get()
        asker.set("somebody else")
        return before

    replies = []
    for name in ("alice", "bob"):
        asker.set(name)
        replies.append(worker.submit(ask))
    asker.set("carol")
    assert await asyncio.gather(*replies) == ["alice", "bob"]
    assert asker.get() == "carol"


class Sociable(Worker):
    """Serves two requests at a time, once it is allowed."""

    allowed = False
    may_overlap = True

    def may_start_beside(self) -> bool:
        return self.allowed and self.serving < 2


def until(event: asyncio.Event, text: str) -> Work:
    async def work() -> str:
        await event.wait()
        return text

    return work


async def test_allowed_request_starts_in_parallel() -> None:
    worker, gate = Sociable(idle_timeout=1e-3), asyncio.Event()
    slow, fast = worker.submit(until(gate, "slow")), worker.submit(says("fast"))
    _, pending = await asyncio.wait({slow, fast}, timeout=0.05)
    assert pending == {slow, fast}
    worker.allowed = True
    worker.reconsider()
    assert await fast == "fast"
    assert not worker.rest(), "it still works"
    assert not slow.done()
    second, third = worker.submit(until(gate, "second")), worker.submit(says("third"))
    await asyncio.wait({third}, timeout=0.05)
    assert not third.done(), "two are served already"
    second.cancel()
    assert await third == "third"
    gate.set()
    assert await slow == "slow"
    await asyncio.wait_for(worker.closed.wait(), 50)
    assert worker.log == ["open", "close"]


async def test_stopping_waits_for_all_that_are_served() -> None:
    worker, gate = Sociable(), asyncio.Event()
    worker.allowed = True
    replies = [worker.submit(until(gate, text)) for text in ("a", "b", "c")]
    await asyncio.sleep(0)
    worker.stop()
    gate.set()
    await worker.join()
    assert [await reply for reply in replies] == ["a", "b", "c"]
