"""Export a session as HTML pages without external parts, for light and dark screens.

Text of people, agents and tools never becomes markup: all of it passes `escape` or `rich_text`. As a
second barrier, the policy of each page forbids loading anything, and all scripts and styles but the
page's own, by their hashes.
"""

import hashlib
from base64 import b64encode
from collections.abc import Iterable, Iterator
from datetime import date
from functools import cache
from html import escape
from importlib.resources import files
from itertools import groupby
from typing import Final
from urllib.parse import quote

import msgspec

from genie_core.room.protocol.events import FileRef, Quote
from genie_core.room.state.room_state import AGENT
from genie_core.room.view.entries import AnswerEntry, MessageEntry
from genie_core.room.view.wording import author_line, quote_name
from genie_core.sessions.export.annotations import (
    Footnote,
    PageOutline,
    Proof,
    as_left,
    marks_of,
    proof_of,
)
from genie_core.sessions.export.choices import EVERYTHING, Choices
from genie_core.sessions.export.rich_text import rich_text
from genie_core.sessions.export.story import Passage
from genie_core.sessions.export.transcript import (
    FileAddress,
    Transcript,
    nowhere,
    open_transcript,
)
from genie_core.sessions.session import SavedSession
from genie_core.text.format import duration, local_time
from genie_core.text.safe import visible, visible_line

PAGE: Final = 2_000
"""Messages of one page: a browser shows it in about a second."""

_IMAGE: Final = "data:image/"

_KINDS: Final = {"✗": "bad", "⚠": "bad", "▲": "asks", "‖": "asks", "✓": "good", "●": "taken"}
"""The marks of highlighted lines."""

_UNSIGNED: Final = (
    "This page has no signatures to check, as it leaves out or replaces a part of what was signed."
)
_ABOUT_KEYS: Final = (
    "The button finds out in this browser, without a network, which entries the owners of these keys "
    "signed, and shows the signed words below each. Compare the words of a key with its owner. A page "
    "can be changed together with its button, and tells nothing of order or gaps: for that, ask for "
    "the session as jsonl or zip, which “genie-tui verify” checks."
)


def html(
    saved: SavedSession, place: FileAddress = nowhere, choices: Choices = EVERYTHING
) -> Iterator[str]:
    """Yield a session as one page, in pieces. Blocks; errors as `open_transcript`.

    `place` may return addresses with a file's content.
    """
    with open_transcript(saved, choices, signed=True) as transcript:
        yield from HtmlPages(transcript, place).single()


