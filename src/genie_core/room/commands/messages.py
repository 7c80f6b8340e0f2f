"""Effects of commands about one message: reply, edit, delete, react, retry, write privately."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from genie_core.room.commands.arguments import MessageLine, Numbered, PrivateLine
from genie_core.room.commands.hosting import sent
from genie_core.room.commands.outcome import NotDone
from genie_core.room.protocol.events import (
    FileRef,
    MessageDeleted,
    MessageEdited,
    Quote,
    ReactionChanged,
)
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread, Phase

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom

INTERRUPTED = frozenset({Phase.FAILED, Phase.CANCELLED})
NOTHING_FAILED = "No work on a message of yours failed or was stopped."
NOT_YOURS = "You can change only your own messages."
NO_REACTIONS = "All members would see a reaction to a private message."


def say(
    joined: "JoinedRoom",
    line: MessageLine,
    *,
    files: Sequence[FileRef] = (),
    quotes: Sequence[Quote] = (),
    reply_to: int = 0,
) -> None:
    """Send a typed message."""
    joined.messages.send(
        line.text,
        emote=line.emote,
        files=files,
        quotes=quotes,
        reply_to=reply_to,
        to=line.to,
        quiet=line.quiet,
    )


def write_privately(joined: "JoinedRoom", line: PrivateLine) -> None:
    """Send a message that only one member can read."""
    joined.messages.send(line.text, to=line.to)


def ask_privately(joined: "JoinedRoom", text: str) -> None:
    """Ask the own agent so that only this person sees the question and the answer."""
    joined.messages.send(text, to=joined.name)


def reply(joined: "JoinedRoom", numbered: Numbered) -> None:
    """Reply to a message or an answer, as privately as it is."""
    thread = thread_of(joined.state, numbered.number)
    to = other_reader(joined.name, thread)
    joined.messages.send(numbered.text, reply_to=numbered.number, to=to)


def edit(joined: "JoinedRoom", numbered: Numbered) -> None:
    """Give a message of this person another text."""
    thread = own_thread(joined, numbered.number)
    sent(joined.messages.change(MessageEdited(thread.seq, numbered.text)))


def delete(joined: "JoinedRoom", number: int) -> None:
    """Delete a message of this person."""
    sent(joined.messages.change(MessageDeleted(own_thread(joined, number).seq)))


def react(joined: "JoinedRoom", numbered: Numbered) -> None:
    """React to a message or an answer; the same reaction again takes it back."""
    thread = thread_of(joined.state, numbered.number)
    toggle_reaction(joined, thread, numbered.text, to_answer=numbered.number != thread.seq)


def toggle_reaction(
    joined: "JoinedRoom", thread: MessageThread, reaction: str, *, to_answer: bool
) -> None:
    """React to a message or its answer, or take the same reaction back."""
    if thread.is_private:
        raise NotDone(NO_REACTIONS)
    shown = thread.answer_reactions if to_answer else thread.reactions
    on = joined.name not in shown.get(reaction, ())
    sent(joined.messages.change(ReactionChanged(thread.seq, reaction, on=on, answer=to_answer)))


def retry(joined: "JoinedRoom", number: int = 0) -> None:
    """Send a message again whose work failed or was stopped, by default the latest one."""
    thread = thread_of(joined.state, number) if number else latest_interrupted(joined)
    if thread is None or thread.phase not in INTERRUPTED:
        raise NotDone(NOTHING_FAILED)
    if thread.author != joined.name:
        raise NotDone(NOT_YOURS)
    said = thread.said
    files = [file for file in said.files if joined.files.bring(file)]
    line = MessageLine(thread.text, said.emote, said.to, said.quiet)
    say(joined, line, files=files, quotes=said.quotes, reply_to=said.reply_to)


def latest_interrupted(joined: "JoinedRoom") -> MessageThread | None:
    """Return this person's latest message whose work failed or was stopped."""
    threads = reversed(joined.state.threads.values())
    mine = (each for each in threads if each.author == joined.name)
    return next((each for each in mine if each.phase in INTERRUPTED), None)


def thread_of(state: RoomState, number: int) -> MessageThread:
    """Return the message with a number, which may be that of its answer.

    Raises:
        NotDone: no such message is known, or it is hidden.
    """
    for seq, thread in state.threads.items():
        if number in (seq, thread.answered_seq) and not thread.is_hidden:
            return thread
    raise NotDone(f"There is no message {number}, or it is too old.")


def own_thread(joined: "JoinedRoom", number: int) -> MessageThread:
    """Return a message of this person. Raises `NotDone` for any other number."""
    thread = thread_of(joined.state, number)
    if thread.author != joined.name or thread.seq != number or thread.is_deleted:
        raise NotDone(NOT_YOURS)
    return thread


def other_reader(me: str, thread: MessageThread) -> str:
    """Return the reader of a private reply; this person's own name for a request to their agent."""
    to = thread.said.to
    return thread.author if to and thread.author != me else to
