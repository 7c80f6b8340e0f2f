"""How the app ends: the room is left in good order, and whoever is there is told how that went."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, TypeVar

from textual.app import App
from textual.content import Content
from textual.screen import Screen
from textual.worker import WorkerCancelled, WorkerFailed

from genie_core.errors import GenieError
from genie_core.room.departure import QUICK_GRACE, Ending
from genie_core.room.protocol.errors import LeftInDisorder
from genie_core.room.seat import Seat
from genie_tui.departure import Departure, receipt_lines
from genie_tui.screens.dialogs.ask_line import AskLineScreen
from genie_tui.screens.dialogs.confirm import ConfirmScreen
from genie_tui.screens.dialogs.leaving import LeavingScreen
from genie_tui.screens.dialogs.unsaved import Rescue, UnsavedScreen
from genie_tui.screens.receipt import ReceiptScreen
from genie_tui.stay import Stay
from genie_tui.unsaved import NotWritten, Unsaved, default_path, write_unsaved
from genie_tui.widgets.composer.attachments import others_here

LONGEST: Final = 4_096
"""Characters that a path may have."""

NEW_FILE: Final = "A new file that only you can read. A name that is taken is not overwritten."

T = TypeVar("T")

logger = logging.getLogger(__name__)


class Suspension:
    """Leaves the room that `stay` returns, if there is one, and lets the app end after it.

    `end` is then called with what was left and with what went wrong, which is empty if nothing did.
    """

    def __init__(
        self,
        app: App[Departure],
        stay: Callable[[], Stay | None],
        end: Callable[[Departure | None, str], None],
        clock: Callable[[], float],
    ) -> None:
        self._app = app
        self._stay = stay
        self._end = end
        self._clock = clock
        self._unattended = asyncio.Event()
        self._shows_receipt = False
        self._question: Screen[Any] | None = None
        self._rescued: Unsaved | None = None
        self._elsewhere = ""
        self._writing = False
        self.began = False
        self.to_print: list[str] = []

    def quickly(self, reason: str) -> None:
        """End soon and without a word, since nobody may be there.

        Asking again while it goes on ends what still runs, and puts a receipt away that is shown.
        A question that stands open is not waited for.
        """
        self._unattended.set()
        if self._shows_receipt:
            return
        if self._question is not None and self._asks:
            while self._app.screen is not self._question:
                _ = self._app.pop_screen()
            _ = self._question.dismiss(None)
        self._begin_or_hurry(reason, QUICK_GRACE)

    def patiently(self) -> None:
        """End as the person wants it; asked again, wait for no agent any more.

        Before it begins, the person is asked whether they want to suspend the room for others, and
        what becomes of what they wrote if no disk takes it. They may stay.
        """
        if isinstance(self._app.screen, ReceiptScreen):
            self._app.screen.end()
        elif self.began:
            self._begin_or_hurry("", None)
        elif not (self._asks or self._writing):
            self._app.run_worker(self._ask(), group="asking before the end", exclusive=True)

    @property
    def _asks(self) -> bool:
        """Whether a question stands open, be it that the room has been left meanwhile."""
        return self._question in self._app.screen_stack

    async def _ask(self) -> None:
        stay = self._stay()
        if stay is None or stay.seat is None or await self._may_leave(stay, stay.seat):
            self._begin_or_hurry("", None)

    async def _may_leave(self, stay: Stay, seat: Seat) -> bool:
        """Ask what there is to ask; True if the person leaves."""
        others = others_here(seat.state, seat.name) if stay.hosts else []
        if others and not await self._put(
            ConfirmScreen("Suspend the room for everyone?", _about(others), "suspend", self._clock)
        ):
            return False
        unsaved = await self._written(stay.unsaved())
        return unsaved is None or await self._rescue(unsaved, can_stay=True)

    async def _rescue(self, unsaved: Unsaved, *, can_stay: bool) -> bool:
        """Ask what becomes of what no disk took, and do it; False if the person stays."""
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

    async def _write(self, unsaved: Unsaved) -> tuple[str, str]:
        """Write it where the person wants; returns where, or what went wrong."""
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

    async def _written(self, writing: Awaitable[T]) -> T:
        """Wait for a disk; being asked to end once more does not begin it again."""
        self._writing = True
        try:
            return await writing
        finally:
            self._writing = False

    async def _put(self, question: Screen[T]) -> T | None:
        self._question = question
        return await self._app.push_screen_wait(question)

    async def _rescue_the_rest(self, stay: Stay) -> None:
        """Save elsewhere what was not asked about, since the room has been left by now."""
        unsaved = await stay.unsaved()
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

    def _begin_or_hurry(self, reason: str, grace: float | None) -> None:
        if not self.began:
            self.began = True
            self._app.run_worker(self._suspend(reason, grace), group="suspending")
        elif (stay := self._stay()) is not None:
            stay.hurry()

    async def _suspend(self, reason: str, grace: float | None) -> None:
        """Leave, show whoever is there a receipt, and end."""
        if (stay := self._stay()) is not None:
            await self._app.push_screen(_leaving_screen(stay))
            await self._stop_opening(stay)
        stay = self._stay()  # another one if the room was being changed
        departure, problem = None, ""
        if stay is not None:
            departure, problem = await _left(stay, reason, grace)
            await self._rescue_the_rest(stay)
        if departure is not None and self._elsewhere:
            departure = replace(departure, elsewhere=self._elsewhere)
            problem = f"{problem}; {self._elsewhere}" if problem else ""
        if departure is not None:
            await self._show_receipt(departure)
        self._end(departure, problem)

    async def _stop_opening(self, stay: Stay) -> None:
        workers = [worker for worker in self._app.workers if worker.group == "opening"]
        if stay.seat is None and workers:
            self._app.workers.cancel_group(stay.screen, "opening")
            with suppress(WorkerCancelled, WorkerFailed):
                await self._app.workers.wait_for_complete([w for w in workers if not w.is_finished])

    async def _show_receipt(self, departure: Departure) -> None:
        """Show it until the person has put it away, or nobody may be there any more."""
        if self._unattended.is_set():
            return
        self._shows_receipt = True
        lines = list(receipt_lines(departure))
        screen = ReceiptScreen(departure.what, lines, departure.again, self._clock)
        await self._app.push_screen(screen, lambda _: self._unattended.set())
        await self._unattended.wait()


async def _left(stay: Stay, reason: str, grace: float | None) -> tuple[Departure | None, str]:
    """What is left behind, and what went wrong."""
    try:
        return await stay.leave(reason, grace), ""
    except LeftInDisorder as error:
        return stay.departure(error.receipt), str(error)
    except GenieError as error:
        return None, str(error)


def _about(others: Sequence[str]) -> Content:
    *most, last = others
    names = f"{', '.join(most)} and {last} are" if most else f"{last} is"
    return Content(
        f"{names} here. Their messages wait until you resume the room.\n\n"
        "To let it go on without you, go back and hand it over: /host NAME"
    )


def _same(one: Unsaved, other: Unsaved) -> bool:
    return (one.messages, one.draft) == (other.messages, other.draft)


def _leaving_screen(stay: Stay) -> LeavingScreen:
    def ending() -> Ending | None:
        return stay.seat.ending if stay.seat is not None else None

    return LeavingScreen(hosts=stay.hosts, ending=ending)
