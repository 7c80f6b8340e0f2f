"""Commands about the own engine: models, costs, tools, what it may do, and stopping it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from genie_core.errors import GenieError
from genie_core.message import SYSTEM
from genie_core.room.client.model import Answer, EngineState
from genie_core.room.engine.backlog import BacklogChoice
from genie_core.room.engine.controls import AgentSummary, EngineControls, JobInfo
from genie_core.room.engine.policy import ANSWER_SERVER
from genie_core.room.participant.receipt import excerpt
from genie_core.room.protocol.events import mark_of_source
from genie_core.room.state.thread import MessageThread, Phase
from genie_core.room.view.costs import budget_line
from genie_core.runtime.agent_options import MODE, MODEL, AgentOption, of_category
from genie_core.text.format import clock_time, counted
from genie_core.text.safe import visible, visible_line
from genie_tui.commands.context import RoomContext
from genie_tui.commands.handlers.files import open_link
from genie_tui.commands.parse import BudgetRaise, OptionChoice, PromptLine
from genie_tui.screens.dialogs.costs import CostScreen
from genie_tui.screens.dialogs.edit_call import EditCallScreen
from genie_tui.screens.dialogs.form import FormScreen
from genie_tui.screens.dialogs.grants import GrantsScreen
from genie_tui.screens.dialogs.pick import CarefulPickScreen, Row
from genie_tui.screens.dialogs.tools import ToolsScreen
from genie_tui.widgets.approvals.call_text import CardView, diff_lines
from genie_tui.widgets.composer.attachments import message_question

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom

NO_AGENT: Final = "You have no agent of your own in this room; the host's agent answers you."
NOT_STARTED: Final = "Your agent reports its options when it starts. Send it a message first."
NO_OPTIONS: Final = "This agent has no modes. Some installed agents do: see docs/agents.md."
LISTED: Final = "/mode lists its options."
ASK_MODE: Final = (
    "Your agent is known to ask before it changes or runs anything in the mode {0}. In another one it "
    "may do so without asking you, and no rule of yours can prevent it."
)
LOADING: Final = "Your agent is still loading. Try again in a moment."
AGAIN: Final = "/model NAME loads another model, /model offline the helper that needs none."
HOW: Final = "/model NAME switches to another one, /model offline to the helper that needs none."

GENIE: Final = "genie"
"""The name by which a message addresses its author's agent."""
COMPACTS: Final = "Your agent summarises its conversation before its next answer."
COMPACT_OFFLINE: Final = "The offline helper keeps no conversation to summarise."
COMPACT_PROGRAM: Final = (
    "Your agent is a program of its own. If it has such a command: @genie /compact"
)

NO_MONEY_LIMIT: Final = "This session has no spending limit."
NO_COUNT_LIMIT: Final = "This session has no token limit."

ASK_AUTO: Final = (
    "Whatever your agents want to do for your own messages is then done at once: they write files, "
    "run programs and reach the network without asking you.\n\n"
    "What a rule of yours denies stays denied, and what they want to do for others is still asked. "
    "It ends with this session, or by /auto off."
)
NO_ENGINE: Final = "You have no agent here, so there are no calls to allow."
NOTHING_RUNS: Final = "No agent is running for you."
ALL: Final = "all"
UNSEEN: Final = (
    "Only the terminal where this call waits shows what it is called with; edit it there."
)

NO_JOBS: Final = "Your agents run no commands in the background."
STOP_JOB: Final = "/jobs stop N ends one of them and all that it started."
LIST_JOBS: Final = "/jobs lists them."
MOST_SHOWN: Final = 80
"""Characters of a job's command, and of its last line, that are listed."""

MOST_LISTED: Final = 12
"""Values of an option that are listed at once."""

_NOT_TAKEN: Final = {
    EngineState.LOADING: "Your agent is still loading. Answer again in a moment.",
    EngineState.FAILED: "Your agent failed to load. /model NAME loads it again.",
}


