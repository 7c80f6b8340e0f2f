import time
from collections.abc import Iterator
from math import inf, nan

import pytest
from msgspec.structs import replace
from tests.genie_tui.scripted_room import ScriptedJoinedRoom
from tests.genie_tui.widgets.room_log import RoomLog

from genie_core.room.engine.approval_policy import ANSWER_SERVER
from genie_core.room.protocol.events import (
    SUMMARISE,
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    EngineChanged,
    Event,
    FileRef,
    HostStarted,
    MemberJoined,
    MemberLeft,
    MemberModerated,
    MessagePosted,
    Quote,
    QuotedLine,
    RecoveredEvent,
    RoomCreated,
    RoomSuspended,
    RunCancelled,
    RunFailed,
    Stage,
    UnreadableEvent,
)
from genie_core.room.view.entries import (
    AnswerEntry,
    DayEntry,
    MessageEntry,
    NoticeEntry,
    TimelineEntry,
    Tone,
)
from genie_core.room.view.log import GROUPED, EntryLog
from genie_core.room.view.reader import RETURN
from genie_core.room.view.wording import CUT
from genie_tui.widgets.timeline.history_pages import known_events

BOBS = "recovered from bob's copy"


@pytest.fixture(autouse=True)
def _in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def entries(log: RoomLog) -> list[TimelineEntry]:
    transcript = EntryLog(log.state)
    for event in log.events:
        transcript.add(event)
    return transcript.entries


def speeches(log: RoomLog) -> list[MessageEntry]:
    return [entry for entry in entries(log) if isinstance(entry, MessageEntry)]


def test_unreadable_entries_are_grouped() -> None:
    log = RoomLog()
    log.say("ann", "one")
    for why in ("no events like 'waved'\x1b[2J", "damaged", "damaged", "damaged"):
        log.add(UnreadableEvent(why))
    log.say("ann", "two")
    log.add(UnreadableEvent("damaged"))
    shown = [entry for entry in entries(log) if isinstance(entry, NoticeEntry)]
    assert [(note.text, note.opens) for note in shown] == [
        ("entry 2 can't be read: no events like 'waved'␛[2J", True),
        ("entries 3 to 5 can't be read: damaged", False),
        ("entry 7 can't be read: damaged", True),
    ]
    assert {note.mark for note in shown} == {"⚠"}


def test_messages_in_a_row_stand_under_one_name() -> None:
    log = RoomLog()
    log.say("ann", "one")
    log.say("ann", "two")
    log.say("bob", "three")
    log.say("ann", "four")
    assert [speech.opens for speech in speeches(log)] == [True, False, True, True]


def test_a_pause_starts_a_new_group() -> None:
    log = RoomLog()
    log.say("ann", "one")
    log.say("ann", "two", after=GROUPED + 1)
    assert [speech.opens for speech in speeches(log)] == [True, True]


def test_every_day_is_announced_once() -> None:
    log = RoomLog()
    log.say("ann", "one")
    log.say("ann", "two")
    log.say("ann", "three", after=86400)
    days = [entry.day for entry in entries(log) if isinstance(entry, DayEntry)]
    assert (days[1] - days[0]).days == 1
    assert len(days) == 2
    assert speeches(log)[2].opens


def test_a_clock_that_was_set_back_shows() -> None:
    log = RoomLog()
    log.say("ann", "one")
    for text, back in (("two", -7200), ("three", -2 * 86400), ("four", 60), ("five", 86400)):
        log.say("ann", text, after=back)
    days = [entry.day for entry in entries(log) if isinstance(entry, DayEntry)]
    assert len(days) >= 3
    assert days == sorted(days[:-1], reverse=True) + days[-1:]
    assert [speech.opens for speech in speeches(log)] == [True, True, True, False, True]


def test_what_happens_to_the_room_is_noted() -> None:
    log = RoomLog()
    log.add(RoomCreated("r", "Garden"))
    log.add(HostStarted("ann"))
    log.add(MemberJoined("host", engine=True, agent="gpt"), "ann")
    log.add(MemberJoined("guest"), "bob")
    log.add(EngineChanged("offline helper"), "ann")
    log.add(MemberLeft("bob", "connection lost"))
    log.add(RoomSuspended("closing time"))
    notes = [entry.text for entry in entries(log) if isinstance(entry, NoticeEntry)]
    assert notes == [
        "the room Garden was opened",
        "ann is hosting",
        "ann and bob joined",
        "ann's agent now uses offline helper",
        "bob left: connection lost",
        "the room was suspended: closing time",
    ]


