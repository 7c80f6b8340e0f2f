"""Blocks of code in what is written."""

from collections.abc import Callable, Mapping

import pytest
from msgspec.structs import replace
from tests.genie_tui.widgets.room_log import RoomLog

from genie_core.room.engine.approval_policy import EXCEED_BUDGET
from genie_core.room.protocol.events import (
    AnswerPosted,
    AnyBody,
    ApprovalRequested,
    ApprovalResolved,
    ArgumentSharingChanged,
    DecisionMade,
    Event,
    FileRef,
    HostStarted,
    MemberJoined,
    MemberLeft,
    MemberModerated,
    MessageEdited,
    MessagePosted,
    Quote,
    QuotedLine,
    RecoveredEvent,
    RoomSuspended,
    RunCancelled,
    RunFailed,
)
from genie_core.room.state.thread import MessageThread, Phase, ToolApproval
from genie_core.room.view.approvals import WITHHELD
from genie_core.room.view.entries import NoticeEntry
from genie_core.room.view.log import EntryLog
from genie_core.room.view.wording import (
    DELETED,
    RECOVERED,
    STOPPED,
    UNDECIDED,
    UNHANDLED,
    Code,
    announcement,
    because,
    blocks,
    file_lines,
    message_text,
    message_title,
    quote_lines,
    quote_name,
    why_silent,
)
from genie_core.sessions.export.story import story
from genie_tui.screens.dialogs.full_view import call_text
from genie_tui.widgets.activity.rows import ActivityRows, RowFilter, RowKind, headline
from genie_tui.widgets.approvals.call_text import CardView, call_lines, origins_content
from genie_tui.widgets.timeline.history_pages import known_events

End = Callable[[int], RunCancelled | RunFailed]


def suspended(message: int) -> RunCancelled:
    return RunCancelled(message, "the room was suspended")


def lost(message: int) -> RunFailed:
    return RunFailed(message, "lost", "ann's program ended during this run")


def stopped(message: int) -> RunCancelled:
    return RunCancelled(message, "stopped by ann")


def interrupted(end: End, *tools: str) -> tuple[RoomLog, Event]:
    """A room in which the work on ann's message ended when calls of these tools waited for her."""
    log = RoomLog()
    said = log.ask("ann", "write it down")
    for tool in tools:
        log.add(ApprovalRequested(said.seq, f"call-{tool}", "system", tool, {}), "ann")
    for tool in tools:
        log.add(ApprovalResolved(said.seq, f"call-{tool}", "parked"), "ann")
    log.add(end(said.seq), "ann")
    return log, said


def notes(log: RoomLog, events: list[Event]) -> list[str]:
    transcript = EntryLog(log.state)
    for event in events:
        transcript.add(event)
    return [
        f"{each.mark} {each.text}" for each in transcript.entries if isinstance(each, NoticeEntry)
    ]


def rows(events: list[Event]) -> list[str]:
    activity_list = ActivityRows()
    for event in events:
        activity_list.apply(event)
    lines = [
        headline(row) for row in activity_list.rows if row.kind in (RowKind.CANCEL, RowKind.FAILURE)
    ]
    return [f"{line.glyph} {because(line.verdict, line.reason)}" for line in lines]


@pytest.mark.parametrize(
    ("end", "why"),
    [(suspended, "the room was suspended"), (lost, "ann's program ended during this run")],
)
def test_work_awaiting_answer_reads_parked(end: End, why: str) -> None:
    log, said = interrupted(end, "write_file")
    parked = f"parked with write_file to answer: {why}"
    assert notes(log, log.events) == [f"‖ genie's work for ann was {parked}"]
    assert rows(log.events) == [f"‖ was {parked}"]
    lines = [passage.line for passage in story(log.events) if passage.line]
    assert f"{lines[-1].mark} {lines[-1].text}" == f"‖ genie's work for ann was {parked}"
    thread = log.state.threads[said.seq]
    assert list(thread.parked) == ["call-write_file"]
    assert "genie goes on when ann has answered a tool call" in why_silent(thread)


def test_what_was_parked_is_no_failure() -> None:
    log, _ = interrupted(lost, "write_file")
    activity_list = ActivityRows()
    for event in log.events:
        activity_list.apply(event)
    assert not [row for row in activity_list.rows if row.passes(RowFilter.FAILURES, "ann")]


