"""The open rooms, each with screens of its own, and the way each is left."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from textual.app import App
from textual.css.query import NoMatches
from textual.worker import WorkerCancelled, WorkerFailed

from genie_core.errors import GenieError
from genie_core.room.open.service import RoomService
from genie_core.room.participant.receipt import LeftInDisorder, Receipt
from genie_core.room.security.founding import hash_in
from genie_core.runtime.tasks import start_task
from genie_core.text.format import counted
from genie_tui.exit_report import ExitReport, UnsavedInput, UnsentText
from genie_tui.screens.room import RoomScreen

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom
    from genie_core.room.security.invite import Invite
    from genie_tui.screens.lobby import RoomHere

VIEW_TIMEOUT: Final = 5.0
"""Seconds for the disk to save a draft on leaving."""

LOBBY: Final = "lobby"
"""The Textual mode of the lobby and the screens above it."""

_numbers: Final = count(1)

logger = logging.getLogger(__name__)


class OpenRoom:
    """A room with a screen. It is left once, however often that is requested.

    `mode` is the Textual mode that has the screen and the dialogs above it.
    """

    def __init__(self, screen: RoomScreen, service: RoomService) -> None:
        self.screen = screen
        self.mode = f"room-{next(_numbers)}"
        self.service = service
        self._leaving: asyncio.Task[Receipt] | None = None

    @property
    def joined(self) -> "JoinedRoom | None":
        """The joined room; None until it is open."""
        return self.screen.joined

    @property
    def title(self) -> str:
        """The room's title, not safe to show; empty until it is open."""
        return self.joined.state.title if self.joined is not None else ""

    @property
    def as_listed(self) -> "RoomHere":
        """The room as the lobby lists it."""
        from genie_tui.screens.lobby import RoomHere

        joined = self.joined
        if joined is None:
            return RoomHere("")
        state = joined.state
        people = len(state.people)
        return RoomHere(state.title, joined.saved, people, state.messages, self.screen.counts)

    @property
    def hosts(self) -> bool:
        """Whether this person hosts the room."""
        return self.joined is not None and self.joined.hosting.invites is not None

    async def unsaved(self) -> UnsavedInput | None:
        """Save drafts and unsent messages; return the texts that the room's disk did not accept."""
        return None if await self._save_view() else self._unsaved()

    async def stop_opening(self) -> None:
        """Stop opening the room, unless it is open."""
        workers = self.screen.workers
        opening = [each for each in workers if (each.group, each.node) == ("opening", self.screen)]
        if self.joined is None and opening:
            workers.cancel_group(self.screen, "opening")
            with suppress(WorkerCancelled, WorkerFailed):
                await workers.wait_for_complete([w for w in opening if not w.is_finished])

    async def leave(self, reason: str, grace: float | None) -> ExitReport | None:
        """Leave the room, with the reason and grace of the first call; None if it never was open.

        Cancelling the wait changes nothing. Errors as `JoinedRoom.leave`.
        """
        joined = self.joined
        if joined is None:
            return None
        if self._leaving is None:
            # A task of its own, which outlives the worker that may be cancelled with the screen.
            self._leaving = start_task(self._leave(joined, reason, grace))
        return self.report(joined, await asyncio.shield(self._leaving))

    async def drop_if_unused(self) -> bool:
        """Remove the saved room after leaving if nothing happened in it; True if it is gone."""
        joined = self.joined
        if joined is None or not (joined.saved and self.hosts) or joined.state.messages:
            return False
        if self.screen.draft or self.screen.context.attachments.attached:
            return False
        try:
            return await asyncio.to_thread(self.service.drop_if_unused, joined.saved)
        except GenieError:
            logger.warning("an unused room could not be removed", exc_info=True)
            return False

    def report(self, joined: "JoinedRoom", receipt: Receipt) -> ExitReport:
        """Return the report on the room that was left."""
        state = joined.state
        return ExitReport(
            state.room,
            state.title,
            self.hosts,
            len(state.pending_for(joined.name)) + len(state.parked_for(joined.name)),
            "" if self.hosts and joined.saved == state.room else joined.saved,
            receipt,
            self.service.place_of(joined.saved) if joined.saved else "",
            self.screen.views.draft_kept,
        )

    async def _leave(self, joined: "JoinedRoom", reason: str, grace: float | None) -> Receipt:
        """Save the view, leave, and save unsent messages."""
        await self._save_view()
        problems: tuple[str, ...] = ()
        try:
            receipt = await joined.leave(reason, grace)
        except LeftInDisorder as error:
            receipt, problems = error.receipt, error.receipt.problems
        saved = await self._save_view()
        problems += self._losses(joined, receipt, view_saved=saved)
        if receipt.unsent and joined.saved and saved and problems:
            problems += (f"{receipt.unsent} of your messages go out when you are back",)
        if problems:
            raise LeftInDisorder(replace(receipt, problems=problems))
        return receipt

    def _losses(
        self, joined: "JoinedRoom", receipt: Receipt, *, view_saved: bool
    ) -> tuple[str, ...]:
        lost: list[str] = []
        unsaved = self._unsaved()
        if receipt.unheard and joined.saved and not view_saved:
            what = counted(len(receipt.unheard), "message")
            lost.append(f"how the work on {what} ended never reached the disk")
        if receipt.unsent and joined.saved and not view_saved:
            lost.append(f"{receipt.unsent} of your messages never reached the room's disk")
        if unsaved is not None and unsaved.draft != UnsentText(""):
            lost.append("your draft never reached the room's disk")
        return tuple(lost)

    def _unsaved(self) -> UnsavedInput | None:
        try:
            return self.screen.views.unsaved
        except NoMatches:  # the screen is being torn down, and has lost a part of its widgets
            return None

    async def _save_view(self) -> bool:
        """Save the view if that is possible soon; nothing depends on it."""
        try:
            async with asyncio.timeout(VIEW_TIMEOUT):
                return await self.screen.views.keep()
        except Exception:  # the app may be breaking, and the room has to be left all the more
            logger.exception("the view of the room could not be kept")
            return False


