"""How each kind of entry looks.

Everything that a person or an agent wrote has a mark in the gutter, on every one of its lines. Lines
without one, and those that begin left of it, are the program's own: no message can look like the name
above another, like a note, or like an action.
"""

import logging
from collections.abc import Callable, Collection
from typing import Final

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.color import Color
from textual.strip import Strip

from genie_core.room.state.thread import MessageThread, Phase
from genie_core.room.view.entries import (
    AnswerEntry,
    DayEntry,
    GapEntry,
    MessageEntry,
    NoticeEntry,
    Reactions,
    TimelineEntry,
    Tone,
    UnsentEntry,
)
from genie_core.room.view.log import text_of
from genie_core.room.view.reader import NO_REASON
from genie_core.room.view.wording import DELETED, PARKED_MARK, Code, because, blocks, waits_for
from genie_core.text.format import clock_time, duration, local_time
from genie_core.text.safe import visible_line
from genie_tui.terminal import TerminalSafe
from genie_tui.transfers import FileTransfers
from genie_tui.widgets.timeline.canvas import (
    GUTTER,
    HUES,
    Canvas,
    Line,
    Palette,
    beside,
    beside_text,
    in_gutter,
    mark,
)
from genie_tui.widgets.timeline.layout import beginning, ending
from genie_tui.widgets.timeline.prose import MarkedLine, parts_of, prose
from genie_tui.widgets.timeline.streaming import RunProgress

logger = logging.getLogger(__name__)

_INTERRUPTED: Final = frozenset({Phase.CANCELLED, Phase.FAILED})
"""Ends after which a run may resume, with the answer to a parked call."""

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
"""The mark beside a message and its style, by phase."""

MOST_NAMES: Final = 3
"""People whose names stand beside a reaction; more are counted."""

_UNSENT: Final = "↑"
_PRIVATE: Final = "┊"
_PRIVATE_ANSWER: Final = "┋"
"""The marks beside the lines of private messages and answers."""

_NAME_CELLS: Final = 32
_TRANSPARENT: Final = Color(0, 0, 0, 0)


