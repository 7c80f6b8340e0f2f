from tests.genie_tui.widgets.room_log import START, RoomLog

from genie_core.room.client.model import PendingMessage
from genie_core.room.protocol.events import (
    DecisionMade,
    MemberJoined,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
    RoomCreated,
    RunCancelled,
    UnreadableEvent,
)
from genie_core.room.state.room_state import WINDOW
from genie_core.room.view.entries import (
    AnswerEntry,
    DayEntry,
    GapEntry,
    MessageEntry,
    NoticeEntry,
    ReplyLine,
    TimelineEntry,
    UnsentEntry,
)
from genie_core.room.view.wording import DELETED
from genie_tui.widgets.timeline.content import KEPT, MOST, TOLD, TimelineContent
from genie_tui.widgets.timeline.history_pages import HistorySpan


def shown(talk: TimelineContent) -> list[TimelineEntry]:
    return [talk[index] for index in range(len(talk))]


def texts(talk: TimelineContent) -> list[str]:
    return [
        entry.text
        for entry in shown(talk)
        if isinstance(entry, MessageEntry | AnswerEntry | UnsentEntry)
    ]


def test_it_begins_with_what_the_state_holds() -> None:
    log = RoomLog()
    log.answer(log.ask("ann", "q"), "a")
    assert texts(TimelineContent(log.state, "ann")) == ["q", "a"]


def test_known_events_are_skipped() -> None:
    log = RoomLog()
    log.add(RoomCreated("r", "Garden"))
    first = log.say("ann", "one")
    talk = TimelineContent(log.state, "ann")
    second = log.say("ann", "two")
    talk.add([first, second, second])
    assert texts(talk) == ["one", "two"]


def test_whole_log_replaces_state() -> None:
    log = RoomLog()
    log.add(RoomCreated("r", "Garden"))
    log.add(MemberJoined("host"), "ann")
    log.say("ann", "one")
    talk = TimelineContent(log.state, "ann")
    assert not any(isinstance(entry, NoticeEntry) for entry in shown(talk))
    first, _ = talk.add(log.events)
    assert first == 0
    assert [type(entry).__name__ for entry in shown(talk)] == [
        "DayEntry",
        "NoticeEntry",
        "NoticeEntry",
        "MessageEntry",
    ]


def test_decision_touches_its_message() -> None:
    log = RoomLog()
    talk = TimelineContent(log.state, "ann")
    said = log.say("ann", "one", handler="ann")
    talk.add([said])
    before = len(talk)
    first, touched = talk.add([log.add(DecisionMade(said.seq, "ignore", "no"), "ann")])
    assert first == before == len(talk)
    assert [talk[index] for index in touched] == [talk[before - 1]]


def test_unreadable_entries_merge() -> None:
    log = RoomLog()
    talk = TimelineContent(log.state, "ann")
    talk.add([log.say("ann", "one"), log.add(UnreadableEvent("damaged"))])
    before = len(talk)
    first, touched = talk.add([log.add(UnreadableEvent("damaged"))])
    assert (first, touched, len(talk)) == (before, {before - 1}, before)
    note = talk[before - 1]
    assert isinstance(note, NoticeEntry)
    assert "entries 2 to 3" in note.text


def test_answer_streams_until_posted() -> None:
    log = RoomLog()
    asked = log.ask("ann", "q")
    talk = TimelineContent(log.state, "ann")
    assert talk.stream(asked.seq, "Hel")
    assert talk.stream(asked.seq, "lo\x1b")
    talk.refresh_tail()
    assert texts(talk) == ["q", "Hello␛"]
    assert talk.settled == len(talk) - 1
    talk.add([log.answer(asked, "Hello.")])
    assert texts(talk) == ["q", "Hello."]
    assert not talk.stream(asked.seq, "late")


def test_a_stopped_answer_disappears() -> None:
    log = RoomLog()
    asked = log.ask("ann", "q")
    talk = TimelineContent(log.state, "ann")
    talk.stream(asked.seq, "Hel")
    talk.add([log.add(RunCancelled(asked.seq), "ann")])
    assert texts(talk) == ["q"]
    assert not talk.stream(asked.seq, "lo")


def test_text_for_an_unknown_message_is_dropped() -> None:
    assert not TimelineContent(RoomLog().state, "ann").stream(7, "ghost")


