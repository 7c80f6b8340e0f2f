import asyncio
import re
from collections.abc import Callable

import pytest
from msgspec.structs import replace
from rich.style import Style
from tests.genie_tui.command_keys import CommandKeysApp
from tests.genie_tui.widgets.room_log import START, RoomLog
from tests.limits import scaled
from textual import on
from textual.app import ComposeResult
from textual.message import Message
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widgets import Static

from genie_core.room.client.model import PendingMessage
from genie_core.room.files.transfer import Direction, Transfer
from genie_core.room.protocol.events import (
    AnyBody,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    FileRef,
    MemberJoined,
    MemberLeft,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
    ReactionChanged,
    RecoveredEvent,
    RunCancelled,
    RunFailed,
)
from genie_core.room.state.room_state import WINDOW
from genie_core.room.state.thread import MessageThread
from genie_core.room.view.entries import TimelineEntry
from genie_tui.widgets.timeline.canvas import Palette
from genie_tui.widgets.timeline.history_pages import PAGE
from genie_tui.widgets.timeline.painter import Painter
from genie_tui.widgets.timeline.timeline import Timeline

MANY = 100_000


class Host(CommandKeysApp):
    """Nothing but a timeline, and what it reports."""

    def __init__(self, log: RoomLog, *, reads_back: bool = False) -> None:
        super().__init__()
        self.log_ = log
        self.reads_back = reads_back
        self.broken = ""
        self.place: tuple[int, int] | None = None
        self.reads: list[tuple[int, int]] = []
        self.lefts = 0

    def compose(self) -> ComposeResult:
        yield Timeline()

    async def past(self, before: int, most: int) -> list[Event]:
        self.reads.append((before, most))
        if self.broken:
            raise OSError(self.broken)
        return self.log_.events[max(0, before - 1 - most) : before - 1]

    def on_mount(self) -> None:
        if self.reads_back:
            self.timeline.history = self.past
        self.timeline.bind_state(self.log_.state, "ann")
        self.timeline.apply_many(self.log_.events)
        if self.place is not None:
            self.timeline.read_at(*self.place)
        self.timeline.focus()

    @property
    def timeline(self) -> Timeline:
        return self.query_one(Timeline)

    @on(Timeline.Left)
    def _left(self) -> None:
        self.lefts += 1

    def lines(self) -> list[str]:
        """What is on the screen."""
        return [self.timeline.render_line(y).text.rstrip() for y in range(self.size.height)]

    @property
    def below(self) -> int:
        """The number of new messages that the marker shows."""
        marker = re.search(r"↓ (\d+) new", self.lines()[-1])
        return int(marker[1]) if marker else 0

    def shows(self, text: str) -> bool:
        return any(text in line for line in self.lines())


Pilots = Pilot[None]


