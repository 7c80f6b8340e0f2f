from tests.genie_tui.scripted_seat import ScriptedSeat
from textual.app import App, ComposeResult

from genie_core.room.event import Joined, Left
from genie_tui.widgets.roster import Roster


class Host(App[None]):
    """Shows only the roster."""

    def compose(self) -> ComposeResult:
        yield Roster()


def lines(roster: Roster) -> list[str]:
    return str(roster.render()).splitlines()


async def test_shows_who_is_here_before_who_left() -> None:
    seat = ScriptedSeat()
    seat.open_room()
    seat.feed(Joined("guest"), by="cleo")
    seat.feed(Left("bob"))
    app = Host()
    async with app.run_test():
        roster = app.query_one(Roster)
        roster.bind_state(seat.state, "ann")
        ann, cleo, bob = lines(roster)
        assert "ann" in ann
        assert "host" in ann
        assert "no agent" in cleo
        assert "away" in bob
        assert "bob" not in roster.as_text()


async def test_an_agent_that_works_is_seen_to() -> None:
    seat = ScriptedSeat()
    seat.open_room()
    app = Host()
    async with app.run_test():
        roster = app.query_one(Roster)
        roster.bind_state(seat.state, "ann")
        assert "idle" in lines(roster)[0]
        seat.say_here("hello")
        roster.refresh_people()
        assert "thinking" in lines(roster)[0]
        seat.ask()
        roster.refresh_people()
        assert "waits for approval" in lines(roster)[0]


async def test_names_are_cut_to_their_column_and_never_markup() -> None:
    seat = ScriptedSeat()
    seat.open_room()
    seat.feed(Joined("member"), by="[/red]\x1b")
    seat.feed(Joined("member"), by="n" * 32)
    app = Host()
    async with app.run_test(size=(48, 20)):
        roster = app.query_one(Roster)
        roster.bind_state(seat.state, "ann")
        text = str(roster.render())
        assert "[/red]␛" in text
        assert all(len(line) <= 48 for line in lines(roster))
