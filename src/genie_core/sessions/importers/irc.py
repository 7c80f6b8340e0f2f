"""Logs of the IRC clients WeeChat and irssi, in the form that they have by default.

Their times have no zone; they are taken for those of this machine.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from importlib.resources.abc import Traversable
from typing import Final

from genie_core.sessions.importers.files import head_of
from genie_core.sessions.importers.history import Author, History, HistoryMessage

SOURCE: Final = "irc"

LINE_BYTES: Final = 64 * 1024

_START: Final = 256
"""Bytes that tell a log from others of the same name; they stay when it grows."""

_WEECHAT: Final = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\t([^\t]*)\t(.*)")
_IRSSI: Final = re.compile(
    r"(\d\d:\d\d)(?::(\d\d))? (?:<[ @+%&~]?([^>\s]+)> ?(.*)| \* (\S+) ?(.*)|(-!-.*))"
)
_DATED: Final = re.compile(
    r"--- (?:Log opened|Day changed) (?:\w{3}) (\w{3}) (\d\d?)(?: (\d\d:\d\d:\d\d))? (\d{4})"
)
_MONTHS: Final = [
    "Jan",
    "Feb",
    "Mar",
    "Apr",
    "May",
    "Jun",
    "Jul",
    "Aug",
    "Sep",
    "Oct",
    "Nov",
    "Dec",
]
_CODES: Final = re.compile(
    r"\x03(?:\d{1,2}(?:,\d{1,2})?)?|\x04[0-9a-fA-F]{0,6}|[\x02\x0f\x11\x16\x1d-\x1f]"
)
_STATUS: Final = "@+%&~!"
_NOTICES: Final = ("-->", "<--", "--", "=!=", "")
_NOTICE: Final = "notice, such as who joined"
_ENDINGS: Final = (".weechatlog", ".log", ".txt")


def is_irc(head: bytes) -> bool:
    """Whether a file begins like a log of IRC."""
    lines = head.decode("utf-8", "replace").splitlines()[:20]
    return any(each.fullmatch(line) for line in lines for each in (_WEECHAT, _IRSSI, _DATED))


def read_irc(file: Traversable) -> History:
    """Return the channel, which is called like the file."""
    title = file.name
    for ending in _ENDINGS:
        title = title.removesuffix(ending)
    left: Counter[str] = Counter()
    start = hashlib.sha256(head_of(file, LINE_BYTES)[:_START]).hexdigest()[:16]
    return History(
        SOURCE, f"{start}-{file.name}", title.removeprefix("irc."), _messages(file, left), left
    )


def _messages(file: Traversable, left: Counter[str]) -> Iterator[HistoryMessage]:
    day: datetime | None = None
    for line in _lines(file):
        if found := _WEECHAT.fullmatch(line):
            message = _weechat(found, left)
        elif found := _DATED.match(line):
            day, message = _date(found) or day, None
        elif found := _IRSSI.fullmatch(line):
            message = _irssi(found, day, left)
        else:
            message = None
            if line.strip() and not line.startswith("--- "):
                left["line that is no entry"] += 1
        if message is not None:
            yield message


def _lines(file: Traversable) -> Iterator[str]:
    with file.open("rb") as lines:
        while line := lines.readline(LINE_BYTES):
            yield line.decode("utf-8", "replace").rstrip("\r\n")


def _weechat(found: re.Match[str], left: Counter[str]) -> HistoryMessage | None:
    nick, text = found[2].strip(), found[3]
    is_emote = nick == "*"
    if is_emote:
        nick, _, text = text.partition(" ")
    nick = nick.lstrip(_STATUS)
    if nick in _NOTICES or not text.strip():
        left[_NOTICE] += 1
        return None
    try:
        at = datetime.fromisoformat(found[1]).timestamp()
    except (ValueError, OverflowError, OSError):
        at = None
    return _said(nick, text, at, is_emote=is_emote)


def _irssi(found: re.Match[str], day: datetime | None, left: Counter[str]) -> HistoryMessage | None:
    nick, text = found[3] or found[5], found[4] or found[6] or ""
    if not nick or not text.strip():
        left[_NOTICE] += 1
        return None
    at = None
    if day is not None:
        hour, minute = map(int, found[1].split(":"))
        if hour < 24 and minute < 60:
            second = min(int(found[2] or 0), 59)
            at = day.replace(hour=hour, minute=minute, second=second).timestamp()
    return _said(nick.lstrip(_STATUS), text, at, is_emote=bool(found[5]))


def _said(nick: str, text: str, at: float | None, *, is_emote: bool) -> HistoryMessage:
    return HistoryMessage(Author(nick, nick), _CODES.sub("", text), at, is_emote=is_emote)


def _date(found: re.Match[str]) -> datetime | None:
    try:
        month = _MONTHS.index(found[1]) + 1
        return datetime(int(found[4]), month, int(found[2]))  # noqa: DTZ001 - of this machine
    except ValueError:
        return None
