from tests.genie_tui.command_keys import CommandKeysApp
from tests.genie_tui.widgets.room_log import RoomLog
from textual.widgets import Static

from genie_core.room.participant.receipt import ShutdownProgress
from genie_tui.app import GenieApp
from genie_tui.screens.dialogs.leaving import HURRY, LISTED, LeavingScreen


class Small(CommandKeysApp):
    VERTICAL_BREAKPOINTS = GenieApp.VERTICAL_BREAKPOINTS


def told(screen: LeavingScreen) -> str:
    return "\n".join(str(each.visual) for each in screen.query(Static) if each.display)


async def test_hurry_key_fits_smallest_terminal() -> None:
    log = RoomLog()
    for number in range(LISTED + 3):
        log.ask("ann", f"write number {number} " * 3)
    ending = ShutdownProgress("ending your agents", 9.5, tuple(log.state.threads.values()))
    async with Small().run_test(size=(60, 16)) as pilot:
        screen = LeavingScreen(hosts=True, ending=lambda: ending)
        await pilot.app.push_screen(screen)
        await pilot.pause()
        box, keys = screen.query_one("#leaving"), screen.query_one("#leaving-keys")
        assert f"{LISTED + 3} agents are still working, for 10 s at most" in told(screen)
        assert HURRY.format(key="ctrl+q") in told(screen)
        assert screen.region.contains_region(box.region)
        assert box.content_region.contains_region(keys.region)


async def test_nothing_to_hurry_offers_no_key() -> None:
    async with Small().run_test() as pilot:
        screen = LeavingScreen(hosts=False, ending=lambda: ShutdownProgress("saying goodbye"))
        await pilot.app.push_screen(screen)
        await pilot.pause()
        assert "Leaving…" in told(screen)
        assert "saying goodbye…" in told(screen)
        assert HURRY.format(key="ctrl+q") not in told(screen)
