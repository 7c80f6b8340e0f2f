"""Reports of what other reasoners would have decided, looked at in a replay."""

from collections.abc import Sequence

from rich.console import Console
from textual.app import App
from textual.widgets import OptionList, Static

from genie_core.assistant.what_if.report import CaseResult, Comparison, Summary, WhatIfReport
from genie_tui.screens.dialogs.what_if import WhatIfScreen

AT = 1_790_000_000.0


def outcome(message: int, text: str, error: str = "") -> CaseResult:
    after = None if error else Comparison("delegate", "a question", text, "ann")
    return CaseResult(message, AT, "ann", "ann", text, Comparison("ignore", "quiet"), after, error)


def report(
    template: str, *changed: CaseResult, failures: Sequence[CaseResult] = ()
) -> WhatIfReport:
    return WhatIfReport(
        session="garden-1",
        title="Garden",
        template=template,
        model="m",
        at=AT,
        total=9,
        summary=Summary(agree=9 - len(changed), newly_delegated=len(changed)),
        changed=changed,
        failures=tuple(failures),
    )


class Host(App[None]):
    """Shows the reports, and keeps what the screen ended with."""

    def __init__(self, *reports: WhatIfReport) -> None:
        super().__init__()
        self.reports = reports
        self.ended: list[int | None] = []

    async def on_mount(self) -> None:
        await self.push_screen(WhatIfScreen(self.reports), self.ended.append)


def shown(app: Host) -> str:
    console = Console(width=200)
    listed = app.screen.query_one(OptionList)
    words = [str(each.render()) for each in app.screen.query(Static)]
    words += [str(option.prompt) for option in listed.options]
    with console.capture() as captured:
        console.print("\n".join(words), markup=False, highlight=False)
    return captured.get()


async def test_what_differs_and_what_failed_is_listed() -> None:
    failed = outcome(9, "and now?", "the model is away")
    app = Host(report("fact_check", outcome(4, "what is [b]6*7[/b]?"), failures=[failed]))
    async with app.run_test(size=(120, 40)):
        text = shown(app)
        assert "What if fact_check with m had decided" in text
        assert "what is [b]6*7[/b]?" in text
        assert "was  IGNORE    quiet" in text
        assert "now  DELEGATE  a question -> asks for ann" in text
        assert "FAILED    the model is away" in text
        assert "8 agree, 1 newly delegated" in text


async def test_a_message_is_chosen_to_be_watched() -> None:
    app = Host(report("fact_check", outcome(4, "one"), outcome(7, "two")))
    async with app.run_test() as pilot:
        await pilot.press("j", "enter")
        await pilot.pause()
        assert app.ended == [7]


async def test_older_reports_are_behind_it() -> None:
    app = Host(report("second", outcome(4, "one")), report("first"))
    async with app.run_test() as pilot:
        assert "1 of 2" in shown(app)
        await pilot.press("left", "left")
        await pilot.pause()
        assert "What if first" in shown(app)
        assert app.screen.has_class("-none")
        await pilot.press("enter", "right")
        await pilot.pause()
        assert "What if second" in shown(app)
        await pilot.press("escape")
        await pilot.pause()
        assert app.ended == [None]
