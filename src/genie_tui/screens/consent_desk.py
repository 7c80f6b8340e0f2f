"""What is done about allowing tool calls beside the card: what waits, edits, grants, auto mode."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from textual.content import Content
from textual.screen import Screen

from genie_core.room.client.model import Answer, EngineState
from genie_core.room.engine.backlog import BacklogChoice
from genie_core.room.state.thread import ToolApproval
from genie_core.text.format import counted
from genie_tui.screens.dialogs.confirm import ConfirmScreen
from genie_tui.screens.dialogs.edit_call import EditCallScreen
from genie_tui.screens.dialogs.grants import GrantsScreen
from genie_tui.widgets.approvals.panel import ApprovalPanel
from genie_tui.widgets.hint_line import HintLine
from genie_tui.widgets.side_panel import SidePanel, Tab
from genie_tui.widgets.status_bar import StatusBar

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom

ASK_AUTO: Final = (
    "Whatever your agents want to do for your own messages is then done at once: they write files, "
    "run programs and reach the network without asking you.\n\n"
    "What a rule of yours denies stays denied, and what they want to do for others is still asked. "
    "It ends with this session, or by /auto off."
)
NO_ENGINE: Final = "There is no engine here whose calls you could allow."
UNSEEN: Final = (
    "Only the terminal where this call waits shows what it is called with; edit it there."
)

_NOT_TAKEN: Final = {
    EngineState.LOADING: "Your engine is still loading. Answer again in a moment.",
    EngineState.FAILED: "Your engine is not there to act on it. /model NAME loads it again.",
}


class ConsentDesk:
    """Carries out what concerns allowing, with the screen of a room and its approvals."""

    def __init__(
        self,
        screen: Screen[None],
        approvals: Callable[[], ApprovalPanel],
        clock: Callable[[], float],
    ) -> None:
        self._screen = screen
        self._approvals = approvals
        self._clock = clock

    def begin(self, seat: "JoinedRoom") -> None:
        """Show what waits for this person in this room from now on."""
        self._approvals().bind(seat.state, seat.name, seat.approvals.answer)
        self._show_waiting()

    def refresh(self) -> None:
        """Look again at what waits."""
        self._approvals().refresh_queue()
        self._show_waiting()

    def close_doors(self) -> None:
        """Let nothing be answered any more, since nobody would hear it."""
        self._approvals().close_room()
        self._show_waiting()

    def not_taken(self, seat: "JoinedRoom | None") -> None:
        """Say why an answer changed nothing."""
        state = seat.engine.status.state if seat is not None else EngineState.ABSENT
        why = _NOT_TAKEN.get(state, "That tool call does not wait any more.")
        self._screen.notify(why, severity="warning")

    def edit(self, seat: "JoinedRoom", proposal: ToolApproval) -> None:
        """Let the person change a call and allow it."""
        if proposal.withheld and not proposal.arguments:
            self._screen.notify(UNSEEN, severity="warning")
            return

        def allow(arguments: dict[str, Any]) -> bool:
            return self._approvals().answer(proposal.id, Answer(allow=True, arguments=arguments))

        _ = self._screen.app.push_screen(
            EditCallScreen(
                proposal,
                seat.approvals.schema(proposal.id),
                lambda: self._approvals().waits(proposal.id),
                allow,
                self._clock,
            )
        )

    def grants(self, seat: "JoinedRoom") -> None:
        """Show what the person allowed."""
        _ = self._screen.app.push_screen(GrantsScreen(seat))

    def auto(self, seat: "JoinedRoom", *, on: bool) -> None:
        """Turn auto mode off at once, or on if the person means it."""
        if seat.engine.status.state is not EngineState.READY:
            self._screen.notify(NO_ENGINE, severity="warning")
        elif on == seat.engine.status.auto:
            self._screen.notify(f"Auto mode is {'on' if on else 'off'} already.")
        elif on:
            self._screen.run_worker(self._turn_on(seat), group="auto")
        else:
            seat.engine.set_auto(on=False)
            self._screen.notify("Auto mode is off: tool calls are asked about again.")

    def answer_backlog(self, seat: "JoinedRoom", choice: BacklogChoice) -> None:
        """Let messages from before be answered, or not, and say what becomes of them."""
        answered = seat.engine.choose(choice)
        if answered is None:
            why = _NOT_TAKEN.get(
                seat.engine.status.state, "No messages from before wait to be answered."
            )
            self._screen.notify(why, severity="warning")
        elif answered:
            messages = counted(answered, "message")
            self._screen.notify(f"Agents look at {messages} from before now.")
        else:
            self._screen.notify("The messages from before stay unanswered, and the log says so.")

    async def _turn_on(self, seat: "JoinedRoom") -> None:
        ask = ConfirmScreen(
            "Allow all calls without asking you?", Content(ASK_AUTO), "turn it on", self._clock
        )
        if await self._screen.app.push_screen_wait(ask) and not seat.engine.set_auto(on=True):
            self._screen.notify(NO_ENGINE, severity="warning")

    def _show_waiting(self) -> None:
        waiting = self._approvals().waiting
        self._screen.query_one(StatusBar).show_waiting(waiting)
        self._screen.query_one(HintLine).show_waiting(waiting)
        self._screen.query_one(SidePanel).label(Tab.APPROVALS).show_count(waiting)
