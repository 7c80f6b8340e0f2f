"""Commands about one message: reply, edit, delete, react."""

from typing import TYPE_CHECKING, Final

from genie_core.room.participant.receipt import excerpt
from genie_core.room.protocol.events import MessageDeleted, MessageEdited, ReactionChanged
from genie_core.room.state.thread import Phase
from genie_core.text.safe import visible_line
from genie_tui.commands.context import Purpose, RoomContext
from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Scope
from genie_tui.emoji import QUICK, emojis
from genie_tui.screens.dialogs.pick import PickScreen, Row

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom
    from genie_core.room.state.thread import MessageThread

INTERRUPTED: Final = frozenset({Phase.FAILED, Phase.CANCELLED})
NOTHING_FAILED: Final = "No work on a message of yours failed or was stopped."
OFFLINE: Final = "Not connected: nothing was changed."
NOT_YOURS: Final = "You can change only your own messages."
NONE_OF_YOURS: Final = "You have no recent message to edit."


def reply(context: RoomContext) -> None:
    """Make the next message a reply to the selected message or answer."""
    exchange = context.timeline.chosen
    if exchange is None:
        context.screen.notify(nothing_chosen(context))
        return
    is_answer = context.timeline.is_answer_chosen and exchange.answered_seq is not None
    seq = exchange.answered_seq if is_answer and exchange.answered_seq else exchange.seq
    who = "genie" if is_answer else visible_line(exchange.author)
    text = exchange.answer.text if is_answer and exchange.answer else exchange.text
    line = visible_line(text)
    _begin(context, Purpose(reply_to=seq), f"Reply to {who}: {line}")


def nothing_chosen(context: RoomContext) -> str:
    """Say how to select a message."""
    keymap = keymap_of(context.screen)
    there = keymap.text(Scope.ROOM, "read-back")
    up, down = (keymap.text(Scope.TIMELINE, name) for name in ("up", "down"))
    return f"Select a message first: {there}, then {up} {down}."


def edit(context: RoomContext) -> None:
    """Load the selected message, or the person's latest one, into the composer."""
    joined = context.joined
    exchange = context.timeline.chosen or _latest(joined)
    if exchange is None:
        context.screen.notify(NONE_OF_YOURS)
    elif exchange.author != joined.name or exchange.is_deleted:
        context.warn(NOT_YOURS)
    else:
        purpose = Purpose(editing=exchange.seq, draft=context.composer.draft)
        _begin(context, purpose, "Edit your message")
        context.composer.draft = exchange.text


def delete(context: RoomContext) -> None:
    """Delete the selected message, if the person confirms it."""
    joined, exchange = context.joined, context.timeline.chosen
    if exchange is None:
        context.screen.notify(nothing_chosen(context))
    elif exchange.author != joined.name or exchange.is_deleted:
        context.warn(NOT_YOURS)
    else:
        context.start(_delete(context, joined, exchange), "delete", exclusive=True)


def retry(context: RoomContext) -> None:
    """Send a message again whose work failed or was stopped: the selected one, or the latest."""
    joined = context.joined
    exchange = context.timeline.chosen or next(
        (
            each
            for each in reversed(joined.state.exchanges.values())
            if each.author == joined.name and each.phase in INTERRUPTED
        ),
        None,
    )
    if exchange is None or exchange.phase not in INTERRUPTED:
        context.screen.notify(NOTHING_FAILED)
    elif exchange.author != joined.name:
        context.warn(NOT_YOURS)
    else:
        files = [file for file in exchange.said.files if joined.files.bring(file)]
        joined.messages.send(
            exchange.text, emote=exchange.said.emote, files=files, reply_to=exchange.seq
        )


def react(context: RoomContext) -> None:
    """Pick a reaction to the selected message or answer; the same one again takes it back."""
    joined, exchange = context.joined, context.timeline.chosen
    if exchange is None:
        context.screen.notify(nothing_chosen(context))
        return
    answer = context.timeline.is_answer_chosen
    shown = exchange.answer_reactions if answer else exchange.reactions
    used = [Row(each, each, ", ".join(names)) for each, names in shown.items()]
    rows = [*used, *(Row(each, f"{each}  {name}") for name, each in (*QUICK, *emojis()))]

    def picked(reaction: str | None) -> None:
        if reaction:
            on = joined.name not in shown.get(reaction, ())
            change = ReactionChanged(exchange.seq, reaction, on=on, answer=answer)
            context.warn("" if joined.messages.change(change) else OFFLINE)

    _ = context.screen.app.push_screen(PickScreen("React", rows), picked)


def finish(context: RoomContext, text: str) -> str:
    """Send an edited text; return why it can't be sent, empty if it was.

    Raises:
        TooLong: the text exceeds the room's limit.
    """
    purpose = context.purpose
    exchange = context.joined.state.exchanges.get(purpose.editing)
    if exchange is not None and exchange.text == text:
        cancel(context)
        return ""
    if not context.joined.messages.change(MessageEdited(purpose.editing, text)):
        return OFFLINE
    cancel(context)
    return ""


def cancel(context: RoomContext) -> bool:
    """Return to a message of its own; False if the next one is one already."""
    purpose, context.purpose = context.purpose, Purpose()
    context.composer.show_purpose("")
    if purpose.editing:
        context.composer.draft = purpose.draft
    return purpose != Purpose()


def _begin(context: RoomContext, purpose: Purpose, title: str) -> None:
    cancel(context)
    context.purpose = purpose
    context.composer.show_purpose(title)
    context.timeline.action_follow()
    context.came_from = None
    context.composer.focus()


def _latest(joined: "JoinedRoom") -> "MessageThread | None":
    mine = (each for each in reversed(joined.state.exchanges.values()) if not each.is_deleted)
    return next((each for each in mine if each.author == joined.name), None)


async def _delete(context: RoomContext, joined: "JoinedRoom", exchange: "MessageThread") -> None:
    text = f"{excerpt(exchange)}\n\nThe others no longer see it. The log keeps it."
    if await context.confirm("Delete your message?", text, "delete"):
        done = joined.messages.change(MessageDeleted(exchange.seq))
        context.warn("" if done else OFFLINE)