def test_unsent_messages_come_last() -> None:
    log = RoomLog()
    talk = TimelineContent(log.state, "ann")
    one, two = (PendingMessage(name, name, emote=False, at=START) for name in ("one", "two"))
    assert talk.set_unsent((one, two))
    assert not talk.set_unsent((two,))
    talk.add([log.say("bob", "hi")])
    assert texts(talk) == ["hi", "two"]
    last = talk[len(talk) - 1]
    assert isinstance(last, UnsentEntry)
    assert last.author == "ann"


def test_news_is_what_others_say() -> None:
    log = RoomLog()
    asked = log.ask("ann", "q")
    log.say("bob", "hi")
    log.answer(asked, "a")
    talk = TimelineContent(log.state, "ann")
    assert [talk.is_news(entry) for entry in shown(talk)] == [False, False, True, True]


# -- what is held of a long room


def long_log(count: int) -> RoomLog:
    log = RoomLog()
    for number in range(count):
        log.say("ann", str(number))
    return log


def test_a_deletion_outlives_the_next_page() -> None:
    log = long_log(3 * WINDOW)
    talk = TimelineContent(log.state, "bob", can_read_back=True)
    talk.add(log.events[-5:])
    first = talk.since - 100
    talk.show(HistorySpan(log.events[first - 1 : talk.since - 1], first, talk.since - 1))
    gone = log.events[first + 10]
    talk.add([log.add(MessageDeleted(gone.seq), "ann")])
    assert talk.span is not None
    talk.show(talk.span.with_front(log.events[first - 51 : first - 1], first - 50))
    (entry,) = [
        each for each in shown(talk) if isinstance(each, MessageEntry) and each.message == gone.seq
    ]
    assert entry.is_deleted


def test_page_shows_later_edit() -> None:
    log = long_log(3 * WINDOW)
    talk = TimelineContent(log.state, "bob", can_read_back=True)
    first = talk.since - 100
    page = HistorySpan(log.events[first - 1 : talk.since - 1], first, talk.since - 1)
    edited = log.events[first + 10].seq
    talk.add([log.add(MessageEdited(edited, "better"), "ann")])
    talk.show(page)
    assert "better" in texts(talk)


def lead(talk: TimelineContent) -> GapEntry:
    entry = talk[0]
    assert isinstance(entry, GapEntry)
    return entry


def test_long_room_shows_held_messages() -> None:
    log = long_log(2 * WINDOW + 5)
    talk = TimelineContent(log.state, "ann")
    floor = log.state.floor
    assert texts(talk) == [str(number) for number in range(floor, 2 * WINDOW + 5)]
    assert (lead(talk).messages, talk.since, talk.earlier) == (floor, floor + 1, floor)
    first, _ = talk.add(log.events)
    assert first == 0
    assert texts(talk) == [str(number) for number in range(floor, 2 * WINDOW + 5)]
    assert lead(talk).messages == floor


def test_forgotten_messages_leave_gap() -> None:
    log = RoomLog()
    talk = TimelineContent(log.state, "ann")
    while not log.state.floor:
        talk.add([log.say("ann", "on and on")])
    count = talk.surplus
    assert count >= WINDOW
    before = shown(talk)
    removed, added = talk.forget(count)
    assert len(talk) == len(before) - removed + added
    assert shown(talk)[added:] == before[removed:]
    head, day, first, *_ = shown(talk)
    assert head == GapEntry(WINDOW)
    assert isinstance(day, DayEntry)
    assert isinstance(first, MessageEntry)
    assert first.opens
    assert first.message == talk.since == log.state.floor + 1
    assert talk.surplus == 0


def test_excess_notes_are_forgotten() -> None:
    log = RoomLog()
    talk = TimelineContent(log.state, "ann")
    talk.add([log.add(MemberJoined("guest"), "cleo") for _ in range(MOST)])
    while not (count := talk.surplus):
        talk.add([log.add(MemberJoined("guest"), "cleo")])
    talk.forget(count)
    assert len(talk) <= KEPT + 2
    assert not any(isinstance(entry, GapEntry) for entry in shown(talk))
    assert talk.since > 1


def test_readable_past_shows_gap() -> None:
    log = RoomLog()
    log.add(RoomCreated("r", "Garden"))
    log.say("ann", "one")
    assert not isinstance(TimelineContent(log.state, "ann")[0], GapEntry)
    talk = TimelineContent(log.state, "ann", can_read_back=True)
    assert lead(talk) == GapEntry(0)
    talk.add(log.events)
    assert not isinstance(talk[0], GapEntry)


