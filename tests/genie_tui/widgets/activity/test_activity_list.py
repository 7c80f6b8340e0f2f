"""How a row of the activity list is drawn."""

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
from genie_core.text.format import clock_time
from genie_tui.widgets.activity.activity_list import INDENT, ActivityList, RowLook, draw
from genie_tui.widgets.activity.panel import ActivityPanel
from genie_tui.widgets.activity.rows import (
    KEPT_ROWS,
    MOST_ROWS,
    ActivityRow,
    ActivityRows,
    RowFilter,
)
from genie_tui.widgets.timeline.timeline import DecisionMarkRequested


class Host(App[None]):
    """Shows only the activity panel."""

    CSS = "ActivityList { height: 1fr; }"

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


def lines(activity_list: ActivityList) -> list[str]:
    """What is in view, without the space at the ends."""
    return [activity_list.render_line(y).text.rstrip() for y in range(activity_list.size.height)]


async def shown(app: Host, pilot: Pilot[Any], events: list[Event]) -> ActivityList:
    activity_list = app.query_one(ActivityList)
    activity_list.apply_many(events)
    await pilot.pause()
    return activity_list


async def test_many_rows_need_no_widgets() -> None:
    app = Host()
    async with app.run_test() as pilot:
        before = len(app.query("*"))
        activity_list = await shown(app, pilot, many(MOST_ROWS))
        assert len(app.query("*")) == before
        assert activity_list.row_count == MOST_ROWS
        await until(pilot, lambda: f"reason {MOST_ROWS - 1}" in "\n".join(lines(activity_list)))


async def test_old_rows_go_when_there_are_too_many() -> None:
    app = Host()
    async with app.run_test() as pilot:
        events = many(20_000)
        activity_list = app.query_one(ActivityList)
        for start in range(0, len(events), 500):
            activity_list.apply_many(events[start : start + 500])
            assert activity_list.row_count <= MOST_ROWS
        await pilot.pause()
        assert activity_list.row_count >= KEPT_ROWS
        assert "reason 19999" in "\n".join(lines(activity_list))


async def test_trimming_keeps_selected_row() -> None:
    app = Host()
    async with app.run_test() as pilot:
        events = many(MOST_ROWS + 10)
        activity_list = await shown(app, pilot, events[: 2 * MOST_ROWS])
        activity_list.focus()
        await pilot.press("end", "pageup", "pageup")
        await pilot.pause()
        selected, before = activity_list.selected, lines(activity_list)
        activity_list.apply_many(events[2 * MOST_ROWS :])
        await pilot.pause()
        assert activity_list.row_count < MOST_ROWS
        assert activity_list.selected is selected
        assert lines(activity_list)[:-1] == before[:-1]
        assert "↓ 10 new" in lines(activity_list)[-1]


async def test_trimmed_selection_moves_to_oldest() -> None:
    app = Host()
    async with app.run_test() as pilot:
        events = many(MOST_ROWS + 10)
        activity_list = await shown(app, pilot, events[: 2 * MOST_ROWS])
        activity_list.focus()
        await pilot.press("home")
        activity_list.apply_many(events[2 * MOST_ROWS :])
        await pilot.pause()
        assert activity_list.cursor == 0
        assert activity_list.selected is not None
        assert activity_list.scroll_offset.y == 0


async def test_state_rows_show_until_log_arrives() -> None:
    app = Host()
    async with app.run_test() as pilot:
        joined = ScriptedJoinedRoom()
        joined.open_room()
        message = joined.say_here("first")
        joined.feed(DecisionMade(message, "delegate", query="do it"))
        again = joined.say_here("second")
        joined.feed(RunFailed(again, "reasoner", "broke"))
        activity_list = app.query_one(ActivityList)
        activity_list.bind_state(joined.state, "ann")
        await pilot.pause()
        told = lines(activity_list)
        assert activity_list.row_count == 2
        assert "do it" in "".join(told)
        activity_list.apply_many(joined.events[-3:])
        assert lines(activity_list) == told
        activity_list.apply_many(joined.feed(RunFailed(message, "agent", "too")))
        assert activity_list.row_count == 3
        activity_list.bind_state(ScriptedJoinedRoom().state, "ann")
        assert activity_list.row_count == 0


async def test_known_events_are_skipped() -> None:
    app = Host()
    async with app.run_test() as pilot:
        events = many(3)
        activity_list = await shown(app, pilot, events)
        activity_list.apply_many(events[2:])
        assert activity_list.row_count == 3
        activity_list.apply_many(events)  # another log, from its beginning
        assert activity_list.row_count == 3


