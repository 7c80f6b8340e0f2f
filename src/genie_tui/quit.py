"""Quit: leave the open rooms, and save the texts that their disks refused."""

import asyncio
import logging
import os
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import strftime
from typing import Any, Final, TypeVar

from textual.app import App
from textual.content import Content
from textual.screen import Screen

from genie_core.errors import GenieError
from genie_core.room.participant.receipt import LeftInDisorder, ShutdownProgress
from genie_core.runtime.grace import QUICK_GRACE
from genie_core.storage.atomic import create_file, reason, sync_data, write_whole
from genie_core.storage.filenames import safe_name
from genie_core.text.safe import visible_line
from genie_tui.exit_report import ExitReport, UnsavedInput
from genie_tui.rooms import OpenRoom
from genie_tui.screens.dialogs.ask_line import AskLineScreen
from genie_tui.screens.dialogs.confirm import ConfirmScreen
from genie_tui.screens.dialogs.leaving import LeavingScreen
from genie_tui.screens.dialogs.unsaved import Rescue, UnsavedScreen
from genie_tui.widgets.composer.attachments import others_here

LONGEST: Final = 4_096
"""Maximum characters of a path."""

NEW_FILE: Final = "A new file that only you can read. A name that is taken is not overwritten."

T = TypeVar("T")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rescued:
    """Input that no disk accepted, and where it is now; `to_print` are lines for the terminal."""

    unsaved: UnsavedInput
    where: str
    to_print: tuple[str, ...] = ()


