"""How far files are, as a person wants to hear it."""

from collections.abc import Callable, Container
from typing import Final

from genie_core.room.seat import Transfer

REPORT_INTERVAL: Final = 0.1


class Telling:
    """Tells of transfers: not the same twice, nor more often than anybody can read.

    `clock` gives seconds, from any beginning.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._report: Callable[[Transfer], None] = _nothing
        self._told: dict[str, tuple[Transfer, float]] = {}

    def start(self, report: Callable[[Transfer], None]) -> None:
        """Report to this from now on."""
        self._report = report

    def tell(self, transfer: Transfer) -> None:
        """Report how far a file is, if it is time to; its end and its trouble always are."""
        last, at = self._told.get(transfer.digest, (None, 0.0))
        ended = transfer.complete or transfer.problem
        now = self._clock()
        if transfer != last and (ended or last is None or now - at >= REPORT_INTERVAL):
            self._told[transfer.digest] = (transfer, now)
            self._report(transfer)

    def forget_all_but(self, digests: Container[str]) -> None:
        """Keep in mind only what was told of these files."""
        self._told = {each: told for each, told in self._told.items() if each in digests}


def _nothing(_transfer: Transfer) -> None:
    pass
