"""How a person goes on in a room when their seat in it has ended by itself."""

from collections.abc import Sequence
from dataclasses import replace

from genie_core.errors import GenieError
from genie_core.room.protocol.errors import OtherHost
from genie_core.room.seat import Going, Parting, Seat
from genie_tui.opening import JoinRoom, Opening, OtherWay, Question, RejoinRoom, ResumeRoom


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


def question_after(error: GenieError, opening: Opening) -> Question | None:
    """Return the question for a person who can't enter as they wanted; None without a choice."""
    if isinstance(error, OtherWay):
        return error.question
    if isinstance(error, OtherHost) and isinstance(opening, JoinRoom):
        text = (
            f"You already have a copy of the room “{error.title}” with this id, hosted by "
            f"{error.host}. This invite leads to another host, which your copy does not know: it may "
            "be another room that only claims to be that one.\n\nNothing of your copy was sent. "
            "If you go on, the room gets a folder of its own, and your copy stays as it is."
        )
        separate = replace(opening, separate=True)
        return Question("Open it as a separate room?", text, "open it separately", separate)
    return None


def rivals_line(others: Sequence[str], *, hosts: bool) -> str:
    """Tell a person that others host their room, too; `hosts` says that they do."""
    if not others:
        return ""
    names = " and ".join(others)
    verb = "hosts" if len(others) == 1 else "host"
    if hosts:
        return (
            f"{names} {verb} this room, too: people see only what is said at their own host. Leave "
            "with ctrl+q and join the other one from the lobby; what only your log has is brought "
            "to it."
        )
    return (
        f"{names} {verb} this room, too: what is said there is not seen here until one of the "
        "hosts joins the other."
    )
