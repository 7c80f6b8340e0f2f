from typing import Any

from tests.genie_tui.scripted_seat import ScriptedSeat, until
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Input, Static

from genie_core.room.event import Decided, Event, Failed, Said
from genie_tui.widgets.activity import Activity
from genie_tui.widgets.ledger import LINES, Ledger
from genie_tui.widgets.ledger_log import Filter


class Host(App[None]):
    """Shows only the activity panel."""

    CSS = "Ledger { height: 1fr; }"

    def compose(self) -> ComposeResult:
        yield Activity()


def many(count: int) -> list[Event]:
    """Messages and their decisions, two events each."""
    events = []
    for number in range(count):
        seq = 2 * number + 1
        events.append(Event(seq, seq, "ann", Said(str(seq), f"text {number}", handler="ann")))
        verdict = Decided(seq, "ignore", reason=f"reason {number}")
        events.append(Event(seq + 1, seq + 1, "ann", verdict))
    return events


def lines(ledger: Ledger) -> list[str]:
    """What is in view, without the space at the ends."""
    return [ledger.render_line(y).text.rstrip() for y in range(ledger.size.height)]


async def shown(app: Host, pilot: Pilot[Any], events: list[Event]) -> Ledger:
    ledger = app.query_one(Ledger)
    ledger.apply_many(events)
    await pilot.pause()
    return ledger


async def test_many_rows_cost_no_widgets_and_the_latest_are_in_view() -> None:
    app = Host()
    async with app.run_test() as pilot:
        before = len(app.query("*"))
        ledger = await shown(app, pilot, many(20_000))
        assert len(app.query("*")) == before
        assert ledger.row_count == 20_000
        assert ledger.virtual_size.height == 20_000 * LINES
        await until(pilot, lambda: "reason 19999" in "\n".join(lines(ledger)))


async def test_a_decision_updates_its_row() -> None:
    app = Host()
    async with app.run_test() as pilot:
        said, decided = many(1)
        ledger = await shown(app, pilot, [said])
        assert "deciding" in lines(ledger)[0]
        ledger.apply_many([decided])
        assert "ignored" in lines(ledger)[0]
        assert ledger.row_count == 1


async def test_a_row_that_comes_to_pass_the_filter_appears_in_its_place() -> None:
    app = Host()
    async with app.run_test() as pilot:
        seat = ScriptedSeat()
        seat.open_room()
        first, second = seat.say_here("first"), seat.say_here("second")
        ledger = await shown(app, pilot, seat.events)
        ledger.show_only(Filter.FAILURES, "")
        assert ledger.row_count == 0
        ledger.apply_many(seat.feed(Failed(second, "reasoner", "broke 2")))
        ledger.apply_many(seat.feed(Failed(first, "reasoner", "broke 1")))
        assert ledger.row_count == 2
        text = "\n".join(lines(ledger))
        assert text.index("broke 1") < text.index("broke 2")


async def test_the_selection_stays_on_its_row_while_others_arrive() -> None:
    app = Host()
    async with app.run_test() as pilot:
        events = many(50)
        ledger = await shown(app, pilot, events[:60])
        ledger.focus()
        await pilot.press("home", "down")
        selected = ledger.selected
        ledger.apply_many(events[60:])
        await pilot.pause()
        assert ledger.selected is selected
        assert ledger.scroll_offset.y == 0


async def test_keys_move_the_selection_into_view() -> None:
    app = Host()
    async with app.run_test() as pilot:
        ledger = await shown(app, pilot, many(100))
        ledger.focus()
        for key in ("home", "j", "pagedown", "pagedown", "k", "end", "pageup"):
            await pilot.press(key)
            await pilot.pause()
            assert ledger.cursor is not None
            top = ledger.scroll_offset.y
            assert top <= ledger.cursor * LINES <= top + ledger.size.height - LINES


async def test_keys_in_an_empty_ledger_do_nothing() -> None:
    app = Host()
    async with app.run_test() as pilot:
        ledger = app.query_one(Ledger)
        ledger.focus()
        await pilot.press("up", "down", "home", "end", "pageup", "enter")
        assert ledger.selected is None


async def test_a_text_filter_finds_rows() -> None:
    app = Host()
    async with app.run_test() as pilot:
        ledger = await shown(app, pilot, many(100))
        ledger.focus()
        await pilot.press("slash", *"REASON 42")
        await until(pilot, lambda: ledger.row_count == 1)
        await pilot.press("escape")
        await until(pilot, lambda: ledger.row_count == 100)
        assert app.query_one("#ledger-find", Input).value == ""


async def test_details_follow_the_selection() -> None:
    app = Host()
    async with app.run_test() as pilot:
        ledger = await shown(app, pilot, many(3))
        ledger.focus()
        await pilot.press("home", "enter", "down")
        details = app.query_one("#ledger-detail-text", Static)
        await until(pilot, lambda: "reason 1" in str(details.render()))


async def test_a_click_shows_details() -> None:
    app = Host()
    async with app.run_test() as pilot:
        ledger = await shown(app, pilot, many(3))
        await pilot.click(ledger, offset=(2, 3))
        details = app.query_one("#ledger-detail-text", Static)
        await until(pilot, lambda: "reason 1" in str(details.render()))


async def test_no_line_holds_what_commands_a_terminal() -> None:
    app = Host()
    async with app.run_test() as pilot:
        hostile = "\x1b[2J\u202e[/red]\n\x9b"
        said = Event(1, 1, hostile, Said("1", hostile, handler="ann"))
        failed = Event(2, 2, "ann", Failed(1, "agent", hostile))
        ledger = await shown(app, pilot, [said, failed])
        text = "".join(lines(ledger))
        for forbidden in "\x1b\u202e\x9b\n":
            assert forbidden not in text
        assert "[/red]" in text
