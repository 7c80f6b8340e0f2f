from tests.genie_tui.widgets.room_log import RoomLog

from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    FileRef,
    MemberLeft,
    MessagePosted,
    RecoveredEvent,
    RunCancelled,
    RunFailed,
)
from genie_core.room.state.thread import Phase
from genie_tui.widgets.entry import Note, Reply, Speech
from genie_tui.widgets.past_stretch import MOST, PAGE, Stretch, count_messages


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


def texts(stretch: Stretch) -> list[str]:
    return [entry.text for entry in stretch.entries if isinstance(entry, Speech)]


def test_any_part_of_a_log_can_be_shown() -> None:
    log = busy_log()
    for first in range(len(log.events)):
        for last in range(first + 1, len(log.events) + 1):
            events = log.events[first:last]
            stretch = Stretch(events, events[0].seq, events[-1].seq)
            assert stretch.messages == sum(
                isinstance(event.body, MessagePosted) for event in events
            )
            assert len(stretch.entries) == len(stretch.seqs)
            assert stretch.seqs == sorted(stretch.seqs)


def test_an_answer_to_what_was_said_before_is_shown_all_the_same() -> None:
    log = busy_log()
    (at,) = [at for at, event in enumerate(log.events) if isinstance(event.body, AnswerPosted)][:1]
    stretch = Stretch(log.events[at : at + 1], at + 1, at + 1)
    (reply,) = [entry for entry in stretch.entries if isinstance(entry, Reply)]
    assert (reply.text, reply.receiver, reply.owner, reply.quote) == ("done", "ann", "", "")


def test_what_broke_before_names_whose_it_was() -> None:
    log = busy_log()
    broken = [event for event in log.events if isinstance(event.body, RunFailed | RunCancelled)][:2]
    for event in broken:
        (note,) = [e for e in Stretch([event], event.seq, event.seq).entries if isinstance(e, Note)]
        assert event.by in note.text


def test_what_came_of_a_message_is_told_if_it_is_known() -> None:
    log = RoomLog()
    said = log.say("ann", "one", handler="ann")
    decided = log.add(DecisionMade(said.seq, "ignore", "chat"), "ann")
    whole = Stretch([said, decided], 1, 2).exchange(said.seq)
    assert whole is not None
    assert whole.phase is Phase.IGNORED
    assert Stretch([said], 1, 1).exchange(said.seq) is None
    assert Stretch([said], 1, 1).exchange(7) is None


def test_a_hole_in_the_log_is_survived() -> None:
    log = busy_log()
    events = [event for event in log.events if event.seq % 3]
    assert texts(Stretch(events, events[0].seq, events[-1].seq))


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
    stretch = Stretch(log.events, 1, 2)
    assert stretch.places_of("digest") == [stretch.place(2)]
    assert stretch.place(3) is None


def pages(count: int) -> list[list[Event]]:
    log = RoomLog()
    for number in range(count * PAGE):
        log.say("ann", str(number))
    return [log.events[start : start + PAGE] for start in range(0, count * PAGE, PAGE)]


def test_reading_back_lets_go_of_the_latest() -> None:
    read = pages(5)
    stretch = Stretch(read[4], 4 * PAGE + 1, 5 * PAGE, 4 * PAGE)
    for page in reversed(read[:4]):
        stretch = stretch.with_front(page, page[0].seq)
        assert stretch.messages <= MOST
    assert (stretch.first, stretch.last, stretch.before) == (1, MOST, 0)
    assert texts(stretch) == [str(number) for number in range(MOST)]


def test_reading_on_lets_go_of_the_earliest() -> None:
    read = pages(5)
    stretch = Stretch(read[0], 1, PAGE)
    for page in read[1:]:
        stretch = stretch.with_back(page, page[-1].seq)
        assert stretch.messages <= MOST
    assert (stretch.first, stretch.last) == (5 * PAGE - MOST + 1, 5 * PAGE)
    assert stretch.before == 5 * PAGE - MOST
    assert texts(stretch)[-1] == str(5 * PAGE - 1)


def test_it_stays_unknown_how_many_are_before() -> None:
    read = pages(3)
    stretch = Stretch(read[1], PAGE + 1, 2 * PAGE)
    assert stretch.with_back(read[2], 3 * PAGE).before is None
    assert stretch.with_front(read[0], 1).before == 0