class HtmlPages:
    """The pages of a transcript; `home` is the name of the index page, which has them in `folder`.

    Write them in order, since each goes on with the log where the one before ended.
    """

    def __init__(
        self,
        transcript: Transcript,
        place: FileAddress = nowhere,
        home: str = "",
        folder: str = "",
    ) -> None:
        self._transcript = transcript
        self._hide = transcript.hide
        self._place = place
        self._home, self._folder = quote(home), quote(folder)
        self._pages = transcript.outline.pages
        self._number = 0

    def single(self) -> Iterator[str]:
        """Yield all passages as one page."""
        yield from self._page(self._transcript.passages())

    def several(self) -> Iterator[Iterator[str]]:
        """Yield the pages; exhaust each before the next."""
        for number, passages in groupby(self._transcript.passages(), self._page_of):
            self._number = number
            yield self._page(passages)

    def index(self) -> Iterator[str]:
        """Yield the page that links to the others."""
        self._number = 0
        yield self._head("", signed=False)
        yield '<table>\n<tr><th>page</th><th>from</th><th>to</th><th class="right">messages</th></tr>\n'
        yield from map(_row, self._pages, (f"{self._folder}/{name}" for name in self._names()))
        yield "</table>\n" + _TAIL

    def _names(self) -> list[str]:
        return [page_name(number) for number in range(1, len(self._pages) + 1)]

    def _page_of(self, passage: Passage) -> int:
        return self._transcript.outline.page_of(passage.event.seq)

    def _page(self, passages: Iterable[Passage]) -> Iterator[str]:
        signed = self._transcript.signed and bool(self._transcript.heading.keys)
        links = self._links()
        yield self._head(links, signed=signed)
        day: date | None = None
        for passage in passages:
            now = local_time(passage.event.at)
            if now.date() != day:
                day = now.date()
                yield f"<h2>{day:%A}, {day.day} {day:%B %Y}</h2>\n"
            yield from self._passage(passage)
        yield links
        yield f"<script>{_script()}</script>\n" if signed else ""
        yield _TAIL

    def _head(self, links: str, *, signed: bool) -> str:
        heading = self._transcript.heading
        number = f", page {self._number} of {len(self._pages)}" if self._number else ""
        title = escape(heading.title + number)
        lines = [heading.people, heading.extent, heading.zone, *heading.remarks]
        if not self._transcript.choices.keeps_signatures:
            lines.append(_UNSIGNED)
        told = "".join(f"<p>{escape(line)}</p>\n" for line in lines)
        problems = "".join(f'<p class="bad">⚠ {escape(text)}</p>\n' for text in heading.problems)
        return f"""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy(scripted=signed)}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{_style()}</style>
</head>
<body>
<main>
<header>
<h1>{title}</h1>
{told}{problems}{self._keys() if signed else ""}</header>
{links}"""

    def _keys(self) -> str:
        keys = "".join(
            f"<dt>{escape(name)}</dt><dd>{escape(key)}</dd>\n"
            for name, key in self._transcript.heading.keys
        )
        return f"""\
<p><button id="verify" hidden>Verify signatures</button> <span id="verified" role="status"></span></p>
<details><summary>Keys</summary>
<p>{escape(_ABOUT_KEYS)}</p>
<dl>
{keys}</dl>
</details>
"""

    def _links(self) -> str:
        """Return links to the pages around this one, and to the index; empty for a single page."""
        if not self._number:
            return ""
        before, after = self._number - 1, self._number + 1
        links = [f'<a href="../{self._home}">All pages</a>']
        if before:
            links.insert(0, f'<a href="{page_name(before)}" rel="prev">← page {before}</a>')
        if after <= len(self._pages):
            links.append(f'<a href="{page_name(after)}" rel="next">page {after} →</a>')
        return f"<nav>{' '.join(links)}</nav>\n"

    def _passage(self, passage: Passage) -> Iterator[str]:
        seq, proof = passage.event.seq, _proof(proof_of(passage.signature))
        when = f'<a href="#m{seq}">{_time(passage.event.at)}</a>'
        match passage.entry:
            case MessageEntry() as message:
                yield from self._message(passage, message, when)
            case AnswerEntry() as answer:
                yield f'<article class="answer" id="m{seq}">\n'
                yield from self._answer(answer, when)
                yield f"{proof}</article>\n"
            case _:
                mark, text = passage.line or ("", "")
                line = f"{_mark(mark)} {self._escape(text)}"
                yield f'<p class="note" id="m{seq}"><span>{line}</span> {when}{proof}</p>\n'

    def _answer(self, answer: AnswerEntry, when: str) -> Iterator[str]:
        took = _span("took", f"after {duration(answer.elapsed)}") if answer.elapsed else ""
        receiver = f" → {self._link(answer.receiver, answer.message)}"
        caveat = self._span("vouched", answer.caveat)
        yield f"<h3>{_span('who', AGENT)}{receiver} {took}{caveat}{when}</h3>\n"
        yield self._text(answer.text)
        if answer.incomplete:
            line = f"{_mark(answer.mark)} {self._escape(answer.incomplete)}"
            yield f'<p class="note"><span>{line}</span></p>\n'

    def _message(self, passage: Passage, message: MessageEntry, when: str) -> Iterator[str]:
        seq, found = message.seq, self._transcript.found
        change = found.change_of(seq)
        author = author_line(message.author, by_agent=message.by_agent)
        marks = [
            self._span("vouched", each) for each in (message.caveat, *marks_of(message, change))
        ]
        head = f"{self._span('who', author)}{self._replied_to(message)}{''.join(marks)}{when}"
        yield f'<article class="said" id="m{seq}">\n<h3>{head}</h3>\n'
        yield from self._said(as_left(message, change))
        yield "".join(map(self._details, found.notes_of(seq)))
        yield _proof(proof_of(passage.signature) if change is None else change.proof)
        yield "</article>\n"

    def _replied_to(self, message: MessageEntry) -> str:
        if message.reply is None:
            return ""
        return f" in reply to {self._link(message.reply.by, message.reply_to)}"

    def _link(self, name: str, seq: int) -> str:
        """Return a name, linked to an entry if a page has it."""
        page = self._transcript.outline.page_of(seq)
        if not page:
            return self._escape(name)
        is_here = not self._number or page == self._number
        return f'<a href="{"" if is_here else page_name(page)}#m{seq}">{self._escape(name)}</a>'

    def _said(self, message: MessageEntry) -> Iterator[str]:
        if message.text.strip():
            yield (
                f"<p>* {self._escape(message.text)}</p>\n"
                if message.emote
                else self._text(message.text, breaks=True)
            )
        for line in message.files:
            if line.file is not None:
                yield self._file(self._hide(line.name), line.about, line.file)
        yield from (self._quote(each.quote) for each in message.quotes if each.quote is not None)

    def _file(self, name: str, about: str, file: FileRef) -> str:
        address, shown = escape(self._place(file)), f"{escape(name)} ({escape(about)})"
        if not address:
            return f'<p class="file">📎 {shown}</p>\n'
        if address.startswith(_IMAGE):
            picture = f'<p class="file"><img src="{address}" alt="{escape(name)}"></p>\n'
            return f'{picture}<p class="file">{shown}</p>\n'
        link = f'<a href="{address}" download="{escape(name)}">{shown}</a>'
        return f'<p class="file">📎 {link}</p>\n'

    def _quote(self, quote: Quote) -> str:
        lines = "".join(
            f"<div>{self._span('who', visible_line(each.sender))}</div>\n{self._text(each.text)}"
            for each in quote.lines
        )
        return (
            f"<blockquote>\n<p>from {self._escape(quote_name(quote))}</p>\n{lines}</blockquote>\n"
        )

    def _details(self, note: Footnote) -> str:
        fields = "".join(
            f"<dt>{escape(label)}</dt><dd>{self._escape(text)}</dd>\n"
            for label, text in note.fields
        )
        line = f"<span>{_mark(note.line.mark)} {self._escape(note.line.text)}</span>"
        head = f"<summary>{_time(note.at)} {line}</summary>"
        return f"<details>\n{head}\n<dl>\n{fields}</dl>\n{_proof(note.proof)}</details>\n"

    def _text(self, text: str, *, breaks: bool = False) -> str:
        return f'<div class="text">{rich_text(self._hide(visible(text)), breaks=breaks)}</div>\n'

    def _escape(self, text: str) -> str:
        return escape(self._hide(text))

    def _span(self, kind: str, text: str) -> str:
        """Return a text of this kind, after a blank but for a name; empty for no text."""
        return _span(kind, self._hide(text)) if text else ""


