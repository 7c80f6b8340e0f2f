import os
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.genie_core.sessions.recorded import NOW, Recorded
from tests.genie_tui.scripted_room import ScriptedJoinedRoom, ScriptedRoomService, Ticking, until
from textual.events import Key
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input, Static

from genie_core.errors import GenieError
from genie_core.room.open.requests import OpenRequest, RejoinRoom, ReplayRoom, ResumeRoom
from genie_core.room.protocol.events import AnswerPosted, FileRef, MessagePosted
from genie_core.sessions.listing import SessionRow, Sort
from genie_core.sessions.search.documents import SearchHit
from genie_core.sessions.search.snippet import Snippet
from genie_core.settings.load import SettingsSource
from genie_core.settings.model import Settings
from genie_core.storage.blobs import BlobStore
from genie_tui.app import GenieApp
from genie_tui.screens import sessions
from genie_tui.screens.dialogs.ask_line import AskLineScreen
from genie_tui.screens.dialogs.confirm import ConfirmScreen
from genie_tui.screens.dialogs.export import ExportScreen
from genie_tui.screens.lobby import LobbyScreen
from genie_tui.screens.room import RoomScreen
from genie_tui.screens.sessions import SessionsScreen
from genie_tui.screens.settings import SettingsForm, SettingsScreen
from genie_tui.widgets.picker import Picker
from genie_tui.widgets.session_list import SessionList, SessionListHeader, session_line
from genie_tui.widgets.session_preview import SessionPreview

WIDE = (140, 40)


class Chosen(SessionsScreen):
    """Keeps what was chosen, and goes nowhere."""

    CSS_PATH = str(Path(sessions.__file__).with_name("sessions.tcss"))

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.chosen: list[OpenRequest | ReplayRoom] = []
        self.hits: list[int] = []

    def on_sessions_screen_chosen(self, message: SessionsScreen.Chosen) -> None:
        message.stop()
        self.chosen.append(message.opening)

    def on_sessions_screen_hit_chosen(self, message: SessionsScreen.HitChosen) -> None:
        message.stop()
        self.hits.append(message.hit.seq)


@asynccontextmanager
async def listed(
    recorded: Recorded, size: tuple[int, int] = (120, 40)
) -> AsyncIterator[tuple[Chosen, Pilot[Any]]]:
    """The screen over what is recorded, all of it listed."""
    app = GenieApp(
        ScriptedRoomService(ScriptedJoinedRoom()),
        None,
        "ann",
        store=recorded.store,
        clock=Ticking(),
    )
    async with app.run_test(size=size) as pilot:
        screen = Chosen(recorded.store, Ticking())
        await app.push_screen(screen)
        rows = screen.query_one(SessionList)
        await until(pilot, lambda: len(rows.rows) == len(recorded.titles()))
        await until(pilot, lambda: all(row.size is not None for row in rows.rows))
        yield screen, pilot


async def find_one(screen: SessionsScreen, pilot: Pilot[Any], words: str) -> None:
    """Let these words be there at once: whatever is typed with a pause in it is searched twice."""
    await pilot.press("slash")
    screen.query_one("#sessions-filter", Input).value = words
    await until(pilot, lambda: len(screen.query_one(SessionList).hits) == 1)


def titles(screen: SessionsScreen) -> list[str]:
    return [row.title for row in screen.query_one(SessionList).rows]


def drawn(screen: SessionsScreen) -> str:
    listing = screen.query_one(SessionList)
    return "\n".join(listing.render_line(y).text for y in range(listing.size.height))


def text(screen: Screen[Any], selector: str) -> str:
    return str(screen.query_one(selector, Static).render())


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


async def test_lobby_leads_to_list_and_back(recorded: Recorded) -> None:
    recorded.said("Garden", "hi")
    app = GenieApp(
        ScriptedRoomService(ScriptedJoinedRoom()),
        None,
        "ann",
        store=recorded.store,
        clock=Ticking(),
    )
    async with app.run_test() as pilot:
        await until(pilot, lambda: isinstance(app.screen, LobbyScreen))
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(app.screen, SessionsScreen) and app.screen.is_mounted)
        await until(pilot, lambda: "Garden" in drawn(app.screen))  # type: ignore[arg-type]
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, LobbyScreen))


