"""Show the decisions of other reasoners in a replayed room."""

from collections.abc import Sequence
from typing import Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from genie_core.assistant.what_if.report import CaseResult, WhatIfReport, differing
from genie_core.assistant.what_if.text import (
    MARKED,
    comparison_lines,
    decided,
    excerpt,
    heading,
    named,
    room,
    summary_lines,
    title,
    told,
)
from genie_core.text.safe import visible_line
from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Scope, bindings
from genie_tui.screens.dialogs.dialog import Dialog
from genie_tui.widgets.keys_line import KeyText, key_list

SAME: Final = "All decisions were the same."
NO_OTHER: Final = "There is no report before this one to compare with."


class WhatIfScreen(Dialog[int | None]):
    """Shows reports, latest first, or where one differs from the one before it.

    Returns the message to go to. There is at least one report.
    """

    CSS_PATH = "what_if.tcss"
    BINDINGS = bindings(Scope.WHATIF)

    def __init__(self, reports: Sequence[WhatIfReport]) -> None:
        super().__init__()
        self._reports = reports
        self._place = 0
        self._compares = False

    def compose(self) -> ComposeResult:
        with Vertical(id="whatif", classes="dialog"):
            yield Static(id="whatif-title", classes="title", markup=False)
            yield Static(id="whatif-room", markup=False)
            yield Static(id="whatif-summary", markup=False)
            yield Static(SAME, id="whatif-none", markup=False)
            yield OptionList(id="whatif-list", markup=False)
            yield KeyText(key_list(keymap_of(self).actions(Scope.WHATIF)), id="whatif-keys")

    def on_mount(self) -> None:
        self._show()
        self._list.focus()

    def action_turn(self, step: int) -> None:
        """Show an older or newer report."""
        self._place = min(max(self._place + step, 0), len(self._reports) - 1)
        self._show()

    def action_compare(self) -> None:
        """Show where this report and the one before differ, or this report again."""
        if self._other is None:
            self.notify(NO_OTHER)
            return
        self._compares = not self._compares
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
        _ = self.dismiss(self._shown[event.option_index][0].message)

    @property
    def _report(self) -> WhatIfReport:
        return self._reports[self._place]

    @property
    def _other(self) -> WhatIfReport | None:
        """The report before this one."""
        rest = self._reports[self._place + 1 :]
        return rest[0] if rest else None

    @property
    def _shown(self) -> Sequence[tuple[CaseResult, CaseResult | None]]:
        """The listed results, each with the other report's if two are compared."""
        if self._compares and self._other is not None:
            return differing(self._report, self._other)
        return [(each, None) for each in (*self._report.changed, *self._report.failures)]

    @property
    def _list(self) -> OptionList:
        return self.query_one(OptionList)

    def _show(self) -> None:
        report, other = self._report, self._other if self._compares else None
        which = f"  {self._place + 1} of {len(self._reports)}" if len(self._reports) > 1 else ""
        beside = f"\ncompared with {visible_line(named(other))}" if other else ""
        lines = summary_lines(report) if other is None else comparison_lines(report, other)
        self.query_one("#whatif-title", Static).update(f"{title(report)}{which}{beside}")
        self.query_one("#whatif-room", Static).update(room(report))
        self.query_one("#whatif-summary", Static).update("\n".join(lines))
        results = self._shown
        is_whole = other is None or (report.is_complete and other.is_complete)
        self.query_one("#whatif-none", Static).update(SAME if is_whole else "")
        self.set_class(not results, "-none")
        names = (named(report), named(other)) if other else ("", "")
        self._list.set_options([Option(_prompt(*each, names)) for each in results])
        if results:
            self._list.highlighted = 0


def _prompt(result: CaseResult, other: CaseResult | None, names: tuple[str, str]) -> Content:
    """Format a message with the recorded decision and the new ones, or the error. Safe to show."""
    after = "now" if other is None else names[0]
    rest = [] if other is None else [(f"  {visible_line(names[1])}  ", other)]
    parts: list[tuple[str, str]] = [
        (heading(result), "$foreground-muted"),
        (f"  ! {MARKED}" if result.wrong else "", "$text-accent"),
        (f"\n{excerpt(result.text)}\n", ""),
        ("  was  ", "$foreground-muted"),
        (f"{told(result.before)}\n", ""),
    ]
    for label, each in [(f"  {visible_line(after)}  ", result), *rest]:
        parts.append((label, "$foreground-muted"))
        parts.append((f"{decided(each)}\n", "bold" if each.after else "$text-error"))
    return Content.assemble(*parts)
