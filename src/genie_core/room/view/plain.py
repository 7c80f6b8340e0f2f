"""Entries as plain text, for terminals without a screen, replays and editors; safe to show."""

from collections.abc import Iterator
from typing import Final

from genie_core.room.state.room_state import AGENT
from genie_core.room.view.entries import (
    AnswerEntry,
    CallEntry,
    Entry,
    MessageEntry,
    NoticeEntry,
    RunEntry,
)
from genie_core.room.view.wording import author_line, quote_text, with_caveat
from genie_core.text.format import counted

QUOTED: Final = 80
"""Characters of a text that a reply quotes."""


def plain_text(entry: Entry, *, numbered: bool = True, marked: bool = False) -> str:
    """Return an entry as text of one or more lines.

    `numbered`: messages are referred to by their numbers, which the reader sees; else by their
    texts. `marked` puts its mark before a line that is no message.
    """
    match entry:
        case MessageEntry():
            return "\n".join(_message(entry, numbered=numbered))
        case AnswerEntry():
            return "\n".join(_answer(entry, numbered=numbered))
    mark = f"{entry.mark} " if marked else ""
    if numbered:
        return f"{mark}{_about(entry)}{entry.line}"
    quote = entry.quote if isinstance(entry, NoticeEntry) else ""
    return f"{mark}{entry.line}{f' (“{quote}”)' if quote else ''}"


def _message(entry: MessageEntry, *, numbered: bool) -> Iterator[str]:
    author = author_line(entry.author, by_agent=entry.by_agent)
    notes = "; ".join(filter(None, _notes(entry, numbered=numbered)))
    head = f"{author} ({notes})" if notes else author
    if entry.is_deleted:
        yield f"{head} deleted this message"
        return
    yield f"* {head} {entry.text}" if entry.emote else f"{head}: {entry.text}"
    yield from (f"file {each.number}: {each.name}, {each.about}" for each in entry.files)
    for each in entry.quotes:
        if each.quote is not None:
            yield from quote_text(each.quote)


def _notes(entry: MessageEntry, *, numbered: bool) -> Iterator[str]:
    """Yield remarks about a message; its text could pass for a file or a quote of its own."""
    quoted = sum(len(each.quote.lines) for each in entry.quotes if each.quote is not None)
    yield f"private, to {entry.private}" if entry.private else ""
    yield _reply(entry, numbered=numbered)
    yield f"with {counted(len(entry.files), 'file')}" if entry.files else ""
    yield f"quotes {counted(quoted, 'message')}" if quoted else ""
    yield from entry.marks
    yield entry.caveat


def _reply(entry: MessageEntry, *, numbered: bool) -> str:
    if entry.reply is None:
        return f"in reply to [{entry.reply_to}]" if entry.reply_to and numbered else ""
    if numbered:
        return f"in reply to {entry.reply.by} [{entry.reply_to}]"
    if not entry.reply.text:
        return f"in reply to a deleted message of {entry.reply.by}"
    text = entry.reply.text
    return f"in reply to {entry.reply.by}: “{text if len(text) <= QUOTED else f'{text[:QUOTED]}…'}”"


def _answer(entry: AnswerEntry, *, numbered: bool) -> Iterator[str]:
    private = " (private)" if entry.private else ""
    about = f", about [{entry.message}]" if numbered else ""
    head = f"{AGENT} to {entry.receiver}{private}{about}"
    yield f"{with_caveat(head, entry.caveat)}: {entry.text}"
    if entry.incomplete:
        yield f"[{entry.incomplete}]"


def _about(entry: Entry) -> str:
    """Return the message that a step is about."""
    if not isinstance(entry, RunEntry | CallEntry):
        return ""
    private = " (private)" if entry.private else ""
    number = f", call {entry.number}" if isinstance(entry, CallEntry) and entry.number else ""
    return f"about [{entry.message}]{private}{number}: "
