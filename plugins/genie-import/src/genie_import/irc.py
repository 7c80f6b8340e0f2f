"""Logs of IRC clients: irssi, WeeChat, ZNC, HexChat, mIRC and others that write alike.

A line is a time, in one of several forms, and a nick with a text, in one of several forms. Times
without a zone are taken for those of this machine.
"""

import hashlib
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from genie_import.export_files import ExportFile, head_of
from genie_import.fields import moment_of
from genie_import.importer import (
    NOTICE,
    Author,
    Entry,
    History,
    HistoryMessage,
    LeftOut,
)

SOURCE: Final = "irc"

LINE_BYTES: Final = 1024 * 1024
"""The longest line; the rest of a longer one counts as the next line."""

TRIED: Final = 200
"""Lines in which one of a log is looked for."""

HEADER: Final = "header of the log"
UNREAD: Final = "line that can't be read"

_CLOCK: Final = r"(?P<clock>\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?)(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?"
_DATE: Final = (
    r"(?P<date>\d{4}[-/.]\d\d[-/.]\d\d|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}"
    r"|[^\W\d]{3,5}\.? \d{1,2}(?: \d{4})?)"
)
_ZONE: Final = r"(?: ?(?P<zone>Z|[+-]\d\d:?\d\d|[A-Z]{3,5}(?=[\t \])])))?"
_TIME: Final = re.compile(rf"[\[(]?(?:{_DATE},?[T ])?{_CLOCK}{_ZONE}[\])]?")
_STATUS: Final = "@+%&~! "
_SAYS: Final = (
    re.compile(r"\t(?P<nick>[^\t]*)\t(?P<text>.*)"),
    re.compile(r"[ \t]*<[@+%&~! ]*(?P<nick>[^>\s]+)>[ \t]?(?P<text>.*)"),
    re.compile(r"[ \t]*-(?P<nick>[^\s()-][^\s()]*?)(?:\([^)\s]*\))?(?::\S+)?-[ \t](?P<text>.*)"),
    re.compile(
        r"[ \t]*\[(?P<nick>[^\s\[\]()@+%&~!][^\s\[\]()]*)(?:\([^)\s]*\))?\][ \t](?P<text>.*)"
    ),
    re.compile(r" (?P<nick>[^\s:]+): (?P<text>.*)"),
)
"""The forms of a message; the last one only behind a time in parentheses."""

_ACTS: Final = re.compile(r"[ \t]*(?:\*|•)[ \t]+[@+%&~!]*(?P<nick>\S+)(?:[ \t](?P<text>.*))?")
_NOTES: Final = re.compile(
    r"[ \t]*(?:-!-|\*\*\*|-->|<--|--|=!=|→|←|—|!|\*[ \t](?:[A-Z][a-z]+:|Now talking|Topic|Disconnected"
    r"|\S+ (?:\([^)]*\) )?(?:has (?:joined|left|quit|changed|kicked)|is now known as|sets? mode"
    r"|(?:gives|removes) (?:channel|voice))))(?:\s.*)?"
)
_WEECHAT_NOTES: Final = ("-->", "<--", "--", "=!=", "")
_HEADER: Final = re.compile(r"(?:---|\*\*\*\*|Session )\s?.*")
_YEAR: Final = re.compile(r"\b(\d{4})\b")
_DAY: Final = re.compile(r"(?:^|\s)(\d{1,2})\.?(?=[\s,]|$)")
_NUMERIC: Final = re.compile(r"(\d{4})\D{1,3}(\d{1,2})\D{1,3}(\d{1,2})(?!\d)")
_COMPACT: Final = re.compile(r"(?<!\d)((?:19|20)\d\d)-?([01]\d)-?([0-3]\d)(?!\d)")
_MONTHS: Final = (
    *("jan gen янв led sty", "feb fév fev лют", "mar mär mrz mrt maa", "apr avr abr кві kwi"),
    *("may mai mag maj mei", "jun juin giu", "jul juil lug", "aug aoû ago"),
    *("sep set", "oct okt ott out", "nov", "dec dez déc dic des"),
)
"""The beginnings of the months' names in several languages."""

_CODES: Final = re.compile(
    r"\x03(?:\d{1,2}(?:,\d{1,2})?)?|\x04[0-9a-fA-F]{0,6}|[\x02\x0f\x11\x16\x1d-\x1f]"
)
_WIDE: Final = (b"\xff\xfe", b"\xfe\xff")
_ENDINGS: Final = (".weechatlog", ".log", ".txt")


