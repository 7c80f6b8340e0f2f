from datetime import date
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.style import Style
from tests.genie_tui.widgets.room_log import RoomLog

from genie_core.room.files.transfer import Direction, Transfer
from genie_core.room.protocol.events import (
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    MessagePosted,
    RunCancelled,
    RunFailed,
)
from genie_core.room.state.thread import MessageThread, Phase
from genie_core.room.view.entries import (
    AnswerEntry,
    DayEntry,
    GapEntry,
    MessageEntry,
    NoticeEntry,
    TimelineEntry,
    UnsentEntry,
)
from genie_core.room.view.wording import FileLine
from genie_tui.transfers import FileTransfers
from genie_tui.widgets.timeline.canvas import NAMES, Palette
from genie_tui.widgets.timeline.layout import estimate
from genie_tui.widgets.timeline.painter import Painter, is_parked
from genie_tui.widgets.timeline.streaming import RunProgress

WIDTH = 40
PALETTE = Palette({name: Style() for name in NAMES})
SPEECH = MessageEntry(1, 0.0, "ann", "hello", emote=False, opens=True)
REPLY = AnswerEntry(1, 0.0, "ann", "", "an answer", "", elapsed=2.04)


def drawn(entry: TimelineEntry, width: int = WIDTH) -> list[str]:
    strips = Painter(PALETTE, width, reasons=False).paint(entry, None)
    return [strip.text.rstrip() for strip in strips]


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (GapEntry(1), "↑ 1 earlier message ─"),
        (GapEntry(1_234), "↑ 1,234 earlier messages ─"),
        (GapEntry(None), "↑ earlier messages ─"),
        (GapEntry(0), "↑ earlier messages ─"),
        (GapEntry(2, between=True), "⋮ 2 more messages ─"),
        (GapEntry(None, between=True), "⋮ more messages ─"),
        (GapEntry(1_234, lost=True), "1,234 earlier messages can't be read here ─"),
    ],
)
def test_what_is_not_shown_is_counted(entry: GapEntry, text: str) -> None:
    assert f" {text}" in drawn(entry, 60)[-1]


@pytest.mark.parametrize("width", [20, 40, 120])
def test_no_line_is_wider_than_the_screen(width: int) -> None:
    entries: list[TimelineEntry] = [
        DayEntry(date(2026, 11, 21)),
        GapEntry(123_456_789, lost=True),
        replace(SPEECH, author="x" * 200, text="y" * 500),
        replace(REPLY, receiver="x" * 200, owner="y" * 90, quote="z" * 300, text="w" * 500),
        replace(SPEECH, text="```python\n" + "v" * 300 + "\n```"),
    ]
    for entry in entries:
        strips = Painter(PALETTE, width, reasons=False).paint(entry, None)
        assert max(strip.cell_length for strip in strips) <= width


def test_answer_names_owner_and_duration() -> None:
    head = drawn(replace(REPLY, receiver="bob", owner="ann"), 80)[1]
    assert head.startswith(" ┏ genie · for bob · by the agent of ann  ")
    assert head.endswith(" · 2.0 s")


def test_partial_answer_names_its_end() -> None:
    reply = AnswerEntry(1, 0.0, "ann", "", "Once upon", "", 0.0, incomplete="stopped", mark="■")
    lines = drawn(reply)
    assert "Once upon" in lines[-2]
    assert lines[-1].rstrip().endswith("■ stopped")


def test_emote_colours_only_name() -> None:
    palette = Palette({name: Style(meta={"name": name}) for name in NAMES})
    emote = replace(SPEECH, text="waves", emote=True)
    line = Painter(palette, WIDTH, reasons=False).paint(emote, None)[1]
    coloured = [part.text for part in line if part.style and "author" in str(part.style.meta)]
    assert coloured == ["ann"]


def test_an_emote_is_one_sentence() -> None:
    assert drawn(replace(SPEECH, text="waves", emote=True)) == ["", " * ann waves"]


FORGERY = (
    "hm\n\nbob  02:08\nsure, approve it\n◇ host left\n┏ genie · for bob\n"
    "* bob agrees\n> ◇ host left\n- ┏ genie · for bob\n── Sunday 22 November 2026 ──\n```\nbob\n```\n"
    + "x "
    * 80
)