async def test_changed_limits_apply_to_open_list(recorded: Recorded, tmp_path: Path) -> None:
    long_ago = NOW - 100 * 86_400
    recorded.said("Old", "hi", at=long_ago)
    file = tmp_path / "settings.toml"
    source = SettingsSource(file, {})
    used: list[Settings] = []
    form = SettingsForm(source, recorded.locations, "ann", used.append)
    door = ScriptedRoomService(ScriptedJoinedRoom())
    app = GenieApp(door, None, "ann", store=recorded.store, form=form, clock=Ticking())
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(app.screen, SessionsScreen) and app.screen.is_mounted)
        screen = app.screen
        assert isinstance(screen, SessionsScreen)
        rows = screen.query_one(SessionList)
        await until(pilot, lambda: [row.due for row in rows.rows] == [""])
        file.write_text("[retention]\nmax_age_days = 30\n")
        await pilot.press("f12")
        await until(pilot, lambda: isinstance(app.screen, SettingsScreen))
        bell = app.screen.query_one("#notify", Picker)
        await until(pilot, lambda: not bell.disabled)
        bell.focus()
        await pilot.press("right", "ctrl+s")
        await until(pilot, lambda: app.screen is screen)
        await until(pilot, lambda: [row.due for row in rows.rows] == ["no activity for 30 days"])
        assert "past your limit" in text(screen, "#sessions-note")
    assert used[-1].retention.max_age_days == 30


async def test_a_failed_way_in_comes_back_to_the_list(recorded: Recorded) -> None:
    recorded.said("Garden", "hi")
    door = ScriptedRoomService(ScriptedJoinedRoom(), GenieError("the room is open in process 7"))
    app = GenieApp(door, None, "ann", store=recorded.store, clock=Ticking())
    async with app.run_test(notifications=True) as pilot:
        await until(pilot, lambda: isinstance(app.screen, LobbyScreen))
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(app.screen, SessionsScreen) and app.screen.is_mounted)
        await until(pilot, lambda: "Garden" in drawn(app.screen))  # type: ignore[arg-type]
        await pilot.press("enter")
        await until(pilot, lambda: bool(door.openings))
        await until(pilot, lambda: isinstance(app.screen, SessionsScreen) and app.screen.is_mounted)
        await until(pilot, lambda: any("process 7" in note.message for note in app._notifications))
        door.error = None
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, RoomScreen))


async def test_line_escapes_markup_and_controls(recorded: Recorded) -> None:
    saved = recorded.said("Garden [/red]\x1b[2J", "hi")
    saved.tag(["home"])
    saved.update(seen=3, unread=3, parked=2)
    async with listed(recorded, (118, 40)) as (screen, _):
        line = drawn(screen).splitlines()[0]
        for part in ("Garden [/red]", "#home", "ann", "kB", "▲2 3 new"):
            assert part in line
        assert "\x1b" not in line
        assert text(screen, "#sessions-count") == "1 session"


async def test_an_empty_list_says_so(recorded: Recorded) -> None:
    async with listed(recorded) as (screen, pilot):
        await until(pilot, lambda: "No sessions yet" in text(screen, "#sessions-none"))
        await pilot.press("enter", "r", "d", "n", "t", "e", "f")
        assert screen.is_current
        assert screen.chosen == []


async def test_enter_and_r_open_allowed_action(recorded: Recorded) -> None:
    mine = recorded.said("Mine", "hi").id
    theirs = recorded.catalog.copy_of("r1", "Theirs", "ann", NOW, address="127.0.0.1:7").id
    others = recorded.catalog.copy_of("r1", "Others", "bob", NOW, address="127.0.0.1:7").id
    async with listed(recorded) as (screen, pilot):
        rows = screen.query_one(SessionList)
        for id_ in (mine, theirs, others):
            rows.select(id_)
            await pilot.press("enter")
        rows.select(mine)
        await pilot.press("r")
        expected = [ResumeRoom(mine), RejoinRoom(theirs), ReplayRoom(others), ReplayRoom(mine)]
        await until(pilot, lambda: screen.chosen == expected)


