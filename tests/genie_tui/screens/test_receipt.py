from tests.genie_tui.scripted_room import HandClock
from textual.app import App
from textual.widgets import Static

from genie_core.room.participant.receipt import Item, Receipt
from genie_tui.app import GenieApp
from genie_tui.exit_report import ExitReport
from genie_tui.screens.receipt import ReceiptScreen


async def test_that_any_key_ends_is_in_view_on_the_smallest_terminal() -> None:
    class Small(App[None]):
        VERTICAL_BREAKPOINTS = GenieApp.VERTICAL_BREAKPOINTS

    folder = "/home/ann/.local/share/genie-tui/sessions/2026-11-21-standup-3fk9"
    receipt = Receipt(cancelled=tuple(Item(seq, "ann", f"message {seq}") for seq in range(9)))
    report = ExitReport(
        "2026-11-21-standup-3fk9", "Standup", hosted=True, receipt=receipt, saved_to=folder
    )
    async with Small().run_test(size=(60, 16)) as pilot:
        screen = ReceiptScreen([report, report], HandClock())
        await pilot.app.push_screen(screen)
        await pilot.pause()
        box, keys = screen.query_one("#receipt"), screen.query_one("#receipt-keys")
        assert box.content_region.contains_region(keys.region)
        assert screen.region.contains_region(box.region)


async def test_what_does_not_fit_into_a_line_goes_on_below_its_text() -> None:
    receipt = Receipt(
        cancelled=(Item(4, "dan", "save all of it as done.md in the folder of the team"),)
    )
    report = ExitReport("standup-3fk9", "Standup", hosted=True, receipt=receipt)
    async with App[None]().run_test(size=(60, 24)) as pilot:
        screen = ReceiptScreen([report], HandClock())
        await pilot.app.push_screen(screen)
        await pilot.pause()
        shown = screen.query_one(".receipt-lines", Static)
        first, *others = str(shown.render()).split("\n")
        width = len(first) - len(first.lstrip("abcdefghijklmnopqrstuvwxyz").lstrip())
        assert others
        assert all(each[:width].isspace() and each[width] != " " for each in others)
        assert shown.size.height == 1 + len(others)
