"""Export a session as Markdown, to be read as it is or rendered.

Text of people, agents and tools is escaped, so that it shows as typed. Only fenced code stays code,
in a fence that its content can't close, and without a language that could render it as a diagram.
"""

import re
from collections.abc import Iterator
from datetime import date
from itertools import groupby
from typing import Final

from genie_core.room.protocol.events import FileRef, MessagePosted, Quote
from genie_core.room.text.events import DELETED, Code, blocks, file_lines, quote_name
from genie_core.sessions.export.formats import IMAGES
from genie_core.sessions.export.story import (
    Annotations,
    FileAddress,
    Footnote,
    Heading,
    Passage,
    annotations,
    heading_of,
    is_change,
    is_footnote,
    nowhere,
    story,
)
from genie_core.sessions.labels import Labels
from genie_core.sessions.log.reader import LogReader
from genie_core.sessions.session import SavedSession
from genie_core.sessions.transcript import AGENT
from genie_core.text.format import duration, local_time
from genie_core.text.safe import visible, visible_line

_MORE: Final = frozenset({"reason", "runs", "risk", "because", "changes", "agents", "recovered"})
"""Fields of a decision or approval that its line may lack."""

_TICKS: Final = re.compile(r"`+")


def markdown(saved: SavedSession, place: FileAddress = nowhere) -> Iterator[str]:
    """Yield the text in pieces. Blocks.

    Raises:
        DamagedSession: the log or the labels are no file.
        DiskFailure: they can't be read.
    """
    wrong = Labels.read(saved.folder).wrong
    with saved.reader() as log:
        found = annotations(log.events(), wrong)
        yield _head(heading_of(saved, log))
        yield from _body(log, found, place)
    for number, group in found.notes.items():
        yield _definition(number, group)


def content(raw: str) -> str:
    """Format a message's text, with its code, on lines of its own; never empty."""
    parts = (
        _code(each) if isinstance(each, Code) else escape(each) for each in blocks(visible(raw))
    )
    return "\n\n".join(filter(None, parts)) or "…"


def _code(block: Code) -> str:
    fence = "`" * max([3, *(len(run) + 1 for run in _TICKS.findall(block.code))])
    label = f"{escape(block.language)}:\n\n" if block.language else ""
    return f"{label}{fence}\n{block.code}\n{fence}"


def _head(heading: Heading) -> str:
    lines = [
        f"# {escape(heading.title)}",
        f"{escape(heading.people)}{BREAK}{escape(heading.extent)}",
    ]
    lines += [f"> ⚠ {escape(problem)}" for problem in heading.problems]
    return "\n\n".join(lines) + "\n"


def _body(log: LogReader, found: Annotations, place: FileAddress) -> Iterator[str]:
    day: date | None = None
    for passage in story(log.events()):
        if is_footnote(passage) or is_change(passage):
            continue
        now = local_time(passage.event.at)
        if now.date() != day:
            day = now.date()
            yield f"\n## {day:%A}, {day.day} {day:%B %Y}\n"
        yield f"\n{_passage(passage, found, f'{now:%H:%M:%S}', place)}\n"


def _passage(passage: Passage, found: Annotations, when: str, place: FileAddress) -> str:
    told, seq = passage.told, passage.event.seq
    vouched = f" ({escape(passage.caveat)})" if passage.caveat else ""
    match told.body:
        case MessagePosted() as said:
            note = f"[^{seq}]" if seq in found.notes else ""
            change = found.change_of(seq)
            mark = f" ({escape(change)})" if change else ""
            head = f"**{escape(passage.author)}** {when}{vouched}{mark}{note}"
            if change == DELETED:
                return head
            said = found.as_left(seq, said)
            return "\n\n".join([_below(head, _said(said)), *_brought(said, place)])
    mark, text = passage.line or ("", "")
    line = f"> {mark} {when} {escape(text)}{vouched}"
    if passage.by_agent is None:
        return line
    to = f" → {escape(passage.receiver)}" if passage.receiver else ""
    took = f", after {duration(passage.took)}" if passage.took is not None else ", incomplete"
    answer = _below(f"**{AGENT}**{to} {when}{vouched}{took}", content(passage.by_agent))
    return f"{answer}\n\n{line}" if passage.line else answer


