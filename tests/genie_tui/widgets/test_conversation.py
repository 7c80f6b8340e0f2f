from tests.genie_tui.widgets.room_log import START, RoomLog

from genie_core.room.event import Cancelled, Decided, Joined, Opened
from genie_core.room.seat import Unsent
from genie_tui.widgets.conversation import Conversation
from genie_tui.widgets.entry import Entry, Note, Reply, Speech, Waiting


def shown(talk: Conversation) -> list[Entry]:
    return [talk[index] for index in range(len(talk))]


def texts(talk: Conversation) -> list[str]:
    return [entry.text for entry in shown(talk) if isinstance(entry, Speech | Reply | Waiting)]


def test_it_begins_with_what_the_state_holds() -> None:
    log = RoomLog()
    log.answer(log.ask("ann", "q"), "a")
    assert texts(Conversation(log.state, "ann")) == ["q", "a"]


def test_events_that_are_shown_already_are_skipped() -> None:
    log = RoomLog()
    log.add(Opened("r", "Garden"))
    first = log.say("ann", "one")
    talk = Conversation(log.state, "ann")
    second = log.say("ann", "two")
    talk.add([first, second, second])
    assert texts(talk) == ["one", "two"]


def test_a_whole_log_replaces_what_the_state_told() -> None:
    log = RoomLog()
    log.add(Opened("r", "Garden"))
    log.add(Joined("host"), "ann")
    log.say("ann", "one")
    talk = Conversation(log.state, "ann")
    assert not any(isinstance(entry, Note) for entry in shown(talk))
    first, _ = talk.add(log.events)
    assert first == 0
    assert [type(entry).__name__ for entry in shown(talk)] == ["Day", "Note", "Note", "Speech"]


def test_an_event_names_the_message_that_looks_different() -> None:
    log = RoomLog()
    talk = Conversation(log.state, "ann")
    said = log.say("ann", "one", handler="ann")
    talk.add([said])
    before = len(talk)
    first, touched = talk.add([log.add(Decided(said.seq, "ignore", "no"), "ann")])
    assert first == before == len(talk)
    assert [talk[index] for index in touched] == [talk[before - 1]]


def test_an_answer_grows_at_the_end_until_it_is_there() -> None:
    log = RoomLog()
    asked = log.ask("ann", "q")
    talk = Conversation(log.state, "ann")
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
    talk = Conversation(log.state, "ann")
    talk.stream(asked.seq, "Hel")
    talk.add([log.add(Cancelled(asked.seq), "ann")])
    assert texts(talk) == ["q"]
    assert not talk.stream(asked.seq, "lo")


def test_text_for_an_unknown_message_is_dropped() -> None:
    assert not Conversation(RoomLog().state, "ann").stream(7, "ghost")


def test_unsent_messages_come_last_and_new_ones_are_noticed() -> None:
    log = RoomLog()
    talk = Conversation(log.state, "ann")
    one, two = (Unsent(name, name, emote=False, at=START) for name in ("one", "two"))
    assert talk.set_unsent((one, two))
    assert not talk.set_unsent((two,))
    talk.add([log.say("bob", "hi")])
    assert texts(talk) == ["hi", "two"]
    last = talk[len(talk) - 1]
    assert isinstance(last, Waiting)
    assert last.author == "ann"


def test_news_is_what_others_say() -> None:
    log = RoomLog()
    asked = log.ask("ann", "q")
    log.say("bob", "hi")
    log.answer(asked, "a")
    talk = Conversation(log.state, "ann")
    assert [talk.is_news(entry) for entry in shown(talk)] == [False, False, True, True]
