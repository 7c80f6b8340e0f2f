from tests.genie_tui.widgets.room_log import RoomLog

from genie_core.room.protocol.events import HostStarted, RoomCreated
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.snapshot import encode_state
from genie_core.sessions.log.snapshots import Snapshots


def climbed(snapshots: Snapshots, messages: int) -> RoomLog:
    log = RoomLog()
    log.add(RoomCreated("r1", "Garden"))
    log.add(HostStarted("ann"))
    for number in range(messages):
        log.say("ann", f"word {number}")
        snapshots.add(log.state)
    return log


def replayed(log: RoomLog, upto: int) -> RoomState:
    state = RoomState()
    for event in log.events[:upto]:
        state.apply(event)
    return state


def test_the_state_below_is_the_one_that_was() -> None:
    snapshots = Snapshots(spacing=10)
    log = climbed(snapshots, 50)
    for seq in (0, 9, 10, 19, 37, 52):
        state = snapshots.before(seq)
        assert state.head == seq // 10 * 10
        assert encode_state(state, entries=False) == encode_state(
            replayed(log, state.head), entries=False
        )


def test_what_is_taken_from_it_is_ones_own() -> None:
    snapshots = Snapshots(spacing=10)
    climbed(snapshots, 20)
    snapshots.before(15).title = "changed"
    assert snapshots.before(15).title == "Garden"


def test_long_log_spreads_its_snapshots() -> None:
    snapshots = Snapshots(spacing=2, most=8)
    log = climbed(snapshots, 400)
    assert len(snapshots) <= 8
    state = snapshots.before(399)
    assert 399 - state.head <= 150
    assert encode_state(state, entries=False) == encode_state(
        replayed(log, state.head), entries=False
    )
