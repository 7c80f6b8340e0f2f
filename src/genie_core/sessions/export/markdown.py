"""Export a session as Markdown, to be read as it is or rendered.

Texts of people and agents keep their Markdown, in a block quote below the author: nothing in it can
pass for a part of the transcript. All other texts are escaped, so that they show as they are.
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import Final

from genie_core.room.protocol.events import FileRef, MessagePosted, Quote
from genie_core.room.state.room_state import AGENT
from genie_core.room.view.wording import file_lines, quote_name
from genie_core.sessions.export.annotations import Footnote, as_left, change_word
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
from genie_core.text.safe import visible, visible_line

_MORE: Final = frozenset({"reason", "runs", "risk", "because", "changes", "agents", "recovered"})
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
        vouched = f" ({self._escape(passage.caveat)})" if passage.caveat else ""
        match passage.told.body:
            case MessagePosted() as said:
                return self._message(passage, said, f"{when}{vouched}")
        mark, text = passage.line or ("", "")
        line = f"{mark} {when} {self._escape(text)}{vouched}"
        if passage.by_agent is None:
            return line
        to = f" → {self._escape(passage.receiver)}" if passage.receiver else ""
        took = f", after {duration(passage.took)}" if passage.took is not None else ", incomplete"
        answer = f"**{AGENT}**{to} {when}{vouched}{took}\n\n{self._text(passage.by_agent)}"
        return f"{answer}\n\n{line}" if passage.line else answer

    def _message(self, passage: Passage, said: MessagePosted, when: str) -> str:
        seq = passage.event.seq
        change = self._found.change_of(seq)
        mark = f" ({escape(change_word(change))})" if change else ""
        note = f"[^{seq}]" if self._found.notes_of(seq) else ""
        to = f" in reply to {self._escape(passage.replied_to)}" if passage.replied_to else ""
        head = f"**{self._escape(passage.author)}**{to} {when}{mark}{note}"
        if change is not None and change.is_deleted:
            return head
        said = as_left(said, change)
        return "\n\n".join([head, self._said(said), *self._brought(said)])

    def _said(self, said: MessagePosted) -> str:
        if not said.emote:
            return self._text(said.text, breaks=True)
        return quoted(f"\\* {self._escape(visible(said.text))}")

    def _text(self, raw: str, *, breaks: bool = False) -> str:
        return quoted(safe_markdown(self._hide(visible(raw)), breaks=breaks) or "…")

    def _escape(self, text: str) -> str:
        return escape(self._hide(text))

    def _brought(self, said: MessagePosted) -> Iterator[str]:
        lines = file_lines(said.files)
        files = [
            self._file(f"{line.name} ({line.about})", file)
            for line, file in zip(lines, said.files, strict=True)
        ]
        if files:
            yield "\n".join(files)
        yield from map(self._quote, said.quotes)

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
    return label in _MORE and visible_line(text) not in note.line.text
