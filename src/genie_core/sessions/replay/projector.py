"""Move through a recording on an event loop; a thread reads the disk."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final, ParamSpec, TypeVar

from genie_core.room.protocol.events import Event
from genie_core.room.state.room_state import RoomState
from genie_core.sessions.replay.landmarks import Landmark, Outline
from genie_core.sessions.replay.pace import Pace, other_speed
from genie_core.sessions.replay.player import Player, Recording, ReplayMoment

NEAR: Final = 500
"""A forward move by up to this many events applies them one by one."""

AHEAD: Final = 500
"""Events that are read before they are due."""

P = ParamSpec("P")
T = TypeVar("T")


class Projector:
    """Shows a recording at `position`, the number of the last event shown, and moves on from there.

    `last` is that event, None before the first. `show_moment` is called with the state at another
    moment, which the projector goes on changing; `show_events` with events that were just applied
    to it. Both are called on the event loop.

    Its methods belong to one event loop; blocking work runs in order in a thread of its own. Errors
    of the log are raised by the method that meets them.
    """

    def __init__(
        self,
        recording: Recording,
        show_moment: Callable[[ReplayMoment], None],
        show_events: Callable[[list[Event]], None],
    ) -> None:
        self._recording = recording
        self._player = Player(recording.log)
        self._show_moment = show_moment
        self._show_events = show_events
        self._thread = ThreadPoolExecutor(1, "replay")
        self._state = RoomState()
        self._pace = Pace()
        self._coming: list[Event] = []
        self.last: Event | None = None
        self._target = 0
        self._begun = self._moving = self._reading = False
        self.position = 0
        self.speed = 1.0
        self.playing = False

    @property
    def head(self) -> int:
        return self._player.head

    @property
    def outline(self) -> Outline:
        return self._player.outline

    @property
    def is_moving(self) -> bool:
        """Whether it is moving to another event."""
        return self._moving

    @property
    def target(self) -> int:
        """The event that it moves to, or is at."""
        return self._target if self._moving else self.position

    def close(self) -> None:
        """Release the log once nothing reads it. Does not wait."""
        self.playing = False
        self._thread.submit(self._recording.close)
        self._thread.shutdown(wait=False)

    async def go(self, seq: int) -> None:
        """Show the room after an event, or at the nearest end.

        Calls made while an earlier one works are combined; the last one counts.
        """
        self._target = min(max(seq, 0), self.head)
        if self._moving:
            return
        self._moving = True
        try:
            await self._approach()
        finally:
            self._moving = False

    async def jump(self, kind: Landmark, step: int) -> bool:
        """Go to the next (1) or previous (-1) landmark; False if there is none."""
        seq = self.target
        if step < 0:
            await self._scan_upto(seq)
            found = self.outline.before(kind, seq)
        else:
            while (found := self.outline.after(kind, seq)) is None:
                if not await self.scan():
                    found = self.outline.after(kind, seq)
                    break
        return await self._go_if(found)

    async def find(self, text: str, step: int) -> bool:
        """Go to the next or previous event with a text; False if there is none."""
        return await self._go_if(await self._run(self._player.find, text, self.target, step))

    async def past(self, before: int, most: int) -> list[Event]:
        """Return up to `most` events before a number."""
        after = max(before - 1 - most, 0)
        return self._shown(await self._run(self._player.coming, after, before - 1 - after))

    async def scan(self) -> bool:
        """Read a further piece of the log; return whether there is more."""
        return await self._run(self._player.scan)

    async def refresh(self) -> bool:
        """Read the entries appended to the log; return whether there was anything.

        A position at the end stays at the end.
        """
        at_end, before = self.target == self.head, self.head
        head = await self._run(self._player.refresh)
        if at_end and self.target == before:
            await self.go(head)
        return head > before

    def faster(self, step: int) -> None:
        """Change the speed by a number of steps."""
        self.speed = other_speed(self.speed, step)

    def pass_time(self, seconds: float) -> None:
        """Show the events of further seconds at the current speed; stops at the end."""
        if not self.playing or self._moving:
            return
        count = self._pace.due(self._coming, seconds * self.speed)
        events, self._coming = self._coming[:count], self._coming[count:]
        self._advance(events)
        if self.position >= self.head:
            self.playing = False

    @property
    def wants_more(self) -> bool:
        """Whether it is time for `read_ahead`."""
        ahead = len(self._coming)
        short = ahead < AHEAD // 2 and self.position + ahead < self.head
        return short and self.playing and not (self._moving or self._reading)

    async def read_ahead(self) -> None:
        """Read the next events while earlier ones play."""
        self._reading = True
        try:
            after = self.position + len(self._coming)
            events = await self._run(self._player.coming, after, AHEAD)
        finally:
            self._reading = False
        if after == self.position + len(self._coming):  # the position did not change meanwhile
            self._coming += events

    async def _approach(self) -> None:
        while not self._begun or self.position != self._target:
            seq = self._target
            if self._begun and 0 < seq - self.position <= NEAR:
                self._advance(
                    await self._run(self._player.coming, self.position, seq - self.position)
                )
            else:
                if seq < self.head and not self._player.is_near(seq):
                    await self._scan_upto(seq)
                self._show(await self._run(self._player.moment, seq))
            self._coming = []
            self._pace = Pace(self.last.at if self.last is not None else None)

    async def _go_if(self, found: int | None) -> bool:
        if found is not None:
            await self.go(found)
        return found is not None

    async def _scan_upto(self, seq: int) -> None:
        while self.outline.upto < seq:
            await self.scan()

    def _show(self, moment: ReplayMoment) -> None:
        self._begun = True
        self._state, self.position = moment.state, moment.state.head
        if self._recording.reader is not None:
            self._recording.reader.open_state(self._state)
        moment = replace(moment, recent=self._shown(moment.recent))
        self.last = moment.recent[-1] if moment.recent else None
        self._show_moment(moment)

    def _shown(self, events: list[Event]) -> list[Event]:
        """Return events with the content sealed for the person from whose side the room is shown."""
        reader, state = self._recording.reader, self._state
        return events if reader is None else [reader.shown(event, state) for event in events]

    def _advance(self, events: list[Event]) -> None:
        if not events:
            return
        shown = []
        for event in events:
            shown += self._shown([event])  # whose author may have joined just before
            self._state.apply(event, shown[-1])
        self.position = self._state.head
        self.last = shown[-1]
        self._show_events(shown)

    async def _run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        job = self._thread.submit(work, *args, **kwargs)
        return await asyncio.wrap_future(job)