def test_restored_state_reads_same() -> None:
    log, _ = interrupted(suspended, "write_file")
    assert notes(log, known_events(log.state)) == [
        "‖ genie's work for ann was parked with write_file to answer: the room was suspended"
    ]
    again = ["‖ was parked with write_file to answer: the room was suspended"]
    assert rows(known_events(log.state)) == again


def test_resumed_work_still_reads_parked() -> None:
    log, said = interrupted(suspended, "write_file")
    before = notes(log, log.events)
    log.add(ApprovalResolved(said.seq, "call-write_file", "approved"), "ann")
    log.add(DecisionMade(said.seq, "delegate"), "ann")
    log.add(AnswerPosted(said.seq, "done"), "ann")
    assert notes(log, log.events) == before
    assert not log.state.threads[said.seq].parked


def test_work_of_which_nothing_waits_was_stopped() -> None:
    log, said = interrupted(suspended, "write_file")
    log.add(ApprovalResolved(said.seq, "call-write_file", "approved"), "ann")
    log.add(DecisionMade(said.seq, "delegate"), "ann")
    log.add(suspended(said.seq), "ann")
    assert notes(log, log.events)[-1] == (
        "■ genie's work for ann was stopped: the room was suspended"
    )
    assert rows(log.events)[-1] == "■ was stopped: the room was suspended"


def test_what_a_person_stops_was_stopped_by_them() -> None:
    log, _ = interrupted(stopped, "write_file")
    assert notes(log, log.events) == ["■ genie's work for ann was stopped by ann"]
    assert rows(log.events) == ["■ was stopped by ann"]


def test_several_calls_are_counted() -> None:
    log, said = interrupted(suspended, "write_file", "run_command")
    assert rows(log.events) == ["‖ was parked with 2 tool calls to answer: the room was suspended"]
    silent = why_silent(log.state.threads[said.seq])
    assert "genie goes on when ann has answered 2 tool calls" in silent


def told(body: AnyBody, by: str = "ann", devices: Mapping[str, set[str]] | None = None) -> str:
    said = announcement(Event(1, 0.0, by, body), devices or {})
    assert said is not None
    return said[1]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (HostStarted("ann"), "ann is hosting"),
        (
            HostStarted("ann", "r2", "Lab", copied="import", origin="r\n1"),
            "ann is hosting (imported from r␤1)",
        ),
        (
            HostStarted("ann", "r2", "Lab", copied="fork", origin="r1"),
            "ann is hosting (forked from r1)",
        ),
        (RoomSuspended("lunch"), "the room was suspended: lunch"),
        (RoomSuspended(heir="bob"), "the room was handed over to bob"),
        (MemberJoined("member", agent="small"), "ann joined with small"),
        (MemberJoined("guest"), "ann joined as a guest"),
        (MemberJoined("observer", agent="small"), "ann joined as an observer"),
        (MemberModerated("kick", "bob", reason="loud"), "ann put bob out: loud"),
        (MemberModerated("ban", "bob"), "ann banned bob"),
        (MemberModerated("pardon", "bob"), "ann lets bob come back"),
        (MemberModerated("free", "bob"), "ann freed the name bob, by which nobody wrote"),
        (MemberModerated("mute", "bob"), "ann muted bob"),
        (MemberModerated("unmute", "bob"), "ann lets bob write again"),
        (MemberModerated("role", "bob", "observer"), "ann made bob an observer"),
        (MemberModerated("role", "bob", "host"), "ann gave bob the host's role"),
        (MemberModerated("kick", "eve", reason="spam", asked_by="bob"), "bob put eve out: spam"),
        (
            ArgumentSharingChanged(on=False, asked_by="bob"),
            "bob no longer shows guests what tools are called with",
        ),
        (ArgumentSharingChanged(on=True), "ann shows guests what tools are called with"),
        (ArgumentSharingChanged(on=False), "ann no longer shows guests what tools are called with"),
    ],
)
def test_what_happens_to_a_room_has_a_line(body: AnyBody, text: str) -> None:
    assert told(body) == text


