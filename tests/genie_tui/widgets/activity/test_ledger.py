"""How a row of the ledger is drawn."""

from typing import Any

from rich.style import Style
from tests.genie_tui.scripted_room import ScriptedJoinedRoom, until
from textual import on
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Input, Static

from genie_core.room.protocol.events import (
    AnswerPosted,
    DecisionMade,
    Event,
    MessagePosted,
    RunFailed,
    Spending,
)
from genie_tui.widgets.activity.ledger import INDENT, LINES, Ledger, RowLook, draw
from genie_tui.widgets.activity.ledger_rows import (
    KEPT_ROWS,
    MOST_ROWS,
    LedgerRow,
    LedgerRows,
    RowFilter,
)
from genie_tui.widgets.activity.panel import ActivityPanel
from genie_tui.widgets.timeline.timeline import DecisionMarkRequested


class Host(App[None]):
    """Shows only the activity panel."""

    CSS = "Ledger { height: 1fr; }"

    def compose(self) -> ComposeResult:
        yield ActivityPanel()


def many(count: int) -> list[Event]:
    """Messages and their decisions, two events each."""
    events = []
    for number in range(count):
        seq = 2 * number + 1
        events.append(
            Event(seq, seq, "ann", MessagePosted(str(seq), f"text {number}", handler="ann"))
        )
        verdict = DecisionMade(seq, "ignore", reason=f"reason {number}")
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
        ledger = await shown(app, pilot, many(MOST_ROWS))
        assert len(app.query("*")) == before
        assert ledger.row_count == MOST_ROWS
        assert ledger.virtual_size.height == MOST_ROWS * LINES
        await until(pilot, lambda: f"reason {MOST_ROWS - 1}" in "\n".join(lines(ledger)))


async def test_old_rows_go_when_there_are_too_many() -> None:
    app = Host()
    async with app.run_test() as pilot:
        events = many(20_000)
        ledger = app.query_one(Ledger)
        for start in range(0, len(events), 500):
            ledger.apply_many(events[start : start + 500])
            assert ledger.row_count <= MOST_ROWS
        await pilot.pause()
        assert ledger.row_count >= KEPT_ROWS
        assert "reason 19999" in "\n".join(lines(ledger))


async def test_the_selected_row_stays_where_it_is_when_old_ones_go() -> None:
    app = Host()
    async with app.run_test() as pilot:
        events = many(MOST_ROWS + 10)
        ledger = await shown(app, pilot, events[: 2 * MOST_ROWS])
        ledger.focus()
        await pilot.press("end", "pageup", "pageup")
        await pilot.pause()
        selected, before = ledger.selected, lines(ledger)
        ledger.apply_many(events[2 * MOST_ROWS :])
        await pilot.pause()
        assert ledger.row_count < MOST_ROWS
        assert ledger.selected is selected
        assert lines(ledger) == before


async def test_a_selected_row_that_goes_leaves_the_oldest_selected() -> None:
    app = Host()
    async with app.run_test() as pilot:
        events = many(MOST_ROWS + 10)
        ledger = await shown(app, pilot, events[: 2 * MOST_ROWS])
        ledger.focus()
        await pilot.press("home")
        ledger.apply_many(events[2 * MOST_ROWS :])
        await pilot.pause()
        assert ledger.cursor == 0
        assert ledger.selected is not None
        assert ledger.scroll_offset.y == 0


async def test_what_a_state_holds_is_shown_until_the_log_tells_it_better() -> None:
    app = Host()
    async with app.run_test() as pilot:
        joined = ScriptedJoinedRoom()
        joined.open_room()
        message = joined.say_here("first")
        joined.feed(DecisionMade(message, "delegate", query="do it"))
        again = joined.say_here("second")
        joined.feed(RunFailed(again, "reasoner", "broke"))
        ledger = app.query_one(Ledger)
        ledger.bind_state(joined.state, "ann")
        await pilot.pause()
        told = lines(ledger)
        assert ledger.row_count == 2
        assert "do it" in "".join(told)
        ledger.apply_many(joined.events[-3:])
        assert lines(ledger) == told
        ledger.apply_many(joined.feed(RunFailed(message, "agent", "too")))
        assert ledger.row_count == 3
        ledger.bind_state(ScriptedJoinedRoom().state, "ann")
        assert ledger.row_count == 0


async def test_events_that_are_shown_already_are_skipped() -> None:
    app = Host()
    async with app.run_test() as pilot:
        events = many(3)
        ledger = await shown(app, pilot, events)
        ledger.apply_many(events[2:])
        assert ledger.row_count == 3
        ledger.apply_many(events)  # another log, from its beginning
        assert ledger.row_count == 3


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
        joined = ScriptedJoinedRoom()
        joined.open_room()
        first, second = joined.say_here("first"), joined.say_here("second")
        ledger = await shown(app, pilot, joined.events)
        ledger.show_only(RowFilter.FAILURES, "")
        assert ledger.row_count == 0
        ledger.apply_many(joined.feed(RunFailed(second, "reasoner", "broke 2")))
        ledger.apply_many(joined.feed(RunFailed(first, "reasoner", "broke 1")))
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
        said = Event(1, 1, hostile, MessagePosted("1", hostile, handler="ann"))
        failed = Event(2, 2, "ann", RunFailed(1, "agent", hostile))
        ledger = await shown(app, pilot, [said, failed])
        text = "".join(lines(ledger))
        for forbidden in "\x1b\u202e\x9b\n":
            assert forbidden not in text
        assert "[/red]" in text


