"""What a host may do to a room, and who may become its host."""

from typing import TYPE_CHECKING

from genie_core.room.client.model import ConnectionState
from genie_core.room.protocol.names import fold_name
from genie_core.room.state.room_state import RoomState
from genie_tui.order import Moderation, Share

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom

UNCONNECTED = "You are not connected now, so nothing was changed."


def use_authority(seat: "JoinedRoom", order: Moderation | Share) -> str:
    """Ask the room to carry out an order; returns why it can't be, empty if it was asked."""
    if objection := only_host(seat):
        return objection
    match order:
        case Share(on=on):
            asked = seat.hosting.share(on)
        case Moderation():
            asked = seat.hosting.moderate(
                order.measure, order.name, role=order.role, reason=order.reason
            )
    return "" if asked else UNCONNECTED


def only_host(seat: "JoinedRoom") -> str:
    """Why this person has no authority, empty if they have."""
    host = seat.state.host
    if not host or fold_name(seat.name) == fold_name(host):
        return ""
    return f"Only the host may do that, and {host} is hosting."


def cannot_take_over(seat: "JoinedRoom") -> str:
    """Why this person can't host the room from their own copy now, empty if they can."""
    state = seat.state
    if fold_name(seat.name) == fold_name(state.host):
        return "You are the host. /host NAME asks somebody else to host."
    person = state.people.get(seat.name)
    if person is None or person.role not in ("host", "member") or is_banned(state, seat.name):
        return "Only members of the room can host it from their copy."
    if seat.connection.state is ConnectionState.RETRYING or (
        seat.connection.state is ConnectionState.CLOSED and not state.hosting
    ):
        return ""
    return f"{state.host} is hosting. You can take over while they are away."


def is_banned(state: RoomState, name: str) -> bool:
    """Whether somebody may not be in the room any more."""
    return fold_name(name) in state.banned
