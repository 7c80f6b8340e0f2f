from tests.genie_tui.widgets.room_log import RoomLog

from genie_core.room.event import Decided, Event, Failed
from genie_core.room.exchange import Exchange
from genie_tui.widgets.silence import UNDECIDED, UNHANDLED, why_silent


def exchange(log: RoomLog, said: Event) -> Exchange:
    return log.state.exchanges[said.seq]


def test_the_reason_for_silence_is_told_in_full() -> None:
    log = RoomLog()
    said = log.say("ann", "thanks", handler="ann")
    log.add(Decided(said.seq, "ignore", reason="thanks \x1b[31mneed no answer", elapsed=0.5), "ann")
    text = why_silent(exchange(log, said))
    assert "agent of ann decided within 0.5 s to stay silent" in text
    assert "need no answer" in text
    assert "\x1b" not in text


def test_it_tells_also_of_what_was_acted_on() -> None:
    log = RoomLog()
    said = log.say("ann", "look it up", handler="ann")
    log.add(Decided(said.seq, "delegate", query="look up the tide"), "ann")
    text = why_silent(exchange(log, said))
    assert "to act on this message" in text
    assert "look up the tide" in text
    assert "no reason" in text


def test_it_says_if_nothing_was_decided() -> None:
    log = RoomLog()
    nobody = log.say("ann", "hello?")
    later = log.say("ann", "and now?", handler="ann")
    broken = log.say("ann", "what?", handler="ann")
    log.add(Failed(broken.seq, "reasoner", "the model is away"), "ann")
    assert why_silent(exchange(log, nobody)) == UNHANDLED
    assert why_silent(exchange(log, later)) == UNDECIDED
    assert why_silent(exchange(log, broken)) == "the model is away"