def is_irc(file: ExportFile) -> bool:
    """Whether a file begins like a log of IRC."""
    head = _decoded(head_of(file))
    lines = [line for line in head.replace("\r", "").split("\n") if line.strip()]
    reader = _Reader(None, day_first=False)
    found = [reader.read(line) for line in lines[:TRIED]]
    is_entry = (isinstance(e, HistoryMessage) or (e and e.reason == NOTICE) for e in found)
    return any(is_entry) or any(map(_date, lines[:1]))


def first_line(file: ExportFile) -> str:
    """Return the first line of a file that is not blank; empty if it is no text."""
    head = _decoded(head_of(file, 4096))
    lines = [line.strip() for line in head.split("\n")]
    return next((line for line in lines if line), "") if "\0" not in head else ""


def has_time(line: str) -> bool:
    """Whether a line begins with a time."""
    return _TIME.match(line) is not None


def read_irc(files: Sequence[ExportFile]) -> History:
    """Return the channel with the files of its days, called like the files without the days."""
    first = files[0]
    title = channel_of(first)
    start = hashlib.sha256(first_line(first).encode()).hexdigest()[:16]  # it stays when a log grows
    id_ = f"{start}-{first.name}"
    return History(SOURCE, id_, title.removeprefix("irc."), _entries(files))


def channel_of(file: ExportFile) -> str:
    """Return the name of a file without its date, or else that of its folder."""
    title = file.name
    for ending in _ENDINGS:
        title = title.removesuffix(ending)
    return _COMPACT.sub("", title).strip("._- ") or file.path.parent.name or title


def _entries(files: Sequence[ExportFile]) -> Iterator[Entry]:
    for file in files:
        date = _COMPACT.search(file.name)
        reader = _Reader(date and _day(*date.groups()), day_first=_is_day_first(file))
        yield from reader.entries(_lines(file))


class _Reader:
    """Reads the lines of a log; `day` is the date of the lines that follow, if it is known."""

    def __init__(self, day: datetime | None, *, day_first: bool) -> None:
        self._day = day
        self._day_first = day_first
        self._last = -1.0

    def entries(self, lines: Iterator[str]) -> Iterator[Entry]:
        """Yield the entries; lines without a time continue the message before."""
        waiting: Entry | None = None
        for line in lines:
            if not line.strip():
                continue
            found = self.read(line)
            if found is None and isinstance(waiting, HistoryMessage):
                waiting = replace(waiting, text=f"{waiting.text}\n{_plain(line)}")
                continue
            if waiting is not None:
                yield waiting
            waiting = found or LeftOut("line that is no entry", line)
        if waiting is not None:
            yield waiting

    def read(self, line: str) -> Entry | None:
        """Return the entry in a line; None if it has no time and is no header."""
        time = _TIME.match(line)
        if time is None:
            return self._header(line)
        at, rest = self._moment(time), line[time.end() :]
        return _said(rest, at, is_bracketed=line[0] == "(") or LeftOut(UNREAD, line, at)

    def _header(self, line: str) -> Entry | None:
        if not _HEADER.fullmatch(line):
            return None
        found = _date(line)
        if found is None and self._day is not None and "changed" in line.lower():
            found = self._day + timedelta(days=1)
        if found is not None:
            self._day, self._last = found, -1.0
        return LeftOut(HEADER, line)

    def _moment(self, time: re.Match[str]) -> float | None:
        day = self._dated(time["date"]) if time["date"] else self._day
        hour, minute, *seconds = time["clock"].replace(",", ".").split(":")
        hours = int(hour) % 12 + 12 * (time["half"] in ("p", "P")) if time["half"] else int(hour)
        second = min(float(seconds[0]), 59.999) if seconds else 0.0
        if day is None or hours > 23 or int(minute) > 59:
            return None
        local = day + timedelta(hours=hours, minutes=int(minute), seconds=second)
        if time["zone"] and (at := _in_zone(local, time["zone"])) is not None:
            return at
        return self._in_order(local, is_dated=bool(time["date"]))

    def _in_order(self, local: datetime, *, is_dated: bool) -> float | None:
        """Return a local time; the second of two hours alike, or the next day, if it went back."""
        try:
            at, later = local.timestamp(), local.replace(fold=1).timestamp()
            if not is_dated and self._last - later > 43_200:  # past midnight
                local += timedelta(days=1)
                self._day = local.replace(hour=0, minute=0, second=0, microsecond=0)
                at = later = local.timestamp()
        except (ValueError, OverflowError, OSError):
            return None
        self._last = later if at < self._last <= later else at
        return self._last

    def _dated(self, text: str) -> datetime | None:
        numbers = [int(each) for each in re.findall(r"\d+", text)]
        if text[0].isalpha():
            year = numbers[1] if len(numbers) > 1 else self._day.year if self._day else 0
            return _day(year, _month(text), numbers[0]) if year else None
        if numbers[0] > 31:
            return _day(*numbers)
        day, month = numbers[:2] if self._day_first or "." in text else (numbers[1], numbers[0])
        return _day(numbers[2] + (2_000 if numbers[2] < 100 else 0), month, day)