def test_state_shows_only_latest_readable() -> None:
    log = long_log(1_000)
    talk = TimelineContent(log.state, "ann", can_read_back=True)
    assert lead(talk) == GapEntry(1_000 - TOLD)
    assert texts(talk) == [str(number) for number in range(1_000 - TOLD, 1_000)]
    talk.add(log.events[900:])
    assert lead(talk) == GapEntry(900 - TOLD)
    assert texts(talk) == [str(number) for number in range(900 - TOLD, 1_000)]
    assert talk.since == 900 - TOLD + 1


def test_a_span_that_was_read_back_stands_above() -> None:
    log = long_log(3 * WINDOW)
    talk = TimelineContent(log.state, "ann")
    since = talk.since
    live = shown(talk)[talk.above :]
    removed, added = talk.show(HistorySpan(log.events[100 : since - 1], 101, since - 1, 100))
    assert (removed, added) == (1, talk.above)
    assert shown(talk)[added:] == live
    assert texts(talk) == [str(number) for number in range(100, 3 * WINDOW)]
    assert lead(talk) == GapEntry(100)
    assert talk.gap is None
    for seq in (101, 700, since - 1, since, 3 * WINDOW):
        index = talk.index_of(seq)
        assert index is not None
        assert index == talk.near(seq)
        assert talk.seq_at(index) == seq
        assert talk.holds(seq)
    assert not talk.holds(100)
    assert talk.index_of(100) is None
    assert talk.show(None) == (added, 1)
    assert shown(talk)[1:] == live


def test_what_is_missing_in_between_is_told() -> None:
    log = long_log(3 * WINDOW)
    talk = TimelineContent(log.state, "ann")
    talk.show(HistorySpan(log.events[:50], 1, 50))
    assert talk.gap == talk.above - 1
    assert talk[talk.gap] == GapEntry(log.state.floor - 50, between=True)
    assert not talk.has_more_before
    talk.show(HistorySpan(log.events[10:50], 11, 50))
    assert talk.gap is not None
    assert lead(talk) == GapEntry(None)
    assert talk[talk.gap] == GapEntry(None, between=True)


def test_what_is_lost_is_told() -> None:
    log = long_log(3 * WINDOW)
    talk = TimelineContent(log.state, "ann")
    talk.show(HistorySpan((), 1, talk.since - 1, talk.earlier))
    assert lead(talk) == GapEntry(log.state.floor, lost=True)
    assert not talk.has_more_before


def test_span_replaces_live_duplicates() -> None:
    log = long_log(WINDOW)
    talk = TimelineContent(log.state, "ann")
    talk.add(log.events)
    before = len(talk)
    removed, added = talk.show(HistorySpan(log.events[300:800], 301, 800))
    assert texts(talk) == [str(number) for number in range(300, WINDOW)]
    assert len(talk) == before - removed + added
    assert talk.since == 801
    assert talk.gap is None


def test_span_knows_decision_of_message() -> None:
    log = RoomLog()
    said = log.say("ann", "hm", handler="ann")
    log.add(DecisionMade(said.seq, "ignore", "chat"), "ann")
    for number in range(2 * WINDOW):
        log.say("bob", str(number))
    talk = TimelineContent(log.state, "ann")
    assert said.seq not in log.state.threads
    talk.show(HistorySpan(log.events[:10], 1, 10))
    index = talk.index_of(said.seq)
    assert index is not None
    found = talk.thread_at(index)
    assert found is not None
    assert found.decision is not None
    assert found.decision.reason == "chat"


def test_deletion_clears_quotes() -> None:
    log = RoomLog()
    asked = log.ask("bob", "the secret")
    reply = log.add(MessagePosted("r", "I see", reply_to=asked.seq), "cleo")
    log.answer(asked, "so it is")
    talk = TimelineContent(log.state, "ann")
    whole = len(talk)
    edit = log.add(MessageEdited(asked.seq, "better"), "bob")
    assert talk.add([edit]) == (whole, {1, 2, 3})
    quotes = [each.reply if isinstance(each, MessageEntry) else None for each in shown(talk)]
    assert quotes[2] == ReplyLine("bob", "better")
    talk.add([log.add(MessageDeleted(asked.seq), "bob")])
    _, _, said, answered = shown(talk)
    assert isinstance(said, MessageEntry)
    assert isinstance(answered, AnswerEntry)
    assert (said.message, said.reply) == (reply.seq, ReplyLine("bob", ""))
    assert answered.quote == DELETED
    talk.forget(1)
    assert "secret" not in str(shown(talk))