def model(context: RoomContext, name: str = "") -> None:
    """Use another model, or tell which ones are in use."""
    joined = context.joined
    controls = joined.engine.controls
    offered = of_category(controls.options.options, MODEL) if controls is not None else None
    if offered is not None and name and (offered.choice(name) or ":" not in name):
        context.start(_set_option(context, offered, name), "model", exclusive=True)
    elif name:
        context.start(_use_model(context, joined, name), "model", exclusive=True)
    elif controls is None:
        context.warn(_no_workbench(joined))
    else:
        context.screen.notify(models_in_use(controls), title="Models in use", timeout=12)


def mode(context: RoomContext, chosen: OptionChoice) -> None:
    """Set an option of the agent program, by default its mode, or list its options."""
    joined = context.joined
    if (controls := joined.engine.controls) is None:
        context.warn(_no_workbench(joined))
        return
    options = controls.options.options
    if not options:
        started = any(each.runtime == "acp" for each in controls.agents[:1])
        context.warn(NOT_STARTED if started else NO_OPTIONS)
        return
    name, value = chosen.name, chosen.value
    modes = of_category(options, MODE)
    named = next((each for each in options if each.is_named(name)), None)
    if not name:
        _list_options(context, options)
    elif value and named is not None:
        context.start(_set_option(context, named, value), "mode", exclusive=True)
    elif not value and modes is not None and modes.choice(name):
        context.start(_set_option(context, modes, name), "mode", exclusive=True)
    elif not value and named is not None:
        _list_options(context, [named])
    else:
        context.warn(f"Your agent has no mode or option {visible_line(name)}. {LISTED}")


def cost(context: RoomContext) -> None:
    _ = context.screen.app.push_screen(CostScreen(context.joined))


def compact(context: RoomContext) -> None:
    """Have the agent's conversation summarised before its next answer."""
    joined = context.joined
    if (controls := joined.engine.controls) is None:
        context.warn(_no_workbench(joined))
    elif any(each.runtime == "acp" for each in controls.agents[:1]):
        context.warn(COMPACT_PROGRAM)
    elif not controls.model:
        context.warn(COMPACT_OFFLINE)
    else:
        controls.compact()
        context.screen.notify(COMPACTS)


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
        context.screen.notify("Auto mode is off: tool calls need your approval again.")


def jobs(context: RoomContext, number: int = 0) -> None:
    """Tell which commands run in the background, or stop the one with this number."""
    if (controls := context.joined.engine.controls) is None:
        context.warn(_no_workbench(context.joined))
    elif number:
        context.start(_stop_job(context, controls, number), "job")
    else:
        lines = [*map(_job_line, controls.jobs)]
        text = "\n".join([*lines, STOP_JOB]) if lines else NO_JOBS
        context.screen.notify(text, title="Commands in the background", timeout=12)


def backlog(context: RoomContext, choice: BacklogChoice) -> None:
    """Answer messages from before the room was resumed, or not, and tell what becomes of them."""
    joined = context.joined
    answered = joined.engine.choose(choice)
    if answered is None:
        context.warn(_NOT_TAKEN.get(joined.engine.status.state, "No earlier messages are waiting."))
    elif answered:
        messages = counted(answered, "message")
        context.screen.notify(f"Answering {messages} from before.")
    else:
        context.screen.notify("The earlier messages stay unanswered; the log says so.")


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
        context.screen.notify(NOTHING_RUNS)


def ask_to_stop(context: RoomContext) -> None:
    """Stop the agent of the selected message, or one of those running, if the person agrees."""
    joined, chosen = context.joined, context.timeline.chosen
    running = [
        each for each in joined.state.running.values() if joined.name in (each.author, each.handler)
    ]
    if chosen in running:
        running = [chosen]
    if running:
        context.start(_stop_one(context, running), "stop", exclusive=True)
    else:
        context.screen.notify(NOTHING_RUNS)


async def _stop_one(context: RoomContext, running: Sequence[MessageThread]) -> None:
    """Ask which of these to stop, or only whether to if there is one."""
    picked: str | None = str(running[0].seq)
    if len(running) == 1:
        if not await context.confirm(
            "Stop the agent?", f"It works on: {_work(running[0])}", "stop it"
        ):
            return
    else:
        rows = [Row(str(each.seq), _work(each), _doing(context, each)) for each in running]
        everything = Row(
            ALL, "Both requests" if len(running) == 2 else f"All {len(running)} requests"
        )
        picked = await context.screen.app.push_screen_wait(
            CarefulPickScreen("Stop which request?", [*rows, everything])
        )
    if picked:
        stop(context, None if picked == ALL else int(picked))