class QuitFlow:
    """Leaves the rooms that `rooms` returns and lets the app exit.

    `end` is then called with their reports and an error, which is empty without one.
    """

    def __init__(
        self,
        app: App[tuple[ExitReport, ...]],
        rooms: Callable[[], Sequence[OpenRoom]],
        end: Callable[[Sequence[ExitReport], str], None],
        clock: Callable[[], float],
    ) -> None:
        self._app = app
        self._rooms = rooms
        self._end = end
        self._clock = clock
        self._unattended = asyncio.Event()
        self._question: Screen[Any] | None = None
        self._rescued: dict[OpenRoom, Rescued] = {}
        self._writing = False
        self.began = False

    @property
    def to_print(self) -> list[str]:
        """Lines for the terminal afterwards: texts that no disk accepted."""
        return [line for rescued in self._rescued.values() for line in rescued.to_print]

    def quit_unattended(self, reason: str = "") -> None:
        """Quit quickly and without a question, for signals: the terminal may be gone.

        Call it on the event loop. A second call ends running work. Open questions are not waited
        for.
        """
        self._unattended.set()
        if self._question is not None and self._asks:
            while self._app.screen is not self._question:
                _ = self._app.pop_screen()
            _ = self._question.dismiss(None)
        self._leave_or_hurry(reason, QUICK_GRACE)

    def quit(self) -> None:
        """Quit for the person at the terminal; the second call waits for no agent.

        Asks first whether to suspend a room for others, and where to save refused texts. The person
        may stay.
        """
        if self.began:
            self._leave_or_hurry("", None)
        elif not (self._asks or self._writing):
            self._app.run_worker(self._ask_first(), group="asking before the end", exclusive=True)

    def _leave_or_hurry(self, reason: str, grace: float | None) -> None:
        if not self.began:
            self.began = True
            self._app.run_worker(self._leave(reason, grace), group="suspending")
            return
        for room in self._rooms():
            if room.joined is not None:
                room.joined.hurry()

    async def _leave(self, reason: str, grace: float | None) -> None:
        """Leave the rooms, side by side, and exit."""
        if rooms := self._rooms():
            await self._app.push_screen(leaving_screen(rooms))
            for room in rooms:
                await room.stop_opening()
        rooms = self._rooms()  # others if a room was being changed
        left = await asyncio.gather(*(self._left(room, reason, grace) for room in rooms))
        reports: list[ExitReport] = []
        problems: list[str] = []
        for room, (report, problem) in zip(rooms, left, strict=True):
            report, problem = await self._complete(room, report, problem)
            reports += [report] if report is not None else []
            problems += [problem] if problem else []
        await self._keep_open(rooms, left)
        self._end(reports, "; ".join(problems))

    async def _keep_open(
        self, rooms: Sequence[OpenRoom], left: Sequence[tuple[ExitReport | None, str]]
    ) -> None:
        """Note which rooms to open again, unless none was open."""
        dropped = {room for room, (report, _) in zip(rooms, left, strict=True) if _is_gone(report)}
        kept = [room for room in rooms if room not in dropped]
        saved = [room.screen.saved for room in kept if room.screen.saved]
        if saved and any(room.joined is not None for room in kept):
            await asyncio.to_thread(kept[0].service.keep_open, saved)

    async def leave_one(self, room: OpenRoom) -> tuple[ExitReport | None, str]:
        """Leave one room; return the report, and an error, which is empty without one."""
        await room.stop_opening()
        report, problem = await self._left(room, "", None)
        return await self._complete(room, report, problem)

    async def _left(
        self, room: OpenRoom, reason: str, grace: float | None
    ) -> tuple[ExitReport | None, str]:
        """Leave a room, and drop it if the person leaves it unused; a signal drops nothing."""
        report, problem = await _left(room, reason, grace)
        if report is None or problem or self._unattended.is_set():
            return report, problem
        dropped = await room.drop_if_unused()
        return replace(report, dropped=dropped), ""

    async def _complete(
        self, room: OpenRoom, report: ExitReport | None, problem: str
    ) -> tuple[ExitReport | None, str]:
        """Save the texts that the disk of a left room has refused, and add where it is."""
        if room.joined is not None:
            await self._rescue_the_rest(room)
        if report is None or room not in self._rescued:
            return report, problem
        where = self._rescued[room].where
        return replace(report, elsewhere=where), f"{problem}; {where}" if problem else ""

    # Questions

    @property
    def _asks(self) -> bool:
        """Whether a question is open, before or after leaving."""
        return self._question in self._app.screen_stack

    async def _ask_first(self) -> None:
        for room in self._rooms():
            if not await self.may_leave(room):
                return
        self._leave_or_hurry("", None)

    async def may_leave(self, room: OpenRoom) -> bool:
        """Ask the questions before a room is left; False if the person stays."""
        joined = room.joined
        if joined is None:
            return True
        others = others_here(joined.state, joined.name) if room.hosts else []
        which = visible_line(room.title) if len(self._rooms()) > 1 else "the room"
        question = f"Suspend {which} for everyone?"
        if others and not await self._put(
            ConfirmScreen(question, _about(others), "suspend", self._clock)
        ):
            return False
        unsaved = await self._written(room.unsaved())
        return unsaved is None or await self._rescue(room, unsaved, can_stay=True)

    async def _rescue(self, room: OpenRoom, unsaved: UnsavedInput, *, can_stay: bool) -> bool:
        """Ask where to save the refused texts, and save it; False if the person stays."""
        problem = ""
        while not self._unattended.is_set():
            match await self._put(UnsavedScreen(unsaved, can_stay=can_stay, problem=problem)):
                case Rescue.WRITE:
                    path, problem = await self._written(self._write(unsaved))
                    if not path:
                        continue
                    rescued = Rescued(unsaved, f"{unsaved.what}: written to {path}")
                case Rescue.PRINT:
                    where = f"{unsaved.what}: printed on the terminal when this ends"
                    rescued = Rescued(unsaved, where, tuple(unsaved.lines()))
                case _:
                    return False
            self._rescued[room] = rescued
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
        unsaved, before = await room.unsaved(), self._rescued.get(room)
        if unsaved is None or (before is not None and _same(unsaved, before.unsaved)):
            return
        if await self._rescue(room, unsaved, can_stay=False):
            return
        try:
            path = await asyncio.to_thread(write_unsaved, default_path(unsaved.title), unsaved)
            rescued = Rescued(unsaved, f"{unsaved.what}: written to {path}")
        except NotWritten as error:
            where = f"{unsaved.what}: printed on the terminal when this ends; {error}"
            rescued = Rescued(unsaved, where, tuple(unsaved.lines()))
        self._rescued[room] = rescued
        logger.warning("%s", rescued.where)  # there may be no terminal to say it on

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


async def _left(room: OpenRoom, reason: str, grace: float | None) -> tuple[ExitReport | None, str]:
    """Leave a room; return the report, None if it never was open, and an error."""
    try:
        return await room.leave(reason, grace), ""
    except LeftInDisorder as error:
        report = room.report(room.joined, error.receipt) if room.joined is not None else None
        return report, str(error)
    except GenieError as error:
        return None, str(error)


def _is_gone(report: ExitReport | None) -> bool:
    return report is not None and report.dropped


def leaving_screen(rooms: Iterable[OpenRoom]) -> LeavingScreen:
    """Return the screen that shows the work that has to end before rooms are left."""
    rooms = tuple(rooms)

    def ending() -> ShutdownProgress | None:
        each = [room.joined.ending for room in rooms if room.joined is not None]
        progress = [one for one in each if one is not None]
        if not progress:
            return None
        return ShutdownProgress(
            next((one.doing for one in progress if one.doing), ""),
            max(one.left for one in progress),
            tuple(run for one in progress for run in one.runs),
        )

    return LeavingScreen(hosts=any(room.hosts for room in rooms), ending=ending)


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

    template = "can't write {path}: {why}"
    path: Path
    why: str


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