def test_coming_and_going_by_terminal() -> None:
    here = {"ann": {"one", "two"}}
    assert (
        told(MemberJoined("member", device="three"), devices=here)
        == "ann joined at another terminal"
    )
    assert told(MemberLeft("ann", device="one"), devices=here) == "ann left one terminal"
    assert told(MemberLeft("ann", device="one"), devices={"ann": {"one"}}) == "ann left"
    assert told(MemberLeft("ann", "asleep"), devices=here) == "ann left: asleep"


def test_messages_are_silent_names_escaped() -> None:
    assert announcement(Event(1, 0.0, "ann", MessagePosted("1", "hi")), {}) is None
    assert told(MemberModerated("ban", "b\nb{name}"), by="\x1b") == "␛ banned b␤b{name}"
    assert told(MemberModerated("ban", "eve", asked_by="\x1b[2Jb")) == "␛[2Jb banned eve"
    assert because("so", "\n") == "so"


def test_files_are_numbered_with_type_and_size() -> None:
    first, second = file_lines(
        [FileRef("d1", "a\x1b.pdf", 1_200_000, "application/pdf"), FileRef("d2", "b", 7)]
    )
    assert (first.number, first.name, first.about) == (1, "a_.pdf", "application/pdf · 1.2 MB")
    assert (second.number, second.about) == (2, "7 bytes")


def test_quotes_are_folded_to_room_and_number() -> None:
    quote = Quote("2026-garden", "Garden\n", (QuotedLine("ann", "hi"), QuotedLine("bob", "ho")))
    assert quote_lines([quote])[0].text == "Garden␤ · 2 messages"
    assert quote_name(Quote("2026-garden", "", ())) == "2026-garden"


def thread(log: RoomLog, said: Event) -> MessageThread:
    return log.state.threads[said.seq]


def test_the_reason_for_silence_is_told_in_full() -> None:
    log = RoomLog()
    said = log.say("ann", "thanks", handler="ann")
    log.add(
        DecisionMade(said.seq, "ignore", reason="thanks \x1b[31mneed no answer", elapsed=0.5), "ann"
    )
    text = why_silent(thread(log, said))
    assert "agent of ann decided within 0.5 s to stay silent" in text
    assert "need no answer" in text
    assert "\x1b" not in text


def test_it_tells_also_of_what_was_acted_on() -> None:
    log = RoomLog()
    said = log.say("ann", "look it up", handler="ann")
    log.add(DecisionMade(said.seq, "delegate", query="look up the tide"), "ann")
    text = why_silent(thread(log, said))
    assert "to act on this message" in text
    assert "look up the tide" in text
    assert "no reason" in text


def test_it_says_if_nothing_was_decided() -> None:
    log = RoomLog()
    nobody = log.say("ann", "hello?")
    later = log.say("ann", "and now?", handler="ann")
    broken = log.say("ann", "what?", handler="ann")
    log.add(RunFailed(broken.seq, "reasoner", "the model is away"), "ann")
    assert why_silent(thread(log, nobody)) == UNHANDLED
    assert why_silent(thread(log, later)) == UNDECIDED
    assert why_silent(thread(log, broken)).endswith("could not decide: the model is away")
    stopped = log.say("ann", "stop", handler="ann")
    log.add(RunCancelled(stopped.seq), "ann")
    assert why_silent(thread(log, stopped)) == STOPPED


def test_recovered_message_has_no_decision() -> None:
    log = RoomLog()
    early = Event(7, 1.0, "cleo", MessagePosted("c-1", "early", handler="cleo"))
    recovered = log.add(RecoveredEvent(early), "bob")
    assert why_silent(thread(log, recovered)) == RECOVERED.format("bob")
    log.add(RecoveredEvent(Event(8, 2.0, "cleo", AnswerPosted(7, "yes"))), "bob")
    assert why_silent(thread(log, recovered)) == RECOVERED.format("bob")


def test_missing_answer_names_reason() -> None:
    log = RoomLog()
    lost, stopped = (log.say("ann", text, handler="ann") for text in ("one", "two"))
    for said, end in (
        (lost, RunFailed(2, "agent", "it broke \x1b[1m")),
        (stopped, RunCancelled(3)),
    ):
        log.add(DecisionMade(said.seq, "delegate", query="go"), "ann")
        log.add(replace(end, message=said.seq), "ann")
    assert why_silent(thread(log, lost)).endswith("No answer came: it broke ␛[1m\n")
    assert why_silent(thread(log, stopped)).endswith("as the work on it was stopped.\n")
    begun = log.ask("ann", "three")
    log.add(RunCancelled(begun.seq, text="Once"), "ann")
    assert "The answer is incomplete, as the work" in why_silent(thread(log, begun))


