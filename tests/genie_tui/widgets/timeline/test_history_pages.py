import pytest
from tests.genie_tui.widgets.room_log import RoomLog

from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    FileRef,
    MemberJoined,
    MemberLeft,
    MessagePosted,
    RecoveredEvent,
    RunCancelled,
    RunFailed,
)
from genie_core.room.state.room_state import WINDOW, RoomState
from genie_core.room.state.thread import Phase
from genie_core.room.view.entries import AnswerEntry, MessageEntry, NoticeEntry
from genie_tui.widgets.timeline.history_pages import (
    MOST,
    PAGE,
    HistorySpan,
    PageEdge,
    PageRequest,
    count_messages,
    known_events,
    page_request,
    with_page,
)


def busy_log() -> RoomLog:
    """A log in which every kind of work on a message is done."""
    log = RoomLog()
    for _ in range(4):
        asked = log.ask("ann", "please")
        log.add(ApprovalRequested(asked.seq, f"a{asked.seq}", "genie", "run", {}), "ann")
        log.add(ApprovalResolved(asked.seq, f"a{asked.seq}", "approved"), "ann")
        log.answer(asked, "done")
        broken = log.ask("bob", "and this")
        log.add(RunFailed(broken.seq, "agent", "boom"), "bob")
        stopped = log.ask("ann", "or that")
        log.add(RunCancelled(stopped.seq), "ann")
        log.add(MemberLeft("cleo"), "cleo")
    return log


def texts(span: HistorySpan) -> list[str]:
    return [entry.text for entry in span.log.entries if isinstance(entry, MessageEntry)]


def test_any_part_of_a_log_can_be_shown() -> None:
    log = busy_log()
    for first in range(len(log.events)):
        for last in range(first + 1, len(log.events) + 1):
            events = log.events[first:last]
            span = HistorySpan(events, events[0].seq, events[-1].seq)
            assert span.messages == sum(isinstance(event.body, MessagePosted) for event in events)
            assert len(span.log.entries) == len(span.log.seqs)
            assert span.log.seqs == sorted(span.log.seqs)


def test_answer_without_question_is_shown() -> None:
    log = busy_log()
    (at,) = [at for at, event in enumerate(log.events) if isinstance(event.body, AnswerPosted)][:1]
    span = HistorySpan(log.events[at : at + 1], at + 1, at + 1)
    (reply,) = [entry for entry in span.log.entries if isinstance(entry, AnswerEntry)]
    assert (reply.text, reply.receiver, reply.owner, reply.quote) == ("done", "ann", "ann", "")


def test_what_broke_before_names_whose_it_was() -> None:
    log = busy_log()
    broken = [event for event in log.events if isinstance(event.body, RunFailed | RunCancelled)][:2]
    for event in broken:
        (note,) = [
            e
            for e in HistorySpan([event], event.seq, event.seq).log.entries
            if isinstance(e, NoticeEntry)
        ]
        assert event.by in note.text


def test_thread_needs_its_outcome_in_span() -> None:
    log = RoomLog()
    said = log.say("ann", "one", handler="ann")
    decided = log.add(DecisionMade(said.seq, "ignore", "chat"), "ann")
    whole = HistorySpan([said, decided], 1, 2).thread(said.seq)
    assert whole is not None
    assert whole.phase is Phase.IGNORED
    assert HistorySpan([said], 1, 1).thread(said.seq) is None
    assert HistorySpan([said], 1, 1).thread(7) is None


def test_a_hole_in_the_log_is_survived() -> None:
    log = busy_log()
    events = [event for event in log.events if event.seq % 3]
    assert texts(HistorySpan(events, events[0].seq, events[-1].seq))


def test_recovered_messages_count() -> None:
    said = Event(40, 1.0, "ann", MessagePosted("x", "then"))
    assert count_messages([Event(1, 2.0, "bob", RecoveredEvent(said))]) == 1
    assert (
        count_messages(
            [Event(1, 2.0, "bob", RecoveredEvent(Event(41, 1.0, "ann", MemberLeft("x"))))]
        )
        == 0
    )


def test_files_are_found_by_message_and_digest() -> None:
    log = RoomLog()
    log.say("bob", "before")
    log.add(MessagePosted("1", "look", files=(FileRef("digest", "a.pdf", 7),)), "ann")
    span = HistorySpan(log.events, 1, 2)
    assert span.log.indices_of_file("digest") == [span.log.index_of(2)]
    assert span.log.index_of(3) is None


