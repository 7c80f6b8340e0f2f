"""Pick one of several rows, found by a few of their letters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.fuzzy import Matcher
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from genie_core.text.safe import visible_line
from genie_tui.commands.keymap import KeyedApp, keymap_of
from genie_tui.commands.keys import Scope, bindings
from genie_tui.screens.dialogs.dialog import Dialog
from genie_tui.widgets.approvals.key_guard import QUIET
from genie_tui.widgets.keys_in_order import LineInput
from genie_tui.widgets.keys_line import KeyText, key_list
from genie_tui.widgets.too_small import TooSmall

TEXT: Final = 24
"""Columns for texts up to which their descriptions begin in one column."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row to pick: `id` is returned, `text` is shown and searched, `about` only shown."""

    id: str
    text: str
    about: str = ""


class PickScreen(Dialog[str | None]):
    """Returns the id of the picked row; None if the person went back.

    `CarefulPickScreen` is for lists that open by themselves.
    """

    CSS_PATH = "pick.tcss"
    BINDINGS = bindings(Scope.PICK)

    def __init__(
        self, title: str, rows: Sequence[Row], none: str = "No match.", at: str = ""
    ) -> None:
        """`at` is the id of the row that is highlighted first; the first one by default."""
        super().__init__()
        self._title = title
        self._rows = rows
        self._none = none
        self._first = next((n for n, row in enumerate(rows) if row.id == at), 0)
        self._shown: list[Row] = []

    def compose(self) -> ComposeResult:
        yield TooSmall()
        with Vertical(id="pick", classes="dialog"):
            yield Static(self._title, id="pick-title", classes="title", markup=False)
            yield LineInput(placeholder="Type to filter", id="pick-filter", compact=True)
            yield OptionList(id="pick-list", markup=False, compact=True)
            yield Static(self._none, id="pick-none", markup=False)
            yield KeyText(key_list(keymap_of(self).actions(Scope.PICK)), id="pick-keys")

    def on_mount(self) -> None:
        self._list.can_focus = False
        self._show("")

    @on(Input.Changed)
    def _filter(self, event: Input.Changed) -> None:
        self._show(event.value)

    @on(Input.Submitted)
    def _pick(self) -> None:
        place = self._list.highlighted
        if place is not None and place < len(self._shown) and self._may_pick:
            _ = self.dismiss(self._shown[place].id)

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        _ = self.dismiss(self._shown[event.option_index].id)

    def action_move(self, step: int) -> None:
        """Highlight the row before or after, around the ends."""
        if self._shown:
            self._list.highlighted = ((self._list.highlighted or 0) + step) % len(self._shown)

    def action_back(self) -> None:
        _ = self.dismiss(None)

    @property
    def _may_pick(self) -> bool:
        return True

    @property
    def _list(self) -> OptionList:
        return self.query_one(OptionList)

    def _show(self, wanted: str) -> None:
        self._shown = matching(wanted, self._rows)
        columns = _columns(self._shown)
        self._list.set_options([Option(_line(row, columns)) for row in self._shown])
        first = 0 if wanted else self._first
        self._list.highlighted = first if self._shown else None
        self.set_class(not self._shown, "-none")


class CarefulPickScreen(PickScreen):
    """A `PickScreen` that opens after a while: enter counts after a rest, or after an arrow."""

    @property
    def _may_pick(self) -> bool:
        if not isinstance(self.app, KeyedApp):
            return True
        last = self.app.last_key
        return last.rest >= QUIET or last.before in ("up", "down")


def matching(wanted: str, rows: Sequence[Row]) -> list[Row]:
    """Return the rows whose text has the letters in order, the best match first.

    Colons around them, as of an emoji's name, don't count.
    """
    wanted = wanted.strip().strip(":")
    if not wanted:
        return list(rows)
    matcher = Matcher(wanted)
    scored = [(matcher.match(row.text), row) for row in rows]
    return [row for score, row in sorted(scored, key=lambda each: -each[0]) if score > 0]


def _columns(rows: Sequence[Row]) -> int:
    """Return the columns for texts, so that descriptions stand in a column if all are short."""
    widest = max((cell_len(visible_line(row.text)) for row in rows if row.about), default=0)
    return widest if widest <= TEXT else 0


def _line(row: Row, columns: int) -> Content:
    text = Content(visible_line(row.text))
    if not row.about:
        return text
    gap = " " * (max(columns - text.cell_length, 0) + 2)
    return Content.assemble(text, gap, (visible_line(row.about), "dim"))
