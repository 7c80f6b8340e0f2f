"""How each kind of entry looks.

Everything that somebody wrote has a mark in the gutter, on every one of its lines. Lines without
one, and those that begin left of it, are the program's own: no message can look like the name above
another, like a note, or like what somebody does.
"""

import logging
from collections.abc import Collection
from typing import Final

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.color import Color
from textual.strip import Strip

from genie_core.room.state.thread import MessageThread, Phase
from genie_core.text.format import clock_time, duration, local_time
from genie_tui.fenced import Code, blocks
from genie_tui.terminal import TerminalSafe
from genie_tui.transfers import FileTransfers
from genie_tui.widgets.aftermath import Aftermath, is_parked
from genie_tui.widgets.canvas import Canvas, Line, beside
from genie_tui.widgets.doings import Doings
from genie_tui.widgets.entry import (
    Day,
    Divider,
    Earlier,
    Entry,
    Note,
    Reply,
    Speech,
    Tone,
    Waiting,
    said_in,
)
from genie_tui.widgets.fold import beginning, ending
from genie_tui.widgets.gutter import GUTTER, beside_text, in_gutter
from genie_tui.widgets.markdown import markdown
from genie_tui.widgets.palette import Palette
from genie_tui.widgets.parking import MARK
from genie_tui.widgets.prose import prose

logger = logging.getLogger(__name__)

MARKS: Final[dict[Phase, tuple[str, str]]] = {
    Phase.DECIDING: ("○", "muted"),
    Phase.WORKING: ("●", "working"),
    Phase.WAITING: ("◆", "waiting"),
    Phase.IGNORED: ("·", "muted"),
    Phase.ANSWERED: ("✓", "done"),
    Phase.FAILED: ("✗", "failed"),
    Phase.CANCELLED: ("■", "muted"),
    Phase.UNHANDLED: ("▏", "quote"),
}
"""What stands beside a message, and its style, for how far the work on it has come."""

_UNSENT: Final = "↑"
_NAME_CELLS: Final = 32
_TRANSPARENT: Final = Color(0, 0, 0, 0)


