"""How the app ends: the room is left in good order, and whoever is there is told how that went."""

from collections.abc import Callable
from contextlib import suppress

from textual.app import App
from textual.worker import WorkerCancelled, WorkerFailed

from genie_core.errors import GenieError
from genie_core.room.departure import QUICK_GRACE, Ending
from genie_core.room.errors import LeftInDisorder
from genie_tui.departure import Departure, receipt_lines
from genie_tui.screens.leaving import LeavingScreen
from genie_tui.screens.receipt import ReceiptScreen
from genie_tui.stay import Stay


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
        self._attended = True
        self.began = False

    def quickly(self, reason: str) -> None:
        """End soon and without a word, since nobody may be there.

        Asking again while it goes on ends what still runs, and puts a receipt away that is shown.
        """
        self._attended = False
        if isinstance(self._app.screen, ReceiptScreen):
            _ = self._app.screen.dismiss(None)
        else:
            self._begin_or_hurry(reason, QUICK_GRACE)

    def patiently(self) -> None:
        """End as the person wants it; asked again, wait for no agent any more."""
        if isinstance(self._app.screen, ReceiptScreen):
            self._app.screen.end()
        else:
            self._begin_or_hurry("", None)

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
        if departure is not None and self._attended:
            await self._show_receipt(departure)
        self._end(departure, problem)

    async def _stop_opening(self, stay: Stay) -> None:
        workers = [worker for worker in self._app.workers if worker.group == "opening"]
        if stay.seat is None and workers:
            self._app.workers.cancel_group(stay.screen, "opening")
            with suppress(WorkerCancelled, WorkerFailed):
                await self._app.workers.wait_for_complete([w for w in workers if not w.is_finished])

    async def _show_receipt(self, departure: Departure) -> None:
        lines = list(receipt_lines(departure))
        screen = ReceiptScreen(departure.what, lines, departure.again, self._clock)
        await self._app.push_screen_wait(screen)


async def _left(stay: Stay, reason: str, grace: float | None) -> tuple[Departure | None, str]:
    """What is left behind, and what went wrong."""
    try:
        return await stay.leave(reason, grace), ""
    except LeftInDisorder as error:
        return stay.departure(error.receipt), str(error)
    except GenieError as error:
        return None, str(error)


def _leaving_screen(stay: Stay) -> LeavingScreen:
    def ending() -> Ending | None:
        return stay.seat.ending if stay.seat is not None else None

    return LeavingScreen(hosts=stay.hosts, ending=ending)
