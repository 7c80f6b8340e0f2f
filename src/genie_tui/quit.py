"""Quit: leave the open room, save what its disk refused, and show a receipt."""

import asyncio
import logging
import os
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import strftime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from textual.app import App
from textual.content import Content
from textual.css.query import NoMatches
from textual.screen import Screen
from textual.worker import WorkerCancelled, WorkerFailed

from genie_core.errors import GenieError
from genie_core.room.open.service import RoomService
from genie_core.room.participant.receipt import LeftInDisorder, Receipt, ShutdownProgress
from genie_core.runtime.grace import QUICK_GRACE
from genie_core.runtime.tasks import start_task
from genie_core.storage.atomic import create_file, reason, sync_data, write_whole
from genie_core.storage.filenames import safe_name
from genie_core.text.format import counted
from genie_tui.exit_report import ExitReport, UnsavedInput, UnsentText, receipt_lines
from genie_tui.screens.dialogs.ask_line import AskLineScreen
from genie_tui.screens.dialogs.confirm import ConfirmScreen
from genie_tui.screens.dialogs.leaving import LeavingScreen
from genie_tui.screens.dialogs.unsaved import Rescue, UnsavedScreen
from genie_tui.screens.receipt import ReceiptScreen
from genie_tui.screens.room import RoomScreen
from genie_tui.widgets.composer.attachments import others_here

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom

VIEW_TIMEOUT: Final = 5.0
"""Seconds for the disk to save a draft on leaving."""

LONGEST: Final = 4_096
"""Maximum characters of a path."""

NEW_FILE: Final = "A new file that only you can read. A name that is taken is not overwritten."

T = TypeVar("T")

logger = logging.getLogger(__name__)


class OpenRoom:
    """The room on the screen. It is left once, however often that is requested."""

    def __init__(self, screen: RoomScreen, service: RoomService) -> None:
        self.screen = screen
        self._service = service
        self._leaving: asyncio.Task[Receipt] | None = None

    @property
    def joined(self) -> "JoinedRoom | None":
        """The joined room; None until it is open."""
        return self.screen.joined

    @property
    def hosts(self) -> bool:
        """Whether this person hosts the room."""
        return self.joined is not None and self.joined.hosting.invites is not None

    async def unsaved(self) -> UnsavedInput | None:
        """Save drafts and unsent messages; return what the room's disk did not accept."""
        return None if await self._save_view() else self._unsaved()

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
            self._service.place_of(joined.saved) if joined.saved else "",
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


