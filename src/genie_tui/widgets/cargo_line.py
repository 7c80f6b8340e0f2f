"""The lines above the composer that say what goes with the next message."""

from collections.abc import Sequence
from pathlib import Path

from textual.content import Content
from textual.widgets import Static

from genie_tui.amounts import counted, file_size
from genie_tui.cargo import Cargo
from genie_tui.shelf import Shelf
from genie_tui.text import visible_line
from genie_tui.widgets.brought import quote_name


class CargoLine(Static):
    """One chip for each thing, and the question about what was pasted. Hidden without either."""

    def __init__(self, cargo: Cargo, shelf: Shelf) -> None:
        super().__init__(markup=False)
        self._cargo = cargo
        self._shelf = shelf
        self._offered: Sequence[tuple[Path, int]] = ()
        self.display = False

    def offer(self, files: Sequence[tuple[Path, int]]) -> None:
        """Ask whether to attach these files, with their sizes; no longer if there are none."""
        self._offered = files
        self.show()

    def show(self) -> None:
        """Look again at what goes along."""
        lines = [line for line in (self._chips(), self._question()) if line]
        self.display = bool(lines)
        self.update(Content("\n").join(lines))

    def _question(self) -> Content:
        if not self._offered:
            return Content("")
        names = ", ".join(
            f"{visible_line(path.name)} ({file_size(size)})" for path, size in self._offered
        )
        return Content.assemble(
            (f"attach {names}?  ", "$text-warning"),
            ("enter", "bold $text-warning"),
            (" attaches · ", "$foreground-muted"),
            ("esc", "bold $text-warning"),
            (" inserts the path as text", "$foreground-muted"),
        )

    def _chips(self) -> Content:
        chips = [
            *(self._file(file.digest, file.name, file.size) for file in self._cargo.files),
            *(_reading(path) for path in self._cargo.reading),
            *(
                _chip(f"❝ {quote_name(quote)}", counted(len(quote.lines), "message"))
                for quote in self._cargo.quotes
            ),
        ]
        if not chips:
            return Content("")
        hint = Content.styled("/detach takes them off", "$foreground-muted")
        return Content("   ").join([*chips, hint])

    def _file(self, digest: str, name: str, size: int) -> Content:
        sending = self._shelf.is_sending(digest)
        standing = self._shelf.standing(digest)
        more = f" · {standing.text}" if sending or standing.style == "failed" else ""
        return _chip(f"▤ {visible_line(name)}", file_size(size) + more)


def _reading(path: Path) -> Content:
    return _chip(f"▤ {visible_line(path.name)}", "reading…")


def _chip(name: str, about: str) -> Content:
    return Content.assemble((name, "$text-primary"), (f" {about}", "$foreground-muted"))