async def test_typing_filters_then_searches(recorded: Recorded) -> None:
    recorded.said("Garden", "plant apples", "eat pears")
    recorded.said("Kitchen", "bake apples")
    async with listed(recorded) as (screen, pilot):
        rows = screen.query_one(SessionList)
        await pilot.press("slash", *"kit")
        assert titles(screen) == ["Kitchen"]
        assert text(screen, "#sessions-count") == "1 of 2 sessions"
        await pilot.press("ctrl+u", *"apples")
        assert titles(screen) == []
        await until(pilot, lambda: len(rows.hits) == 2)
        assert "found in sessions" in drawn(screen)
        assert text(screen, "#sessions-count") == "0 titles, 2 messages"
        assert "plant apples" in drawn(screen)
        await pilot.press("ctrl+u", *"pears")
        await until(pilot, lambda: [hit.seq for hit in rows.hits] == [5])
        await pilot.press("escape")
        await until(pilot, lambda: rows.has_focus)
        assert sorted(titles(screen)) == ["Garden", "Kitchen"]
        assert rows.hits == ()
        assert screen.query_one("#sessions-filter", Input).value == ""


async def test_listed_title_is_no_hit(recorded: Recorded) -> None:
    recorded.said("Garden", "plant apples")
    recorded.said("Kitchen", "herbs of the garden")
    async with listed(recorded) as (screen, pilot):
        rows = screen.query_one(SessionList)
        await pilot.press("slash", *"garden")
        await until(pilot, lambda: bool(rows.hits))
        assert titles(screen) == ["Garden"]
        assert [hit.title for hit in rows.hits] == ["Kitchen"]


async def test_arrow_choice_opens_by_enter(recorded: Recorded) -> None:
    for title in ("Garden", "Garden shed"):
        recorded.said(title, "hi")
    async with listed(recorded) as (screen, pilot):
        rows = screen.query_one(SessionList)
        await pilot.press("slash", *"garden", "enter")
        await until(pilot, lambda: rows.has_focus)
        assert screen.chosen == []
        await pilot.press("slash", "down", "enter")
        await until(pilot, lambda: screen.chosen == [ResumeRoom(rows.rows[1].id)])


async def test_fast_letters_reach_filter(recorded: Recorded) -> None:
    recorded.said("Garden", "hi")
    async with listed(recorded) as (screen, pilot):
        line = screen.query_one("#sessions-filter", Input)
        for key in "/fed/":  # all at once, as a terminal far away may send them
            pilot.app.post_message(Key("slash" if key == "/" else key, key))
        await until(pilot, lambda: line.value == "fed/")
        assert screen.is_current
        assert recorded.titles() == {"Garden"}


async def test_hit_opens_at_place_or_in_replay(recorded: Recorded) -> None:
    saved = recorded.session(
        "Garden", MessagePosted("1", "apples?"), AnswerPosted(4, "plant apples in May")
    )
    async with listed(recorded, WIDE) as (screen, pilot):
        rows = screen.query_one(SessionList)
        await find_one(screen, pilot, "may")
        await pilot.press("enter", "end")
        await until(pilot, lambda: isinstance(rows.selected, SearchHit))
        await until(pilot, lambda: "plant apples in May" in text(screen, "#preview-lines"))
        await pilot.press("enter", "r")
        await until(pilot, lambda: screen.chosen == [ReplayRoom(saved.id, at=5)])
        assert screen.hits == [5]


async def test_invalid_search_is_explained(recorded: Recorded) -> None:
    recorded.said("Garden", "plant apples")
    async with listed(recorded) as (screen, pilot):
        screen.query_one("#sessions-filter", Input).value = "before:yesterday"
        note = "before:yesterday is no date; write a day"
        await until(pilot, lambda: note in text(screen, "#sessions-note"))
        screen.query_one("#sessions-filter", Input).value = "apples from:ann"
        await until(pilot, lambda: len(screen.query_one(SessionList).hits) == 1)


