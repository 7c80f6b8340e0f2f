"""Commands about one message: reply, edit, delete, react; write privately or in an editor."""

from functools import partial
from typing import TYPE_CHECKING, Final

from genie_core.room.commands import messages
from genie_core.room.commands.arguments import MessageLine, PrivateLine
from genie_core.room.commands.hosting import UNCONNECTED
from genie_core.room.participant.receipt import excerpt
from genie_core.room.protocol.events import MessageDeleted, MessageEdited
from genie_core.text.safe import quoted_line, visible_line
from genie_tui.commands.context import Purpose, RoomContext
from genie_tui.commands.keymap import keymap_of
from genie_tui.emoji import emojis
from genie_tui.screens.dialogs.pick import PickScreen, Row
from genie_tui.widgets.timeline.timeline import nothing_chosen

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom
    from genie_core.room.state.thread import MessageThread

FIXED_EMOTE: Final = (
    "An edit can neither add nor remove /me. Delete the message and write another one."
)
TOO_OLD: Final = "The message is too old to be edited."
NONE_OF_YOURS: Final = "You have no recent message to edit."


def reply(context: RoomContext) -> None:
    """Make the next message a reply to the selected message or answer."""
    thread = context.timeline.chosen
    if thread is None:
        context.screen.notify(nothing_chosen(keymap_of(context.screen)))
        return
    is_answer = context.timeline.is_answer_chosen and thread.answered_seq is not None
    seq = thread.answered_seq if is_answer and thread.answered_seq else thread.seq
    to = messages.other_reader(context.joined.name, thread)
    _begin(context, Purpose(reply_to=seq, to=to), _reply_title(thread, seq, to))


def reply_again(context: RoomContext, reply_to: int, to: str) -> None:
    """Make the draft a reply again that the room refused."""
    state = context.joined.state
    known = (each for each in state.threads.values() if reply_to in (each.seq, each.answered_seq))
    thread = next(known, None)
    context.purpose = Purpose(reply_to=reply_to, to=to)
    title = "Reply" if thread is None else _reply_title(thread, reply_to, to)
    context.composer.show_purpose(title)


def tell(context: RoomContext, line: PrivateLine) -> None:
    """Send a private message; without a text, make the next message one."""
    if line.text:
        message = MessageLine(line.text, to=line.to)
        context.attachments.say(context.joined, message)
    else:
        _begin(context, Purpose(to=line.to), f"Private message to {visible_line(line.to)}")


def ask(context: RoomContext, text: str = "") -> None:
    """Ask the own agent privately; without a text, make the next message such a request."""
    me = context.joined.name
    if text:
        context.attachments.say(context.joined, MessageLine(text, to=me))
    else:
        _begin(context, Purpose(to=me), "Ask your agent: only you see it and the answer")


def edit(context: RoomContext) -> None:
    """Load the selected message, or the person's latest one, into the composer."""
    joined = context.joined
    thread = context.timeline.chosen or _latest(joined)
    if thread is None:
        context.screen.notify(NONE_OF_YOURS)
    elif thread.author != joined.name or thread.is_deleted:
        context.warn(messages.NOT_YOURS)
    else:
        cancel(context)  # a private draft is private afterwards, too
        _edit(context, thread, thread.text)
        context.timeline.action_follow()
        context.came_from = None
        context.composer.focus()


def edit_again(context: RoomContext, number: int, text: str) -> bool:
    """Make a text the draft of an edit again that the room refused; False if that can't be."""
    thread = context.joined.state.threads.get(number)
    if thread is None or thread.is_deleted:
        return False
    _edit(context, thread, text)
    return True


def as_input(context: RoomContext, number: int, text: str) -> str:
    """Return the input that sends the text of a refused edit, as private as its message."""
    thread, me = context.joined.state.threads.get(number), context.joined.name
    if thread is None:  # who may read it is not known
        return MessageLine(text, to=me).draft
    return MessageLine(text, emote=thread.said.emote, to=messages.other_reader(me, thread)).draft


def _edit(context: RoomContext, thread: "MessageThread", text: str) -> None:
    to = messages.other_reader(context.joined.name, thread)
    context.purpose = Purpose(editing=thread.seq, to=to, draft=context.composer.draft)
    context.composer.show_purpose("Edit your message")
    context.composer.draft = MessageLine(text, emote=thread.said.emote).draft


