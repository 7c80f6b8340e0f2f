"""Effects of commands about the members of a room and how agents answer them."""

from typing import TYPE_CHECKING

from genie_core.room.commands.outcome import NotDone, Outcome, Result
from genie_core.room.protocol.names import fold_name
from genie_core.room.security.key_words import key_words
from genie_core.room.state.members import Person
from genie_core.room.state.room_state import RoomState
from genie_core.room.view.wording import author_line
from genie_core.text.safe import visible, visible_line

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom


def who(joined: "JoinedRoom", name: str = "") -> Outcome:
    """List the members who are here, or describe one of all."""
    state = joined.state
    if not name:
        return Result("\n".join(_line(state, each) for each in state.present()), "Here")
    wanted = fold_name(name)
    person = next((each for each in state.people.values() if fold_name(each.name) == wanted), None)
    if person is None:
        raise NotDone(never_here(name))
    here = "here" if person.present else "away"
    return Result(f"{_line(state, person)}, {here}, key: {key_words(person.key)}", "Member")


def prefs(joined: "JoinedRoom", name: str = "") -> Outcome:
    """Show how a member wants to be answered, by default this person."""
    who = name or joined.name
    text = joined.state.preferences.get(fold_name(who), "")
    if not text:
        return Result(no_preferences(who))
    return Result(visible(text), f"Preferences of {visible_line(who)}")


def never_here(name: str) -> str:
    return f"{visible_line(name)} has never been in this room."


def no_preferences(name: str) -> str:
    return f"{visible_line(name)} has set no preferences."


def _line(state: RoomState, person: Person) -> str:
    by = author_line(person.name, by_agent=person.is_agent)
    return f"{by} ({state.role_of(person)}{', muted' if person.muted else ''})"
