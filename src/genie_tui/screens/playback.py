"""The playback of a replay on its screen: time, keys and searches."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from textual.screen import Screen

from genie_core.errors import GenieError
from genie_core.room.open.requests import ReplayRoom
from genie_core.room.protocol.events import Event
from genie_core.sessions.replay.landmarks import Landmark, landmark_of
from genie_core.sessions.replay.player import Recording, ReplayMoment
from genie_core.sessions.replay.projector import Projector
from genie_core.text.safe import visible_line
from genie_tui.widgets.seek_bar import Standing

LOOK: Final = 1.0
"""Seconds between two checks of a log that may grow."""

OPENING: Final = "opening…"


class Playback:
    """Moves through a recording for a screen, whose workers wait for the disk.

    Does nothing before `begin`. Errors are shown to the person.
    """

    def __init__(
        self,
        screen: Screen[None],
        show_moment: Callable[[ReplayMoment], None],
        show_events: Callable[[list[Event]], None],
        clock: Callable[[], float],
    ) -> None:
        self._screen = screen
        self._show_moment = show_moment
        self._show_events = show_events
        self._clock = clock
        self._seen = clock()
        self._projector: Projector | None = None
        self._follows = self._driven = False
        self._busy = ""
        self._wanted = ""

    @property
    def last(self) -> Event | None:
        return self._projector.last if self._projector is not None else None

    async def begin(self, recording: Recording, opening: ReplayRoom) -> None:
        """Show the recording at its start position, then read on in the background."""
        self._projector = projector = Projector(recording, self._show_moment, self._show_events)
        self._follows = opening.follow or recording.growing
        projector.speed = opening.speed
        projector.playing = opening.at is None and not opening.follow
        first = projector.head if opening.follow else 1
        await self._heed(partial(projector.go, first if opening.at is None else opening.at))
        if not self._screen.is_running:
            return
        self._work(partial(self._read_all, projector))
        if self._follows:
            self._work(partial(self._follow, projector))

    def close(self) -> None:
        """Release the log."""
        if self._projector is not None:
            self._projector.close()

    async def past(self, before: int, most: int) -> list[Event]:
        """Return up to `most` events before a number."""
        return await self._projector.past(before, most) if self._projector is not None else []

    def pass_time(self) -> None:
        """Show the events that are due."""
        if self._projector is None:
            return
        now = self._clock()
        passed, self._seen = now - self._seen, now
        self._projector.pass_time(passed)
        if self._projector.wants_more:
            self._work(self._projector.read_ahead)

    def standing(self) -> Standing:
        """Return the position and state of the playback."""
        projector = self._projector
        if projector is None:
            return Standing(doing=OPENING)
        return Standing(
            projector.position,
            projector.head,
            projector.last.at if projector.last is not None else None,
            projector.speed,
            projector.playing or self._driven,
            self._follows and projector.position == projector.head,
            self._doing(projector),
            projector.outline,
            landmark_of(projector.last) if projector.last is not None else None,
        )

    # Moving

    def play(self) -> None:
        """Play, from the start if at the end; or pause."""
        projector = self._projector
        if projector is None:
            return
        projector.playing = not projector.playing
        self._seen = self._clock()
        if projector.playing and projector.target >= projector.head:
            self._work(partial(projector.go, 0))

    def pause(self) -> None:
        if self._projector is not None:
            self._projector.playing = False

    def go(self, seq: int) -> None:
        """Show the room after an event, at least the first, and pause."""
        if self._projector is not None:
            self.pause()
            self._work(partial(self._projector.go, max(seq, 1)))

    async def show(self, seq: int) -> None:
        """Show the room after an event, and wait until it is shown; errors are raised.

        From then on the caller decides about the shown event, so the replay counts as playing.
        """
        self._driven = True
        if self._projector is not None:
            await self._projector.go(seq)

    def go_by(self, events: int) -> None:
        """Go forward or back by events."""
        if self._projector is not None:
            self.go(self._projector.target + events)

    def go_to_part(self, part: float) -> None:
        """Go to a fraction of the recording; never before the first event."""
        if self._projector is not None:
            self.go(max(round(part * self._projector.head), 1))

    def faster(self, step: int) -> None:
        """Change the speed by a number of steps."""
        if self._projector is not None:
            self._projector.faster(step)

    def jump(self, kind: Landmark, step: int) -> None:
        """Go to the next (1) or previous (-1) event of a kind."""
        if self._projector is not None:
            self.pause()
            self._work(partial(self._jump, self._projector, kind, step))

    def search(self, text: str) -> None:
        """Go to the next match of a text."""
        self._wanted = text
        self.search_again(1)

    def search_again(self, step: int) -> bool:
        """Repeat the search forward (1) or back (-1); False without an earlier search."""
        if self._projector is not None and self._wanted:
            self.pause()
            self._work(partial(self._search, self._projector, self._wanted, step))
        return bool(self._wanted)

    # Background work

    def _doing(self, projector: Projector) -> str:
        if self._busy:
            return self._busy
        read = projector.outline.upto
        if read < projector.head:
            goal = f"on the way to event {projector.target:,}, " if projector.is_moving else ""
            return f"{goal}reading… {read * 100 // projector.head} %"
        return ""

    async def _jump(self, projector: Projector, kind: Landmark, step: int) -> None:
        if not await projector.jump(kind, step) and self._screen.is_running:
            self._screen.notify(f"There is no {kind.value} {_where(step)}.", timeout=2)

    async def _search(self, projector: Projector, wanted: str, step: int) -> None:
        self._busy = "searching…"
        try:
            found = await projector.find(wanted, step)
        finally:
            self._busy = ""
        if not found and self._screen.is_running:
            self._screen.notify(f"“{visible_line(wanted)}” is not there {_where(step)}.", timeout=3)

    async def _read_all(self, projector: Projector) -> None:
        more = True
        while more:
            more = await projector.scan()

    async def _follow(self, projector: Projector) -> None:
        while True:
            await asyncio.sleep(LOOK)
            if await projector.refresh():
                await self._read_all(projector)

    def _work(self, work: Callable[[], Awaitable[object]]) -> None:
        self._screen.run_worker(self._heed(work), group="replay")

    async def _heed(self, work: Callable[[], Awaitable[object]]) -> None:
        try:
            await work()
        except GenieError as error:
            if self._screen.is_running:
                self._screen.notify(str(error), severity="error", timeout=12)


def _where(step: int) -> str:
    return "further on" if step > 0 else "before this"