async def test_arrows_move_in_the_list_while_one_types(recorded: Recorded) -> None:
    for title in ("One", "Two", "Three"):
        recorded.said(title, "hi")
    async with listed(recorded) as (screen, pilot):
        rows = screen.query_one(SessionList)
        await pilot.press("slash", "down", "down", "up")
        assert rows.cursor == 1
        await pilot.press("enter")
        await until(pilot, lambda: rows.has_focus)


async def test_sort_key_keeps_selection(recorded: Recorded) -> None:
    recorded.said("Beta", "hi", at=NOW - 10)
    recorded.said("alpha", "hi" * 30_000, at=NOW - 20)
    recorded.said("Gamma", "hi", at=NOW).update(unread=4)
    async with listed(recorded) as (screen, pilot):
        rows = screen.query_one(SessionList)
        chosen = next(row for row in rows.rows if row.title == "alpha")
        rows.select(chosen.id)
        firsts = {}
        for _ in Sort:
            await pilot.press("s")
            firsts[screen.query_one(SessionListHeader).sort] = titles(screen)[0]
            assert rows.selected == chosen
        assert firsts[Sort.TITLE] == firsts[Sort.SIZE] == "alpha"
        assert firsts[Sort.UNREAD] == "Gamma"


async def test_a_click_on_a_column_sorts_by_it(recorded: Recorded) -> None:
    recorded.said("Beta", "hi", at=NOW)
    recorded.said("alpha", "hi", at=NOW - 20)
    async with listed(recorded, WIDE) as (screen, pilot):
        assert titles(screen) == ["Beta", "alpha"]
        assert await pilot.click(SessionListHeader, offset=(3, 0))
        await until(pilot, lambda: titles(screen) == ["alpha", "Beta"])
        assert screen.query_one(SessionListHeader).sort is Sort.TITLE


async def test_preview_shows_last_messages(recorded: Recorded) -> None:
    recorded.said("Garden", "first", "last [/red]\x1b[2J")
    async with listed(recorded, WIDE) as (screen, pilot):
        await until(pilot, lambda: "last [/red]" in text(screen, "#preview-lines"))
        assert "\x1b" not in text(screen, "#preview-lines")
        assert "2 messages" in text(screen, "#preview-facts")


async def test_small_terminal_hides_preview(recorded: Recorded) -> None:
    recorded.said("Garden", "hi")
    async with listed(recorded, (70, 20)) as (screen, _):
        assert not screen.query_one(SessionPreview).display
        line = drawn(screen).splitlines()[0]
        assert "Garden" in line
        assert "ago" in line or "just now" in line
        about = screen.query_one("#sessions-about", Static)
        assert "you can host it" in str(about.render())
        assert screen.region.contains_region(about.region)
        assert about.region.height


async def test_renaming_asks_for_a_title(recorded: Recorded) -> None:
    recorded.said("Garden", "hi")
    async with listed(recorded) as (screen, pilot):
        await pilot.press("n")
        await until(pilot, lambda: isinstance(pilot.app.screen, AskLineScreen))
        await pilot.press("escape")
        await until(pilot, lambda: screen.is_current)
        assert recorded.titles() == {"Garden"}
        await pilot.press("n")
        await until(pilot, lambda: isinstance(pilot.app.screen, AskLineScreen))
        await pilot.press("ctrl+u", *"Orchard", "enter")
        await until(pilot, lambda: titles(screen) == ["Orchard"])
        assert recorded.titles() == {"Orchard"}


async def test_invalid_tag_is_explained(recorded: Recorded) -> None:
    recorded.said("Garden", "hi")
    async with listed(recorded) as (screen, pilot):
        rows = screen.query_one(SessionList)
        await pilot.press("t")
        await until(pilot, lambda: isinstance(pilot.app.screen, AskLineScreen))
        await pilot.press(*"home, to do", "enter")
        await until(pilot, lambda: rows.rows[0].tags == ("home", "to do"))
        await pilot.press("t")
        await until(pilot, lambda: isinstance(pilot.app.screen, AskLineScreen))
        pilot.app.screen.query_one("#ask-line", Input).value = "x" * 40
        await pilot.press("enter")
        notes = pilot.app._notifications
        await until(pilot, lambda: any("tag" in note.message for note in notes))
        assert rows.rows[0].tags == ("home", "to do")