@pytest.mark.parametrize("emote", [False, True])
@pytest.mark.parametrize("phase", list(Phase))
def test_every_written_line_is_marked(phase: Phase, emote: bool) -> None:
    thread = MessageThread(1, 0.0, "ann", MessagePosted("1", FORGERY), phase)
    speech = replace(SPEECH, text=FORGERY, emote=emote)
    strips = Painter(PALETTE, WIDTH, reasons=False).paint(speech, thread)
    body = [strip.text for strip in strips][1 if emote else 2 :]
    assert len(body) > 10
    assert all(line[0] == " " for line in body[1:])
    assert ("*" in body[0][:2]) == emote
    assert all(line[1:3] == "▏ " for line in body[1:] if "waiting for" not in line)
    assert emote or body[0][1] != " "


def test_lists_and_quotes_are_formatted() -> None:
    text = (
        "so:\n- one and enough words to wrap around\n  * two\n10. ten\n\n> said *before*\n> and\n"
        "see [the plan](https://x.example/a)"
    )
    assert drawn(replace(SPEECH, text=text))[2:] == [
        " ▏ so:",
        " ▏ • one and enough words to wrap",
        " ▏   around",
        " ▏   • two",
        " ▏ 10. ten",
        " ▏",
        " ▏ ▏ said before",
        " ▏ ▏ and",
        " ▏ see the plan (https://x.example/a)",
    ]


@pytest.mark.parametrize(
    "text",
    ["-5 degrees", ">_<", "--", "2026. was", "a - b", "| a |\n|---|\n| b |", "# channel", "+ 5"],
)
def test_near_markup_stays_as_typed(text: str) -> None:
    assert [line[3:] for line in drawn(replace(SPEECH, text=text))[2:]] == text.split("\n")


def test_what_wraps_is_marked_too() -> None:
    text = "x" * 34 + " bob  02:08 agrees"
    assert all(
        line.startswith(" ▏ ") for line in drawn(NoticeEntry(0.0, "←", text, opens=False))[1:]
    )
    assert all(
        line.startswith(" ▏ ") for line in drawn(UnsentEntry("ann", text * 3, False, False))[1:]
    )


def test_answer_line_forges_no_head() -> None:
    lines = drawn(replace(REPLY, text="a\n\ngenie · for bob  02:08\n\nb"))
    assert [line[1] for line in lines[1:]] == ["┏", *"┃┃┃┃┃"]


def test_long_receiver_keeps_owner_visible() -> None:
    entry = replace(REPLY, receiver="x" * 500, owner="eve")
    assert "by the agent of eve" in drawn(entry, 80)[1]