class QuitFlow:
    """Leaves the room that `room` returns, if any, and lets the app exit.

    `end` is then called with the report and an error, which is empty without one. `to_print` are
    lines for the terminal afterwards: texts that no disk accepted.
    """

    def __init__(
        self,
        app: App[ExitReport],
        room: Callable[[], OpenRoom | None],
        end: Callable[[ExitReport | None, str], None],
        clock: Callable[[], float],
    ) -> None:
        self._app = app
        self._room = room
        self._end = end
        self._clock = clock
        self._unattended = asyncio.Event()
        self._shows_receipt = False
        self._question: Screen[Any] | None = None
        self._rescued: UnsavedInput | None = None
        self._elsewhere = ""
        self._writing = False
        self.began = False
        self.to_print: list[str] = []

    def quit_unattended(self, reason: str = "") -> None:
        """Quit quickly and without a question, for signals: the terminal may be gone.

        Call it on the event loop. A second call ends running work and closes a shown receipt. Open
        questions are not waited for.
        """
        self._unattended.set()
        if self._shows_receipt:
            return
        if self._question is not None and self._asks:
            while self._app.screen is not self._question:
                _ = self._app.pop_screen()
            _ = self._question.dismiss(None)
        self._leave_or_hurry(reason, QUICK_GRACE)

    def quit(self) -> None:
        """Quit for the person at the terminal; the second call waits for no agent.

        Asks first whether to suspend the room for others, and where to save what no disk accepts.
        The person may stay.
        """
        if isinstance(self._app.screen, ReceiptScreen):
            self._app.screen.end()
        elif self.began:
            self._leave_or_hurry("", None)
        elif not (self._asks or self._writing):
            self._app.run_worker(self._ask_first(), group="asking before the end", exclusive=True)

    def _leave_or_hurry(self, reason: str, grace: float | None) -> None:
        if not self.began:
            self.began = True
            self._app.run_worker(self._leave(reason, grace), group="suspending")
        elif (room := self._room()) is not None and room.joined is not None:
            room.joined.hurry()

    async def _leave(self, reason: str, grace: float | None) -> None:
        """Leave the room, show a receipt, and exit."""
        if (room := self._room()) is not None:
            await self._app.push_screen(leaving_screen(room))
            await self._stop_opening(room)
        room = self._room()  # another one if the room was being changed
        report, problem = None, ""
        if room is not None and room.joined is not None:
            try:
                report = await room.leave(reason, grace)
            except LeftInDisorder as error:
                report, problem = room.report(room.joined, error.receipt), str(error)
            except GenieError as error:
                problem = str(error)
            await self._rescue_the_rest(room)
        if report is not None and self._elsewhere:
            report = replace(report, elsewhere=self._elsewhere)
            problem = f"{problem}; {self._elsewhere}" if problem else ""
        if report is not None:
            await self._show_receipt(report)
        self._end(report, problem)

    async def _stop_opening(self, room: OpenRoom) -> None:
        workers = [worker for worker in self._app.workers if worker.group == "opening"]
        if room.joined is None and workers:
            self._app.workers.cancel_group(room.screen, "opening")
            with suppress(WorkerCancelled, WorkerFailed):
                await self._app.workers.wait_for_complete([w for w in workers if not w.is_finished])

    async def _show_receipt(self, report: ExitReport) -> None:
        """Show the receipt until it is closed, or the terminal is gone."""
        if self._unattended.is_set():
            return
        self._shows_receipt = True
        screen = ReceiptScreen(report.what, list(receipt_lines(report)), report.again, self._clock)
        await self._app.push_screen(screen, lambda _: self._unattended.set())
        await self._unattended.wait()

    # Questions

    @property
    def _asks(self) -> bool:
        """Whether a question is open, before or after leaving."""
        return self._question in self._app.screen_stack

    async def _ask_first(self) -> None:
        room = self._room()
        if room is None or await self.may_leave(room):
            self._leave_or_hurry("", None)

    async def may_leave(self, room: OpenRoom) -> bool:
        """Ask what has to be asked before a room is left; False if the person stays."""
        joined = room.joined
        if joined is None:
            return True
        others = others_here(joined.state, joined.name) if room.hosts else []
        if others and not await self._put(
            ConfirmScreen("Suspend the room for everyone?", _about(others), "suspend", self._clock)
        ):
            return False
        unsaved = await self._written(room.unsaved())
        return unsaved is None or await self._rescue(unsaved, can_stay=True)

    async def _rescue(self, unsaved: UnsavedInput, *, can_stay: bool) -> bool:
        """Ask where to save what no disk accepted, and save it; False if the person stays."""
        problem = ""
        while not self._unattended.is_set():
            match await self._put(UnsavedScreen(unsaved, can_stay=can_stay, problem=problem)):
                case Rescue.WRITE:
                    path, problem = await self._written(self._write(unsaved))
                    if not path:
                        continue
                    self.to_print.clear()
                    self._elsewhere = f"{unsaved.what}: written to {path}"
                case Rescue.PRINT:
                    self.to_print[:] = unsaved.lines()
                    self._elsewhere = f"{unsaved.what}: printed on the terminal when this ends"
                case _:
                    return False
            self._rescued = unsaved
            return True
        return False  # a signal came

    async def _write(self, unsaved: UnsavedInput) -> tuple[str, str]:
        """Write to the chosen path; return the path or the error."""
        line = AskLineScreen(
            f"Write {unsaved.what} to", default_path(unsaved.title), NEW_FILE, LONGEST
        )
        answer = await self._put(line)
        if not answer:
            return "", ""
        try:
            return str(await asyncio.to_thread(write_unsaved, answer, unsaved)), ""
        except NotWritten as error:
            return "", str(error)

    async def _rescue_the_rest(self, room: OpenRoom) -> None:
        """Save the rest elsewhere without asking, since the room has been left."""
        unsaved = await room.unsaved()
        if unsaved is None or (self._rescued is not None and _same(unsaved, self._rescued)):
            return
        if await self._rescue(unsaved, can_stay=False):
            return
        try:
            path = await asyncio.to_thread(write_unsaved, default_path(unsaved.title), unsaved)
            self._elsewhere = f"{unsaved.what}: written to {path}"
        except NotWritten as error:
            self._elsewhere = f"{unsaved.what}: printed on the terminal when this ends; {error}"
            self.to_print[:] = unsaved.lines()
        logger.warning("%s", self._elsewhere)  # there may be no terminal to say it on

    async def _written(self, writing: Awaitable[T]) -> T:
        """Wait for a disk; quitting again does not restart the wait."""
        self._writing = True
        try:
            return await writing
        finally:
            self._writing = False

    async def _put(self, question: Screen[T]) -> T | None:
        self._question = question
        return await self._app.push_screen_wait(question)


def leaving_screen(room: OpenRoom) -> LeavingScreen:
    """Return the screen that shows what still has to end before a room is left."""

    def ending() -> ShutdownProgress | None:
        return room.joined.ending if room.joined is not None else None

    return LeavingScreen(hosts=room.hosts, ending=ending)


def _about(others: Sequence[str]) -> Content:
    *most, last = others
    names = f"{', '.join(most)} and {last} are" if most else f"{last} is"
    return Content(
        f"{names} here. Their messages wait until you resume the room.\n\n"
        "To let it go on without you, go back and hand it over: /host NAME"
    )


def _same(one: UnsavedInput, other: UnsavedInput) -> bool:
    return (one.messages, one.draft) == (other.messages, other.draft)


class NotWritten(GenieError):
    """A file could not be written."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"can't write {path}: {why}")
        self.path = path


def default_path(title: str) -> str:
    """Return a new path in the temporary folder, which is often on another disk."""
    name = f"genie-tui-{safe_name(title)[:40] or 'room'}-{strftime('%Y%m%d-%H%M%S')}.txt"
    return str(Path(tempfile.gettempdir()) / name)


def write_unsaved(typed: str, unsaved: UnsavedInput) -> Path:
    """Write it to a new private file, replacing nothing; returns the path.

    Blocks, so call it off the event loop.

    Raises:
        NotWritten: the file exists, or the disk refuses it.
    """
    path = Path(typed)
    try:
        path = path.expanduser().absolute()
        descriptor = create_file(path)
    except (OSError, ValueError, RuntimeError) as error:
        raise NotWritten(path, reason(error)) from error
    try:
        write_whole(descriptor, unsaved.text.encode("utf-8", "surrogatepass"))
        sync_data(descriptor)
    except OSError as error:
        with suppress(OSError):
            path.unlink()  # a part of it would pass for all
        raise NotWritten(path, reason(error)) from error
    finally:
        os.close(descriptor)
    return path