class Painter:
    """Draws entries at a width. `reasons` adds why nobody answered a message.

    `transfers` tells how far files have come, `doings` what agents are at. `wrong` are the messages whose
    decisions the person marked as wrong.
    """

    def __init__(
        self,
        palette: Palette,
        width: int,
        *,
        reasons: bool,
        transfers: FileTransfers | None = None,
        doings: Doings | None = None,
        wrong: Collection[int] = (),
    ) -> None:
        self._wrong = wrong
        self._doings = doings or Doings()
        self._transfers = transfers or FileTransfers()
        self._canvas = Canvas(palette)
        self._palette = palette
        self._width = width
        self._room = width - GUTTER - 1
        self._reasons = reasons
        self._aftermath = Aftermath(self._canvas, self._room, self._doings)
        self._safe = TerminalSafe()
        self._failed = False

    def paint(self, entry: Entry, exchange: MessageThread | None) -> list[Strip]:
        """Draw an entry; `exchange` is what came of the message if it is one.

        What cannot be drawn as it should is drawn as the text that it is.
        """
        self._canvas.begin()
        try:
            lines = self._lines(entry, exchange)
        except Exception:
            if not self._failed:
                self._failed = True
                logger.exception("an entry of the timeline is shown as plain text")
            lines = self._plain(entry)
        return [Strip(self._safe.apply(line, _TRANSPARENT)) for line in lines]

    def _lines(self, entry: Entry, exchange: MessageThread | None) -> list[Line]:
        match entry:
            case Day(day=day):
                title = f"{day:%A} {day.day} {day:%B %Y}"
                return [[], self._canvas.rule(title, self._width)]
            case Divider(text=text):
                return [[], self._canvas.rule(text, self._width)]
            case Earlier():
                return self._earlier(entry)
            case Note():
                return self._note(entry)
            case Speech():
                return self._speech(entry, exchange)
            case Reply():
                return self._reply(entry)
            case Waiting():
                return self._waiting(entry)

    def _earlier(self, earlier: Earlier) -> list[Line]:
        rule = self._canvas.rule(_what_is_missing(earlier), self._width)
        return [*_gap(opens=earlier.between), rule]

    def _note(self, note: Note) -> list[Line]:
        style = self._palette["failed" if note.tone is Tone.FAILED else "muted"]
        lines = self._canvas.lines(Text(note.text, style), self._room)
        body = beside(in_gutter(note.mark, style), lines, self._body)
        return [*_gap(opens=note.opens), *body]

    def _plain(self, entry: Entry) -> list[Line]:
        shown, _ = beginning(said_in(entry) or "")
        return [[], *beside(self._body, self._canvas.lines(Text(shown), self._room), self._body)]

    @property
    def _body(self) -> Line:
        return beside_text(self._palette)

    def _speech(self, speech: Speech, exchange: MessageThread | None) -> list[Line]:
        phase = exchange.phase if exchange else Phase.UNHANDLED
        glyph, name = MARKS[phase]
        if exchange is not None and is_parked(exchange):
            glyph, name = MARK, "waiting"
        if speech.emote and phase is Phase.UNHANDLED:
            glyph = " "
        lines = beside(
            in_gutter(glyph, self._palette[name], acts=speech.emote),
            self._with_brought(speech, self._said(speech.author, speech.text, emote=speech.emote)),
            self._body,
        )
        if exchange is not None:
            lines += self._aftermath.work(speech.message, exchange)
        if self._reasons and exchange is not None:
            lines += self._aftermath.silence(exchange)
        if speech.message in self._wrong:
            lines += self._aftermath.disagreed(exchange)
        if speech.emote and not speech.voucher:
            return [*_gap(opens=speech.opens), *lines]
        when = _when(speech.at, speech.voucher)
        return [*self._name(speech.author, when, opens=speech.opens), *lines]

    def _with_brought(self, entry: Speech | Waiting, said: list[Line]) -> list[Line]:
        """What was said, and a line for everything that came along with it."""
        muted = self._palette["muted"]
        lines = said if entry.text or not (entry.files or entry.quotes) else []
        for file in entry.files:
            status = self._transfers.status(file.digest)
            text = (
                Text().append(f"▤ {file.number} ", muted).append(file.name, self._palette["link"])
            )
            text.append(f"  {file.about}  ", muted)
            text.append(status.text, self._palette[status.style])
            lines = [*lines, *self._canvas.lines(text, self._room)]
        for quote in entry.quotes:
            text = Text().append(f"❝ {quote.text}", self._palette["link"])
            text.append("  f5, enter to read", muted)
            lines = [*lines, *self._canvas.lines(text, self._room)]
        return lines

    def _waiting(self, waiting: Waiting) -> list[Line]:
        muted = self._palette["muted"]
        lines = beside(
            in_gutter(_UNSENT, self._palette["waiting"], acts=waiting.emote),
            self._with_brought(
                waiting,
                self._said(waiting.author, waiting.text, emote=waiting.emote, style=muted),
            ),
            self._body,
        )
        label = Segment("  unsent", self._palette["waiting"])
        if sum(part.cell_length for part in lines[-1]) + label.cell_length <= self._width:
            lines[-1].append(label)
        else:
            lines.append([Segment(" "), label])
        if waiting.emote:
            return [*_gap(opens=waiting.opens), *lines]
        return [*self._name(waiting.author, "", opens=waiting.opens), *lines]

    def _name(self, author: str, when: str, *, opens: bool) -> list[Line]:
        if not opens:
            return []
        head = Text(no_wrap=True, overflow="ellipsis")
        head.append(author, self._palette.author(author))
        head.append(f"  {when}", self._palette["muted"])
        return [[], *beside(in_gutter(" "), self._canvas.lines(head, self._room))]

    def _said(
        self, author: str, text: str, *, emote: bool, style: Style | None = None
    ) -> list[Line]:
        text, missing = beginning(text)
        if emote:
            action = Text().append(author, self._palette.author(author)).append(" ")
            action.append_text(prose(text, self._palette, style))
            return [*self._canvas.lines(action, self._room), *self._folded(missing)]
        lines: list[Line] = []
        for block in blocks(text):
            if isinstance(block, Code):
                lines += self._canvas.code(block.code, block.language, self._room)
            else:
                lines += self._canvas.lines(prose(block, self._palette, style), self._room)
        return lines + self._folded(missing)

    def _folded(self, missing: str) -> list[Line]:
        if not missing:
            return []
        words = f"… {missing}; copying the message copies them too"
        return self._canvas.lines(Text(words, self._palette["waiting"]), self._room)

    def _reply(self, reply: Reply) -> list[Line]:
        agent, muted = self._palette["agent"], self._palette["muted"]
        head = Text(no_wrap=True, overflow="ellipsis")
        head.append("genie", agent).append(" · for ", muted)
        receiver = Text(reply.receiver, self._palette.author(reply.receiver))
        receiver.truncate(_NAME_CELLS, overflow="ellipsis")  # or it could push the owner off
        head.append_text(receiver)
        if reply.owner:
            head.append(" · by the agent of ", muted)
            head.append(reply.owner, self._palette.author(reply.owner))
        doing = self._doings.line(reply.message) if reply.elapsed is None else ""
        head.append(f"  {doing or _timing(reply)}", muted)
        lines = self._canvas.lines(head, self._room)
        if reply.quote:
            quote = Text(f"↳ {reply.quote}", muted, no_wrap=True, overflow="ellipsis")
            lines += self._canvas.lines(quote, self._room)
        if reply.elapsed is None:
            text, missing = ending(reply.text)
            lines += self._folded(missing) if missing else []
            lines += markdown(text, self._canvas, self._room)
        else:
            text, missing = beginning(reply.text)
            lines += markdown(text, self._canvas, self._room) + self._folded(missing)
        if reply.incomplete:
            style = self._palette["failed" if reply.tone is Tone.FAILED else "waiting"]
            why = Text(f"{reply.mark} {reply.incomplete}", style)
            lines += self._canvas.lines(why, self._room)
        return [[], *beside(in_gutter("┏", agent), lines, in_gutter("┃", agent))]


def _what_is_missing(earlier: Earlier) -> str:
    count = earlier.messages
    many = "message" if count == 1 else "messages"
    if earlier.lost:
        return f"{count or 0:,} earlier {many} can't be read here"
    if earlier.between:
        return f"⋮ {count:,} more {many}" if count else "⋮ more messages"
    if count is None:
        return "↑ earlier messages"
    return f"↑ {count:,} earlier {many}" if count else "↑ what came before"


def _timing(reply: Reply) -> str:
    if reply.elapsed is None:
        return "writing…"
    return _when(reply.at, reply.voucher) + (
        f" · {duration(reply.elapsed)}" if reply.elapsed >= 0.05 else ""
    )


def _when(at: float, voucher: str) -> str:
    """The time of day; of what was recovered, which may be older than all around it, the day too."""
    if not voucher:
        return clock_time(at)
    moment = local_time(at)
    return f"{moment.day} {moment:%b %H:%M} · recovered from {voucher}'s copy"


def _gap(*, opens: bool) -> list[Line]:
    return [[]] if opens else []
