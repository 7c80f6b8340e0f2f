from msgspec.structs import replace
from tests.genie_tui.widgets.room_log import RoomLog

from genie_core.room.protocol.events import (
    AnswerPosted,
    DecisionMade,
    Event,
    MessagePosted,
    RecoveredEvent,
    RunCancelled,
    RunFailed,
)
from genie_core.room.state.thread import MessageThread
from genie_tui.widgets.silence import RECOVERED, STOPPED, UNDECIDED, UNHANDLED, why_silent


def exchange(log: RoomLog, said: Event) -> MessageThread:
    return log.state.exchanges[said.seq]


def test_the_reason_for_silence_is_told_in_full() -> None:
    log = RoomLog()
    said = log.say("ann", "thanks", handler="ann")
    log.add(
        DecisionMade(said.seq, "ignore", reason="thanks \x1b[31mneed no answer", elapsed=0.5), "ann"
    )
    text = why_silent(exchange(log, said))
    assert "agent of ann decided within 0.5 s to stay silent" in text
    assert "need no answer" in text
    assert "\x1b" not in text


def test_it_tells_also_of_what_was_acted_on() -> None:
    log = RoomLog()
    said = log.say("ann", "look it up", handler="ann")
    log.add(DecisionMade(said.seq, "delegate", query="look up the tide"), "ann")
    text = why_silent(exchange(log, said))
    assert "to act on this message" in text
    assert "look up the tide" in text
    assert "no reason" in text


def test_it_says_if_nothing_was_decided() -> None:
    log = RoomLog()
    nobody = log.say("ann", "hello?")
    later = log.say("ann", "and now?", handler="ann")
    broken = log.say("ann", "what?", handler="ann")
    log.add(RunFailed(broken.seq, "reasoner", "the model is away"), "ann")
    assert why_silent(exchange(log, nobody)) == UNHANDLED
    assert why_silent(exchange(log, later)) == UNDECIDED
    assert why_silent(exchange(log, broken)).endswith("could not decide: the model is away")
    stopped = log.say("ann", "stop", handler="ann")
    log.add(RunCancelled(stopped.seq), "ann")
    assert why_silent(exchange(log, stopped)) == STOPPED


def test_of_what_was_recovered_no_decision_is_made_up() -> None:
    log = RoomLog()
    early = Event(7, 1.0, "cleo", MessagePosted("c-1", "early", handler="cleo"))
    recovered = log.add(RecoveredEvent(early), "bob")
    assert why_silent(exchange(log, recovered)) == RECOVERED.format("bob")
    log.add(RecoveredEvent(Event(8, 2.0, "cleo", AnswerPosted(7, "yes"))), "bob")
    assert why_silent(exchange(log, recovered)) == RECOVERED.format("bob")


def test_it_says_why_no_answer_came_of_what_was_acted_on() -> None:
    log = RoomLog()
    lost, stopped = (log.say("ann", text, handler="ann") for text in ("one", "two"))
    for said, end in (
        (lost, RunFailed(2, "agent", "it broke \x1b[1m")),
        (stopped, RunCancelled(3)),
    ):
        log.add(DecisionMade(said.seq, "delegate", query="go"), "ann")
        log.add(replace(end, message=said.seq), "ann")
    assert why_silent(exchange(log, lost)).endswith("No answer came: it broke ␛[1m\n")
    assert why_silent(exchange(log, stopped)).endswith("as the work on it was stopped.\n")
    begun = log.ask("ann", "three")
    log.add(RunCancelled(begun.seq, text="Once"), "ann")
    assert "The answer is incomplete, as the work" in why_silent(exchange(log, begun))
