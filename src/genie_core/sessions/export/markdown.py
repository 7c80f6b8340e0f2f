"""Export a session as Markdown, to be read as it is or rendered.

Texts of people and agents keep their Markdown, in a block quote below the author: nothing in it can
pass for a part of the transcript. All other texts are escaped, so that they show as they are.
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import Final

from genie_core.room.protocol.events import FileRef, Quote
from genie_core.room.state.room_state import AGENT
from genie_core.room.view.entries import AnswerEntry, MessageEntry
from genie_core.room.view.wording import author_line, quote_name
from genie_core.sessions.export.annotations import Footnote, as_left, marks_of
from genie_core.sessions.export.choices import EVERYTHING, Choices
from genie_core.sessions.export.formats import IMAGES
from genie_core.sessions.export.markdown_escape import BREAK, escape
from genie_core.sessions.export.safe_markdown import quoted, safe_markdown
from genie_core.sessions.export.story import Passage
from genie_core.sessions.export.transcript import (
    FileAddress,
    Heading,
    Transcript,
    nowhere,
    open_transcript,
)
from genie_core.sessions.session import SavedSession
from genie_core.text.format import duration, local_time
from genie_core.text.safe import quoted_line, visible, visible_line

_MORE: Final = frozenset(
    {"reason", "agent of", "runs", "risk", "because", "changes", "agents", "recovered"}
)
"""Fields of a decision or approval that its line may lack."""


def markdown(
    saved: SavedSession, place: FileAddress = nowhere, choices: Choices = EVERYTHING
) -> Iterator[str]:
    """Yield the text in pieces. Blocks; errors as `open_transcript`."""
    with open_transcript(saved, choices) as transcript:
        writer = _Writer(transcript, place)
        yield _head(transcript.heading)
        yield from writer.body()
        yield from writer.footnotes()


def _head(heading: Heading) -> str:
    about = BREAK.join(map(escape, (heading.people, heading.extent, heading.zone)))
    lines = [f"# {escape(heading.title)}", about, *map(escape, heading.remarks)]
    lines += [f"⚠ {escape(problem)}" for problem in heading.problems]
    return "\n\n".join(lines) + "\n"


class _Writer:
    def __init__(self, transcript: Transcript, place: FileAddress) -> None:
        self._transcript = transcript
        self._found = transcript.found
        self._hide = transcript.hide
        self._place = place

    def body(self) -> Iterator[str]:
        day: date | None = None
        for passage in self._transcript.passages():
            now = local_time(passage.event.at)
            if now.date() != day:
                day = now.date()
                yield f"\n## {day:%A}, {day.day} {day:%B %Y}\n"
            yield f"\n{self._passage(passage, f'{now:%H:%M:%S}')}\n"

    def footnotes(self) -> Iterator[str]:
        """Yield the footnotes of messages in the transcript."""
        for number in self._found.noted():
            if number in self._transcript.outline:
                yield self._definition(number, self._found.notes_of(number))

    def _passage(self, passage: Passage, when: str) -> str:
        match passage.entry:
            case MessageEntry() as message:
                return self._message(message, f"{when}{self._caveat(message)}")
            case AnswerEntry() as answer:
                return self._answer(answer, when)
        mark, text = passage.line or ("", "")
        return f"{mark} {when} {self._escape(text)}"

    def _caveat(self, entry: MessageEntry | AnswerEntry) -> str:
        return f" ({self._escape(entry.caveat)})" if entry.caveat else ""

    def _answer(self, answer: AnswerEntry, when: str) -> str:
        to, caveat = self._escape(answer.receiver), self._caveat(answer)
        took = f", after {duration(answer.elapsed)}" if answer.elapsed else ""
        head = f"**{AGENT}** → {to} {when}{caveat}{took}\n\n{self._text(answer.text)}"
        if not answer.incomplete:
            return head
        return f"{head}\n\n{answer.mark} {when} {self._escape(answer.incomplete)}"

    def _message(self, message: MessageEntry, when: str) -> str:
        seq = message.seq
        change = self._found.change_of(seq)
        marks = "".join(f" ({escape(each)})" for each in marks_of(message, change))
        note = f"[^{seq}]" if self._found.notes_of(seq) else ""
        to = f" in reply to {self._escape(message.reply.by)}" if message.reply else ""
        author = author_line(message.author, by_agent=message.by_agent)
        head = f"**{self._escape(author)}**{to} {when}{marks}{note}"
        if change is not None and change.is_deleted:
            return head
        message = as_left(message, change)
        return "\n\n".join([head, self._said(message), *self._brought(message)])

    def _said(self, message: MessageEntry) -> str:
        if not message.emote:
            return self._text(message.text, breaks=True)
        return quoted(f"\\* {self._escape(message.text)}")

    def _text(self, text: str, *, breaks: bool = False) -> str:
        return quoted(safe_markdown(self._hide(text), breaks=breaks) or "…")

    def _escape(self, text: str) -> str:
        return escape(self._hide(text))

    def _brought(self, message: MessageEntry) -> Iterator[str]:
        files = [
            self._file(f"{line.name} ({line.about})", line.file)
            for line in message.files
            if line.file is not None
        ]
        if files:
            yield "\n".join(files)
        yield from (self._quote(each.quote) for each in message.quotes if each.quote is not None)

    def _file(self, text: str, file: FileRef) -> str:
        address = self._place(file)
        if not address:
            return f"- 📎 {self._escape(text)}"
        shown = f"\\\n  ![]({address})" if file.media in IMAGES else ""
        return f"- 📎 [{self._escape(text)}]({address}){shown}"

    def _quote(self, quote: Quote) -> str:
        lines = [f"from {self._escape(quote_name(quote))}:"]
        for each in quote.lines:
            text = self._escape(visible(each.text)) or "…"
            lines.append(f"**{self._escape(visible_line(each.sender))}** {text}")
        return quoted("\n\n".join(lines))

    def _definition(self, number: int, group: list[Footnote]) -> str:
        parts = []
        for note in group:
            line = f"{note.line.mark} {local_time(note.at):%H:%M:%S} {self._escape(note.line.text)}"
            more = [
                f"{label}: {self._escape(text)}"
                for label, text in note.fields
                if _adds(label, text, note)
            ]
            short = [field for field in more if "\n" not in field]
            parts += [f"{line} ({'; '.join(short)})" if short else line]
            parts += [field for field in more if "\n" in field]
        text = re.sub(r"\n(?!\n)", "\n    ", "\n\n".join(parts))
        return f"\n[^{number}]: {text}\n"


def _adds(label: str, text: str, note: Footnote) -> bool:
    """Whether a field says more than its line."""
    return label in _MORE and quoted_line(text) not in note.line.text
