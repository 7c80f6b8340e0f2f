import pytest

from genie_core.room.state.thread import ToolApproval
from genie_tui.widgets.approvals.queue import CardQueue


def request(name: str) -> ToolApproval:
    return ToolApproval(name, 1, "ann", "genie", "tool", {}, "", 1, 0.0)


def queue(*names: str) -> CardQueue:
    made = CardQueue()
    made.update([request(name) for name in names])
    return made


def viewed(made: CardQueue) -> str | None:
    return made.current.id if made.current is not None else None


def test_is_empty_at_first() -> None:
    made = CardQueue()
    assert (made.current, made.position, len(made)) == (None, 0, 0)
    made.step(1)
    assert made.current is None


def test_new_ones_do_not_move_the_view() -> None:
    made = queue("b")
    made.update([request("a"), request("b"), request("c")])
    assert (viewed(made), made.position, len(made)) == ("b", 2, 3)


def test_next_replaces_removed() -> None:
    made = queue("a", "b", "c")
    made.step(1)
    made.update([request("a"), request("c")])
    assert viewed(made) == "c"


def test_last_yields_to_previous() -> None:
    made = queue("a", "b")
    made.step(1)
    made.update([request("a")])
    assert viewed(made) == "a"


@pytest.mark.parametrize(("by", "expected"), [(1, "b"), (-1, "c"), (3, "a")])
def test_steps_around_the_ends(by: int, expected: str) -> None:
    made = queue("a", "b", "c")
    made.step(by)
    assert viewed(made) == expected


def test_answered_leaves_before_room_says() -> None:
    made = queue("a", "b")
    made.answered("a")
    assert viewed(made) == "b"
    made.update([request("a"), request("b")])
    assert len(made) == 1


def test_recurring_request_returns() -> None:
    made = queue("a")
    made.answered("a")
    made.update([])
    made.update([request("a")])
    assert viewed(made) == "a"


def test_oldest_is_the_first() -> None:
    made = queue("a", "b", "c")
    made.step(2)
    made.oldest()
    assert viewed(made) == "a"