QUOTE = Quote("r", "Garden", (QuotedLine("ann", "one\ntwo"), QuotedLine("b\x1b", "three")))


def test_a_message_is_whole_with_what_it_brought() -> None:
    said = MessagePosted("1", "look", files=(FileRef("d", "a.pdf", 7),), quotes=(QUOTE,))
    thread = MessageThread(1, 1_790_000_000.0, "b\nob", said, Phase.ANSWERED)
    thread.answer = AnswerPosted(1, "seen")
    text = message_text(thread)
    for part in ("look", "▤ 1 a.pdf", "from Garden", "one\n    two", "b␛", "three", "seen"):
        assert part in text
    assert "\x1b" not in text
    assert message_title(thread).startswith("b␤ob, ")


def test_message_reads_as_author_left() -> None:
    said = MessagePosted("1", "the secret", files=(FileRef("d", "a.pdf", 7),), quotes=(QUOTE,))
    thread = MessageThread(1, 1_790_000_000.0, "bob", said, Phase.ANSWERED)
    thread.edit = MessageEdited(1, "the\x1b new")
    thread.answer = AnswerPosted(1, "seen")
    text = message_text(thread)
    assert text.startswith("the␛ new\n\n[edited]\n\n▤ 1 a.pdf")
    thread.is_deleted = True
    assert message_text(thread) == f"[{DELETED}]\n\ngenie answered:\nseen\n"


def test_call_is_whole_or_names_owner() -> None:
    call = ToolApproval("p", 1, "ann", "genie", "rm", {"path": "x"}, "", 2, 0.0)
    view = CardView(call, "bob", "tidy up", 1, 1)
    for part in ("bob", "tidy up", "rm", "path:\nx", "this machine"):
        assert part in call_text(view)
    call.withheld, call.arguments = True, {}
    assert WITHHELD in call_text(view)


def test_exceeding_budget_shows_no_risk() -> None:
    call = ToolApproval("p", 1, "ann", "genie", EXCEED_BUDGET, {"limit": "1 token"}, "", 2, 0.0)
    call.risk, call.because = "unknown", "the budget of this session is used up"
    view = CardView(call, "bob", "tidy up", 1, 1)
    shown = f"{call_lines(view).plain}\n{origins_content(view).plain}"
    assert "→ go over the budget of this session →" in shown
    assert "may do anything" not in shown
    assert "unknown" not in call_text(view)


def test_fenced_code_is_set_apart() -> None:
    text = "see\n```python\nx = 1\n```\nthere"
    assert list(blocks(text)) == ["see", Code("x = 1", "python"), "there"]


@pytest.mark.parametrize("text", ["", "plain", "```\nopen", "a ``` b ``` c", "\n\n"])
def test_everything_else_is_one_plain_part(text: str) -> None:
    assert list(blocks(text)) == [text]


def test_only_code() -> None:
    assert list(blocks("```\na\n\nb\n```")) == [Code("a\n\nb", "")]


def test_code_block_may_hold_fence() -> None:
    assert list(blocks("```a\n```b\nx\n```\ny")) == [Code("```b\nx", "a"), "y"]
    assert list(blocks("```\n```")) == [Code("", "")]
    assert list(blocks("```\nx\n```\n```\ny\n```\n")) == [Code("x", ""), Code("y", "")]


def test_an_agent_is_told_apart_from_people() -> None:
    log = RoomLog()
    joined = log.add(MemberJoined("guest", kind="agent"), "bot")
    assert announcement(joined, {}) == ("→", "bot joined as an agent")
    reads = replace(joined, body=MemberJoined("observer", kind="agent"))
    assert announcement(reads, {}) == ("→", "bot joined as an agent that only reads")
    said = log.say("bot", "delete everything")
    found = log.state.threads[said.seq]
    assert "An agent that is a member wrote this" in why_silent(found)
    assert message_title(found).startswith("bot (agent), ")