class Painter:
    """Draws entries at a width.

    `reasons` adds why a message has no answer. `transfers` knows how far files have come,
    `progress` the work of agents. `wrong` are the messages whose decisions the person marked as
    wrong. `hue` is the number of a name's colour.
    """

    def __init__(
        self,
        palette: Palette,
        width: int,
        *,
        reasons: bool,
        transfers: FileTransfers | None = None,
        progress: RunProgress | None = None,
        wrong: Collection[int] = (),
        hue: Callable[[str], int] = lambda _: 0,
        how_to_read: str = "",
    ) -> None:
        self._how_to_read = how_to_read
        self._hue = hue
        self._wrong = wrong
        self._progress = progress or RunProgress()
        self._transfers = transfers or FileTransfers()
        self._canvas = Canvas(palette)
        self._palette = palette
        self._width = width
        self._room = width - GUTTER - 1
        self._reasons = reasons
        self._safe = TerminalSafe()
        self._failed = False

    def paint(self, entry: TimelineEntry, thread: MessageThread | None) -> list[Strip]:
        """Draw an entry; `thread` is the thread of the message if it is one.

        An entry that can't be drawn is shown as plain text.
        """
        self._canvas.begin()
        try:
            lines = self._lines(entry, thread)
        except Exception:
            if not self._failed:
                self._failed = True
                logger.exception("an entry of the timeline is shown as plain text")
            lines = self._plain(entry)
        return [Strip(self._safe.apply(line, _TRANSPARENT)) for line in lines]

    def divider(self, title: str, style: str) -> list[Strip]:
        """Draw a line across the timeline, in one style."""
        return [Strip(self._canvas.rule(title, self._width, style))]

    def _lines(self, entry: TimelineEntry, thread: MessageThread | None) -> list[Line]:
        match entry:
            case DayEntry(day=day):
                title = f"{day:%A} {day.day} {day:%B %Y}"
                return [[], self._canvas.rule(title, self._width)]
            case NoticeEntry(sets_off=True, text=text):
                return [[], self._canvas.rule(text, self._width)]
            case GapEntry():
                return self._gap(entry)
            case NoticeEntry():
                return self._note(entry)
            case MessageEntry():
                return self._message(entry, thread)
            case AnswerEntry():
                return self._answer(entry)
            case UnsentEntry():
                return self._unsent(entry)

    def _gap(self, gap: GapEntry) -> list[Line]:
        rule = self._canvas.rule(_missing_messages(gap), self._width)
        return [*_blank(opens=gap.between), rule]

    def _note(self, note: NoticeEntry) -> list[Line]:
        style = self._palette["failed" if note.tone is Tone.BAD else "muted"]
        lines = self._wrap(Text(note.text, style))
        body = beside(in_gutter(note.mark, style), lines, self._body)
        return [*_blank(opens=note.opens), *body]

    def _plain(self, entry: TimelineEntry) -> list[Line]:
        shown, _ = beginning(text_of(entry) or "")
        return [[], *beside(self._body, self._wrap(Text(shown)), self._body)]

    @property
    def _body(self) -> Line:
        return beside_text(self._palette)

    def _beside(self, *, private: bool) -> Line:
        return in_gutter(_PRIVATE, self._palette["private"]) if private else self._body

    def _message(self, message: MessageEntry, thread: MessageThread | None) -> list[Line]:
        phase = thread.phase if thread else Phase.UNHANDLED
        glyph, name = MARKS[phase]
        if thread is not None and is_parked(thread):
            glyph, name = PARKED_MARK, "waiting"
        is_quiet = phase in (Phase.UNHANDLED, Phase.IGNORED)
        if message.emote and is_quiet:
            glyph = "*"
        elif message.private and phase is Phase.UNHANDLED:
            glyph, name = _PRIVATE, "private"
        lines = beside(
            in_gutter(glyph, self._palette[name], acts=message.emote and not is_quiet),
            self._with_attachments(message, self._said_now(message)),
            self._beside(private=bool(message.private)),
        )
        lines += self._reacted(message.reactions)
        if thread is not None:
            lines += self._below(message.message, thread)
        if message.message in self._wrong:
            lines += self._disagreed(thread)
        if message.emote and not (message.caveat or message.private):
            return [*_blank(opens=message.opens), *lines]
        when = _when(message.at, message.caveat)
        if message.by_agent:
            when = f"agent  {when}"
        head = self._name(message.author, when, opens=message.opens, private=message.private)
        return [*head, *lines]

    def _said_now(self, message: MessageEntry) -> list[Line]:
        """Draw a message's text as its author last left it."""
        muted = self._palette["muted"]
        if message.is_deleted:
            return self._wrap(Text("Message deleted", muted + Style(italic=True)))
        lines = self._said(message.author, message.text, emote=message.emote)
        if message.marks:
            lines[-1].append(Segment(f"  {', '.join(message.marks)}", muted))
        return lines

    def _reacted(self, reactions: Reactions) -> list[Line]:
        if not reactions:
            return []
        text = Text()
        for reaction, names in reactions:
            who = ", ".join(names) if len(names) <= MOST_NAMES else str(len(names))
            text.append(f"{reaction} ").append(f"{who}   ", self._palette["muted"])
        text.rstrip()
        return beside(self._body, self._wrap(text), self._body)

    def _author(self, name: str) -> Style:
        return self._palette[f"author-{self._hue(name) % HUES}"]

    def _with_attachments(self, entry: MessageEntry | UnsentEntry, said: list[Line]) -> list[Line]:
        """Add a line for every file and quote of a message."""
        muted = self._palette["muted"]
        lines = said if entry.text or not (entry.files or entry.quotes) else []
        if isinstance(entry, MessageEntry) and entry.reply:
            words = f"{entry.reply.by}: {entry.reply.text or DELETED}"
            reply = Text(f"↳ {words}", muted, no_wrap=True, overflow="ellipsis")
            lines = [*self._wrap(reply), *lines]
        for file in entry.files:
            standing = self._transfers.status(file.digest)
            text = (
                Text().append(f"▤ {file.number} ", muted).append(file.name, self._palette["link"])
            )
            text.append(f"  {file.about}  ", muted)
            text.append(standing.text, self._palette[standing.style])
            lines = [*lines, *self._wrap(text)]
        for quote in entry.quotes:
            text = Text().append(f"❝ {quote.text}", self._palette["link"])
            text.append(f"  {self._how_to_read}", muted)
            lines = [*lines, *self._wrap(text)]
        return lines

    def _unsent(self, unsent: UnsentEntry) -> list[Line]:
        muted = self._palette["muted"]
        lines = beside(
            in_gutter(_UNSENT, self._palette["notice"], acts=unsent.emote),
            self._with_attachments(
                unsent,
                self._said(unsent.author, unsent.text, emote=unsent.emote, style=muted),
            ),
            self._beside(private=bool(unsent.private)),
        )
        label = Segment("  unsent", self._palette["notice"])
        if sum(part.cell_length for part in lines[-1]) + label.cell_length <= self._width:
            lines[-1].append(label)
        else:
            lines.append([Segment(" "), label])
        if unsent.emote and not unsent.private:
            return [*_blank(opens=unsent.opens), *lines]
        head = self._name(unsent.author, "", opens=unsent.opens, private=unsent.private)
        return [*head, *lines]

    def _name(self, author: str, when: str, *, opens: bool, private: str = "") -> list[Line]:
        if not opens:
            return []
        head = Text(no_wrap=True, overflow="ellipsis")
        head.append(author, self._author(author))
        if private:
            head.append(f" → {private} · private", self._palette["private"])
        head.append(f"  {when}", self._palette["muted"])
        return [[], *beside(in_gutter(" "), self._wrap(head))]

    def _said(
        self, author: str, text: str, *, emote: bool, style: Style | None = None
    ) -> list[Line]:
        text, missing = beginning(text)
        if emote:
            action = Text().append(author, self._author(author)).append(" ")
            action.append_text(prose(text, self._palette, style))
            return [*self._wrap(action), *self._folded(missing)]
        lines: list[Line] = []
        for block in blocks(text):
            if isinstance(block, Code):
                lines += self._canvas.code(block.code, block.language, self._room)
            else:
                for part in parts_of(block):
                    lines += self._prose(part, style)
        return lines + self._folded(missing)

    def _prose(self, part: str | MarkedLine, style: Style | None) -> list[Line]:
        if isinstance(part, str):
            return self._wrap(prose(part, self._palette, style))
        before = mark(part.mark, self._palette["quote" if part.quoted else "muted"])
        text = prose(part.text, self._palette, style)
        lines = self._canvas.lines(text, self._room - len(part.mark))
        return beside(before, lines, before if part.quoted else None)

    def _folded(self, missing: str) -> list[Line]:
        if not missing:
            return []
        words = f"… {missing}; copying copies the whole message"
        return self._wrap(Text(words, self._palette["notice"]))

    def _answer(self, answer: AnswerEntry) -> list[Line]:
        agent, muted = self._palette["agent"], self._palette["muted"]
        head = Text(no_wrap=True, overflow="ellipsis")
        head.append("genie", agent).append(" · for ", muted)
        receiver = Text(answer.receiver, self._author(answer.receiver))
        receiver.truncate(_NAME_CELLS, overflow="ellipsis")  # or it could push the owner off
        head.append_text(receiver)
        if answer.owner not in ("", answer.receiver):
            head.append(" · by the agent of ", muted)
            head.append(answer.owner, self._author(answer.owner))
        if answer.private:
            head.append(" · private", self._palette["private"])
        doing = self._progress.line(answer.message) if answer.elapsed is None else ""
        head.append(f"  {doing or _timing(answer)}", muted)
        lines = self._wrap(head)
        if answer.quote:
            quote = Text(f"↳ {answer.quote}", muted, no_wrap=True, overflow="ellipsis")
            lines += self._wrap(quote)
        if answer.elapsed is None:
            text, missing = ending(answer.text)
            lines += self._folded(missing) if missing else []
            lines += self._markdown(text)
        else:
            text, missing = beginning(answer.text)
            lines += self._markdown(text) + self._folded(missing)
        if answer.incomplete:
            style = self._palette["failed" if answer.tone is Tone.BAD else "notice"]
            why = Text(f"{answer.mark} {answer.incomplete}", style)
            lines += self._wrap(why)
        line = in_gutter(_PRIVATE_ANSWER if answer.private else "┃", agent)
        lines = beside(in_gutter("┏", agent), lines, line)
        return [[], *lines, *self._reacted(answer.reactions)]

    def _markdown(self, text: str) -> list[Line]:
        # 2 MB with its parser, which a room without answers of agents never needs.
        from genie_tui.widgets.timeline.markdown import markdown

        return markdown(text, self._canvas, self._room)

    # Below a message

    def _below(self, message: int, thread: MessageThread) -> list[Line]:
        """Describe how a message's run goes on, and why there is none if wanted."""
        lines: list[Line] = []
        match thread.phase:
            case Phase.WAITING:
                default = f"waiting for {visible_line(thread.handler)}'s approval"
                line = self._progress.approval_line(message) or default
                lines += self._remark("▲", "waiting", line)
            case _ if is_parked(thread):
                lines += self._remark(PARKED_MARK, "waiting", waits_for(thread))
            case Phase.DECIDING | Phase.WORKING if not self._progress.has_text(message):
                lines += self._doing(self._progress.line(message))
            case Phase.IGNORED if self._reasons:
                given = thread.decision.reason if thread.decision else ""
                why = because("stayed silent", given or NO_REASON)
                lines += self._remark("·", "muted", why)
            case Phase.UNHANDLED if self._reasons and thread.is_private:
                lines += self._remark("·", "muted", "stayed silent: no agent reads it")
            case Phase.UNHANDLED if self._reasons and thread.by_agent:
                lines += self._remark(
                    "·", "muted", "stayed silent: agents' messages are not answered"
                )
            case Phase.UNHANDLED if self._reasons:
                lines += self._remark("·", "muted", "stayed silent: no agent was in the room")
        return lines

    def _disagreed(self, thread: MessageThread | None) -> list[Line]:
        decision = thread.decision.decision if thread and thread.decision else ""
        was = {"ignore": " to stay silent", "delegate": " to answer"}.get(decision, "")
        return self._remark("!", "notice", f"you marked the decision{was} as wrong")

    def _doing(self, doing: str) -> list[Line]:
        text = Text(doing, self._palette["muted"])
        return self._marked("◐", "working", text) if doing else []

    def _remark(self, glyph: str, style: str, words: str) -> list[Line]:
        return self._marked(glyph, style, Text(words, self._palette[style]))

    def _marked(self, glyph: str, style: str, text: Text) -> list[Line]:
        lines = self._canvas.lines(text, self._room - 2)
        rest = [*beside_text(self._palette), Segment("  ")]
        return beside(mark(f"   {glyph} ", self._palette[style]), lines, rest)

    def _wrap(self, text: Text) -> list[Line]:
        return self._canvas.lines(text, self._room)


def is_parked(thread: MessageThread) -> bool:
    """Whether the run for a message was interrupted and resumes with an answer."""
    return bool(thread.parked) and thread.phase in _INTERRUPTED


def _missing_messages(gap: GapEntry) -> str:
    count = gap.messages
    many = "message" if count == 1 else "messages"
    if gap.lost:
        return f"{count or 0:,} earlier {many} can't be read here"
    if gap.between:
        return f"⋮ {count:,} more {many}" if count else "⋮ more messages"
    if count is None:
        return "↑ earlier messages"
    return f"↑ {count:,} earlier {many}" if count else "↑ earlier messages"


def _timing(answer: AnswerEntry) -> str:
    if answer.elapsed is None:
        return "writing…"
    return _when(answer.at, answer.caveat) + (
        f" · {duration(answer.elapsed)}" if answer.elapsed >= 0.05 else ""
    )


def _when(at: float, caveat: str) -> str:
    """Return the time of day, with the day if recovered, as it may be older than its neighbours."""
    if not caveat:
        return clock_time(at)
    moment = local_time(at)
    return f"{moment.day} {moment:%b %H:%M} · {caveat}"


def _blank(*, opens: bool) -> list[Line]:
    return [[]] if opens else []
