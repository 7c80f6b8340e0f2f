"""What is done about models: seeing which are in use, and putting another in their place."""

from typing import TYPE_CHECKING

from textual.screen import Screen

from genie_core.errors import GenieError
from genie_core.message import SYSTEM
from genie_core.room.client.model import EngineState
from genie_core.room.engine.controls import AgentInfo, EngineControls
from genie_core.text.safe import visible_line
from genie_tui.order import UseModel

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom

NO_ENGINE = "You have no agent of your own here; the host's answers you."
LOADING = "Your engine is still loading. Try again in a moment."
AGAIN = (
    "/model NAME loads it again with that model, /model offline with the helper that needs none."
)
HOW = "/model NAME puts another in its place, /model offline the helper that needs none."


class ModelDesk:
    """Carries out `/model` with the room screen's means of telling."""

    def __init__(self, screen: Screen[None]) -> None:
        self._screen = screen

    def carry_out(self, seat: "JoinedRoom", order: UseModel) -> None:
        """Begin to use another model, or tell which are in use."""
        if order.name:
            self._screen.run_worker(self._use(seat, order.name), group="model", exclusive=True)
        elif seat.engine.controls is None:
            self._screen.notify(_without(seat), severity="warning")
        else:
            self._screen.notify(in_use(seat.engine.controls), title="Models in use", timeout=12)

    async def _use(self, seat: "JoinedRoom", name: str) -> None:
        try:
            label = await seat.engine.use_model(name)
        except GenieError as error:
            self._screen.notify(visible_line(str(error)), severity="error", timeout=12)
        else:
            self._screen.notify(f"Your agent is {visible_line(label)} now.")


def in_use(workbench: EngineControls) -> str:
    """Which model each part of an engine has, a line for each, and how to change it."""
    return "\n".join([*map(_line, workbench.agents), HOW])


def _line(info: AgentInfo) -> str:
    name = "genie" if info.name == SYSTEM else visible_line(info.name)
    return f"{name}: {visible_line(info.model)} ({info.runtime})"


def _without(seat: "JoinedRoom") -> str:
    match seat.engine.status.state:
        case EngineState.LOADING:
            return LOADING
        case EngineState.FAILED:
            return f"Your engine failed: {visible_line(seat.engine.status.detail)}\n{AGAIN}"
        case _:
            return NO_ENGINE