async def test_a_decision_updates_its_row() -> None:
    app = Host()
    async with app.run_test() as pilot:
        said, decided = many(1)
        activity_list = await shown(app, pilot, [said])
        assert "deciding" in lines(activity_list)[0]
        activity_list.apply_many([decided])
        assert "stayed silent" in lines(activity_list)[0]
        assert activity_list.row_count == 1


async def test_newly_matching_row_keeps_its_place() -> None:
    app = Host()
    async with app.run_test() as pilot:
        joined = ScriptedJoinedRoom()
        joined.open_room()
        first, second = joined.say_here("first"), joined.say_here("second")
        activity_list = await shown(app, pilot, joined.events)
        activity_list.show_only(RowFilter.FAILURES, "")
        assert activity_list.row_count == 0
        activity_list.apply_many(joined.feed(RunFailed(second, "reasoner", "broke 2")))
        activity_list.apply_many(joined.feed(RunFailed(first, "reasoner", "broke 1")))
        assert activity_list.row_count == 2
        text = "\n".join(lines(activity_list))
        assert text.index("broke 1") < text.index("broke 2")


async def test_selection_stays_while_rows_arrive() -> None:
    app = Host()
    async with app.run_test() as pilot:
        events = many(50)
        activity_list = await shown(app, pilot, events[:60])
        activity_list.focus()
        await pilot.press("home", "down")
        selected = activity_list.selected
        activity_list.apply_many(events[60:])
        await pilot.pause()
        assert activity_list.selected is selected
        assert activity_list.scroll_offset.y == 0


async def test_keys_move_the_selection_into_view() -> None:
    app = Host()
    async with app.run_test() as pilot:
        activity_list = await shown(app, pilot, many(100))
        activity_list.focus()
        for key in ("home", "j", "pagedown", "pagedown", "k", "end", "pageup"):
            await pilot.press(key)
            await pilot.pause()
            assert f"  reason {activity_list.cursor}" in lines(activity_list)


async def test_empty_list_ignores_keys() -> None:
    app = Host()
    async with app.run_test() as pilot:
        activity_list = app.query_one(ActivityList)
        activity_list.focus()
        await pilot.press("up", "down", "home", "end", "pageup", "enter")
        assert activity_list.selected is None


async def test_a_text_filter_finds_rows() -> None:
    app = Host()
    async with app.run_test() as pilot:
        activity_list = await shown(app, pilot, many(100))
        activity_list.focus()
        await pilot.press("slash", *"REASON 42")
        await until(pilot, lambda: activity_list.row_count == 1)
        await pilot.press("escape")
        await until(pilot, lambda: activity_list.row_count == 100)
        assert app.query_one("#activity-find", Input).value == ""


async def test_details_follow_the_selection() -> None:
    app = Host()
    async with app.run_test() as pilot:
        activity_list = await shown(app, pilot, many(3))
        activity_list.focus()
        await pilot.press("home", "enter", "down")
        details = app.query_one("#activity-detail-text", Static)
        await until(pilot, lambda: "reason 1" in str(details.render()))


async def test_a_click_shows_details() -> None:
    app = Host()
    async with app.run_test() as pilot:
        activity_list = await shown(app, pilot, many(3))
        await pilot.click(activity_list, offset=(2, 3))
        details = app.query_one("#activity-detail-text", Static)
        await until(pilot, lambda: "reason 1" in str(details.render()))


async def test_no_line_holds_what_commands_a_terminal() -> None:
    app = Host()
    async with app.run_test() as pilot:
        hostile = "\x1b[2J\u202e[/red]\n\x9b"
        said = Event(1, 1, hostile, MessagePosted("1", hostile, handler="ann"))
        failed = Event(2, 2, "ann", RunFailed(1, "agent", hostile))
        activity_list = await shown(app, pilot, [said, failed])
        text = "".join(lines(activity_list))
        for forbidden in "\x1b\u202e\x9b\n":
            assert forbidden not in text
        assert "[/red]" in text


async def test_repeated_decision_can_be_marked() -> None:
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
        activity_list = await shown(app, pilot, [said, first, again])
        activity_list.focus()
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
        activity_list = await shown(app, pilot, events[:160])
        activity_list.focus()
        await pilot.press("home")
        activity_list.apply_many(events[160:170])
        await pilot.pause()
        assert activity_list.cursor == 0
        assert activity_list.scroll_offset.y == 0
        assert "↓ 5 new" in lines(activity_list)[-1]
        app.query_one("#elsewhere").focus()
        await pilot.pause()
        activity_list.apply_many(events[170:])
        await until(pilot, lambda: "reason 99" in "\n".join(lines(activity_list)))
        assert "new" not in "\n".join(lines(activity_list))
        assert activity_list.cursor is None


