"""Commands about the own engine: models, costs, tools, what it may do, and stopping it."""

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from genie_core.errors import GenieError
from genie_core.message import SYSTEM
from genie_core.room.client.model import Answer, EngineState
from genie_core.room.engine.backlog import BacklogChoice
from genie_core.room.engine.controls import AgentSummary, EngineControls
from genie_core.room.state.thread import ToolApproval
from genie_core.room.text.costs import budget_line
from genie_core.text.format import clock_time, counted
from genie_core.text.safe import visible, visible_line
from genie_tui.commands.context import RoomContext
from genie_tui.commands.parse import BudgetRaise
from genie_tui.screens.dialogs.costs import CostScreen
from genie_tui.screens.dialogs.edit_call import EditCallScreen, diff_content
from genie_tui.screens.dialogs.grants import GrantsScreen
from genie_tui.screens.dialogs.tools import ToolsScreen

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom

NO_AGENT: Final = "You have no agent of your own here; the host's answers you."
LOADING: Final = "Your engine is still loading. Try again in a moment."
AGAIN: Final = (
    "/model NAME loads it again with that model, /model offline with the helper that needs none."
)
HOW: Final = "/model NAME puts another in its place, /model offline the helper that needs none."

NO_MONEY_LIMIT: Final = "There is no limit on money in this session, so nothing needs to be raised."
NO_COUNT_LIMIT: Final = (
    "There is no limit on tokens in this session, so nothing needs to be raised."
)

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


def model(context: RoomContext, name: str = "") -> None:
    """Use another model, or tell which ones are in use."""
    joined = context.joined
    if name:
        context.start(_use_model(context, joined, name), "model", exclusive=True)
    elif joined.engine.controls is None:
        context.warn(_no_workbench(joined))
    else:
        context.screen.notify(
            models_in_use(joined.engine.controls), title="Models in use", timeout=12
        )


def cost(context: RoomContext) -> None:
    _ = context.screen.app.push_screen(CostScreen(context.joined))


def budget(context: RoomContext, more: BudgetRaise) -> None:
    """Tell how much of the budget is used, or raise it."""
    context.screen.notify(_budget_text(context.joined, more), title="Budget", timeout=8)


def tools(context: RoomContext) -> None:
    def bench() -> EngineControls | None:
        return context.open_room.engine.controls if context.open_room is not None else None

    _ = context.screen.app.push_screen(ToolsScreen(bench))


def grants(context: RoomContext) -> None:
    _ = context.screen.app.push_screen(GrantsScreen(context.joined))


def auto(context: RoomContext, on: bool) -> None:  # noqa: FBT001 - the command's one argument
    """Turn auto mode off, or on if the person confirms it."""
    joined = context.joined
    if joined.engine.status.state is not EngineState.READY:
        context.warn(NO_ENGINE)
    elif on == joined.engine.status.auto:
        context.screen.notify(f"Auto mode is {'on' if on else 'off'} already.")
    elif on:
        context.start(_turn_auto_on(context, joined), "auto")
    else:
        joined.engine.set_auto(on=False)
        context.screen.notify("Auto mode is off: tool calls are asked about again.")


def backlog(context: RoomContext, choice: BacklogChoice) -> None:
    """Answer messages from before the room was resumed, or not, and tell what becomes of them."""
    joined = context.joined
    answered = joined.engine.choose(choice)
    if answered is None:
        context.warn(
            _NOT_TAKEN.get(
                joined.engine.status.state, "No messages from before wait to be answered."
            )
        )
    elif answered:
        messages = counted(answered, "message")
        context.screen.notify(f"Agents look at {messages} from before now.")
    else:
        context.screen.notify("The messages from before stay unanswered, and the log says so.")


def undo(context: RoomContext, file: str = "") -> None:
    """Undo the latest change of a file by a tool if the person confirms it."""
    _start_undo(context, file=file)


def undo_call(context: RoomContext, approval: str) -> None:
    """Undo what one tool call changed in a file if the person confirms it."""
    _start_undo(context, approval=approval)


