"""What happened in a room, as passages."""

import pytest
from tests.genie_tui.widgets.room_log import START, RoomLog

from genie_core.room.protocol.events import (
    AnswerPosted,
    AnyBody,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    EngineChanged,
    Event,
    HostStarted,
    MemberJoined,
    MemberLeft,
    MessagePosted,
    RecoveredEvent,
    RoomCreated,
    RunCancelled,
    RunFailed,
    UnreadableEvent,
)
from genie_core.room.state.room_state import WINDOW
from genie_core.room.view.entries import AnswerEntry, MessageEntry
from genie_core.room.view.wording import CUT, CUT_MARK
from genie_core.sessions.export.story import Passage, story
from genie_tui.cli.plain.log import lines


def told(log: RoomLog, first: int = 1) -> list[str]:
    return [line_of(passage) for passage in story(log.events, first)]


def line_of(passage: Passage) -> str:
    return " ".join(passage.line) if passage.line else ""


def last(*bodies: tuple[str, AnyBody]) -> str:
    """How the last event reads in a room in which ann's message 2 is worked on."""
    log = RoomLog()
    log.add(RoomCreated("r1", "Standup"))
    log.say("ann", "what is 17*23?", handler="ann")
    for by, body in bodies:
        log.add(body, by)
    return told(log)[-1]


ASKED = (
    "ann",
    ApprovalRequested(2, "a1", "system/search", "rm", {"path": "notes.txt", "force": True}),
)
TAKEN_UP = ("ann", DecisionMade(2, "delegate", query="what is 17*23?", receiver="bob"))


def test_decisions_say_whose_agent_and_why() -> None:
    assert (
        last(("ann", DecisionMade(2, "ignore", "small talk")))
        == "○ genie stayed silent: small talk"
    )
    assert last(("ann", DecisionMade(2, "ignore"))).endswith("no reason given")
    assert last(TAKEN_UP) == "● genie answers bob: what is 17*23?"


def test_approvals_name_their_outcome() -> None:
    assert last(TAKEN_UP, ASKED) == "▲ genie › search asks for rm: path notes.txt, force true"
    settled = [
        (ApprovalResolved(2, "a1", "approved"), "✓ allowed rm by ann"),
        (ApprovalResolved(2, "a1", "approved", how="rule"), "✓ allowed rm by rule"),
        (
            ApprovalResolved(2, "a1", "approved", scope="times", count=5),
            "✓ allowed rm 5 times by ann",
        ),
        (ApprovalResolved(2, "a1", "denied", "not that one"), "✗ denied rm by ann: not that one"),
        (ApprovalResolved(2, "a1", "parked"), "‖ parked rm"),
        (ApprovalResolved(2, "a1", "expired", "time is up"), "… unanswered rm: time is up"),
    ]
    for body, text in settled:
        assert last(TAKEN_UP, ASKED, ("ann", body)) == text


def test_call_lists_only_given_arguments() -> None:
    given = {"path": "a b", "content": "", "seconds": None, "shell": False, "more": ["ä", 1]}
    asked = ("ann", ApprovalRequested(2, "a1", "system", "write", given))
    assert last(TAKEN_UP, asked).endswith('write: path a b, content "", shell false, more ["ä", 1]')
    nothing = ("ann", ApprovalRequested(2, "a1", "system", "look", {"seconds": None}))
    assert last(TAKEN_UP, nothing).endswith("look: no arguments")


def test_withheld_arguments_stay_withheld() -> None:
    asked = ApprovalRequested(2, "a1", "system", "pay", {}, withheld=True)
    assert last(TAKEN_UP, ("ann", asked)).endswith("what it is called with is the host's alone")


def test_ends_say_how() -> None:
    failed = RunFailed(2, "factory", "no such model")
    assert last(("ann", failed)) == "✗ genie could not answer ann: set-up failed: no such model"
    stopped = ("ann", RunCancelled(2, "stopped by ann"))
    assert last(TAKEN_UP, stopped) == "■ genie's work for ann was stopped by ann"


