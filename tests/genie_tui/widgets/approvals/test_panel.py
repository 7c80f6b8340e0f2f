from tests.genie_tui.widgets.room_log import RoomLog
from textual.app import App, ComposeResult
from textual.widgets import Static

from genie_core.room.protocol.events import ApprovalRequested, ApprovalResolved
from genie_core.room.state.room_state import RoomState
from genie_tui.widgets.approvals.panel import MOST, NOTHING_THEN, PastApprovals


class Page(App[None]):
    def compose(self) -> ComposeResult:
        yield PastApprovals()

    def text(self) -> str:
        return str(self.query_one("#past-approvals", Static).render())


def asking(log: RoomLog, by: str, approval: str, **arguments: object) -> int:
    said = log.ask(by, f"please, {approval}")
    log.add(ApprovalRequested(said.seq, approval, "genie", "write_file", dict(arguments)), by)
    return said.seq


async def test_all_that_waited_is_shown_whoever_was_asked() -> None:
    log = RoomLog()
    parked = asking(log, "ann", "one", path="[b]a.txt")
    log.add(ApprovalResolved(parked, "one", "parked"), "ann")
    asking(log, "bob", "two", path="b.txt")
    settled = asking(log, "bob", "three", path="c.txt")
    log.add(ApprovalResolved(settled, "three", "denied"), "bob")
    said = log.ask("bob", "by rule")
    log.add(ApprovalRequested(said.seq, "four", "genie", "grep", {}, unasked=True), "bob")
    app = Page()
    async with app.run_test(size=(80, 40)):
        assert app.query_one(PastApprovals).show(log.state) == 2
        text = app.text()
        assert text.index("[b]a.txt") < text.index("b.txt", text.index("[b]a.txt") + 8)
        assert "kept from before" in text
        assert "please, two" in text
        assert "c.txt" not in text
        assert "grep" not in text
        assert app.query_one(PastApprovals).show(RoomState()) == 0
        assert app.text() == NOTHING_THEN


async def test_very_many_are_counted() -> None:
    log = RoomLog()
    for number in range(MOST + 5):
        asking(log, "ann", f"call {number}")
    app = Page()
    async with app.run_test(size=(80, 40)):
        assert app.query_one(PastApprovals).show(log.state) == MOST + 5
        assert "and 5 more" in app.text()