def test_distant_answer_quotes_question() -> None:
    log = RoomLog()
    near = log.ask("ann", "near?")
    log.answer(near, "here")
    far = log.ask("ann", "far?\nreally")
    log.say("bob", "meanwhile")
    log.answer(far, "there")
    replies = [entry for entry in entries(log) if isinstance(entry, AnswerEntry)]
    assert [reply.quote for reply in replies] == ["", "far? really"]
    assert [reply.receiver for reply in replies] == ["ann", "ann"]
    assert [reply.owner for reply in replies] == ["ann", "ann"]


def test_answer_names_other_agent_owner() -> None:
    log = RoomLog()
    said = log.say("bob", "help", handler="ann")
    log.add(DecisionMade(said.seq, "delegate"), "ann")
    log.answer(said, "done")
    reply = entries(log)[-1]
    assert isinstance(reply, AnswerEntry)
    assert (reply.receiver, reply.owner) == ("bob", "ann")


def test_failing_is_not_silence() -> None:
    log = RoomLog()
    failed, stopped, ignored = (log.say("ann", text, handler="ann") for text in "abc")
    log.add(RunFailed(failed.seq, "reasoner", "no\x1b[31mkey"), "ann")
    log.add(RunCancelled(stopped.seq, "by bob"), "ann")
    log.add(DecisionMade(ignored.seq, "ignore", "small talk"), "ann")
    notes = [entry for entry in entries(log) if isinstance(entry, NoticeEntry)]
    assert [note.tone for note in notes] == [Tone.BAD, Tone.QUIET]
    assert notes[0].text == "genie could not answer ann: reasoner failed: no␛[31mkey"
    assert "stopped: by bob" in notes[1].text
    assert [note.message for note in notes] == [failed.seq, stopped.seq]


@pytest.mark.parametrize("parked", [False, True])
def test_partial_answer_stays_with_reason(*, parked: bool) -> None:
    log = RoomLog()
    failed, stopped = log.ask("ann", "one"), log.ask("ann", "two")
    if parked:
        log.add(ApprovalRequested(failed.seq, "a1", "system", "rm", {}), "ann")
        log.add(ApprovalResolved(failed.seq, "a1", "parked"), "ann")
    stage: Stage = "lost" if parked else "agent"
    log.add(RunFailed(failed.seq, stage, "cut off", text="Once\x1b[31m"), "ann")
    log.add(RunCancelled(stopped.seq, "stopped by bob", text="Twice"), "ann")
    shown = entries(log)
    again = EntryLog(log.state)
    again.read(known_events(log.state), head=log.state.head)
    replies = [entry for entry in shown if isinstance(entry, AnswerEntry)]
    assert [reply.text for reply in replies] == ["Once␛[31m", "Twice"]
    why = "was parked with rm to answer: cut off" if parked else "could not answer ann: cut off"
    assert why in replies[0].incomplete
    assert (replies[0].tone is Tone.BAD) is not parked
    assert replies[1].incomplete == "incomplete: genie's work for ann was stopped by bob"
    assert [each.incomplete for each in again.entries if isinstance(each, AnswerEntry)] == [
        reply.incomplete for reply in replies
    ]


def test_cut_answer_is_incomplete() -> None:
    log = RoomLog()
    said = log.ask("ann", "one")
    log.add(AnswerPosted(said.seq, "Once", cut=True), "ann")
    reply = entries(log)[-1]
    assert isinstance(reply, AnswerEntry)
    assert (reply.text, reply.incomplete) == ("Once", CUT)


def test_text_and_names_are_spelt_out() -> None:
    log = RoomLog()
    log.say("an\u202en", "x\x1b[2J")
    [speech] = speeches(log)
    assert speech.author == "an⟨U+202E⟩n"
    assert speech.text == "x␛[2J"