@pytest.mark.parametrize(
    ("end", "line"),
    [
        (AnswerPosted(2, "Once", cut=True), f"{CUT_MARK} {CUT}"),
        (
            RunFailed(2, "agent", "cut off", text="Once"),
            "✗ incomplete: genie could not answer ann: cut off",
        ),
        (
            RunCancelled(2, "stopped by ann", text="Once"),
            "■ incomplete: genie's work for ann was stopped by ann",
        ),
    ],
)
def test_partial_answer_comes_with_its_end(end: AnyBody, line: str) -> None:
    log = RoomLog()
    log.add(RoomCreated("r", "Room"))
    log.ask("ann", "tell")
    log.add(end, "ann")
    *_, passage = story(log.events)
    assert isinstance(passage.entry, AnswerEntry)
    assert (passage.entry.text, line_of(passage)) == ("Once", line)
    assert "\n".join(text for _, text in lines(log.events)).endswith(f"[{line[2:]}]")


def test_arrivals_and_host_changes_show() -> None:
    log = RoomLog()
    log.add(RoomCreated("r1", "Standup"))
    log.add(HostStarted("ann"))
    log.add(MemberJoined("host", device="a"), "ann")
    log.add(MemberJoined("host", device="b"), "ann")
    log.add(MemberLeft("ann", device="a"))
    log.add(EngineChanged(""), "ann")
    log.add(HostStarted("bob"))
    assert told(log)[2:] == [
        "→ ann joined",
        "→ ann joined at another terminal",
        "← ann left one terminal",
        "◇ bob hosts now",
    ]


def test_recovered_entries_name_member() -> None:
    log = RoomLog()
    log.add(RoomCreated("r1", "Standup"))
    said = Event(7, START - 50, "bob", MessagePosted("b1", "before", handler="bob"))
    answer = Event(8, START - 49, "bob", AnswerPosted(7, "an answer"))
    log.add(RecoveredEvent(said), "cleo")
    log.add(RecoveredEvent(answer), "cleo")
    _opened, first, second = story(log.events)
    assert isinstance(first.entry, MessageEntry)
    assert isinstance(second.entry, AnswerEntry)
    assert (first.original, first.entry.caveat) == (said, "recovered from cleo's copy")
    assert first.thread is second.thread is not None
    assert (second.original, second.entry.receiver) == (answer, "bob")


def test_what_is_not_understood_is_shown_as_such() -> None:
    log = RoomLog()
    log.add(RoomCreated("r1", "Standup"))
    log.add(UnreadableEvent("this version does not know events like 'danced'"))
    assert told(log)[-1] == (
        "⚠ entry 2 can't be read: this version does not know events like 'danced'"
    )


def test_contradicting_event_is_left_out() -> None:
    events = [
        Event(1, START, "", RoomCreated("r1", "Standup")),
        Event(2, START, "ann", AnswerPosted(99, "to nothing")),
        Event(3, START, "ann", MessagePosted("m", "goes on")),
    ]
    passages = list(story(events))
    assert [line_of(passage) for passage in passages][1].startswith("⚠ entry 2 is left out")
    assert isinstance(passages[2].original.body, MessagePosted)


def test_story_can_begin_late() -> None:
    log = RoomLog()
    log.add(RoomCreated("r1", "Standup"))
    log.say("ann", "what is 17*23?", handler="ann")
    log.add(DecisionMade(2, "delegate"), "ann")
    log.add(ASKED[1], "ann")
    log.add(ApprovalResolved(2, "a1", "approved"), "ann")
    log.add(AnswerPosted(2, "391"), "ann")
    assert told(log, first=5) == ["✓ allowed rm by ann", ""]
    late = list(story(log.events[4:]))
    assert [line_of(passage) for passage in late] == ["✓ allowed a tool call by ann", ""]


def test_what_people_wrote_never_breaks_a_line() -> None:
    text = last(("ann", DecisionMade(2, "ignore", "two\nlines\x1b[31m\u202e")))
    assert text == "○ genie stayed silent: two lines␛[31m⟨U+202E⟩"


def test_old_messages_are_forgotten_on_the_way() -> None:
    def events() -> list[Event]:
        said = [Event(n, START, "ann", MessagePosted(f"m{n}", "x")) for n in range(2, 3 * WINDOW)]
        return [Event(1, START, "", RoomCreated("r1", "Standup")), *said]

    passages = story([*events(), Event(3 * WINDOW, START, "ann", AnswerPosted(2, "late"))])
    *_, answer = passages
    assert answer.thread is None


def test_agent_member_is_marked() -> None:
    log = RoomLog()
    log.add(RoomCreated("r1", "Standup"))
    log.add(MemberJoined("guest", kind="agent"), "bot")
    log.say("bot", "hello")
    log.say("ann", "hello bot")
    assert told(log)[1] == "→ bot joined as an agent"
    _, *texts = [text for _, text in lines(log.events)]
    assert texts[-2].endswith("bot (agent): hello")
