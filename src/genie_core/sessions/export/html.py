"""Export a session as one HTML page without external parts or scripts.

Text of people, agents and tools never becomes markup: all of it passes `escape`. Fenced code is the
only formatting. As a second barrier, the page's policy forbids scripts and loading anything.
"""

from collections.abc import Iterator
from datetime import date
from html import escape
from importlib.resources import files
from typing import Final

from genie_core.room.protocol.events import FileRef, MessagePosted, Quote
from genie_core.room.text.events import Code, blocks, file_lines, quote_name
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

POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

_IMAGE: Final = "data:image/"

_KINDS: Final = {"✗": "bad", "⚠": "bad", "▲": "asks", "‖": "asks", "✓": "good", "●": "taken"}
"""The marks of highlighted lines."""


def html(saved: SavedSession, place: FileAddress = nowhere) -> Iterator[str]:
    """Yield the page in pieces; `place` may return addresses with a file's content. Blocks.

    Raises:
        DamagedSession: the log or the labels are no file.
        DiskFailure: they can't be read.
    """
    wrong = Labels.read(saved.folder).wrong
    with saved.reader() as log:
        found = annotations(log.events(), wrong)
        yield _head(heading_of(saved, log))
        yield from _body(log, found, place)
    yield "</main>\n</body>\n</html>\n"


def _head(heading: Heading) -> str:
    style = files("genie_core.sessions.export").joinpath("page.css").read_text(encoding="utf-8")
    title = escape(heading.title)
    problems = "".join(f'<p class="bad">⚠ {escape(text)}</p>\n' for text in heading.problems)
    return f"""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<main>
<header>
<h1>{title}</h1>
<p>{escape(heading.people)}</p>
<p>{escape(heading.extent)}</p>
{problems}</header>
"""


def _body(log: LogReader, found: Annotations, place: FileAddress) -> Iterator[str]:
    day: date | None = None
    for passage in story(log.events()):
        if is_footnote(passage) or is_change(passage):
            continue
        now = local_time(passage.event.at)
        if now.date() != day:
            day = now.date()
            yield f"<h2>{day:%A}, {day.day} {day:%B %Y}</h2>\n"
        yield from _passage(passage, found, f"{now:%H:%M:%S}", place)


def _passage(passage: Passage, found: Annotations, when: str, place: FileAddress) -> Iterator[str]:
    told, seq = passage.told, passage.event.seq
    when = f'<time><a href="#m{seq}">{when}</a></time>'
    vouched = f" {_span('vouched', passage.caveat)}" if passage.caveat else ""
    match told.body:
        case MessagePosted() as said:
            who = _span("who", passage.author)
            change = found.change_of(seq)
            mark = f" {_span('vouched', change)}" if change else ""
            yield f'<article class="said" id="m{seq}">\n<h3>{who}{vouched}{mark} {when}</h3>\n'
            yield from _said(found.as_left(seq, said), place)
            yield "".join(map(_details, found.notes.get(seq, ())))
            yield "</article>\n"
        case _ if passage.by_agent is not None:
            duly = f"after {duration(passage.took)}" if passage.took is not None else "incomplete"
            who = _span("who", AGENT)
            yield f'<article class="answer" id="m{seq}">\n'
            yield f"<h3>{who}{_receiver(passage)} {_span('took', duly)}{vouched} {when}</h3>\n"
            yield _text(passage.by_agent)
            if passage.line:
                line = f"{_mark(passage.line.mark)} {escape(passage.line.text)}"
                yield f'<p class="note"><span>{line}</span></p>\n'
            yield "</article>\n"
        case _:
            mark, text = passage.line or ("", "")
            line = f"{_mark(mark)} {escape(text)}{vouched}"
            yield f'<p class="note" id="m{seq}"><span>{line}</span> {when}</p>\n'


def _receiver(passage: Passage) -> str:
    """Return the receiver of an answer, linked to their message if it is on the page."""
    if not passage.receiver:
        return ""
    name = escape(passage.receiver)
    if passage.exchange is not None:
        name = f'<a href="#m{passage.exchange.seq}">{name}</a>'
    return f" → {name}"


def _said(said: MessagePosted, place: FileAddress) -> Iterator[str]:
    if said.text.strip():
        yield _text(f"* {said.text}" if said.emote else said.text)
    for line, file in zip(file_lines(said.files), said.files, strict=True):
        yield _file(line.name, line.about, file, place)
    for quote in said.quotes:
        yield _quote(quote)


def _file(name: str, about: str, file: FileRef, place: FileAddress) -> str:
    address, shown = escape(place(file)), f"{escape(name)} ({escape(about)})"
    if not address:
        return f'<p class="file">📎 {shown}</p>\n'
    link = f'<p class="file">📎 <a href="{address}" download="{escape(name)}">{shown}</a></p>\n'
    if not address.startswith(_IMAGE):
        return link
    return f'<p class="file"><img src="{address}" alt="{escape(name)}"></p>\n<p class="file">{shown}</p>\n'


def _quote(quote: Quote) -> str:
    lines = "".join(
        f"<p>{_span('who', visible_line(each.sender))} {escape(visible(each.text))}</p>\n"
        for each in quote.lines
    )
    return f"<blockquote>\n<p>from {escape(quote_name(quote))}</p>\n{lines}</blockquote>\n"


def _details(note: Footnote) -> str:
    fields = "".join(
        f"<dt>{escape(label)}</dt><dd>{escape(text)}</dd>\n" for label, text in note.fields
    )
    when = f"{local_time(note.at):%H:%M:%S}"
    line = f"<span>{_mark(note.line.mark)} {escape(note.line.text)}</span>"
    return f"<details>\n<summary><time>{when}</time> {line}</summary>\n<dl>\n{fields}</dl>\n</details>\n"


def _mark(mark: str) -> str:
    return _span(f"mark {_KINDS.get(mark, '')}".rstrip(), mark)


def _text(text: str) -> str:
    return "".join(map(_block, blocks(visible(text))))


def _block(block: str | Code) -> str:
    if isinstance(block, str):
        return f'<div class="text">{escape(block)}</div>\n'
    language = _span("language", block.language) if block.language else ""
    return f"<pre>{language}<code>{escape(block.code)}</code></pre>\n"


def _span(kind: str, text: str) -> str:
    return f'<span class="{kind}">{escape(text)}</span>'