async def test_deleting_asks_first(recorded: Recorded) -> None:
    recorded.said("Garden", "hi", at=NOW)
    recorded.said("Kitchen", "hi", at=NOW - 9)
    async with listed(recorded) as (screen, pilot):
        selected = screen.query_one(SessionList).selected
        assert isinstance(selected, SessionRow)
        await pilot.press("d")
        await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        await pilot.press("escape")
        await until(pilot, lambda: screen.is_current)
        assert len(recorded.titles()) == 2
        await pilot.press("d")
        await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        await pilot.press("enter")
        await until(pilot, lambda: len(titles(screen)) == 1)
        assert (recorded.trash / selected.id).is_dir()
        told = f"“{selected.title}” is in the trash."
        await until(pilot, lambda: any(told in note.message for note in pilot.app._notifications))


@pytest.mark.parametrize("key", ["d", "n"])
async def test_open_session_is_not_changed(recorded: Recorded, key: str) -> None:
    saved = recorded.said("Garden", "hi")
    with saved.held():
        async with listed(recorded) as (screen, pilot):
            await pilot.press(key)
            await until(
                pilot, lambda: any("open in" in n.message for n in pilot.app._notifications)
            )
            assert screen.is_current  # nothing was asked
    assert recorded.titles() == {"Garden"}


async def test_session_opened_meanwhile_is_kept(
    recorded: Recorded,
) -> None:
    saved = recorded.said("Garden", "hi")
    async with listed(recorded) as (screen, pilot):
        await pilot.press("d")
        await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        with saved.held():
            await pilot.press("enter")
            await until(
                pilot, lambda: any("open in" in n.message for n in pilot.app._notifications)
            )
        assert titles(screen) == ["Garden"]


async def test_list_watches_other_processes(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "WATCH", 0.05)
    saved = recorded.said("Garden", "hi")
    async with listed(recorded, WIDE) as (screen, pilot):
        assert "open" not in drawn(screen)
        with saved.held("bob"):
            await until(pilot, lambda: "open by bob" in drawn(screen))
            facts = f"(pid {os.getpid()})"
            await until(pilot, lambda: facts in text(screen, "#preview-facts"))
            recorded.said("Kitchen", "hi")
        await until(pilot, lambda: "open by" not in drawn(screen))
        await until(pilot, lambda: set(titles(screen)) == {"Garden", "Kitchen"})


async def test_a_fork_is_listed_and_selected(recorded: Recorded) -> None:
    recorded.said("Garden", "apples", "pears")
    async with listed(recorded) as (screen, pilot):
        rows = screen.query_one(SessionList)
        await find_one(screen, pilot, "apples")
        await pilot.press("enter", "end", "f")

        def is_selected() -> bool:
            return isinstance(rows.selected, SessionRow) and rows.selected.title == "Garden (fork)"

        await until(pilot, is_selected)
        assert isinstance(rows.selected, SessionRow)
        assert [line.text for line in recorded.store.last_lines(rows.selected.id)] == ["apples"]


async def test_exporting_asks_for_a_file(recorded: Recorded, tmp_path: Path) -> None:
    recorded.said("Garden", "hi there")
    target = tmp_path / "out.md"
    async with listed(recorded) as (screen, pilot):
        await pilot.press("e")
        await until(pilot, lambda: isinstance(pilot.app.screen, ExportScreen))
        line = pilot.app.screen.query_one("#export-path", Input)
        assert line.value.endswith(".md")
        line.value = str(target)
        await pilot.press("enter")
        await until(pilot, lambda: any("out.md" in n.message for n in pilot.app._notifications))
        assert "hi there" in target.read_text()
        assert screen.is_current