def _work(exchange: MessageThread) -> str:
    return f"{visible_line(exchange.author)}: {excerpt(exchange)}"


def _doing(context: RoomContext, exchange: MessageThread) -> str:
    if exchange.phase is Phase.WAITING:
        return "waits for an approval"
    return context.timeline.progress.line(exchange.seq)


def edit_call(context: RoomContext, view: CardView) -> None:
    """Let the person change what a tool is called with and allow it, or answer a tool server."""
    joined, proposal = context.joined, view.request
    if proposal.withheld and not proposal.arguments:
        context.warn(UNSEEN)
        return

    def allow(arguments: dict[str, Any]) -> bool:
        return context.approvals.answer(proposal.id, Answer(allow=True, arguments=arguments))

    if proposal.tool == ANSWER_SERVER:
        _answer_server(context, view, allow)
        return
    dialog = EditCallScreen(
        proposal,
        joined.approvals.schema(proposal.id),
        lambda: context.approvals.waits(proposal.id),
        allow,
        context.clock,
        partial(joined.approvals.preview, proposal.id),
    )
    _ = context.screen.app.push_screen(dialog)


def _answer_server(
    context: RoomContext, view: CardView, allow: Callable[[dict[str, Any]], bool]
) -> None:
    """Ask for what a tool server wants to know, or whether to open its address."""
    asked = view.request.arguments
    if "url" in asked:
        context.start(_visit(context, view), "files")
        return
    form = (view.schema or {}).get("properties", {}).get("answer")
    if form is None:
        context.warn(UNSEEN)
        return

    def send(answer: dict[str, Any]) -> bool:
        typed = "\n".join(map(str, answer.values()))
        if names := context.attachments.secrets_in(typed):
            context.warn(f"Not sent: it contains your secret {', '.join(names)}.")
            return False
        return allow({**asked, "answer": answer})

    dialog = FormScreen(
        str(asked.get("server", "")),
        str(asked.get("message", "")),
        form,
        lambda: context.approvals.waits(view.request.id),
        send,
        context.clock,
    )
    _ = context.screen.app.push_screen(dialog)


async def _visit(context: RoomContext, view: CardView) -> None:
    """Open the address of a tool server if the person agrees, and tell the server so."""
    address = str(view.request.arguments["url"])
    title = f"Open this address of {visible_line(str(view.request.arguments.get('server', '')))}?"
    if not await context.confirm(title, visible_line(address), "open it"):
        return
    if context.approvals.answer(view.request.id, Answer(allow=True)):
        await open_link(context, address)
    else:
        explain_not_taken(context)


def use_prompt(context: RoomContext, prompt: PromptLine, typed: str) -> None:
    """Fetch a prompt of a tool server, show it, and send it if the person agrees.

    Raises `RoomNotOpen`.
    """
    context.joined  # noqa: B018 - raises if the room is not open
    context.start(_send_prompt(context, prompt, typed), "prompts")


async def _send_prompt(context: RoomContext, prompt: PromptLine, typed: str) -> None:
    joined = context.joined
    try:
        text = await _text_of(context, prompt)
        asked = message_question(text, joined.state, joined.name)
        title = f"Send this prompt of {visible_line(prompt.server)}?"
        if await context.confirm(title, asked, "send it", read_first=True):
            source = f"the prompt {prompt.server}:{prompt.name}"
            joined.messages.send(text, quotes=[mark_of_source(source)])
    except GenieError as error:
        if not context.composer.draft:
            context.composer.draft = typed
        context.warn(visible(str(error)))