def pages(count: int) -> list[list[Event]]:
    log = RoomLog()
    for number in range(count * PAGE):
        log.say("ann", str(number))
    return [log.events[start : start + PAGE] for start in range(0, count * PAGE, PAGE)]


def test_reading_back_lets_go_of_the_latest() -> None:
    read = pages(5)
    span = HistorySpan(read[4], 4 * PAGE + 1, 5 * PAGE, 4 * PAGE)
    for page in reversed(read[:4]):
        span = span.with_front(page, page[0].seq)
        assert span.messages <= MOST
    assert (span.first, span.last, span.before) == (1, MOST, 0)
    assert texts(span) == [str(number) for number in range(MOST)]


def test_reading_on_lets_go_of_the_earliest() -> None:
    read = pages(5)
    span = HistorySpan(read[0], 1, PAGE)
    for page in read[1:]:
        span = span.with_back(page, page[-1].seq)
        assert span.messages <= MOST
    assert (span.first, span.last) == (5 * PAGE - MOST + 1, 5 * PAGE)
    assert span.before == 5 * PAGE - MOST
    assert texts(span)[-1] == str(5 * PAGE - 1)


def test_it_stays_unknown_how_many_are_before() -> None:
    read = pages(3)
    span = HistorySpan(read[1], PAGE + 1, 2 * PAGE)
    assert span.with_back(read[2], 3 * PAGE).before is None
    assert span.with_front(read[0], 1).before == 0


SINCE = 10 * PAGE + 1


def log(count: int = 10 * PAGE) -> list[Event]:
    told = RoomLog()
    for number in range(count):
        told.say("ann", str(number))
    return told.events


EVENTS = log()


def read(
    request: PageRequest | None, span: HistorySpan | None = None, since: int = SINCE
) -> HistorySpan:
    """Read from a log in which each event is a message."""
    assert request is not None
    assert request.before <= since
    found = EVENTS[max(0, request.before - 1 - request.most) : request.before - 1]
    return with_page(request, span, found, since, since - 1)


def extent(span: HistorySpan) -> tuple[int, int, int | None]:
    return span.first, span.last, span.before


def test_page_before_live_comes_first() -> None:
    span = read(page_request(PageEdge.LIVE, SINCE, None))
    assert extent(span) == (SINCE - PAGE, SINCE - 1, SINCE - 1 - PAGE)


def test_reading_back_extends_front() -> None:
    span = read(page_request(PageEdge.LIVE, SINCE, None))
    span = read(page_request(PageEdge.FRONT, SINCE, span), span)
    assert extent(span) == (SINCE - 2 * PAGE, SINCE - 1, SINCE - 1 - 2 * PAGE)


def test_reading_on_ends_at_live_part() -> None:
    span = read(page_request(PageEdge.START, SINCE, None))
    assert extent(span) == (1, PAGE, 0)
    span = read(page_request(PageEdge.BACK, SINCE, span), span)
    assert extent(span) == (1, 2 * PAGE, 0)
    near = 2 * PAGE + 11
    span = read(page_request(PageEdge.BACK, near, span), span, near)
    assert extent(span) == (1, near - 1, 0)
    assert page_request(PageEdge.BACK, near, span) is None


@pytest.mark.parametrize("seq", [1, 2, PAGE, 1_234, SINCE - 2, SINCE - 1])
def test_an_event_is_read_with_what_is_around_it(seq: int) -> None:
    span = read(page_request(PageEdge.AT, SINCE, None, seq))
    assert span.first <= seq <= span.last
    assert span.last - span.first < PAGE


def test_nothing_is_wanted_where_nothing_is() -> None:
    span = read(page_request(PageEdge.START, SINCE, None))
    assert page_request(PageEdge.FRONT, SINCE, span) is None
    assert page_request(PageEdge.LIVE, 1, None) is None
    assert page_request(PageEdge.START, 1, None) is None


def test_truncated_log_has_lost_past() -> None:
    request = page_request(PageEdge.LIVE, SINCE, None)
    assert request is not None
    span = with_page(request, None, EVENTS[-20:], SINCE, SINCE - 1)
    assert extent(span) == (1, SINCE - 1, SINCE - 1 - 20)


@pytest.mark.parametrize("edge", [PageEdge.LIVE, PageEdge.START, PageEdge.AT])
def test_an_empty_log_has_lost_all(edge: PageEdge) -> None:
    request = page_request(edge, SINCE, None, 300)
    assert request is not None
    assert extent(with_page(request, None, [], SINCE, 99)) == (1, SINCE - 1, 99)