async def test_attached_files_are_exported(recorded: Recorded, tmp_path: Path) -> None:
    content = b"plant apples"
    file = FileRef(sha256(content).hexdigest(), "notes.txt", len(content), "text/plain")
    saved = recorded.session("Garden", MessagePosted("1", "see this", files=(file,)))
    (tmp_path / "notes").write_bytes(content)
    BlobStore(saved.folder / "blobs").add(tmp_path / "notes")
    async with listed(recorded) as (screen, pilot):
        await pilot.press("e")
        await until(pilot, lambda: isinstance(pilot.app.screen, ExportScreen))
        pilot.app.screen.query_one("#export-path", Input).value = str(tmp_path / "out.md")
        await pilot.press("tab", "space", "enter")
        await until(pilot, lambda: screen.is_current)
        await until(pilot, lambda: any("out.md" in n.message for n in pilot.app._notifications))
    (copied,) = (tmp_path / "out-files").iterdir()
    assert copied.read_bytes() == content
    assert copied.name in (tmp_path / "out.md").read_text()


async def test_failed_export_asks_and_keeps_file(recorded: Recorded, tmp_path: Path) -> None:
    recorded.said("Garden", "hi there")
    target = tmp_path / "out.md"
    target.write_text("mine")

    async with listed(recorded) as (screen, pilot):
        app = pilot.app

        async def export_to(path: Path) -> None:
            await until(pilot, lambda: isinstance(app.screen, ExportScreen))
            app.screen.query_one("#export-path", Input).value = str(path)
            await pilot.press("enter")

        await pilot.press("e")
        await export_to(tmp_path / "none" / "out.md")
        await until(pilot, lambda: isinstance(app.screen, ExportScreen))
        await until(pilot, lambda: "there is no folder" in text(app.screen, "#export-form"))
        await export_to(target)
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ExportScreen))
        assert target.read_text() == "mine"
        await export_to(target)
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("enter")
        await until(pilot, lambda: screen.is_current)
        await until(pilot, lambda: "hi there" in target.read_text())


async def test_trouble_with_the_disk_is_told(recorded: Recorded) -> None:
    recorded.locations.sessions.parent.mkdir(parents=True)
    recorded.locations.sessions.write_text("a file stands here")
    app = GenieApp(
        ScriptedRoomService(ScriptedJoinedRoom()),
        None,
        "ann",
        store=recorded.store,
        clock=Ticking(),
    )
    async with app.run_test() as pilot:
        screen = SessionsScreen(recorded.store, Ticking())
        await app.push_screen(screen)
        note = screen.query_one("#sessions-note", Static)
        await until(pilot, lambda: note.display and "sessions" in str(note.render()))


async def test_outdated_search_shows_nothing(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded.said("Garden", "apples")
    going, wanted = threading.Event(), threading.Event()
    search = recorded.store.search
    asked: list[bool] = []

    def slow(text: str, is_wanted: Callable[[], bool]) -> Any:
        if text == "apples":
            wanted.set()
            assert going.wait(60)
            asked.append(is_wanted())
        return search(text, is_wanted)

    monkeypatch.setattr(recorded.store, "search", slow)
    async with listed(recorded) as (screen, pilot):
        rows = screen.query_one(SessionList)
        await pilot.press("slash", *"apples")
        await until(pilot, wanted.is_set)
        await pilot.press("ctrl+u", *"zz")
        going.set()
        await until(pilot, lambda: "no messages match" in drawn(screen))
        await until(pilot, lambda: asked == [False])
        assert rows.hits == ()


async def test_only_visible_rows_are_drawn(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded.said("Garden", "hi")
    async with listed(recorded) as (screen, pilot):
        rows = screen.query_one(SessionList)
        count = 0

        def counted(*args: Any) -> Any:
            nonlocal count
            count += 1
            return session_line(*args)

        monkeypatch.setattr("genie_tui.widgets.session_list.session_line", counted)
        many = [SessionRow(str(n), f"Session {n}", size=1) for n in range(1_000)]
        rows.show_rows(many)
        hits = [SearchHit("5", "Session 5", 4, 4, NOW, "ann", "message", Snippet("x"))]
        rows.show_hits(hits, "found")
        await pilot.pause()
        await pilot.press("end")
        await until(pilot, lambda: rows.selected == hits[0])
        await pilot.press("home", "pagedown", "down")
        assert rows.cursor > 10
        assert count < 500