def _said(rest: str, at: float | None, *, is_bracketed: bool) -> Entry | None:
    """Return the entry behind a time; None if its form is unknown."""
    if _NOTES.fullmatch(rest):
        return LeftOut(NOTICE, rest.strip(), at)
    if found := _ACTS.fullmatch(rest):
        return _message(found["nick"], found["text"] or "", at, is_emote=True)
    forms = _SAYS if is_bracketed else _SAYS[:-1]
    found = next(filter(None, (form.fullmatch(rest) for form in forms)), None)
    if found is None:
        return None
    nick, text = found["nick"].strip(), found["text"]
    if nick == "*":
        nick, _, text = text.partition(" ")
        return _message(nick, text, at, is_emote=True)
    if nick.lstrip(_STATUS) in _WEECHAT_NOTES:
        return LeftOut(NOTICE, text.strip(), at)
    return _message(nick, text, at)


def _message(nick: str, text: str, at: float | None, *, is_emote: bool = False) -> Entry:
    author, said = nick.lstrip(_STATUS), _plain(text)
    if not said.strip():
        return LeftOut(NOTICE, nick, at)
    return HistoryMessage(Author(author, author), said, at, is_emote=is_emote)


def _plain(text: str) -> str:
    return _CODES.sub("", text).strip("\t")


def _in_zone(local: datetime, zone: str) -> float | None:
    """Return a time in a zone; None if that is unknown."""
    offset = "+00:00" if zone in ("Z", "UTC", "GMT") else zone
    return moment_of(f"{local.isoformat()}{offset}")


def _date(line: str) -> datetime | None:
    """Return the date in a header, in any language and order; None if there is none."""
    if not _HEADER.fullmatch(line):
        return None
    if found := _NUMERIC.search(line):
        return _day(*found.groups())
    year, day, month = _YEAR.search(line), _DAY.search(line), _month(line)
    return _day(year[1], month, day[1]) if year and day and month else None


def _month(text: str) -> int:
    """Return the month that a word names, the last one as weekdays come first; 0 if none does."""
    for word in reversed(re.findall(r"[^\W\d]+", text.lower())):
        for start in (word[:4], word[:3]):
            for month, names in enumerate(_MONTHS, 1):
                if start in names.split():
                    return month
    return 0


def _day(year: str | int, month: str | int, day: str | int) -> datetime | None:
    try:
        return datetime(int(year), int(month), int(day))  # noqa: DTZ001 - of this machine
    except ValueError:
        return None


def _is_day_first(file: ExportFile) -> bool:
    """Whether a date with slashes has the day first, as one of the first lines shows."""
    head = _decoded(head_of(file))
    return any(int(each) > 12 for each in re.findall(r"(?m)^\[?(\d\d)[/-]\d\d[/-]\d{2,4}", head))


def _lines(file: ExportFile) -> Iterator[str]:
    is_wide = head_of(file, 2) in _WIDE
    with file.open() as opened:
        if is_wide:
            text = io.TextIOWrapper(opened, "utf-16", "replace", newline="\n")
            yield from (
                line.rstrip("\r\n") for line in iter(partial(text.readline, LINE_BYTES), "")
            )
            return
        while line := opened.readline(LINE_BYTES):
            yield _decoded(line).rstrip("\r\n")


def _decoded(data: bytes) -> str:
    if data.startswith(_WIDE):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")