async def _text_of(context: RoomContext, prompt: PromptLine) -> str:
    """Return the message that a prompt becomes. Raises a `GenieError` if it can't be sent."""
    controls = context.joined.engine.controls
    if controls is None:
        raise GenieError(_no_workbench(context.joined))
    first, *others = await controls.prompt(prompt.server, prompt.name, prompt.words)
    text = "\n\n".join((f"@{GENIE} {first}", *others))
    if names := context.attachments.secrets_in(text):
        raise GenieError(f"Not sent: it contains your secret {', '.join(names)}.")
    return text


def explain_not_taken(context: RoomContext) -> None:
    """Tell why an answer to a tool call changed nothing."""
    joined = context.open_room
    state = joined.engine.status.state if joined is not None else EngineState.ABSENT
    context.warn(_NOT_TAKEN.get(state, "That tool call is no longer waiting."))


def models_in_use(workbench: EngineControls) -> str:
    """Which model each part of an engine has, a line for each, and how to change it."""
    lines = [*map(_agent_line, workbench.agents)]
    if (offered := of_category(workbench.options.options, MODEL)) is not None:
        lines.append(_option_line(offered))
    return "\n".join([*lines, HOW])


def _agent_line(info: AgentSummary) -> str:
    name = "genie" if info.name == SYSTEM else visible_line(info.name)
    runtime = f" ({info.runtime})" if info.runtime else ""
    return f"{name}: {visible_line(info.model)}{runtime}"


def _job_line(job: JobInfo) -> str:
    last = f": {job.last[:MOST_SHOWN]}" if job.last else ""
    command = job.command[:MOST_SHOWN]
    return visible_line(f"{job.number} {command}, {clock_time(job.started)}, {job.state}{last}")


async def _stop_job(context: RoomContext, controls: EngineControls, number: int) -> None:
    if await controls.stop_job(number):
        context.screen.notify(f"Job {number} and all that it started are stopped.")
    else:
        context.warn(f"No job {number} is running. {LIST_JOBS}")


def _list_options(context: RoomContext, options: Sequence[AgentOption]) -> None:
    lines = "\n".join(map(_option_line, options))
    context.screen.notify(lines, title="Your agent's options", timeout=12)


def _option_line(option: AgentOption) -> str:
    others = [each.value for each in option.choices if each.value != option.value]
    listed = ", ".join(others[:MOST_LISTED])
    more = f" and {len(others) - MOST_LISTED} more" if len(others) > MOST_LISTED else ""
    also = f" (or {listed}{more})" if others else ""
    name = option.name if option.category in (MODE, MODEL) else f"{option.name} [{option.id}]"
    return visible_line(f"{name}: {option.value}{also}")


async def _set_option(context: RoomContext, option: AgentOption, name: str) -> None:
    choice = option.choice(name)
    if choice is None:
        context.warn(f"{visible_line(name)} is none of them. {_option_line(option)}")
        return
    if option.asking and choice.value not in option.asking:
        title = f"Use the mode {visible_line(choice.name)}?"
        asked = ASK_MODE.format(visible_line(option.asking[0]))
        if not await context.confirm(title, asked, "use it"):
            return
    controls = context.joined.engine.controls
    if controls is None:
        context.warn(_no_workbench(context.joined))
        return
    controls.options.choose(option.id, choice.value)
    said = f"{option.name}: {choice.name}, from the next request on."
    context.screen.notify(visible_line(said))


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
    from genie_core.assistant.models.discover import is_running

    try:
        label = await joined.engine.use_model(name)
    except GenieError as error:
        context.screen.notify(visible_line(str(error)), severity="error", timeout=12)
    else:
        controls = joined.engine.controls
        acts = controls is not None and controls.agents[:1] and controls.agents[0].runtime == "acp"
        server = controls.model_server if controls is not None else ""
        if server and not await is_running(server):
            context.warn(f"No server answers at {visible_line(server)} yet. Start it first.")
        said = "{} decides now what your agent answers." if acts else "Your agent now uses {}."
        context.screen.notify(said.format(visible_line(label)))


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
            done = f"The change of {name} at {time} is undone."
        if await context.confirm(title, diff_lines(visible(plan.diff).split("\n")), yes):
            await controls.undo(plan.number)
            context.screen.notify(done)
    except GenieError as error:
        context.screen.notify(visible_line(str(error)), severity="warning", timeout=12)