_TAIL: Final = "</main>\n</body>\n</html>\n"


def page_name(number: int) -> str:
    return f"{number}.html"


def policy(*, scripted: bool) -> str:
    """Return the content security policy of a page: nothing but its own style, and its own script."""
    rules = [
        "default-src 'none'",
        f"style-src '{_hash(_style())}'",
        *([f"script-src '{_hash(_script())}'"] if scripted else []),
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
    ]
    return "; ".join(rules)


@cache
def _style() -> str:
    return _part("page.css")


@cache
def _script() -> str:
    return _part("page.js")


def _part(name: str) -> str:
    return files("genie_core.sessions.export").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _row(page: PageOutline, address: str) -> str:
    first, last = (_time(at, "%Y-%m-%d %H:%M") for at in (page.first_at, page.last_at))
    link = f'<a href="{address}">{address.rpartition("/")[2].removesuffix(".html")}</a>'
    messages = f'<td class="right">{page.messages:,}</td>'
    return f"<tr><td>{link}</td><td>{first}</td><td>{last}</td>{messages}</tr>\n"


def _time(at: float, form: str = "%H:%M:%S") -> str:
    moment = local_time(at)
    return f'<time datetime="{moment.isoformat(timespec="seconds")}">{moment:{form}}</time>'


def _proof(proof: Proof | None) -> str:
    """Return a signature as data that no text in it can end."""
    if proof is None:
        return ""
    data = msgspec.json.encode(proof).decode().replace("<", "\\u003c")
    return f'<script type="application/json">{data}</script>'


def _mark(mark: str) -> str:
    return _span(f"mark {_KINDS.get(mark, '')}".rstrip(), mark)


def _span(kind: str, text: str) -> str:
    return f'<span class="{kind}">{escape(text)}</span>'