@pytest.mark.parametrize("at", [nan, inf, -inf, 1e300, -1e18])
def test_broken_host_clock_adds_no_days(at: float) -> None:
    log = RoomLog()
    log.say("ann", "one")
    said = log.say("bob", "two")
    transcript = EntryLog(log.state)
    for event in (log.events[0], replace(said, at=at), replace(said, seq=3, at=at)):
        transcript.add(event)
    assert sum(isinstance(entry, MessageEntry) for entry in transcript.entries) == 3
    assert sum(isinstance(entry, DayEntry) for entry in transcript.entries) <= 2
    assert known_events(log.state)


def test_another_host_divides_the_conversation() -> None:
    log = RoomLog()
    log.add(RoomCreated("r1", "Garden"))
    log.add(HostStarted("ann"))
    log.add(RoomSuspended(heir="bob"))
    log.add(HostStarted("bob"))
    log.add(HostStarted("bob"))
    texts = [entry.text for entry in entries(log) if isinstance(entry, NoticeEntry)]
    assert texts[1:] == [
        "ann is hosting",
        "the room was handed over to bob",
        "bob hosts now",
        "bob is hosting again",
    ]
    across = [each for each in entries(log) if isinstance(each, NoticeEntry) and each.sets_off]
    assert [entry.text for entry in across] == ["bob hosts now"]


def test_return_after_restart_is_silent() -> None:
    log = RoomLog()
    log.add(RoomCreated("r1", "Garden"))
    log.add(HostStarted("service"))
    for name in ("ann", "bob"):
        log.add(MemberJoined("member", device="one"), name)
    seen = EntryLog(log.state)
    seen.read(known_events(log.state), head=log.state.head)
    before = len(log.events)
    log.add(HostStarted("service"))
    for name in ("bob", "eve", "ann", "ann"):
        log.add(MemberJoined("member", device="two" if name == "ann" else "one"), name)
    log.add(RoomSuspended())
    log.add(HostStarted("service"))
    log.add(MemberJoined("member", device="one"), "bob")
    for event in log.events[before:]:
        seen.add(event)
    for shown in (entries(log), seen.entries):
        assert [entry.text for entry in shown if isinstance(entry, NoticeEntry)][-6:] == [
            "service is hosting again",
            "eve joined",
            "ann joined at another terminal",
            "the room was suspended",
            "service is hosting",
            "bob joined",
        ]


def test_late_return_is_announced() -> None:
    log = RoomLog()
    log.add(HostStarted("service"))
    log.add(MemberJoined("member"), "bob")
    log.add(HostStarted("service"))
    late = replace(log.add(MemberJoined("member"), "bob"), at=log.events[0].at + 10 * RETURN)
    transcript = EntryLog(log.state)
    for event in (*log.events[:-1], late):
        transcript.add(event)
    last = transcript.entries[-1]
    assert isinstance(last, NoticeEntry)
    assert last.text == "bob joined"


def test_new_host_after_known_past_divides() -> None:
    log = RoomLog()
    log.add(RoomCreated("r1", "Garden"))
    log.add(HostStarted("ann"))
    transcript = EntryLog(log.state)
    transcript.read(known_events(log.state), head=log.state.head)
    transcript.add(log.add(HostStarted("bob")))
    last = transcript.entries[-1]
    assert isinstance(last, NoticeEntry)
    assert last.sets_off


def test_recovered_entry_names_source() -> None:
    log = RoomLog()
    log.say("carol", "now")
    early = log.events[0].at - 100_000
    log.add(
        RecoveredEvent(Event(40, early, "ann", MessagePosted("x", "then", handler="ann"))), "bob"
    )
    log.add(RecoveredEvent(Event(41, early + 5, "ann", AnswerPosted(40, "so", elapsed=2.0))), "bob")
    log.add(RecoveredEvent(Event(42, early + 6, "ann", MemberModerated("mute", "eve"))), "bob")
    log.say("ann", "later")
    now, then, answer, note, later = [
        entry for entry in entries(log) if not isinstance(entry, DayEntry)
    ]
    assert isinstance(now, MessageEntry)
    assert now.caveat == ""
    assert isinstance(then, MessageEntry)
    assert (then.author, then.text, then.at, then.caveat) == ("ann", "then", early, BOBS)
    assert isinstance(answer, AnswerEntry)
    assert (answer.text, answer.at, answer.caveat) == ("so", early + 5, BOBS)
    assert answer.message == then.message == log.events[1].seq
    assert isinstance(note, NoticeEntry)
    assert note.text == "ann muted eve (recovered from bob's copy)"
    assert isinstance(later, MessageEntry)
    assert later.opens


