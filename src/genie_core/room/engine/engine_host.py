"""Loads one person's engine, runs it in a room, and closes it."""

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from typing import Final

from genie_core.errors import GenieError
from genie_core.privacy.redaction import mask_known
from genie_core.room.client.model import EngineState, EngineStatus
from genie_core.room.engine.approvals import Approvals
from genie_core.room.engine.config import Engine, EngineConfig, EngineLoader, EngineSite
from genie_core.room.engine.controls import EngineControls
from genie_core.room.engine.pending_reports import unfinished
from genie_core.room.engine.private_arguments import DETAILS_WITH
from genie_core.room.engine.remote_control import RemoteControl
from genie_core.room.engine.reporter import EngineReporter
from genie_core.room.engine.restart_backlog import BacklogChoice
from genie_core.room.engine.runs import RunManager
from genie_core.room.protocol.errors import NoEngine
from genie_core.room.protocol.events import Event, MessagePosted, RunFailed
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread
from genie_core.runtime.grace import Grace
from genie_core.runtime.tasks import start_task

logger = logging.getLogger(__name__)

NOT_READY: Final = f"the engine of {{0}} is not ready{DETAILS_WITH}"
"""Error shown to the room if an engine can't be loaded."""

BROKE: Final = "your engine failed; the log file has the details"


ACTS_ALONE: Final = ", acts on its own"
"""Ends the label of an engine whose agent has made a call without asking."""

_LABEL_CHARS: Final = 160