def _said(said: MessagePosted) -> str:
    return f"\\* {_text(said.text)}" if said.emote else content(said.text)


def _below(head: str, text: str) -> str:
    """Put a text under its heading, in the same paragraph if it starts with one."""
    return f"{head}\n\n{text}" if text.startswith("`") else head + BREAK + text


def _text(raw: str) -> str:
    return escape(visible(raw)) or "…"


def _brought(said: MessagePosted, place: FileAddress) -> Iterator[str]:
    lines = file_lines(said.files)
    files = [
        _file(f"{line.name} ({line.about})", file, place)
        for line, file in zip(lines, said.files, strict=True)
    ]
    if files:
        yield "\n".join(files)
    for quote in said.quotes:
        yield _quote(quote)


def _file(text: str, file: FileRef, place: FileAddress) -> str:
    address = place(file)
    if not address:
        return f"- 📎 {escape(text)}"
    shown = f"\\\n  ![]({address})" if file.media in IMAGES else ""
    return f"- 📎 [{escape(text)}]({address}){shown}"


def _quote(quote: Quote) -> str:
    lines = [f"from {escape(quote_name(quote))}:"]
    for each in quote.lines:
        text = _text(each.text)
        lines.append(f"**{escape(visible_line(each.sender))}** {text}")
    return "\n>\n".join("\n".join(f"> {part}" for part in line.split("\n")) for line in lines)


def _definition(number: int, group: list[Footnote]) -> str:
    parts = []
    for note in group:
        line = f"{note.line.mark} {local_time(note.at):%H:%M:%S} {escape(note.line.text)}"
        more = [
            f"{label}: {escape(text)}" for label, text in note.fields if _adds(label, text, note)
        ]
        short = [field for field in more if "\n" not in field]
        parts += [f"{line} ({'; '.join(short)})" if short else line]
        parts += [field for field in more if "\n" in field]
    text = re.sub(r"\n(?!\n)", "\n    ", "\n\n".join(parts))
    return f"\n[^{number}]: {text}\n"


def _adds(label: str, text: str, note: Footnote) -> bool:
    """Whether a field says more than its line."""
    return label in _MORE and visible_line(text) not in note.line.text


_ANYWHERE: Final = re.compile(r"[\\`*_{}\[\]<>&~|$#]|:(?=//)|(?<=www)\.|@", re.IGNORECASE)
"""Characters with a meaning inside a line; a backslash may precede each."""

_AT_START: Final = re.compile(r"[-+=:]|(?<=[0-9])[.)]")
_NUMBERED: Final = re.compile(r"[0-9]+(?=[.)])")

BREAK: Final = "\\\n"
"""Ends a line within a paragraph."""


def escape(text: str) -> str:
    """Escape a safe text, so that nothing in it is markup.

    Every line feed becomes a break within the paragraph; blank lines end it.
    """
    groups = groupby(text.split("\n"), key=lambda line: bool(line.strip()))
    return "\n\n".join(BREAK.join(map(_line, lines)) for filled, lines in groups if filled)


def _line(line: str) -> str:
    """Format one line; its indentation must not turn into code."""
    bare = line.strip(" ")
    indent = "&nbsp;" * (len(line) - len(line.lstrip(" ")))
    number = _NUMBERED.match(bare)
    start = number.end() if number else 0
    escaped = _ANYWHERE.sub(r"\\\g<0>", bare[start:])
    if _AT_START.match(bare, start) and not indent:
        escaped = "\\" + escaped.removeprefix("\\")
    return indent + bare[:start] + escaped
