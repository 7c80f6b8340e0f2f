import pytest
from tests.genie_tui.command_keys import CommandKeysApp
from textual.app import ComposeResult

from genie_core.room.client.model import (
    ConnectionState,
    ConnectionStatus,
    EngineState,
    EngineStatus,
)
from genie_tui.widgets.status_bar import Counts, StatusBar


class Host(CommandKeysApp):
    """Shows only the bar."""

    CSS = "StatusBar { height: 1; }"

    def compose(self) -> ComposeResult:
        yield StatusBar()


@pytest.mark.parametrize("width", [60, 80, 120, 200])
async def test_always_fits_and_never_hides_what_waits(width: int) -> None:
    app = Host()
    async with app.run_test(size=(width, 5)):
        bar = app.query_one(StatusBar)
        bar.show_room("a title that is far too long " * 10, "127.0.0.1:7654")
        bar.show_link(ConnectionStatus(ConnectionState.RETRYING))
        bar.show_engine(EngineStatus(EngineState.READY, "offline", offline=True))
        bar.show_waiting(12)
        content = bar.render()
        assert content.cell_length <= width
        assert "12 approvals" in content.plain


async def test_in_few_columns_what_waits_is_a_number() -> None:
    app = Host()
    async with app.run_test(size=(40, 5)):
        bar = app.query_one(StatusBar)
        bar.show_room("a title that is far too long", "127.0.0.1:7654")
        bar.show_link(ConnectionStatus(ConnectionState.RETRYING))
        bar.show_engine(EngineStatus(EngineState.READY, "offline", offline=True))
        bar.show_waiting(12)
        bar.show_grants(2)
        bar.show_elsewhere(Counts(3, 14, 5))
        content = bar.render()
        assert content.cell_length <= 40
        assert content.plain.split()[-8:] == ["▲", "12", "2", "grants", "^o", "▲", "3", "◌"]


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (EngineStatus(EngineState.LOADING), "loading"),
        (EngineStatus(EngineState.FAILED, detail="x"), "failed"),
        (EngineStatus(EngineState.READY, "ollama:qwen3"), "ollama:qwen3"),
        (EngineStatus(EngineState.READY, "rules", offline=True), "offline helper"),
    ],
)
async def test_says_what_answers(status: EngineStatus, words: str) -> None:
    app = Host()
    async with app.run_test(size=(100, 5)):
        bar = app.query_one(StatusBar)
        bar.show_engine(status)
        assert words in bar.render().plain


async def test_hostile_titles_stay_text() -> None:
    app = Host()
    async with app.run_test(size=(100, 5)):
        bar = app.query_one(StatusBar)
        bar.show_room("[/red]\x1b", "")
        assert "[/red]␛" in bar.render().plain


async def test_a_recording_is_not_taken_for_a_room() -> None:
    app = Host()
    async with app.run_test(size=(80, 5)):
        bar = app.query_one(StatusBar)
        bar.show_room("Garden", "")
        bar.show_replay("REPLAY")
        bar.show_link(ConnectionStatus(ConnectionState.ONLINE))
        assert bar.render().plain.split() == ["Garden", "REPLAY"]
        assert bar.has_class("-replay")
