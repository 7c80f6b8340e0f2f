"""Where one person's engine is: it is loaded, works, and is put away."""

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Protocol

from genie_core.errors import GenieError
from genie_core.privacy.redaction import mask_known
from genie_core.room.backlog import BacklogChoice
from genie_core.room.departure import Grace
from genie_core.room.engine.controls import Workbench
from genie_core.room.engine.pending_reports import unfinished
from genie_core.room.engine.runs import Handler
from genie_core.room.grants import Grant
from genie_core.room.plan import Engine, EngineLoader, Plan
from genie_core.room.protocol.errors import NoEngine
from genie_core.room.protocol.events import Event, MessagePosted, RunFailed
from genie_core.room.reporter import Reporter
from genie_core.room.seat import Answer, EngineState, EngineStatus
from genie_core.room.security.signing import Author
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread
from genie_core.runtime.tasks import start_task

logger = logging.getLogger(__name__)

NOT_READY: Final = "the engine of {0} is not ready; {0} sees the details"
"""Message to the room about an engine that can't be loaded."""

BROKE: Final = "your engine broke; the log file has the details"


class Owner(Reporter, Protocol):
    """Whose engine it is, as far as the engine has something to tell them."""

    def show_engine(self, status: EngineStatus) -> None:
        """Take note that the engine changed."""