class Rooms:
    """The open rooms of an app, the one that was last on the screen first."""

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self._open: list[OpenRoom] = []

    def __iter__(self) -> Iterator[OpenRoom]:
        return iter(tuple(self._open))

    def __len__(self) -> int:
        return len(self._open)

    @property
    def current(self) -> OpenRoom | None:
        """The room on the screen; None in the lobby."""
        return next((each for each in self._open if each.mode == self._app.current_mode), None)

    def of(self, screen: RoomScreen) -> OpenRoom | None:
        """The room with a screen; None once it is closed."""
        return next((each for each in self._open if each.screen is screen), None)

    def saved_as(self, saved: str) -> OpenRoom | None:
        """The room that is saved in a folder if it is open or being opened again."""
        return next((each for each in self._open if each.screen.saved == saved), None)

    def invited_by(self, invite: "Invite") -> OpenRoom | None:
        """The open room that an invite leads to."""
        opened = [(each, each.joined) for each in self._open]
        return next(
            (
                each
                for each, joined in opened
                if joined is not None and invite.room and hash_in(joined.state.room) == invite.room
            ),
            None,
        )

    def begin_with(self, room: OpenRoom) -> None:
        """Show a room's screen as the first of an app that doesn't run yet.

        A switch to it would begin 0.1 seconds later and style each widget twice.
        """
        self._app.add_mode(room.mode, lambda: room.screen)
        self._app._screen_stacks = {room.mode: []}  # noqa: SLF001 - Textual takes the mode of a class
        self._app._current_mode = room.mode  # noqa: SLF001 - as above
        self._open.append(room)

    async def add(self, room: OpenRoom, *, shown: bool) -> None:
        """Mount a room's screen, which opens the room; show it, or mount it in the background."""
        self._app.add_mode(room.mode, lambda: room.screen)
        self._open.append(room)
        if shown:
            await self.show(room)
        else:
            # Textual mounts a mode's screen with the first switch to it, and has no other way.
            await self._app._init_mode(room.mode)  # noqa: SLF001
            room.screen.look(here=False)

    async def show(self, room: OpenRoom | None) -> None:
        """Show a room, or the lobby's screens for None."""
        before = self.current
        if before is not None and before is not room:
            before.screen.look(here=False)
        await self._app.switch_mode(room.mode if room is not None else LOBBY)
        if room is not None:
            self._open.remove(room)
            self._open.insert(0, room)

    async def remove(self, room: OpenRoom) -> None:
        """Remove a room's screen and everything above it; the lobby's screens are shown instead."""
        if room is self.current:
            await self.show(None)
        if room in self._open:
            self._open.remove(room)
            await self._app.remove_mode(room.mode)