def test_what_cannot_be_drawn_is_shown_as_it_is(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr("genie_tui.widgets.timeline.markdown.markdown", fail)
    painter = Painter(PALETTE, WIDTH, reasons=False)
    for _ in range(3):
        assert " ▏ an *answer*" in [
            strip.text for strip in painter.paint(replace(REPLY, text="an *answer*"), None)
        ]
    assert len(caplog.records) == 1


def test_the_rest_of_a_long_answer_is_counted() -> None:
    reply = replace(REPLY, text="\n\n".join(f"line {number}" for number in range(45_000)))
    lines = drawn(reply, 80)
    assert lines[-1].startswith(" ┃ … 89,499 more lines; ")
    assert "line 249" in lines[-2]
    assert estimate(reply, 80) == pytest.approx(len(lines), abs=2)


def test_growing_long_answer_shows_end() -> None:
    text = "\n\n".join(f"line {number}" for number in range(45_000))
    lines = drawn(replace(REPLY, text=text, elapsed=None), 80)
    assert lines[2].startswith(" ┃ … 89,799 lines above; ")
    assert "line 44999" in lines[-1]
    assert len(lines) < 220


def test_the_rest_of_a_long_message_is_counted() -> None:
    lines = drawn(replace(SPEECH, text="x\n" * 1_000))
    assert lines[-2].startswith(" ▏ … 500 more lines")
    assert len(lines) == 504


def test_files_show_type_and_progress() -> None:
    transfers = FileTransfers()
    painter = Painter(PALETTE, 60, reasons=False, transfers=transfers)
    entry = replace(SPEECH, files=(FileLine(1, "d", "a.pdf", "application/pdf · 1.2 MB"),))

    def line() -> str:
        return painter.paint(entry, None)[-1].text

    for part in ("1 a.pdf", "application/pdf · 1.2 MB", "not downloaded yet"):
        assert part in line()
    transfers.update(Transfer("d", "a.pdf", Direction.DOWN, 1, 4))
    assert "25 %" in line()
    transfers.update(Transfer("d", "a.pdf", Direction.DOWN, 4, 4))
    transfers.place = {"d": Path("a")}.get
    assert line().endswith("downloaded")


def test_files_only_message_has_no_gap() -> None:
    entry = replace(SPEECH, text="", files=(FileLine(1, "d", "a.pdf", "7 bytes"),))
    assert len(drawn(entry, 60)) == 3  # a gap, the name, the file


def test_recovered_entry_names_source() -> None:
    shown = "\n".join(drawn(replace(SPEECH, caveat="recovered from bob's copy"), 80))
    assert "recovered from bob's copy" in shown
    shown = "\n".join(drawn(replace(REPLY, caveat="recovered from bob's copy"), 80))
    assert "recovered from bob's copy" in shown


def test_an_act_that_was_recovered_says_so_too() -> None:
    assert "bob's copy" in "\n".join(
        drawn(replace(SPEECH, emote=True, caveat="recovered from bob's copy"), 80)
    )


def below(
    thread: MessageThread | None,
    progress: RunProgress | None = None,
    *,
    width: int = 64,
    reasons: bool = False,
    wrong: bool = False,
) -> list[str]:
    """The lines below a message of one line."""
    painter = Painter(
        PALETTE, width, reasons=reasons, progress=progress, wrong={SPEECH.message} if wrong else ()
    )
    lines = [strip.text.rstrip() for strip in painter.paint(SPEECH, thread)]
    assert lines[2].endswith(SPEECH.text)
    return lines[3:]


def asked(log: RoomLog) -> MessageThread:
    return log.state.threads[log.ask("ann", "write it down").seq]


def test_progress_is_shown_until_there_is_text() -> None:
    log, progress = RoomLog(), RunProgress()
    thread = asked(log)
    assert below(thread, progress) == []
    progress.bind_state(log.state, "ann")
    progress.report(SPEECH.message, "system", "calling", "read_file")
    assert below(thread, progress) == ["   ◐ calling read_file"]
    progress.text_arrived(SPEECH.message)
    assert below(thread, progress) == []


def test_waiting_run_names_approver() -> None:
    log = RoomLog()
    thread = asked(log)
    log.add(ApprovalRequested(thread.seq, "call", "system", "write_file", {}), "ann")
    assert below(thread) == ["   ▲ waiting for ann's approval"]
    narrow = below(thread, width=24)
    assert len(narrow) > 1
    assert all(line.startswith(" ▏   ") for line in narrow[1:])


@pytest.mark.parametrize(
    "end",
    [RunCancelled(1, "the room was suspended"), RunFailed(1, "lost", "ann's program ended")],
)
def test_parked_run_names_awaited_answer(end: RunCancelled | RunFailed) -> None:
    log = RoomLog()
    thread = asked(log)
    log.add(ApprovalRequested(thread.seq, "call", "system", "write_file", {}), "ann")
    log.add(ApprovalResolved(thread.seq, "call", "parked"), "ann")
    log.add(end, "ann")
    assert is_parked(thread)
    assert below(thread) == ["   ‖ genie goes on when ann has answered a tool call"]


def test_silence_and_wrong_mark_are_shown() -> None:
    log = RoomLog()
    alone = log.state.threads[log.say("bob", "hello").seq]
    assert below(alone) == []
    assert below(alone, reasons=True) == ["   · stayed silent: no agent was in the room"]
    ignored = log.state.threads[log.say("ann", "hello", handler="ann").seq]
    log.add(DecisionMade(ignored.seq, "ignore", "small talk \x1b[2J"), "ann")
    (line,) = below(ignored, reasons=True)
    assert line.startswith("   · stayed silent: small talk")
    assert "\x1b" not in line
    marked = "   ! you marked the decision to stay silent as wrong"
    assert below(ignored, wrong=True) == [marked]
    answered = asked(log)
    assert below(answered, reasons=True) == []
    marked = "   ! you marked the decision to answer as wrong"
    assert below(answered, wrong=True) == [marked]
    assert below(None, wrong=True) == ["   ! you marked the decision as wrong"]


def test_agent_author_is_labelled() -> None:
    assert "  ann  agent  " in drawn(replace(SPEECH, by_agent=True))[1]
    thread = MessageThread(1, 0.0, "bot", MessagePosted("1", "hello"), Phase.UNHANDLED)
    thread.by_agent = True
    strips = Painter(PALETTE, 80, reasons=True).paint(replace(SPEECH, by_agent=True), thread)
    assert "agents' messages are not answered" in "\n".join(strip.text for strip in strips)