class EngineRoom:
    """Runs the engine of one terminal, if there is one, for the messages that are its share.

    `open` begins to load it, and `begin` lets it work once the room's past is known; from then on
    `accept` is called for every event. `close` parks what waits for a person and puts it away.
    An engine that can't be loaded, or breaks, fails what is its share and harms nothing else.
    """

    def __init__(
        self,
        plan: Plan,
        state: RoomState,
        device: str,
        owner: Owner,
        author: Author | None = None,
    ) -> None:
        self._author = author
        self._plan = plan
        self._state = state
        self._device = device
        self._owner = owner
        self._name = ""
        waiting = EngineState.ABSENT if plan.loader is None else EngineState.LOADING
        self._status = EngineStatus(waiting, plan.label, plan.offline)
        self._handler: Handler | None = None
        self._workbench: Workbench | None = None
        self._live_after = 0
        self._begun = asyncio.Event()
        self._putting_away = asyncio.Event()
        self._serving: asyncio.Task[None] | None = None

    @property
    def status(self) -> EngineStatus:
        """How the engine is now."""
        return self._status

    def open(self, name: str) -> None:
        """Begin to load the engine of whoever goes by this name in the room."""
        self._name = name
        if self._plan.loader is not None:
            self._serving = start_task(self._serve(self._plan.loader), name="engine")

    def begin(self, live_after: int) -> None:
        """Let the engine work: everything up to the event `live_after`, which is past, is known."""
        self._live_after = max(self._live_after, live_after)
        self._begun.set()

    def accept(self, event: Event) -> None:
        """Act on an event that has just been applied to the state."""
        if self._handler is not None:
            self._handler.accept(event)
        elif self._status.state is EngineState.FAILED and isinstance(event.body, MessagePosted):
            self._refuse_work(self._state.exchanges[event.seq])

    def answer(self, approval: str, answer: Answer) -> bool:
        """Answer an approval that waits or is parked here; False if none is."""
        return self._handler is not None and self._handler.answer(approval, answer)

    @property
    def workbench(self) -> Workbench | None:
        """What the owner can see and change of the engine; None until it is loaded."""
        return self._workbench

    @property
    def grants(self) -> tuple[Grant, ...]:
        """What was allowed beyond single calls and still counts."""
        return self._handler.grants if self._handler is not None else ()

    def revoke(self, grant: int) -> bool:
        """Take an allowance back; False if there is none with this id."""
        return self._handler is not None and self._handler.revoke(grant)

    def schema(self, approval: str) -> dict[str, Any] | None:
        """The schema of the arguments of a call that waits here; None if it is not known."""
        return self._handler.schema(approval) if self._handler is not None else None

    def choose(self, choice: BacklogChoice) -> int | None:
        """Say which messages from before are answered; returns how many. None if none wait."""
        answered = self._handler.choose(choice) if self._handler is not None else None
        if answered is not None:
            self._show(replace(self._status, backlog=0))
        return answered

    def auto(self, on: bool) -> bool:  # noqa: FBT001 - the one thing there is to say
        """Allow the owner's own calls without a question, or no longer; False without an engine."""
        if self._handler is None:
            return False
        self._handler.auto = on
        self._show(replace(self._status, auto=on))
        return True

    async def use_model(self, name: str) -> str:
        """Let another model answer; returns its label. A `GenieError` says why it can't.

        An engine that failed is loaded again with that model.
        """
        if self._workbench is None:
            return await self._load_again(name)
        label = await self._workbench.use_model(name)
        offline = not self._workbench.model
        self._show(replace(self._status, label=label, offline=offline))
        return label

    def file_arrived(self, digest: str) -> None:
        """Take note that a file of the room is here now."""
        if self._handler is not None:
            self._handler.file_arrived(digest)

    def stop(self, message: int, by: str) -> bool:
        """Stop a run on somebody's word; False if it is not running here."""
        return self._handler is not None and self._handler.stop(message, by)

    @property
    def runs(self) -> list[MessageThread]:
        """The messages that this terminal's engine is at work on, oldest first."""
        waiting = self._handler.waiting if self._handler is not None else ()
        running = self._state.running.values()
        return [each for each in running if each.seq not in waiting and self.has(each)]

    def has(self, exchange: MessageThread) -> bool:
        """Whether a run is the business of this very terminal."""
        mine = exchange.handler == self._name
        return mine and not self._state.is_elsewhere(exchange, self._device)

    async def close(self, reason: str, grace: Grace) -> set[int]:
        """End what runs, within the grace plus some seconds, and put the engine away.

        Returns the messages whose agents did not end though they were told to.
        """
        left_behind: set[int] = set()
        if self._handler is not None:
            if self._status.auto:
                self._handler.auto = False
                self._show(replace(self._status, auto=False))
            left_behind = await self._handler.close(grace, reason)
        else:
            for exchange in self._unfinished():
                lost = f"{self._name} left before it began"
                self._owner.publish(RunFailed(exchange.seq, "lost", lost))
        self._putting_away.set()
        if self._serving is not None:
            if self._handler is None:
                self._serving.cancel()
            with suppress(asyncio.CancelledError):
                await self._serving
        return left_behind

    async def _load_again(self, name: str) -> str:
        reload = self._plan.reload
        if reload is None or self._status.state is not EngineState.FAILED:
            raise NoEngine
        try:
            engine = await reload(name)()
        except GenieError as error:
            raise NoEngine(mask_known(str(error))) from error
        except Exception as error:  # as when it is loaded for the first time
            logger.exception("the engine failed again")
            raise NoEngine(BROKE) from error
        if self._putting_away.is_set():
            await engine.aclose()
            raise NoEngine

        async def loaded() -> Engine:
            return engine

        self._live_after = max(self._live_after, self._state.head)  # so that nothing counts twice
        self._status = replace(
            self._status,
            state=EngineState.LOADING,  # at once: what comes from now on is this engine's share
            label=engine.label,
            detail="",
            offline=engine.offline,
        )
        self._serving = start_task(self._serve(loaded), name="engine")
        return engine.label

    async def _serve(self, load: EngineLoader) -> None:
        """Load the engine, and run it until it is put away."""
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
        except Exception:  # whatever an SDK or a saved state holds must not end the room
            logger.exception("the engine failed")
            self._fail(BROKE)

    async def _work(self, engine: Engine) -> None:
        async with Handler(
            engine.session,
            self._state,
            self._name,
            self._owner,
            device=self._device,
            where=self._plan.where,
            withheld=self._plan.withheld,
            place=self._place if self._plan.library is not None else None,
            author=self._author,
            serves=self._plan.close_room is not None,
            judge=engine.judge,
        ) as handler:
            if engine.workbench is not None:
                engine.workbench.begin(self._state.costs.of(self._name))
            handler.begin(engine.remembered, self._live_after)
            self._handler, self._workbench = handler, engine.workbench
            ready = EngineStatus(EngineState.READY, engine.label, engine.offline)
            self._show(replace(ready, backlog=len(handler.waiting)))
            for line in (*engine.notices, *engine.session.problems):
                self._owner.warn(line)
            await self._putting_away.wait()

    def _place(self, digest: str) -> Path | None:
        library = self._plan.library
        return library.path(digest) if library is not None else None

    def _fail(self, why: str) -> None:
        why = mask_known(why)
        self._handler = self._workbench = None
        self._show(replace(self._status, state=EngineState.FAILED, detail=why, auto=False))
        self._owner.warn(why)
        for exchange in self._unfinished():
            self._refuse_work(exchange)

    def _unfinished(self) -> list[MessageThread]:
        """The runs here of which no end was told, be it that the room has yet to hear of it."""
        runs = unfinished(self._state, self._owner.unrecorded)
        return [one for one in map(self._state.exchanges.__getitem__, runs) if self.has(one)]

    def _show(self, status: EngineStatus) -> None:
        self._status = status
        self._owner.show_engine(status)

    def _refuse_work(self, exchange: MessageThread) -> None:
        if self.has(exchange):
            failed = RunFailed(exchange.seq, "factory", NOT_READY.format(self._name))
            self._plan.withheld.note_failure(failed, self._status.detail)
            self._owner.publish(failed)