async def until(pilot: Pilots, condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(scaled(60)):
        while not condition():
            await pilot.pause()


def long_log(count: int = 200) -> RoomLog:
    log = RoomLog()
    for number in range(count):
        log.say("bob", f"message {number} " + "and some more words " * (number % 9), after=400)
    return log


@pytest.fixture
def painted(monkeypatch: pytest.MonkeyPatch) -> list[TimelineEntry]:
    """Every entry that is painted, as often as it is."""
    entries: list[TimelineEntry] = []
    paint = Painter.paint

    def counting(self: Painter, entry: TimelineEntry, thread: MessageThread | None) -> list[Strip]:
        entries.append(entry)
        return paint(self, entry, thread)

    monkeypatch.setattr(Painter, "paint", counting)
    return entries


async def test_a_log_is_shown_from_its_end() -> None:
    app = Host(long_log())
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        assert app.shows("message 199")
        assert app.timeline.scroll_offset.y == app.timeline.max_scroll_y


async def test_what_arrives_is_followed_at_the_end() -> None:
    app = Host(long_log())
    async with app.run_test(size=(60, 20)) as pilot:
        for number in range(5):
            app.timeline.apply_many([app.log_.say("bob", f"fresh {number}")])
        await pilot.pause()
        assert app.shows("fresh 4")
        assert app.below == 0


async def test_reading_back_counts_new_messages() -> None:
    app = Host(long_log())
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("pageup", "pageup", "pageup")
        await pilot.pause()
        before = app.lines()
        app.timeline.apply_many([app.log_.add(MemberJoined("guest"), "cid")])
        app.timeline.apply_many([app.log_.say("ann", "my own")])
        for number in range(3):
            app.timeline.apply_many([app.log_.say("bob", f"fresh {number}")])
        await pilot.pause()
        assert app.lines()[:-1] == before[:-1]
        assert app.below == 3

        await pilot.press("end")
        await pilot.pause()
        assert app.shows("fresh 2")
        assert not app.shows("new")
        assert app.below == 0


async def test_the_marker_can_be_clicked() -> None:
    app = Host(long_log())
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("home")
        app.timeline.apply_many([app.log_.say("bob", "fresh")])
        await pilot.pause()
        await pilot.click(Timeline, offset=(30, 19))
        await pilot.pause()
        assert app.shows("fresh")


async def test_scrolling_back_to_the_end_follows_again() -> None:
    app = Host(long_log())
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("pageup")
        app.timeline.apply_many([app.log_.say("bob", "fresh")])
        await pilot.press("pagedown", "pagedown")
        await pilot.pause()
        assert app.shows("fresh")
        assert app.below == 0
        app.timeline.apply_many([app.log_.say("bob", "newest")])
        await pilot.pause()
        assert app.shows("newest")


async def test_paging_back_meets_every_message() -> None:
    app = Host(long_log(60))
    async with app.run_test(size=(40, 12)) as pilot:
        met: set[str] = set()
        while True:
            await pilot.pause()
            met.update(line for line in app.lines() if "message" in line)
            if app.timeline.scroll_offset.y == 0:
                break
            await pilot.press("pageup")
        numbers = {int(line.split("message ")[1].split()[0]) for line in met}
        assert numbers == set(range(60))


async def test_the_mouse_wheel_scrolls() -> None:
    app = Host(long_log())
    async with app.run_test(size=(60, 20)) as pilot:
        end = app.timeline.scroll_offset.y
        app.timeline.scroll_up(animate=False)
        await pilot.pause()
        assert app.timeline.scroll_offset.y < end
        app.timeline.apply_many([app.log_.say("bob", "fresh")])
        await pilot.pause()
        assert not app.shows("fresh")


async def test_width_change_keeps_top_message() -> None:
    app = Host(long_log())
    async with app.run_test(size=(100, 20)) as pilot:
        await pilot.press(*["pageup"] * 6)
        top = next(line for line in app.lines() if "message" in line).split("message ")[1][:3]
        for width in (45, 120, 30):
            await pilot.resize_terminal(width, 20)
            await pilot.pause()
            shown = [line for line in app.lines()[:6] if f"message {top}" in line]
            assert shown, (width, app.lines())


async def test_another_height_keeps_the_end_in_view() -> None:
    app = Host(long_log())
    async with app.run_test(size=(60, 20)) as pilot:
        for height in (8, 40):
            await pilot.resize_terminal(60, height)
            await pilot.pause()
            assert "message 199" in " ".join(app.lines()[-5:])


@pytest.mark.parametrize("lines", [1, 3, 9])
async def test_toggled_neighbour_keeps_following(lines: int) -> None:
    log = long_log(30)
    app = Host(log)
    async with app.run_test(size=(80, 24)) as pilot:
        neighbour = Static("\n".join("x" * lines))
        neighbour.styles.dock = "bottom"
        await app.mount(neighbour)
        for number in range(6):
            neighbour.display = not neighbour.display
            if number % 2:
                await pilot.pause()
            app.timeline.apply_many([log.say("bob", f"later {number}")])
            await pilot.pause()
            assert app.shows(f"later {number}")
        assert app.below == 0


async def test_streamed_answer_yields_to_event() -> None:
    log = RoomLog()
    asked = log.ask("ann", "@genie hi")
    app = Host(log)
    async with app.run_test(size=(60, 20)) as pilot:
        app.timeline.stream(asked.seq, "Hel**lo")
        await until(pilot, lambda: app.shows("Hel**lo"))
        assert app.shows("genie · for ann  writing…")
        app.timeline.stream(asked.seq, "** there")
        await until(pilot, lambda: app.shows("Hello there"))
        app.timeline.apply_many([log.answer(asked, "Hello, ann.")])
        await pilot.pause()
        assert app.shows("Hello, ann.")
        assert not app.shows("there")
        assert not app.shows("writing")
        app.timeline.stream(asked.seq, "too late")
        app.timeline.apply_many([log.say("bob", "next")])
        await until(pilot, lambda: app.shows("next"))
        assert not app.shows("too late")


async def test_streamed_parts_paint_together(
    painted: list[TimelineEntry],
) -> None:
    log = RoomLog()
    asked = log.ask("ann", "@genie hi")
    app = Host(log)
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        painted.clear()
        for number in range(500):
            app.timeline.stream(asked.seq, f"word{number} ")
        await until(pilot, lambda: app.shows("word499"))
        assert 1 <= len(painted) <= 3


async def test_unsent_message_comes_into_view() -> None:
    app = Host(long_log())
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("home")
        unsent = PendingMessage("x", "still here", emote=False, at=START)
        app.timeline.set_unsent((unsent,))
        await pilot.pause()
        assert "still here  unsent" in app.lines()[-1]
        app.timeline.set_unsent(())
        app.timeline.apply_many([app.log_.say("ann", "still here")])
        await pilot.pause()
        assert not app.shows("unsent")
        assert app.shows("still here")


async def test_every_outcome_has_its_mark() -> None:
    log = RoomLog()
    app = Host(log)
    async with app.run_test(size=(60, 30)) as pilot:
        said = {
            name: log.say("ann", name, handler="ann", after=400)
            for name in ("deciding", "ignored", "working", "waiting", "answered", "failed", "over")
        }
        for name in ("working", "waiting", "answered"):
            log.add(DecisionMade(said[name].seq, "delegate"), "ann")
        log.add(DecisionMade(said["ignored"].seq, "ignore", "just chat"), "ann")
        log.add(ApprovalRequested(said["waiting"].seq, "a1", "genie", "run", {}), "ann")
        log.add(RunFailed(said["failed"].seq, "reasoner", "no key"), "ann")
        log.add(RunCancelled(said["over"].seq), "ann")
        log.answer(said["answered"], "yes")
        app.timeline.apply_many(log.events)
        await pilot.pause()
        await pilot.press("home")
        await pilot.pause()
        marks = {
            line.split()[1]: line.split()[0]
            for line in app.lines()
            if line.split()[1:] and (line.split()[1] in said)
        }
        assert len(marks) == len(said)
        assert len(set(marks.values())) == len(said)


async def test_mark_update_paints_only_its_entry(
    painted: list[TimelineEntry],
) -> None:
    log = long_log()
    asked = log.say("ann", "the question", handler="ann")
    app = Host(log)
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        painted.clear()
        steps: list[AnyBody] = [
            DecisionMade(asked.seq, "delegate"),
            ApprovalRequested(asked.seq, "a1", "genie", "run", {}),
            ApprovalResolved(asked.seq, "a1", "approved"),
        ]
        marks = []
        for step in steps:
            app.timeline.apply_many([log.add(step, "ann")])
            await pilot.pause()
            [line] = [line for line in app.lines() if "the question" in line]
            marks.append(line.split()[0])
        assert marks[0] == marks[2] != marks[1]
        assert len(painted) == len(steps)


async def test_silence_reason_shows_on_demand() -> None:
    log = RoomLog()
    said = log.say("ann", "nice day", handler="ann")
    log.add(DecisionMade(said.seq, "ignore", "small [/talk]"), "ann")
    log.say("bob", "indeed")
    app = Host(log)
    async with app.run_test(size=(70, 20)) as pilot:
        assert not app.shows("small")
        app.timeline.show_reasons(True)
        await pilot.pause()
        assert app.shows("· stayed silent: small [/talk]")
        assert app.shows("no agent was in the room")
        app.timeline.show_reasons(False)
        await pilot.pause()
        assert not app.shows("silent")


async def test_hostile_text_is_inert() -> None:
    evil = "[/] [bold]x[/bold] \x1b]0;own\x07 \x9b2J \u202eabc\u2066 a\u200bb \r\n&#27;[2J"
    log = RoomLog()
    log.add(MemberJoined("guest", agent=evil), evil)
    asked = log.ask(evil, evil)
    log.answer(asked, evil)
    broken = log.say(evil, f"```{evil}\n{evil}\n```", handler=evil)
    log.add(RunFailed(broken.seq, "agent", evil), evil)
    log.say(evil, evil, emote=True)
    pending = log.ask("ann", "q")
    app = Host(log)
    async with app.run_test(size=(100, 60)) as pilot:
        app.timeline.stream(pending.seq, evil)
        app.timeline.set_unsent((PendingMessage("x", evil, emote=False, at=START),))
        app.timeline.show_reasons(True)
        await until(pilot, lambda: app.shows("writing"))
        shown = "\n".join(app.lines())
        assert not {c for c in shown if (ord(c) < 32 and c != "\n") or 0x7F <= ord(c) < 0xA0}
        assert not set("\u202e\u2066\u200b") & set(shown)
        assert shown.count("[bold]x[/bold]") >= 5
        assert "⟨U+202E⟩" in shown
        assert "&#27;[2J" in shown


async def test_long_room_paints_only_nearby(
    painted: list[TimelineEntry],
) -> None:
    log = RoomLog()
    for number in range(MANY):
        log.say("bob" if number % 3 else "ann", f"message {number}")
    app = Host(RoomLog())
    async with app.run_test(size=(80, 24)) as pilot:
        nodes = len(app.screen.query("*"))
        painted.clear()
        app.timeline.bind_state(log.state, "ann")
        app.timeline.apply_many(log.events)
        await pilot.pause()
        assert app.shows(f"message {MANY - 1}")
        assert len(app.screen.query("*")) == nodes
        assert len(painted) < 100

        painted.clear()
        app.timeline.apply_many([log.say("bob", "one more")])
        await pilot.pause()
        assert app.shows("one more")
        assert len(painted) == 1

        painted.clear()
        await pilot.press("home")
        await pilot.pause()
        assert app.shows(f"↑ {log.state.floor:,} earlier messages")
        assert app.shows(f"message {log.state.floor}")
        assert len(painted) < 100
        assert app.timeline.virtual_size.height < 10 * WINDOW


async def test_messages_are_selected_and_copied() -> None:
    log = RoomLog()
    log.say("ann", "first")
    log.say("bob", "second\nline \x1b")
    log.add(MemberJoined("guest"), "cid")
    log.say("bob", "third")
    app = Host(log)
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("y")
        assert app.clipboard == ""
        await pilot.press("up", "y")
        assert app.clipboard == "third"
        await pilot.press("k", "y")
        assert app.clipboard == "second\nline ␛"
        await pilot.press("k", "k", "k", "y")
        assert app.clipboard == "first"
        await pilot.press("j", "down", "y")
        assert app.clipboard == "third"


async def test_the_selection_is_brought_into_view() -> None:
    app = Host(long_log())
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press(*["k"] * 15)
        await pilot.pause()
        assert app.shows("message 185 ")
        assert not app.shows("message 199")
        await pilot.press(*["j"] * 15)
        await pilot.pause()
        assert app.shows("message 199")


async def test_code_blocks_are_copied_in_turn() -> None:
    log = RoomLog()
    log.say("ann", "so:\n```python\nx = 1\n```\nor\n```\ny = 22\n```")
    asked = log.ask("ann", "no code here")
    log.answer(asked, "1. first\n\n   ~~~\n   z = 3\n   ~~~")
    app = Host(log)
    async with app.run_test(size=(60, 30)) as pilot:
        await pilot.press("up", "c")
        assert app.clipboard == "z = 3"
        await pilot.press("up", "c")
        assert app.clipboard == "z = 3"
        await pilot.press("up", "c")
        assert app.clipboard == "x = 1"
        await pilot.press("c")
        assert app.clipboard == "y = 22"
        await pilot.press("c")
        assert app.clipboard == "x = 1"
        assert [each.message for each in app._notifications] == [
            "Copied 5 characters.",
            "The message has no block of code.",
            "Copied block 1 of 2: 5 characters.",
            "Copied block 2 of 2: 6 characters.",
            "Copied block 1 of 2: 5 characters.",
        ]


def chosen(app: Host) -> int | None:
    """The number of the selected message."""
    thread = app.timeline.chosen
    return None if thread is None else thread.seq


async def test_home_selects_first_message() -> None:
    app = Host(long_log())
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("up", "home")
        await pilot.pause()
        assert chosen(app) == 1
        await pilot.press("down")
        await pilot.pause()
        assert chosen(app) == 2
        assert app.shows("message 1 ")


async def test_home_selects_first_of_saved_log() -> None:
    app = Host(numbered(4 * WINDOW), reads_back=True)
    async with app.run_test(size=(60, 20)) as pilot:
        await settled(app, pilot)
        await pilot.press("home")
        await settled(app, pilot)
        assert chosen(app) == 1


@pytest.mark.parametrize("key", ["up", "down"])
async def test_the_selection_goes_along_by_pages(key: str) -> None:
    app = Host(long_log())
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("up", "pageup", "pageup")
        await pilot.pause()
        top, first = app.timeline.scroll_offset.y, chosen(app)
        assert first is not None
        assert any(f"message {first - 1}" in line for line in app.lines()[:10])
        await pilot.press(key)
        await pilot.pause()
        assert chosen(app) == first + (1 if key == "down" else -1)
        assert abs(app.timeline.scroll_offset.y - top) <= 5
        assert app.timeline.reading is not None


async def test_hidden_selection_moves_into_view() -> None:
    app = Host(long_log())
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("up")
        app.timeline.scroll_to(y=30, animate=False)
        await pilot.pause()
        top = app.timeline.scroll_offset.y
        await pilot.press("down")
        await pilot.pause()
        seq = chosen(app)
        assert seq is not None
        assert abs(app.timeline.scroll_offset.y - top) <= 1
        assert any(f"message {seq - 1}" in line for line in app.lines()[:10])


async def test_empty_room_ignores_selecting_keys() -> None:
    app = Host(RoomLog())
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("down", "up", "pageup", "home")
        assert chosen(app) is None


async def test_escape_unselects_running_message() -> None:
    log = RoomLog()
    log.ask("ann", "@genie work")
    app = Host(log)
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("up", "escape")
        assert (app.timeline.chosen, app.lefts) == (None, 1)


async def test_marker_counts_mentions() -> None:
    app = Host(long_log())
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("home")
        app.timeline.apply_many(
            [app.log_.say("bob", "hello all"), app.log_.say("bob", "and @ann, too")]
        )
        await pilot.pause()
        assert "↓ 2 new, 1 for you" in app.lines()[-1]


async def test_unattended_news_gets_divider() -> None:
    app = Host(long_log(3))
    async with app.run_test(size=(60, 30)) as pilot:
        app.timeline.is_attended = False
        app.timeline.apply_many([app.log_.say("ann", "mine"), app.log_.say("bob", "first news")])
        app.timeline.is_attended = True
        app.timeline.apply_many([app.log_.say("bob", "second news")])
        await pilot.pause()
        lines = app.lines()
        line = next(at for at, text in enumerate(lines) if text.startswith("── new ─"))
        assert next(at for at, text in enumerate(lines) if "mine" in text) < line
        assert next(at for at, text in enumerate(lines) if "first news" in text) > line
        assert sum("── new ─" in text for text in lines) == 1
        await pilot.press("end")
        await pilot.pause()
        assert not app.shows("── new ─")


async def test_news_since_last_visit_gets_divider() -> None:
    log = RoomLog()
    seen = log.say("bob", "known").seq
    log.say("bob", "not known")
    app = Host(log)
    async with app.run_test(size=(60, 30)) as pilot:
        app.timeline.mark_unread(log.events[-1].seq)
        await pilot.pause()
        assert not app.shows("── new ─")
        app.timeline.mark_unread(seen)
        await pilot.pause()
        lines = app.lines()
        line = next(at for at, text in enumerate(lines) if text.startswith("── new ─"))
        assert any("not known" in text for text in lines[line:])
        assert not any("not known" in text for text in lines[:line])


async def test_matches_are_marked_where_they_are() -> None:
    log = RoomLog()
    log.say("bob", "a Vendor, one vendor, 语 vendor")
    app = Host(log)
    async with app.run_test(size=(60, 30)) as pilot:
        app.timeline.mark_matches(re.compile("vendor", re.IGNORECASE))
        await pilot.pause()
        strips = [app.timeline.render_line(y) for y in range(30)]
        found = app.timeline.get_visual_style("timeline--found").rich_style.bgcolor
        marked = [
            segment.text
            for strip in strips
            for segment in strip
            if segment.style is not None and segment.style.bgcolor == found
        ]
        assert marked == ["Vendor", "vendor", "vendor"]
        app.timeline.mark_matches(None)
        await pilot.pause()
        assert not any(
            segment.style is not None and segment.style.bgcolor == found
            for y in range(30)
            for segment in app.timeline.render_line(y)
        )


async def test_text_is_selected_with_the_mouse() -> None:
    log = RoomLog()
    log.say("bob", "alpha beta")
    log.say("bob", "gamma delta")
    app = Host(log)
    async with app.run_test(size=(60, 20)) as pilot:
        row = next(y for y, line in enumerate(app.lines()) if "alpha" in line)
        await pilot.mouse_down(Timeline, offset=(9, row))
        await pilot.hover(Timeline, offset=(8, row + 1))
        await pilot.mouse_up(Timeline, offset=(8, row + 1))
        await pilot.pause()
        assert app.screen.get_selected_text() == "beta\ngamma"


async def test_colours_come_from_the_theme() -> None:
    log = RoomLog()
    log.say("bob", "hello @ann")
    app = Host(log)
    async with app.run_test(size=(60, 10)) as pilot:
        seen = []
        for theme in ("textual-dark", "textual-light", "nord"):
            app.theme = theme
            await pilot.pause()
            row = next(y for y, line in enumerate(app.lines()) if "@ann" in line)
            styles = [s.style for s in app.timeline.render_line(row) if s.text == "@ann"]
            assert styles[0] is not None
            seen.append((styles[0].color, styles[0].bgcolor))
        assert len(set(seen)) == 3


@pytest.mark.parametrize("size", [(1, 1), (5, 3), (20, 2)])
async def test_a_tiny_screen_is_survived(size: tuple[int, int]) -> None:
    app = Host(long_log(20))
    async with app.run_test(size=size) as pilot:
        await pilot.press("up", "home", "pagedown", "end")
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert app.shows("message 19")


async def test_an_empty_room_is_survived() -> None:
    app = Host(RoomLog())
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.press("up", "down", "y", "pageup", "home", "end", "escape")
        app.timeline.apply_many([app.log_.say("bob", "hi")])
        await pilot.pause()
        assert app.shows("hi")


async def test_transfer_redraws_file_line() -> None:
    log = RoomLog()
    file = FileRef("digest", "a.pdf", 200)
    log.add(MessagePosted("1", "look", files=(file,)), "bob")
    app = Host(log)
    details: list[MessageThread] = []
    async with app.run_test(size=(60, 12), message_hook=_details(details)) as pilot:
        app.timeline.set_unsent(
            (PendingMessage("2", "mine", emote=False, at=START, files=(file,)),)
        )
        await pilot.pause()
        assert sum("not downloaded yet" in line for line in app.lines()) == 2
        app.timeline.transfers.update(Transfer("digest", "a.pdf", Direction.DOWN, 50, 200))
        app.timeline.show_transfer("digest")
        await pilot.pause()
        assert sum("25 %" in line for line in app.lines()) == 2
        assert app.timeline.chosen is None
        await pilot.press("enter")
        assert details == []
        await pilot.press("up", "up", "enter")
        await pilot.pause()
        assert details == [log.state.threads[1]]
        assert app.timeline.chosen is details[0]


def _details(found: list[MessageThread]) -> Callable[[Message], None]:
    def hook(message: Message) -> None:
        if isinstance(message, Timeline.DetailsRequested) and message.thread not in found:
            found.append(message.thread)

    return hook


# -- a long room


def numbered(count: int) -> RoomLog:
    """A log with messages that say their own number in it."""
    log = RoomLog()
    for number in range(1, count + 1):
        log.say(("ann", "bob", "cleo")[number // 2 % 3], f"number {number};", after=60)
    return log


def read(app: Host) -> list[int]:
    """The numbers in view, from top to bottom."""
    found = [line.split("number ")[1] for line in app.lines() if "number " in line]
    return [int(text.split(";")[0]) for text in found]


async def settled(app: Host, pilot: Pilots) -> None:
    """Wait until nothing is being read from the log any more."""
    await pilot.pause()
    while list(app.workers):
        await app.workers.wait_for_complete()
        await pilot.pause()


async def test_endless_room_has_bounded_memory() -> None:
    log = RoomLog()
    app = Host(log)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        for number in range(MANY // 2_000):
            batch = [log.say("bob", f"number {number}-{each};") for each in range(2_000)]
            app.timeline.apply_many(batch)
            await pilot.pause()
            assert app.shows(f"number {number}-1999;")
            assert app.timeline.virtual_size.height < 10 * WINDOW
        await pilot.press("home")
        await pilot.pause()
        assert app.shows(f"↑ {log.state.floor:,} earlier messages")


async def test_reading_place_survives_long_growth() -> None:
    log = numbered(WINDOW)
    app = Host(log, reads_back=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        app.timeline.show_message(500)
        await settled(app, pilot)
        before = app.lines()
        for _ in range(5):
            said = [log.say("dan", "and on") for _ in range(WINDOW)]
            app.timeline.apply_many(said)
            await settled(app, pilot)
            assert app.lines()[:-1] == before[:-1]
        assert f"↓ {5 * WINDOW} new" in app.lines()[-1]
        assert app.timeline.virtual_size.height < 10 * WINDOW
        await pilot.press("end")
        await pilot.pause()
        assert app.shows("and on")
        app.timeline.apply_many([log.say("dan", "the latest")])
        await pilot.pause()
        assert app.shows("the latest")


async def test_paging_back_reaches_log_start() -> None:
    log = numbered(3 * WINDOW)
    app = Host(log, reads_back=True)
    async with app.run_test(size=(60, 150)) as pilot:
        app.timeline.show_message(log.state.floor + 60)
        await settled(app, pilot)
        met = read(app)
        while met[0] > 1:
            await pilot.press("pageup")
            await settled(app, pilot)
            seen = read(app)
            assert seen == list(range(seen[0], seen[-1] + 1))
            assert met[0] - 150 <= seen[0] < met[0] <= seen[-1] + 1
            met = seen
            assert app.timeline.virtual_size.height < 10 * WINDOW
        assert not app.shows("earlier")

        while met[-1] < log.state.floor + 300:
            await pilot.press("pagedown")
            await settled(app, pilot)
            seen = read(app)
            assert seen == list(range(seen[0], seen[-1] + 1))
            assert met[-1] < seen[-1] <= met[-1] + 150
            assert seen[0] <= met[-1] + 1
            met = seen
        assert len(app.reads) > log.state.floor // PAGE  # what was let go of is read again


async def test_line_scrolling_never_jumps() -> None:
    log = numbered(3 * WINDOW)
    app = Host(log, reads_back=True)
    async with app.run_test(size=(60, 80)) as pilot:
        app.timeline.show_message(log.state.floor + 8)
        await settled(app, pilot)
        for step in (-70, 70):
            for _ in range(32):
                before = app.lines()
                app.timeline.scroll_relative(y=step, animate=False)
                await settled(app, pilot)
                after = app.lines()
                ours, theirs = (
                    (before[:step], after[-step:]) if step < 0 else (before[step:], after[:-step])
                )
                kept = [line for line in ours if "number" in line]
                assert [line for line in theirs if "number" in line] == kept
        assert len(app.reads) > 2


async def test_home_and_end_span_whole_log() -> None:
    log = numbered(4 * WINDOW)
    app = Host(log, reads_back=True)
    async with app.run_test(size=(60, 20)) as pilot:
        await settled(app, pilot)
        await pilot.press("home")
        await settled(app, pilot)
        assert read(app)[0] == 1
        assert not app.shows("earlier")
        assert len(app.reads) <= 3
        app.timeline.show_message(log.state.floor + 3)
        await settled(app, pilot)
        app.timeline.scroll_relative(y=-5, animate=False)
        await pilot.pause()
        await pilot.press("end")
        await settled(app, pilot)
        assert read(app)[-1] == log.state.head
        assert app.timeline.reading is None


async def test_what_is_missing_between_is_counted() -> None:
    log = numbered(4 * WINDOW)
    app = Host(log, reads_back=True)
    async with app.run_test(size=(60, 20)) as pilot:
        await settled(app, pilot)
        await pilot.press("home")
        await settled(app, pilot)
        app.broken = "so that nothing is filled in"
        app.timeline.show_message(log.state.floor + 1)
        await settled(app, pilot)
        assert app.shows(f"⋮ {log.state.floor - PAGE:,} more messages")


async def test_any_message_is_found_and_copied() -> None:
    log = numbered(4 * WINDOW)
    app = Host(log, reads_back=True)
    async with app.run_test(size=(60, 20)) as pilot:
        await settled(app, pilot)
        for seq in (17, 2_345, 3_999, 1, 1_200):
            app.timeline.show_message(seq)
            await settled(app, pilot)
            assert seq in read(app)
            chosen = app.timeline.chosen
            assert chosen is not None
            assert chosen.seq == seq
            await pilot.press("y")
            assert app.clipboard == f"number {seq};"


async def test_reading_place_can_be_restored() -> None:
    log = numbered(3 * WINDOW)
    app = Host(log, reads_back=True)
    async with app.run_test(size=(60, 20)) as pilot:
        await settled(app, pilot)
        app.timeline.show_message(321)
        await settled(app, pilot)
        app.timeline.scroll_relative(y=-1, animate=False)
        await settled(app, pilot)
        place, before = app.timeline.reading, app.lines()
        assert place is not None
        await pilot.press("end")
        assert app.timeline.reading is None

    again = Host(log, reads_back=True)
    async with again.run_test(size=(60, 20)) as pilot:
        await settled(again, pilot)
        again.timeline.read_at(*place)
        await settled(again, pilot)
        assert again.lines() == before
        assert again.timeline.reading == place


async def test_place_set_before_layout_is_kept() -> None:
    app = Host(numbered(300))
    app.place = (100, 2)
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        assert app.timeline.reading is not None
        assert 100 in read(app)[:3]


async def test_place_survives_arriving_log() -> None:
    log = numbered(300)
    app = Host(RoomLog())
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        app.timeline.bind_state(log.state, "ann")
        app.timeline.read_at(100, 2)
        app.timeline.apply_many(log.events[50:])
        await pilot.pause()
        assert app.timeline.reading is not None
        assert 100 in read(app)[:3]
        assert app.below == 0


async def test_failed_read_says_why_and_retries() -> None:
    log = numbered(3 * WINDOW)
    app = Host(log, reads_back=True)
    app.broken = "the disk is \x1b gone [/b]"
    async with app.run_test(size=(80, 20)) as pilot:
        await settled(app, pilot)
        await pilot.press("home")
        await settled(app, pilot)
        told = [note.message for note in app._notifications]
        assert told == ["Earlier messages can't be read: the disk is ␛ gone [/b]"]
        assert app.shows(f"number {log.state.head}")
        app.broken = ""
        await pilot.press("home")
        await settled(app, pilot)
        assert read(app)[0] == 1


async def test_missing_log_is_requested_once() -> None:
    log = numbered(3 * WINDOW)
    app = Host(log, reads_back=True)
    async with app.run_test(size=(80, 20)) as pilot:
        await settled(app, pilot)
        log.events.clear()
        await pilot.press("home")
        await settled(app, pilot)
        await pilot.press("home")
        await settled(app, pilot)
        assert app.shows("earlier messages can't be read here")
        assert len(app.reads) == 1


async def test_notes_without_messages_are_bounded_too() -> None:
    log = RoomLog()
    app = Host(log, reads_back=True)
    async with app.run_test(size=(80, 20)) as pilot:
        await pilot.pause()
        for _ in range(20):
            app.timeline.apply_many([log.add(MemberJoined("guest"), "cid") for _ in range(WINDOW)])
            await pilot.pause()
        assert app.timeline.virtual_size.height < 10 * WINDOW
        await pilot.press("pageup")
        app.timeline.read_at(1)
        await settled(app, pilot)
        assert not app.shows("earlier messages")


async def test_width_change_keeps_past_message() -> None:
    log = numbered(3 * WINDOW)
    app = Host(log, reads_back=True)
    async with app.run_test(size=(100, 20)) as pilot:
        await settled(app, pilot)
        app.timeline.show_message(1_234)
        await settled(app, pilot)
        for width in (30, 120):
            await pilot.resize_terminal(width, 20)
            await settled(app, pilot)
            assert 1_234 in read(app)


async def test_colours_follow_joining_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = RoomLog()
    names = [f"person{number}" for number in range(9)]
    for name in names:
        log.add(MemberJoined("member"), by=name)
    app = Host(RoomLog())
    asked: list[int] = []

    def shown(palette: Palette, name: str) -> Style:
        asked.extend(int(name[7:]) for _ in range(name.startswith("author-")))
        return palette.styles[name]

    monkeypatch.setattr(Palette, "__getitem__", shown)
    async with app.run_test(size=(60, 40)) as pilot:
        await pilot.pause()
        app.timeline.bind_state(log.state, "ann")  # after the first layout, as a room opens
        for name in names:
            app.timeline.apply_many([log.say(name, "hello")])
        await pilot.pause()
    assert set(asked) == set(range(8))


async def test_past_page_shows_edit_and_deletion() -> None:
    log = long_log(WINDOW * 2 + 50)
    old, gone = log.events[5], log.events[6]
    app = Host(log, reads_back=True)
    edit = RecoveredEvent(Event(9_000, START, "bob", MessageEdited(old.seq, "said better")))
    for message, change in ((old.seq, edit), (gone.seq, MessageDeleted(gone.seq))):
        log.add(change, "bob")
        log.state.amended[message] = len(log.events)
    async with app.run_test(size=(60, 40)) as pilot:
        await pilot.press("home")
        await until(pilot, lambda: app.shows("said better  edited"))
        assert app.shows("Message deleted")
        assert not app.shows("message 6 ")
        assert app.shows("message 7 ")


async def test_past_page_shows_later_reactions() -> None:
    log = long_log(10)
    log.add(ReactionChanged(log.events[7].seq, "🎉"), "cleo")
    for number in range(2 * WINDOW):
        log.say("bob", f"later {number}", after=400)
    app = Host(log, reads_back=True)
    reaction, first = log.events[10].seq, PAGE + 1
    log.events[10] = replace(log.events[first], seq=reaction)  # so that the page itself lacks it
    async with app.run_test(size=(60, 60)) as pilot:
        await pilot.press("home")
        await until(pilot, lambda: app.shows("message 7"))
        assert app.shows("🎉 cleo")


async def test_who_comes_and_goes_shares_a_line() -> None:
    log = RoomLog()
    app = Host(log)
    async with app.run_test(size=(80, 20)) as pilot:
        for name in ("ann", "bob", "cleo"):
            app.timeline.apply_many([log.add(MemberJoined("member", device="d"), by=name)])
        app.timeline.apply_many([log.add(MemberLeft("bob"))])
        await pilot.pause()
        assert app.shows("⇄ ann and cleo joined · bob came and went")
        assert not app.shows("bob left")
        app.timeline.apply_many([log.say("ann", "hello"), log.add(MemberLeft("cleo"))])
        app.timeline.apply_many([log.add(MemberJoined("member", device="d"), by="cleo")])
        await pilot.pause()
        assert app.shows("⇄ cleo came back")
        assert app.shows("⇄ ann and cleo joined")


async def test_lone_join_names_agent() -> None:
    log = RoomLog()
    log.add(MemberJoined("member", engine=True, agent="small", device="d"), by="ann")
    app = Host(log)
    async with app.run_test(size=(80, 20)) as pilot:
        await pilot.pause()
        assert app.shows("→ ann joined with small")
