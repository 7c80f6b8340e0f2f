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


def judged(template: str, *decisions: str, seconds: float = 2.0) -> WhatIfReport:
    """A report on messages 1, 2 and so on, all of which were ignored."""
    before = Comparison("ignore", "quiet")
    results = [
        CaseResult(
            n,
            AT,
            "ann",
            "ann",
            f"text {n}",
            before,
            Comparison(each, f"{template}'s [b]reason"),
            "no",
        )
        if each
        else CaseResult(n, AT, "ann", "ann", f"text {n}", before, None, "the model is away")
        for n, each in enumerate(decisions, 1)
    ]
    changed = tuple(each for each in results if each.differs)
    agreed = tuple(each for each in results if each.after and not each.differs)
    return WhatIfReport(
        session="garden-1",
        title="Garden",
        template=template,
        model="m",
        at=AT,
        seconds=seconds,
        total=len(results),
        summary=Summary(agree=len(agreed), newly_delegated=len(changed)),
        changed=changed,
        agreed=agreed,
        failures=tuple(each for each in results if each.after is None),
    )


async def test_comparison_shows_both_reasons() -> None:
    newer = judged("mine", "delegate", "ignore", "ignore", "delegate", "")
    older = judged("yours", "delegate", "delegate", "ignore", "ignore", "ignore")
    app = Host(newer, older)
    async with app.run_test(size=(120, 50)) as pilot:
        await pilot.press("c")
        await pilot.pause()
        text = shown(app)
        assert "compared with yours with m" in text
        assert "3 of 5 decisions differ" in text
        assert [each for each in range(1, 6) if f"text {each}" in text] == [2, 4, 5]
        assert "mine with m  IGNORE    mine's [b]reason" in text
        assert "yours with m  DELEGATE  yours's [b]reason" in text
        assert "mine with m  FAILED    the model is away" in text
        await pilot.press("j", "enter")
        await pilot.pause()
        assert app.ended == [4]


async def test_comparison_needs_complete_reports() -> None:
    app = Host(judged("mine", "delegate"), report("earlier", outcome(1, "one")))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("c")
        await pilot.pause()
        assert "One of them is of an earlier version" in shown(app)
        assert "All decisions were the same" not in shown(app)
        await pilot.press("c")
        await pilot.pause()
        assert "compared with" not in shown(app)
        await pilot.press("left", "c")
        await pilot.pause()
        assert "compared with" not in shown(app)