class EngineHost:
    """Runs the engine of one terminal, if there is one.

    `open` starts loading it. Call `begin` once the room's past is known, then `accept` for every
    event. `close` parks open requests and closes the engine. If the engine can't be loaded or
    fails, the messages that it handles fail; the room goes on.
    """

    def __init__(
        self,
        config: EngineConfig,
        state: RoomState,
        reporter: EngineReporter,
        approvals: Approvals,
        remote: RemoteControl,
        site: EngineSite,
    ) -> None:
        self._config = config
        self._state = state
        self._reporter = reporter
        self._approvals = approvals
        self._remote = remote
        self._site = site
        self._name = ""
        waiting = EngineState.ABSENT if config.loader is None else EngineState.LOADING
        self._status = EngineStatus(waiting, config.label, config.offline)
        self._runs: RunManager | None = None
        self._controls: EngineControls | None = None
        self._acts_alone = False
        self._live_after = 0
        self._begun = asyncio.Event()
        self._closing = asyncio.Event()
        self._serving: asyncio.Task[None] | None = None

    @property
    def status(self) -> EngineStatus:
        return self._status

    def open(self, name: str) -> None:
        self._name = name
        if self._config.loader is not None:
            self._serving = start_task(self._serve(self._config.loader), name="engine")

    def begin(self, live_after: int) -> None:
        """Start the engine; all events up to `live_after` are known."""
        self._live_after = max(self._live_after, live_after)
        self._begun.set()

    def accept(self, event: Event) -> None:
        """Act on an event that has just been applied to the state."""
        if self._runs is not None:
            self._runs.accept(event)
        elif self._status.state is EngineState.FAILED and isinstance(event.body, MessagePosted):
            self._refuse_work(self._state.threads[event.seq])

    @property
    def controls(self) -> EngineControls | None:
        return self._controls

    def choose(self, choice: BacklogChoice) -> int | None:
        """Choose which messages of the backlog to answer; returns how many, None without a backlog."""
        answered = self._runs.choose(choice) if self._runs is not None else None
        if answered is not None:
            self._show(replace(self._status, backlog=0))
        return answered

    def set_auto(self, *, on: bool) -> bool:
        """Turn auto mode on or off; False without an engine."""
        if self._runs is None:
            return False
        self._approvals.auto = on
        self._show(replace(self._status, auto=on))
        return True

    async def use_model(self, name: str) -> str:
        """Use another model from now on; returns its label. Loads a failed engine again.

        Raises a `GenieError` if the model can't be used.
        """
        if self._controls is None:
            return await self._load_again(name)
        label = await self._controls.use_model(name)
        offline = not self._controls.model
        self._show(replace(self._status, label=label, offline=offline))
        return label

    def file_arrived(self, digest: str) -> None:
        if self._runs is not None:
            self._runs.file_arrived(digest)

    def stop(self, message: int | None = None) -> int:
        """Stop the run for a message, or all runs that the owner may stop; returns how many."""
        running = self._state.running
        chosen = list(running) if message is None else [message]
        return sum(self._stop(running[seq]) for seq in chosen if seq in running)

    def _stop(self, thread: MessageThread) -> bool:
        if self.has(thread):
            return self.stop_here(thread.seq, self._name)
        return self._remote.stop(thread)

    def stop_here(self, message: int, by: str) -> bool:
        return self._runs is not None and self._runs.stop(message, by)

    @property
    def runs(self) -> list[MessageThread]:
        """The messages that this terminal's engine is answering, oldest first."""
        waiting = self._runs.waiting if self._runs is not None else ()
        running = self._state.running.values()
        return [each for each in running if each.seq not in waiting and self.has(each)]

    def has(self, thread: MessageThread) -> bool:
        mine = thread.handler == self._name
        return mine and not self._state.is_elsewhere(thread, self._site.device)

    async def close(self, reason: str, grace: Grace) -> set[int]:
        """End all runs, within the grace plus a few seconds, and close the engine.

        Returns the messages whose agents ignored the cancellation.
        """
        left_behind: set[int] = set()
        if self._runs is not None:
            if self._status.auto:
                self._approvals.auto = False
                self._show(replace(self._status, auto=False))
            left_behind = await self._runs.close(grace, reason)
        else:
            for thread in self._unfinished():
                lost = f"{self._name} left before it began"
                self._reporter.publish(RunFailed(thread.seq, "lost", lost))
        self._closing.set()
        if self._serving is not None:
            if self._runs is None:
                self._serving.cancel()
            with suppress(asyncio.CancelledError):
                await self._serving
        return left_behind

    async def _load_again(self, name: str) -> str:
        reload = self._config.reload
        if reload is None or self._status.state is not EngineState.FAILED:
            raise NoEngine
        try:
            engine = await reload(name)()
        except GenieError as error:
            raise NoEngine(mask_known(str(error))) from error
        except Exception as error:  # any error of an SDK, as in `_serve`
            logger.exception("the engine failed again")
            raise NoEngine(BROKE) from error
        if self._closing.is_set():
            await engine.aclose()
            raise NoEngine

        async def loaded() -> Engine:
            return engine

        self._live_after = max(self._live_after, self._state.head)  # don't run old messages again
        self._status = replace(
            self._status,
            state=EngineState.LOADING,  # now, so that `accept` no longer refuses messages
            label=engine.label,
            detail="",
            offline=engine.offline,
        )
        self._serving = start_task(self._serve(loaded), name="engine")
        return engine.label

    async def _serve(self, load: EngineLoader) -> None:
        self._show(replace(self._status, state=EngineState.LOADING))
        try:
            engine = await load()
            try:
                await self._begun.wait()
                await self._work(engine)
            finally:
                await engine.aclose()
        except GenieError as error:
            self._fail(str(error))
        except Exception:  # an error of an SDK or a saved state must not end the room
            logger.exception("the engine failed")
            self._fail(BROKE)

    async def _work(self, engine: Engine) -> None:
        async with RunManager(
            engine.session,
            self._state,
            self._name,
            self._reporter,
            self._approvals,
            self._config.private,
            engine.policy,
            self._site,
            self._mark_own,
        ) as runs:
            if engine.controls is not None:
                engine.controls.begin(self._state.costs.of(self._name))
                engine.controls.enter(self._members)
            try:
                runs.begin(engine.remembered, self._live_after)
            except BaseException:
                self._approvals.end()  # the task group cancels the runs
                raise
            self._runs, self._controls = runs, engine.controls
            ready = EngineStatus(EngineState.READY, engine.label, engine.offline)
            self._show(replace(ready, backlog=len(runs.waiting)))
            for line in (*engine.notices, *engine.session.problems):
                self._reporter.warn(line)
            await self._closing.wait()

    def _fail(self, why: str) -> None:
        why = mask_known(why)
        self._runs = self._controls = None
        self._approvals.end()
        self._show(replace(self._status, state=EngineState.FAILED, detail=why, auto=False))
        self._reporter.warn(why)
        for thread in self._unfinished():
            self._refuse_work(thread)

    def _unfinished(self) -> list[MessageThread]:
        runs = unfinished(self._state, self._reporter.unrecorded)
        return [one for one in map(self._state.threads.__getitem__, runs) if self.has(one)]

    def _members(self) -> list[str]:
        state = self._state
        return [
            f"{each.name} ({'agent' if each.is_agent else state.role_of(each)})"
            for each in state.present()
        ]

    def _mark_own(self) -> None:
        """Let the label say from now on that an agent of this engine acts without asking."""
        if not self._acts_alone:
            self._acts_alone = True
            self._show(self._status)

    def _show(self, status: EngineStatus) -> None:
        if self._acts_alone and not status.label.endswith(ACTS_ALONE):
            label = f"{status.label[:_LABEL_CHARS]}{ACTS_ALONE}"  # a host shortens longer ones
            status = replace(status, label=label)
        self._status = status
        self._reporter.show_engine(status)

    def _refuse_work(self, thread: MessageThread) -> None:
        if self.has(thread):
            failed = RunFailed(thread.seq, "factory", NOT_READY.format(self._name))
            self._config.private.add_failure(failed, self._status.detail)
            self._reporter.publish(failed)
