from pathlib import Path

from textual.app import App, ComposeResult

from genie_core.room.protocol.events import FileRef, Quote, QuotedLine
from genie_core.room.seat import Transfer, Way
from genie_tui.cargo import Cargo
from genie_tui.shelf import Shelf
from genie_tui.widgets.cargo_line import CargoLine


class Host(App[None]):
    """Only the line."""

    def __init__(self) -> None:
        super().__init__()
        self.cargo, self.shelf = Cargo(), Shelf()
        self.line = CargoLine(self.cargo, self.shelf)

    def compose(self) -> ComposeResult:
        yield self.line


async def test_it_shows_what_goes_along_and_nothing_else() -> None:
    app = Host()
    async with app.run_test(size=(100, 10)):
        assert not app.line.display
        app.cargo.files.append(FileRef("d", "[a]\x1b.pdf", 100))
        app.cargo.reading.append(Path("/x/b.pdf"))
        app.cargo.quotes.append(Quote("r", "Garden", (QuotedLine("ann", "hi"),)))
        app.line.show()
        text = str(app.line.render())
        for part in ("▤ [a]␛.pdf 100 bytes", "b.pdf reading…", "❝ Garden 1 message", "/detach"):
            assert part in text
        app.shelf.take(Transfer("d", "a", Way.UP, 30, 100))
        app.line.show()
        assert "sending 30 %" in str(app.line.render())
        app.cargo.remove("")
        app.line.show()
        assert not app.line.display


async def test_it_asks_about_what_was_pasted() -> None:
    app = Host()
    async with app.run_test(size=(100, 10)):
        app.line.offer([(Path("/x/[b].pdf"), 1_200)])
        assert "attach [b].pdf (1.2 kB)?" in str(app.line.render())
        app.line.offer(())
        assert not app.line.display