def stop(context: RoomContext, message: int | None = None) -> None:
    """Stop the agent that works on a message, or all that run for this person."""
    joined = context.open_room
    if joined is None or not joined.engine.stop(message):
        context.screen.notify("No agent runs that you could stop.")


def edit_call(context: RoomContext, proposal: ToolApproval) -> None:
    """Let the person change what a tool is called with, and allow it."""
    joined = context.joined
    if proposal.withheld and not proposal.arguments:
        context.warn(UNSEEN)
        return

    def allow(arguments: dict[str, Any]) -> bool:
        return context.approvals.answer(proposal.id, Answer(allow=True, arguments=arguments))

    dialog = EditCallScreen(
        proposal,
        joined.approvals.schema(proposal.id),
        lambda: context.approvals.waits(proposal.id),
        allow,
        context.clock,
        partial(joined.approvals.preview, proposal.id),
    )
    _ = context.screen.app.push_screen(dialog)


def explain_not_taken(context: RoomContext) -> None:
    """Tell why an answer to a tool call changed nothing."""
    joined = context.open_room
    state = joined.engine.status.state if joined is not None else EngineState.ABSENT
    context.warn(_NOT_TAKEN.get(state, "That tool call does not wait any more."))


def models_in_use(workbench: EngineControls) -> str:
    """Which model each part of an engine has, a line for each, and how to change it."""
    return "\n".join([*map(_agent_line, workbench.agents), HOW])


def _agent_line(info: AgentSummary) -> str:
    name = "genie" if info.name == SYSTEM else visible_line(info.name)
    return f"{name}: {visible_line(info.model)} ({info.runtime})"


def _no_workbench(joined: "JoinedRoom") -> str:
    match joined.engine.status.state:
        case EngineState.LOADING:
            return LOADING
        case EngineState.FAILED:
            return f"Your engine failed: {visible_line(joined.engine.status.detail)}\n{AGAIN}"
        case _:
            return NO_AGENT


def _budget_text(joined: "JoinedRoom", more: BudgetRaise) -> str:
    workbench = joined.engine.controls
    if workbench is None:
        return budget_line(None)
    if more.money and not workbench.allowance.money_limit:
        return NO_MONEY_LIMIT
    if more.tokens and not workbench.allowance.token_limit:
        return NO_COUNT_LIMIT
    if more.money or more.tokens:
        return budget_line(workbench.raise_budget(money=more.money, tokens=more.tokens))
    return budget_line(workbench.allowance)


async def _use_model(context: RoomContext, joined: "JoinedRoom", name: str) -> None:
    try:
        label = await joined.engine.use_model(name)
    except GenieError as error:
        context.screen.notify(visible_line(str(error)), severity="error", timeout=12)
    else:
        context.screen.notify(f"Your agent is {visible_line(label)} now.")


async def _turn_auto_on(context: RoomContext, joined: "JoinedRoom") -> None:
    agreed = await context.confirm("Allow all calls without asking you?", ASK_AUTO, "turn it on")
    if agreed and not joined.engine.set_auto(on=True):
        context.warn(NO_ENGINE)


def _start_undo(context: RoomContext, *, file: str = "", approval: str = "") -> None:
    joined = context.joined
    if (controls := joined.engine.controls) is None:
        context.warn(_no_workbench(joined))
    else:
        context.start(_undo(context, controls, file, approval), "undo")


async def _undo(context: RoomContext, controls: EngineControls, file: str, approval: str) -> None:
    try:
        plan = await controls.plan_undo(file, approval)
        name, time = visible_line(plan.name), clock_time(plan.at)
        if plan.deletes:
            title, yes, done = (
                f"Delete {name}, created at {time}?",
                "delete it",
                f"{name} is deleted.",
            )
        else:
            title, yes = f"Undo the change of {name} at {time}?", "undo it"
            done = f"{name} is as before {time}."
        if await context.confirm(title, diff_content(visible(plan.diff).split("\n")), yes):
            await controls.undo(plan.number)
            context.screen.notify(done)
    except GenieError as error:
        context.screen.notify(visible_line(str(error)), severity="warning", timeout=12)