async def test_end_follows_and_down_unselects() -> None:
    app = Host()
    async with app.run_test() as pilot:
        events = many(100)
        activity_list = await shown(app, pilot, events[:100])
        activity_list.focus()
        await pilot.press("end")
        activity_list.apply_many(events[100:])
        await until(pilot, lambda: "reason 99" in "\n".join(lines(activity_list)))
        assert activity_list.cursor == 49
        await pilot.press("end", "down")
        assert activity_list.cursor is None


SAID = MessagePosted("1", "what is the sum of all that?", handler="ann")


def drawn(row: ActivityRow, width: int = 45, *, doing: str = "", wrong: bool = False) -> list[str]:
    look = RowLook(width, lambda _: Style())
    strips = draw(row, look, doing=doing, wrong=wrong)
    assert all(strip.cell_length <= width for strip in strips)
    return [strip.text.rstrip() for strip in strips]


def row_of(*bodies: DecisionMade | AnswerPosted) -> ActivityRow:
    """The last row of a log in which ann says something and this comes of it."""
    log = ActivityRows()
    log.apply(Event(1, 1.0, "ann", SAID))
    for number, body in enumerate(bodies, 2):
        log.apply(Event(number, float(number), "ann", body))
    return log.row(log.numbers[-1])


REASON = (
    "The two of them settle among themselves when they meet, and none of them asks for a number, a "
    "file or a date; the agent has nothing to add."
)


def test_reason_wraps_below_completely() -> None:
    first, *below = drawn(row_of(DecisionMade(1, "ignore", reason=REASON, elapsed=2.0)))
    assert first.split() == ["○", "stayed", "silent", "ann", "2.0", "s", "·", clock_time(2.0)]
    assert all(line.startswith(" " * INDENT) for line in below)
    assert " ".join(line.strip() for line in below) == REASON


def test_reason_precedes_query_or_activity() -> None:
    row = row_of(DecisionMade(1, "delegate", "it is \x1b[2J a question", query="add them up"))
    assert [line.strip() for line in drawn(row)[1:]] == ["it is ␛[2J a question", "add them up"]
    doing = drawn(row, doing="calling read_file")
    assert [line.strip() for line in doing[1:]] == ["it is ␛[2J a question", "calling read_file"]


def test_a_long_word_is_broken() -> None:
    row = row_of(DecisionMade(1, "ignore", reason="x" * 100))
    assert "".join(line.strip() for line in drawn(row)[1:]) == "x" * 100


def test_wrong_mark_follows_decision() -> None:
    row = row_of(DecisionMade(1, "ignore"))
    assert "! marked wrong" in " ".join(drawn(row, wrong=True))
    assert "wrong" not in drawn(row)[0]


def test_only_a_decision_is_marked() -> None:
    answered = row_of(DecisionMade(1, "delegate"), AnswerPosted(1, "42"))
    assert "wrong" not in " ".join(drawn(answered, wrong=True))


def test_subject_is_cut_cost_is_not() -> None:
    spent = (Spending("system", "gpt-4o-mini", 1, 1_000, 10, 0, 1.0, 0.25),)
    row = row_of(
        DecisionMade(1, "delegate"), AnswerPosted(1, "word " * 40, elapsed=2.0, spent=spent)
    )
    assert drawn(row, 100)[0].endswith(f"1.0k tok $0.25 · 2.0 s · {clock_time(3.0)}")
    first, *about, last = drawn(row, 30)
    assert first.endswith(f" 2.0 s · {clock_time(3.0)}")
    assert about[-1].endswith("…")
    assert last.strip() == "1.0k tok $0.25"


async def test_tall_rows_are_selected_and_whole() -> None:
    app = Host()
    async with app.run_test(size=(45, 24)) as pilot:
        told = [REASON[: (37 * number) % len(REASON)] or "none" for number in range(60)]
        events = many(60)
        for number, reason in enumerate(told):
            made = DecisionMade(2 * number + 1, "ignore", reason=reason)
            events[2 * number + 1] = Event(2 * number + 2, 1.0, "ann", made)
        activity_list = await shown(app, pilot, events)
        activity_list.focus()
        await pilot.press("end")
        for number in reversed(range(60)):
            assert activity_list.cursor == number
            text = " ".join(" ".join(lines(activity_list)).split())
            assert " ".join(told[number].split()) in text
            await pilot.press("up")
            await pilot.pause()
        await pilot.press("home", "pagedown")
        page = activity_list.cursor
        assert page is not None
        assert 1 < page < 24
        await pilot.press("pageup")
        assert activity_list.cursor == 0