def test_orphan_recovered_answer_is_skipped() -> None:
    log = RoomLog()
    log.add(RecoveredEvent(Event(41, 5.0, "ann", AnswerPosted(40, "so"))), "bob")
    assert [entry for entry in entries(log) if isinstance(entry, AnswerEntry)] == []


def test_state_alone_shows_recovered() -> None:
    log = RoomLog()
    log.add(RecoveredEvent(Event(40, 100.0, "ann", MessagePosted("x", "then"))), "bob")
    log.add(RecoveredEvent(Event(41, 105.0, "ann", AnswerPosted(40, "so"))), "bob")
    transcript = EntryLog(log.state)
    transcript.read(known_events(log.state), head=log.state.head)
    _, then, answer = transcript.entries
    assert isinstance(then, MessageEntry)
    assert then.caveat == BOBS
    assert isinstance(answer, AnswerEntry)
    assert answer.caveat == BOBS


def test_files_and_quotes_join_message() -> None:
    log = RoomLog()
    file = FileRef("digest", "a.pdf", 7, "application/pdf")
    quote = Quote("r", "Garden", (QuotedLine("bob", "hi"),))
    log.add(MessagePosted("1", "look", files=(file,), quotes=(quote,)), "ann")
    transcript = EntryLog(log.state)
    transcript.add(log.events[0])
    (speech,) = speeches(log)
    assert [line.name for line in speech.files] == ["a.pdf"]
    assert "Garden" in speech.quotes[0].text
    assert [transcript.entries[index] for index in transcript.indices_of_file("digest")] == [speech]
    assert transcript.indices_of_file("other") == []


def test_terminals_come_and_go() -> None:
    log = RoomLog()
    for device in ("one", "two"):
        log.add(MemberJoined("member", device=device), "bob")
    for device in ("one", "two"):
        log.add(MemberLeft("bob", device=device))
    texts = [entry.text for entry in entries(log) if isinstance(entry, NoticeEntry)]
    assert texts == [
        "bob joined",
        "bob joined at another terminal",
        "bob left one terminal",
        "bob left",
    ]


def test_edited_call_is_noted_for_all() -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    approval = joined.ask("rm\x1b", path="a")
    message = joined.state.calls[approval].message
    transcript = EntryLog(joined.state)
    for event in joined.feed(
        ApprovalResolved(message, approval, "approved", arguments={"path": "b"}, how="edit"),
        by="bob\x07",
    ):
        transcript.add(event)
    note = transcript.entries[-1]
    assert isinstance(note, NoticeEntry)
    assert (note.mark, note.text) == ("✓", "allowed rm␛ with changes by bob␇")
    asked = joined.ask(ANSWER_SERVER, answer={})
    message = joined.state.calls[asked].message
    for event in joined.feed(ApprovalResolved(message, asked, "approved", how="edit"), by="bob"):
        transcript.add(event)
    note = transcript.entries[-1]
    assert isinstance(note, NoticeEntry)
    assert note.text == "bob answered a tool server"


def test_agent_summary_is_note() -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    approval = joined.ask(SUMMARISE, summary="They agreed.")
    message = joined.state.calls[approval].message
    transcript = EntryLog(joined.state)
    for event in joined.feed(ApprovalResolved(message, approval, "approved", how="own"), by="bob"):
        transcript.add(event)
    note = transcript.entries[-1]
    assert isinstance(note, NoticeEntry)
    assert (note.mark, note.text) == ("≡", "bob's agent summarised its conversation")


def test_an_agents_messages_are_marked() -> None:
    log = RoomLog()
    log.add(MemberJoined("guest", kind="agent"), "bot")
    log.say("bot", "hello")
    log.say("ann", "hello")
    messages = [each for each in entries(log) if isinstance(each, MessageEntry)]
    assert [(each.author, each.by_agent) for each in messages] == [("bot", True), ("ann", False)]
