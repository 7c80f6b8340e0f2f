"""How a person goes on in a room when their seat in it has ended by itself."""

from genie_core.room.seat import Going, Parting, Seat
from genie_tui.opening import Opening, RejoinRoom, ResumeRoom


def after_parting(parting: Parting) -> Opening | None:
    """The way on after a seat that ended; None if there is no copy to go on from."""
    if not parting.saved:
        return None
    if parting.going is Going.HOST:
        return ResumeRoom(parting.saved, parting.unsent, handed=True)
    return RejoinRoom(parting.saved, unsent=parting.unsent, patient=True)


def after_handover(seat: Seat) -> Opening:
    """The way on for a host who has left the room to somebody: to join it there."""
    deed = seat.successor
    if deed is None:
        return RejoinRoom(seat.saved, unsent=seat.unsent, patient=True)
    return RejoinRoom(seat.saved, deed.addresses, deed.pin, unsent=seat.unsent, patient=True)


def to_take_over(seat: Seat) -> Opening | None:
    """The way on for somebody who hosts the room from their copy; None if there is none."""
    return ResumeRoom(seat.saved, seat.unsent) if seat.saved else None
