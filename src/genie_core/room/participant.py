"""One person's place in a room: a connection and, unless they are a guest, an engine of their own.

`Participant` is the `Seat` behind every screen, the host's included: what a person does there, and
how they come and go. What the room tells them is their `Attendance`'s to take in.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from genie_core.room.attendance import Attendance
from genie_core.room.departure import Ending, Receipt
from genie_core.room.engine.backlog import BacklogChoice
from genie_core.room.engine.controls import EngineControls
from genie_core.room.engine.grants import Grant
from genie_core.room.engine.pending_reports import lacking
from genie_core.room.leaving import Leaving
from genie_core.room.plan import Plan
from genie_core.room.protocol.events import (
    Event,
    FileRef,
    Measure,
    Quote,
    Role,
)
from genie_core.room.protocol.frames import (
    AnswerJoinRequest,
    Moderate,
    ShareArguments,
)
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.seat import (
    Answer,
    EngineStatus,
    Hosting,
    LinkStatus,
    Listener,
    Parting,
    Unrecorded,
    Unsent,
)
from genie_core.room.state.room_state import RoomState
from genie_core.runtime.tasks import start_task


class Participant:
    """A person's seat, made of a client, a state and perhaps an engine.

    `start` returns when the room has let the person in, `leave` when everything is put away. All
    methods belong to one event loop.
    """

    def __init__(self, name: str, listener: Listener, plan: Plan) -> None:
        self._plan = plan
        self._leaving: Leaving | None = None
        self._left: asyncio.Task[Receipt] | None = None
        self._seen = 0
        self._attendance = attendance = Attendance(name, listener, plan, self._look)
        self._client = attendance.client
        self._visit = attendance.visit
        self._engines = attendance.engines
        self._mail = attendance.mail
        self._succession = attendance.succession
        self._approvals = attendance.approvals

    @property
    def name(self) -> str:
        """The person's name in this room."""
        return self._attendance.name

    @property
    def room(self) -> str:
        """The room's id, once it has let this person in."""
        return self._attendance.room

    @property
    def title(self) -> str:
        """The room's title, once it has let this person in."""
        return self._attendance.title

    @property
    def state(self) -> RoomState:
        """The room so far, as known here."""
        return self._attendance.state

    @property
    def link(self) -> LinkStatus:
        """How the connection is now."""
        return self._visit.link

    @property
    def engine(self) -> EngineStatus:
        """How the own engine is now."""
        return self._engines.status

    @property
    def unsent(self) -> tuple[Unsent, ...]:
        """Messages typed here and not acknowledged yet, oldest first."""
        return self._mail.unsent

    @property
    def unrecorded(self) -> tuple[Unrecorded, ...]:
        """What the own engine did and the room has not recorded yet, oldest first."""
        return self._client.unrecorded

    @property
    def device(self) -> str:
        """What tells this terminal from others of the same person."""
        return self._client.device

    @property
    def address(self) -> str:
        """Where others can join, as HOST:PORT; empty if this is not the host."""
        return self._plan.address

    def listen(self, listener: Listener) -> None:
        """Direct what happens from now on to this listener."""
        self._attendance.audience.listener = listener

    @property
    def saved(self) -> str:
        """The folder's name of the own copy of the room; empty without one."""
        return self._plan.saved()

    @property
    def hosting(self) -> Hosting | None:
        """What a host can do beyond the room; None for everybody else."""
        return self._plan.hosting

    @property
    def successor(self) -> HostRecord | None:
        """Who has accepted to host when this host leaves, and where."""
        return self._succession.successor

    @property
    def parting(self) -> Parting | None:
        """Why this seat ended and how to go on, once the link is closed; None if it just ended."""
        parting = self._visit.parting
        return None if parting is None else replace(parting, unsent=self.unsent)

    def say(
        self,
        text: str,
        *,
        emote: bool = False,
        files: Sequence[FileRef] = (),
        quotes: Sequence[Quote] = (),
    ) -> None:
        """Send a message. It is kept and sent again until the room acknowledges it.

        Raises:
            TooLong: the room does not take so long a text.
            TooManyUnsent: too much waits already.

        """
        self._mail.say(text, emote=emote, files=files, quotes=quotes)

    def send_again(self, unsent: Iterable[Unsent]) -> None:
        """Take over what an earlier seat in this room could not send; before `start`.

        What `replay` shows to have arrived after all is left out. The files are brought again.
        """
        self._mail.hold(each for each in unsent if not self.state.has_said(self.name, each.id))

    def report_again(self, steps: Iterable[Unrecorded], events: Iterable[Event]) -> None:
        """Take over what the room has not recorded of an earlier seat's engine; before `start`.

        What the `events`, the same that `replay` was given, show to have arrived after all is left
        out, and so is what became of messages that this log does not have. The engine takes up none
        of this work again.
        """
        known = [
            replace(
                step, since=min(step.since, self.state.head)
            )  # which counts otherwise elsewhere
            for step in steps
            if step.body.message in self.state.exchanges
        ]
        self._client.report_again(lacking(known, events))

    def bequeath(self, events: Sequence[Event]) -> None:
        """Bring the room what only this person's copy has; before `start`."""
        self._client.bequeath(events)

    async def attach(self, path: Path) -> FileRef:
        """Take a file of this machine in, and begin to send it.

        Raises:
            NoSuchFile: this seat takes no files.
            GenieError: it can't be read, or is too large.

        """
        return await self._mail.attach(path)

    def bring(self, file: FileRef) -> bool:
        """Begin to send a file that an earlier seat here took in; False if it is gone."""
        return self._mail.bring(file)

    def detach(self, digest: str) -> None:
        """Stop to send an attached file after all, unless a message brings it."""
        self._mail.detach(digest)

    def file(self, digest: str) -> Path | None:
        """Where a file of the room is on this machine; None if it has not arrived (yet)."""
        return self._mail.file(digest)

    def moderate(
        self, measure: Measure, name: str, *, role: Role | None = None, reason: str = ""
    ) -> bool:
        """Use a host's authority. False without a connection; the room refuses by a notice."""
        return self._client.ask(Moderate(measure, name, role, reason))

    def share(self, on: bool) -> bool:  # noqa: FBT001 - the one thing there is to say
        """Show, or no longer, what a host's tools are called with for guests."""
        return self._client.ask(ShareArguments(on))

    def admit(self, knock: int, allow: bool) -> bool:  # noqa: FBT001 - as above
        """Let somebody in who waits for the host's word, or turn them away."""
        return self._client.ask(AnswerJoinRequest(knock, allow))

    def offer(self, name: str) -> bool:
        """Ask somebody to host from now on."""
        return self._succession.offer(name)

    def accept(self) -> bool:
        """Say yes to hosting; the room comes over when its host leaves."""
        return self._succession.accept()

    def typing(self) -> None:
        """Tell the others that something is being written; cheap to call on every key."""
        self._client.typing()

    def answer(self, approval: str, answer: Answer) -> bool:
        """Answer an approval of one's own, pending or parked, also one of another terminal.

        False if it is not open, if there is no engine yet to act on the answer, or if it would
        allow what can't be seen here.
        """
        return self._approvals.answer(approval, answer)

    def schema(self, approval: str) -> dict[str, Any] | None:
        """The schema of the arguments of a call that waits here; None if it is not known."""
        return self._approvals.schema(approval)

    @property
    def grants(self) -> tuple[Grant, ...]:
        """What was allowed from the keyboard beyond single calls and still counts."""
        return self._approvals.grants.active

    def revoke(self, grant: int) -> bool:
        """Take an allowance back; False if there is none with this id."""
        return self._approvals.grants.revoke(grant)

    def answer_backlog(self, choice: BacklogChoice) -> int | None:
        """Say which messages from before are answered; returns how many. None if none wait."""
        return self._engines.choose(choice)

    def auto(self, on: bool) -> bool:  # noqa: FBT001 - the one thing there is to say
        """Allow calls for one's own messages without a question, as far as no rule denies them."""
        return self._engines.set_auto(on=on)

    @property
    def workbench(self) -> EngineControls | None:
        """The parts of the own engine, once it is loaded."""
        return self._engines.controls

    async def use_model(self, name: str) -> str:
        """Let another model answer for this person; returns its label.

        Raises:
            NoEngine: there is none here, or it is not loaded yet.
            GenieError: the model can't be used; nothing has changed.

        """
        return await self._engines.use_model(name)

    def prefer(self, text: str) -> bool:
        """Tell the room how this person likes to be answered. False without a connection."""
        return self._client.prefer(text)

    def stop(self, message: int | None = None) -> int:
        """Stop the run for a message, or all runs one may stop; returns how many were asked to."""
        return self._engines.stop(message)

    # -- coming and going

    def replay(self, events: Iterable[Event], base: RoomState | None = None) -> None:
        """Take in what a saved log holds; before `start`.

        `base` is the room before the first of the events, and must not be used any more. The
        listener hears of the events when the room has agreed that it is the same log.
        """
        self._attendance.replay(events, base)

    async def past(self, before: int, most: int) -> list[Event]:
        """The events before one, at most so many, from the log on this machine; in order."""
        if self._plan.past is None:
            return []
        first = max(0, before - 1 - most)
        return await asyncio.to_thread(self._plan.past.read, first, before - 1 - first)

    async def start(self) -> None:
        """Connect, and return once the room has let this person in.

        Raises what keeps them out: `Unreachable`, `RoomRefused`, or `Diverged` if the host's log
        and the replayed copy contradict each other. Then, and when cancelled, nothing is left
        behind.
        """
        self._mail.start()
        try:
            await self._visit.enter()
        except BaseException:
            await self._mail.aclose()
            raise
        self._engines.open(self.name)

    def note_seen(self, seq: int) -> None:
        """Note that the person has seen all events up to this one; kept when the seat is left."""
        self._seen = max(self._seen, seq)

    @property
    def ending(self) -> Ending | None:
        """How far `leave` has come; None before it is called."""
        return self._leaving.ending if self._leaving is not None else None

    def hurry(self) -> None:
        """End running work at once, once `leave` has been called."""
        if self._leaving is not None:
            self._leaving.hurry()

    async def leave(self, reason: str = "", grace: float | None = None) -> Receipt:
        """End in good order; several callers share one leaving, and the first one's grace."""
        if self._left is None:
            seconds = self._plan.grace if grace is None else grace
            self._leaving = Leaving(
                self,
                self._plan,
                seconds,
                engines=self._engines,
                client=self._client,
                visit=self._visit,
                mail=self._mail,
                seen=lambda: self._seen,
            )
            self._left = start_task(self._leaving.run(reason), name="leaving")
        return await asyncio.shield(self._left)

    def _look(self) -> None:
        if self._leaving is not None:
            self._leaving.look()
