"""Commands about the own engine: models, costs, tools, permissions, and stopping it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from genie_core.errors import GenieError
from genie_core.room.client.model import Answer, EngineState
from genie_core.room.commands import engine
from genie_core.room.commands.arguments import PromptLine
from genie_core.room.engine.approval_policy import ANSWER_SERVER
from genie_core.room.engine.controls import EngineControls
from genie_core.room.participant.receipt import excerpt
from genie_core.room.protocol.events import mark_of_source
from genie_core.room.state.thread import MessageThread, Phase
from genie_core.text.safe import visible, visible_line
from genie_tui.commands.context import RoomContext
from genie_tui.commands.handlers.files import open_link
from genie_tui.screens.dialogs.costs import CostScreen
from genie_tui.screens.dialogs.edit_call import EditCallScreen
from genie_tui.screens.dialogs.form import FormScreen
from genie_tui.screens.dialogs.grants import GrantsScreen
from genie_tui.screens.dialogs.pick import PickScreen, Row
from genie_tui.screens.dialogs.tools import ToolsScreen
from genie_tui.widgets.approvals.call_text import CardView
from genie_tui.widgets.composer.attachments import message_question

GENIE: Final = "genie"
"""The name by which a message addresses its author's agent."""

ALL: Final = "all"
UNSEEN: Final = (
    "Only the terminal where this call waits shows what it is called with; edit it there."
)


def cost(context: RoomContext) -> None:
    _ = context.screen.app.push_screen(CostScreen(context.joined))


def tools(context: RoomContext) -> None:
    def bench() -> EngineControls | None:
        return context.open_room.engine.controls if context.open_room is not None else None

    _ = context.screen.app.push_screen(ToolsScreen(bench))


def grants(context: RoomContext) -> None:
    _ = context.screen.app.push_screen(GrantsScreen(context.joined))


def undo_call(context: RoomContext, approval: str) -> None:
    """Undo the changes of one tool call in a file if the person confirms it."""
    context.attempt(partial(engine.undo, context.joined, approval=approval))


def stop(context: RoomContext, message: int | None = None) -> None:
    """Stop the agent that works on a message, or all that run for this person."""
    joined = context.open_room
    if joined is None or not joined.engine.stop(message):
        context.screen.notify(engine.NOTHING_RUNS)


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
        context.screen.notify(engine.NOTHING_RUNS)


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
            PickScreen("Stop which request?", [*rows, everything])
        )
    if picked:
        stop(context, None if picked == ALL else int(picked))


def _work(thread: MessageThread) -> str:
    return f"{visible_line(thread.author)}: {excerpt(thread)}"


def _doing(context: RoomContext, thread: MessageThread) -> str:
    if thread.phase is Phase.WAITING:
        return "waits for an approval"
    return context.timeline.progress.line(thread.seq)


def edit_call(context: RoomContext, view: CardView) -> None:
    """Let the person change the arguments of a tool and allow it, or answer a tool server."""
    joined, call = context.joined, view.request
    if call.withheld and not call.arguments:
        context.warn(UNSEEN)
        return

    def allow(arguments: dict[str, Any]) -> bool:
        return context.approvals.answer(call.id, Answer(allow=True, arguments=arguments))

    if call.tool == ANSWER_SERVER:
        _answer_server(context, view, allow)
        return
    dialog = EditCallScreen(
        call,
        joined.approvals.schema(call.id),
        lambda: context.approvals.waits(call.id),
        allow,
        context.clock,
        partial(joined.approvals.preview, call.id),
    )
    _ = context.screen.app.push_screen(dialog)


def _answer_server(
    context: RoomContext, view: CardView, allow: Callable[[dict[str, Any]], bool]
) -> None:
    """Ask the question of a tool server, or whether to open its address."""
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
    controls = engine.controls_of(context.joined)
    first, *others = await controls.prompt(prompt.server, prompt.name, prompt.words)
    text = "\n\n".join((f"@{GENIE} {first}", *others))
    if names := context.attachments.secrets_in(text):
        raise GenieError(f"Not sent: it contains your secret {', '.join(names)}.")
    return text


def explain_not_taken(context: RoomContext) -> None:
    """Tell why an answer to a tool call changed nothing."""
    joined = context.open_room
    state = joined.engine.status.state if joined is not None else EngineState.ABSENT
    context.warn(engine.NOT_TAKEN.get(state, "That tool call is no longer waiting."))
