"""What is done about costs: seeing what was taken, and allowing more."""

from typing import TYPE_CHECKING

from textual.screen import Screen

from genie_tui.order import RaiseBudget, ShowCosts
from genie_tui.screens.dialogs.costs import CostScreen
from genie_tui.widgets.costs import budget_line

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom

NO_MONEY_LIMIT = "There is no limit on money in this session, so nothing needs to be raised."
NO_COUNT_LIMIT = "There is no limit on tokens in this session, so nothing needs to be raised."


class CostDesk:
    """Carries out `/cost` and `/budget` with the room screen's means of telling."""

    def __init__(self, screen: Screen[None]) -> None:
        self._screen = screen

    def carry_out(self, seat: "JoinedRoom", order: ShowCosts | RaiseBudget) -> None:
        """Show what was taken, tell how much of the budget is used, or raise it."""
        match order:
            case ShowCosts():
                self._screen.call_later(self._screen.app.push_screen, CostScreen(seat))
            case RaiseBudget():
                self._screen.notify(_told(seat, order), title="Budget", timeout=8)


def _told(seat: "JoinedRoom", order: RaiseBudget) -> str:
    workbench = seat.engine.controls
    if workbench is None:
        return budget_line(None)
    if order.money and not workbench.allowance.money_limit:
        return NO_MONEY_LIMIT
    if order.tokens and not workbench.allowance.token_limit:
        return NO_COUNT_LIMIT
    if order.money or order.tokens:
        return budget_line(workbench.raise_budget(money=order.money, tokens=order.tokens))
    return budget_line(workbench.allowance)
