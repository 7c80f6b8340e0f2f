from tests.genie_tui.widgets.room_log import RoomLog

from genie_core.room.protocol.events import HostStarted, RoomCreated
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.snapshot import encode_state
from genie_tui.replay.ladder import Ladder


def climbed(ladder: Ladder, messages: int) -> RoomLog:
    log = RoomLog()
    log.add(RoomCreated("r1", "Garden"))
    log.add(HostStarted("ann"))
    for number in range(messages):
        log.say("ann", f"word {number}")
        ladder.offer(log.state)
    return log


def replayed(log: RoomLog, upto: int) -> RoomState:
    state = RoomState()
    for event in log.events[:upto]:
        state.apply(event)
    return state


def test_the_state_below_is_the_one_that_was() -> None:
    ladder = Ladder(spacing=10)
    log = climbed(ladder, 50)
    for seq in (0, 9, 10, 19, 37, 52):
        state = ladder.below(seq)
        assert state.head == seq // 10 * 10
        assert encode_state(state) == encode_state(replayed(log, state.head))


def test_what_is_taken_from_it_is_ones_own() -> None:
    ladder = Ladder(spacing=10)
    climbed(ladder, 20)
    ladder.below(15).title = "changed"
    assert ladder.below(15).title == "Garden"


def test_a_long_log_gets_rungs_further_apart_and_no_more_of_them() -> None:
    ladder = Ladder(spacing=2, most=8)
    log = climbed(ladder, 400)
    assert len(ladder) <= 8
    state = ladder.below(399)
    assert 399 - state.head <= 150
    assert encode_state(state) == encode_state(replayed(log, state.head))