async def test_what_was_decided_again_can_be_marked_as_wrong() -> None:
    wanted: list[DecisionMarkRequested] = []

    class Marking(Host):
        """Takes note of what is to be marked."""

        @on(DecisionMarkRequested)
        def _wanted(self, message: DecisionMarkRequested) -> None:
            wanted.append(message)

    app = Marking()
    async with app.run_test() as pilot:
        said = Event(1, 1, "ann", MessagePosted("1", "count the words", handler="ann"))
        first = Event(2, 2, "ann", DecisionMade(1, "delegate", query="count"))
        again = Event(3, 3, "ann", DecisionMade(1, "delegate", query="count"))
        ledger = await shown(app, pilot, [said, first, again])
        ledger.focus()
        await pilot.press("end", "!")
        await until(pilot, lambda: bool(wanted))
        assert (wanted[0].message, wanted[0].decision) == (1, "delegate")


async def test_it_follows_again_once_it_is_left() -> None:
    class Beside(Host):
        def compose(self) -> ComposeResult:
            yield from super().compose()
            yield Input(id="elsewhere")

    app = Beside()
    async with app.run_test() as pilot:
        events = many(100)
        ledger = await shown(app, pilot, events[:160])
        ledger.focus()
        await pilot.press("home")
        ledger.apply_many(events[160:170])
        await pilot.pause()
        assert ledger.cursor == 0
        assert ledger.scroll_offset.y == 0
        app.query_one("#elsewhere").focus()
        await pilot.pause()
        ledger.apply_many(events[170:])
        await until(pilot, lambda: "reason 99" in "\n".join(lines(ledger)))
        assert ledger.cursor is None


async def test_at_its_end_it_follows_and_past_it_nothing_is_selected() -> None:
    app = Host()
    async with app.run_test() as pilot:
        events = many(100)
        ledger = await shown(app, pilot, events[:100])
        ledger.focus()
        await pilot.press("end")
        ledger.apply_many(events[100:])
        await until(pilot, lambda: "reason 99" in "\n".join(lines(ledger)))
        assert ledger.cursor == 49
        await pilot.press("end", "down")
        assert ledger.cursor is None


SAID = MessagePosted("1", "what is the sum of all that?", handler="ann")


def look(width: int) -> RowLook:
    return RowLook(width, Style(), lambda _: Style())


def drawn(row: LedgerRow, width: int = 60, *, doing: str = "", wrong: bool = False) -> list[str]:
    strips = draw(row, look(width), doing=doing, wrong=wrong)
    assert [strip.cell_length for strip in strips] == [width, width]
    return [strip.text for strip in strips]


def row_of(*bodies: DecisionMade | AnswerPosted) -> LedgerRow:
    """The last row of a log in which ann says something and this comes of it."""
    log = LedgerRows()
    log.apply(Event(1, 1.0, "ann", SAID))
    for number, body in enumerate(bodies, 2):
        log.apply(Event(number, float(number), "ann", body))
    return log.row(log.numbers[-1])


def test_a_decision_tells_why_below_or_who_is_at_what() -> None:
    row = row_of(DecisionMade(1, "ignore", reason="small talk \x1b[2J"))
    first, second = drawn(row)
    assert "ann" in first
    assert second.startswith(" " * INDENT + "small talk")
    assert "\x1b" not in second
    assert drawn(row, doing="calling read_file")[1].strip() == "calling read_file"


def test_what_the_person_thinks_of_a_decision_stands_behind_it() -> None:
    row = row_of(DecisionMade(1, "ignore"))
    assert "! marked wrong" in drawn(row, wrong=True)[0]
    assert "wrong" not in drawn(row)[0]


def test_only_a_decision_is_marked() -> None:
    answered = row_of(DecisionMade(1, "delegate"), AnswerPosted(1, "42"))
    assert "wrong" not in drawn(answered, wrong=True)[0]


def test_what_does_not_fit_is_cut_and_what_it_took_is_not() -> None:
    spent = (Spending("system", "gpt-4o-mini", 1, 1_000, 10, 0, 1.0, 0.25),)
    row = row_of(
        DecisionMade(1, "delegate"), AnswerPosted(1, "word " * 40, elapsed=2.0, spent=spent)
    )
    wide, _ = drawn(row, 100)
    assert wide.endswith(" $0.25 · 2.0 s ")
    first, second = drawn(row, 40)
    assert first.endswith(" 2.0 s ")
    assert second.rstrip().endswith("…")