def kinds(events: list[Event]) -> list[str]:
    return [type(event.body).__name__ for event in events]


def test_state_yields_messages_and_outcomes() -> None:
    log = RoomLog()
    log.add(MemberJoined("host", engine=True), "ann")
    asked = log.ask("ann", "q?")
    log.say("bob", "meanwhile")
    log.answer(asked, "a!")
    broken = log.say("ann", "again", handler="ann")
    log.add(RunFailed(broken.seq, "agent", "boom"), "ann")
    stopped = log.ask("ann", "more")
    log.add(RunCancelled(stopped.seq), "ann")
    assert kinds(known_events(log.state)) == kinds(log.events[1:])


def test_tool_calls_are_told_with_how_they_ended() -> None:
    log = RoomLog()
    asked = log.ask("ann", "q?")
    log.add(ApprovalRequested(asked.seq, "a", "genie", "run", {"n": 1}), "ann")
    log.add(ApprovalResolved(asked.seq, "a", "denied", "no"), "ann")
    log.add(ApprovalRequested(asked.seq, "b", "genie", "run", {}), "ann")
    events = known_events(log.state)
    assert kinds(events) == [
        "MessagePosted",
        "DecisionMade",
        "ApprovalRequested",
        "ApprovalResolved",
        "ApprovalRequested",
    ]
    assert [event.body for event in events[2:]] == [event.body for event in log.events[2:]]


def test_what_follows_is_not_told_twice() -> None:
    log = RoomLog()
    asked = log.ask("ann", "q?")
    log.say("bob", "meanwhile")
    log.add(ApprovalRequested(asked.seq, "a", "genie", "run", {}), "ann")
    log.add(ApprovalResolved(asked.seq, "a", "approved"), "ann")
    log.answer(asked, "a!")
    for cut in range(1, len(log.events)):
        assert kinds(known_events(log.state, log.events[cut:])) == kinds(log.events[:cut])


def test_backward_clock_keeps_order() -> None:
    log = RoomLog()
    first = log.say("ann", "one", handler="ann")
    log.add(DecisionMade(first.seq, "ignore", "chat"), "ann")
    log.say("bob", "two", after=-5_000)
    log.say("bob", "three", after=2)
    said = [
        event.body.text
        for event in known_events(log.state)
        if isinstance(event.body, MessagePosted)
    ]
    assert said == ["one", "two", "three"]


def test_events_at_one_moment_stay_in_order() -> None:
    log = RoomLog()
    asked = log.say("ann", "q?", handler="ann", after=0)
    log.add(DecisionMade(asked.seq, "delegate"), "ann", after=0)
    log.add(ApprovalRequested(asked.seq, "a", "genie", "run", {}), "ann", after=0)
    log.add(ApprovalResolved(asked.seq, "a", "approved"), "ann", after=0)
    log.add(AnswerPosted(asked.seq, "done"), "ann", after=0)
    assert kinds(known_events(log.state)) == kinds(log.events)


def test_forgotten_leftovers_are_skipped() -> None:
    log = RoomLog()
    waiting = log.ask("ann", "q?")
    for number in range(2 * WINDOW):
        log.say("bob", str(number))
    assert waiting.seq in log.state.threads
    assert log.state.floor > waiting.seq
    assert all(event.seq > log.state.floor for event in known_events(log.state))


def test_only_the_latest_can_be_asked_for() -> None:
    log = RoomLog()
    for number in range(10):
        log.say("bob", str(number))
    assert known_events(log.state, most=3) == log.events[-3:]
    assert known_events(log.state, log.events[6:], 3) == log.events[3:6]
    assert known_events(log.state, most=30) == log.events


def test_an_empty_state_tells_nothing() -> None:
    assert known_events(RoomState()) == []


def test_agent_joined_before_span_is_marked() -> None:
    log = RoomLog()
    log.add(MemberJoined("guest", kind="agent"), "bot")
    said = log.say("bot", "hello")
    late = HistorySpan(log.events[1:], 2, 2, agents=frozenset({"bot"}))
    for span in (late, late.with_front(log.events[:1], 1)):
        thread = span.thread(said.seq)
        assert thread is not None
        assert thread.by_agent
        (entry,) = [each for each in span.log.entries if isinstance(each, MessageEntry)]
        assert entry.by_agent