def write_in_editor(context: RoomContext, text: str) -> None:
    """Open the person's editor with a text."""
    context.composer.draft = text
    context.screen.call_later(context.screen.run_action, "app.editor")


def delete(context: RoomContext) -> None:
    """Delete the selected message, if the person confirms it."""
    joined, thread = context.joined, context.timeline.chosen
    if thread is None:
        context.screen.notify(nothing_chosen(keymap_of(context.screen)))
    elif thread.author != joined.name or thread.is_deleted:
        context.warn(messages.NOT_YOURS)
    else:
        context.start(_delete(context, joined, thread), "delete", exclusive=True)


def copy_code(context: RoomContext) -> None:
    context.timeline.action_copy_code()


def retry(context: RoomContext) -> None:
    """Send a message again whose work failed or was stopped: the selected one, or the latest."""
    joined = context.joined
    chosen = context.timeline.chosen
    if chosen is not None and chosen.phase not in messages.INTERRUPTED:
        context.screen.notify(messages.NOTHING_FAILED)
    else:
        context.attempt(partial(messages.retry, joined, chosen.seq if chosen else 0))


def react(context: RoomContext) -> None:
    """Pick a reaction to the selected message or answer; the same one again takes it back."""
    joined, thread = context.joined, context.timeline.chosen
    if thread is None:
        context.screen.notify(nothing_chosen(keymap_of(context.screen)))
        return
    if thread.is_private:
        context.screen.notify(messages.NO_REACTIONS)
        return
    answer = context.timeline.is_answer_chosen
    shown = thread.answer_reactions if answer else thread.reactions
    used = [Row(each, each, ", ".join(names)) for each, names in shown.items()]
    rows = [*used, *(Row(each, f"{each}  {', '.join(names)}") for each, names in emojis())]

    react_with = partial(messages.toggle_reaction, joined, thread, to_answer=answer)

    def picked(reaction: str | None) -> None:
        if reaction:
            context.attempt(partial(react_with, reaction))

    _ = context.screen.app.push_screen(PickScreen("React", rows), picked)


def finish(context: RoomContext, line: MessageLine) -> str:
    """Send an edited message; return why it can't be sent, empty if it was.

    Raises:
        TooLong: the text exceeds the room's limit.
    """
    purpose = context.purpose
    thread = context.joined.state.threads.get(purpose.editing)
    if thread is None or messages.other_reader(context.joined.name, thread) != purpose.to:
        return TOO_OLD
    if thread.said.emote != line.emote:
        return FIXED_EMOTE
    if thread.text == line.text:
        cancel(context)
        return ""
    if not context.joined.messages.change(MessageEdited(purpose.editing, line.text)):
        return UNCONNECTED
    cancel(context)
    return ""


def cancel(context: RoomContext) -> bool:
    """Return to a message of its own; False if the next one is one already.

    A private draft stays private, as a command.
    """
    draft = context.draft
    purpose, context.purpose = context.purpose, Purpose()
    context.composer.show_purpose("")
    if purpose.editing:
        context.composer.draft = purpose.draft
    elif purpose.to:
        context.composer.draft = draft
    return purpose != Purpose()


def _begin(context: RoomContext, purpose: Purpose, title: str) -> None:
    cancel(context)
    context.purpose = purpose
    context.composer.show_purpose(title)
    context.timeline.action_follow()
    context.came_from = None
    context.composer.focus()


def _reply_title(thread: "MessageThread", seq: int, to: str) -> str:
    """Name the original of a reply: this one, or the answer if `seq` is another number."""
    answer = thread.answer if seq != thread.seq else None
    who = visible_line(thread.author) if answer is None else "genie"
    text = quoted_line(thread.text if answer is None else answer.text)
    return f"{'Private reply' if to else 'Reply'} to {who}: {text}"


def _latest(joined: "JoinedRoom") -> "MessageThread | None":
    mine = (each for each in reversed(joined.state.threads.values()) if not each.is_deleted)
    return next((each for each in mine if each.author == joined.name), None)


async def _delete(context: RoomContext, joined: "JoinedRoom", thread: "MessageThread") -> None:
    text = f"{excerpt(thread)}\n\nThe others no longer see it. The log keeps it."
    if await context.confirm("Delete your message?", text, "delete"):
        done = joined.messages.change(MessageDeleted(thread.seq))
        context.warn("" if done else UNCONNECTED)
