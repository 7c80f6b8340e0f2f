"""Show what other reasoners would have decided in a replayed room."""

from collections.abc import Sequence
from typing import Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from genie_core.assistant.what_if.report import CaseResult, WhatIfReport
from genie_core.assistant.what_if.text import (
    MARKED,
    excerpt,
    heading,
    room,
    summary_lines,
    title,
    told,
)
from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Scope, bindings
from genie_tui.screens.dialogs.dialog import Dialog, DialogKeys
from genie_tui.widgets.keys_line import key_list

SAME: Final = "All decisions were the same."


class WhatIfScreen(Dialog[int | None]):
    """Shows reports, latest first; returns the message to go to.

    There is at least one report.
    """

    CSS_PATH = "what_if.tcss"
    BINDINGS = bindings(Scope.WHATIF)
    READ_ONLY = True

    def __init__(self, reports: Sequence[WhatIfReport]) -> None:
        super().__init__()
        self._reports = reports
        self._place = 0

    def compose(self) -> ComposeResult:
        with Vertical(id="whatif"):
            yield Static(id="whatif-title", markup=False)
            yield Static(id="whatif-room", markup=False)
            yield Static(id="whatif-summary", markup=False)
            yield Static(SAME, id="whatif-none", markup=False)
            yield OptionList(id="whatif-list", markup=False)
            yield DialogKeys(key_list(keymap_of(self).actions(Scope.WHATIF)), id="whatif-keys")

    def on_mount(self) -> None:
        self._show()
        self._list.focus()

    def action_turn(self, step: int) -> None:
        """Show an older or newer report."""
        self._place = min(max(self._place + step, 0), len(self._reports) - 1)
        self._show()

    def action_close(self) -> None:
        _ = self.dismiss(None)

    def action_cursor_up(self) -> None:
        self._list.action_cursor_up()

    def action_cursor_down(self) -> None:
        self._list.action_cursor_down()

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        _ = self.dismiss(self._outcomes[event.option_index].message)

    @property
    def _report(self) -> WhatIfReport:
        return self._reports[self._place]

    @property
    def _outcomes(self) -> Sequence[CaseResult]:
        return (*self._report.changed, *self._report.failures)

    @property
    def _list(self) -> OptionList:
        return self.query_one(OptionList)

    def _show(self) -> None:
        report, outcomes = self._report, self._outcomes
        which = f"  {self._place + 1} of {len(self._reports)}" if len(self._reports) > 1 else ""
        self.query_one("#whatif-title", Static).update(f"{title(report)}{which}")
        self.query_one("#whatif-room", Static).update(room(report))
        self.query_one("#whatif-summary", Static).update("\n".join(summary_lines(report)))
        self.set_class(not outcomes, "-none")
        self._list.set_options([Option(_prompt(each)) for each in outcomes])
        if outcomes:
            self._list.highlighted = 0


def _prompt(outcome: CaseResult) -> Content:
    """Format a message with both decisions, or the error. Safe to show."""
    after = outcome.after
    return Content.assemble(
        (heading(outcome), "$foreground-muted"),
        (f"  ! {MARKED}" if outcome.wrong else "", "$text-accent"),
        f"\n{excerpt(outcome.text)}\n",
        ("  was  ", "$foreground-muted"),
        f"{told(outcome.before)}\n",
        ("  now  ", "$foreground-muted"),
        (told(after), "bold") if after else (f"FAILED    {excerpt(outcome.error)}", "$text-error"),
        "\n",
    )
