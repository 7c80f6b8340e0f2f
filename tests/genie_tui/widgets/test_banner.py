from tests.genie_tui.command_keys import CommandKeysApp
from textual.app import ComposeResult

from genie_core.room.client.model import ConnectionState, ConnectionStatus
from genie_tui.widgets.banner import Banner


class Host(CommandKeysApp):
    """Shows only the banner."""

    def compose(self) -> ComposeResult:
        yield Banner()


async def test_each_connection_state_is_worded() -> None:
    app = Host()
    async with app.run_test():
        banner = app.query_one(Banner)
        banner.show(ConnectionStatus(ConnectionState.CONNECTING))
        assert "opening" in str(banner.render())
        banner.show(ConnectionStatus(ConnectionState.CLOSED, "name taken"))
        assert "name taken" in str(banner.render())
        assert "draft" in str(banner.render())
        assert banner.has_class("-closed")
        banner.show(ConnectionStatus(ConnectionState.ONLINE))
        assert not banner.display


async def test_lasting_warning_shows_when_online() -> None:
    app = Host()
    async with app.run_test():
        banner = app.query_one(Banner)
        banner.show(ConnectionStatus(ConnectionState.ONLINE))
        banner.warn("bob hosts this room, too [b]")
        assert banner.display
        assert banner.has_class("-closed")
        assert "bob hosts this room, too [b]" in str(banner.render())
        banner.show(ConnectionStatus(ConnectionState.RETRYING, "lost", 3.0))
        assert "bob" not in str(banner.render())
        banner.show(ConnectionStatus(ConnectionState.ONLINE, "the disk is full"))
        assert str(banner.render()).split("\n") == [
            "the disk is full",
            "bob hosts this room, too [b]",
        ]
        banner.warn("")
        banner.show(ConnectionStatus(ConnectionState.ONLINE))
        assert not banner.display


async def test_counts_down_to_the_next_attempt() -> None:
    app = Host()
    async with app.run_test():
        banner = app.query_one(Banner)
        banner.show(ConnectionStatus(ConnectionState.RETRYING, "lost", 3.0))
        assert "in 3 s" in str(banner.render())
        banner.count_down(1.5)
        assert "in 2 s" in str(banner.render())
        banner.count_down(5)
        assert "reconnecting…" in str(banner.render())


async def test_short_outage_is_not_shown() -> None:
    app = Host()
    async with app.run_test():
        banner = app.query_one(Banner)
        banner.show(ConnectionStatus(ConnectionState.ONLINE))
        for _ in range(2):
            banner.show(ConnectionStatus(ConnectionState.RETRYING, "lost", 1.0))
            assert not banner.display
            banner.count_down(1.0)
        banner.count_down(1.0)
        assert "lost: reconnecting" in str(banner.render())
        banner.show(ConnectionStatus(ConnectionState.RETRYING, "lost", 2.0))
        assert "lost: reconnecting in 2 s" in str(banner.render())


async def test_counts_down_to_a_suspend() -> None:
    app = Host()
    async with app.run_test():
        banner = app.query_one(Banner)
        banner.show(ConnectionStatus(ConnectionState.ONLINE, closing_in=7.5))
        assert "The host suspends the room in 8 s at most" in str(banner.render())
        banner.count_down(5)
        assert "in 3 s at most" in str(banner.render())
        banner.count_down(5)
        assert "suspends the room now; what you send waits" in str(banner.render())
        banner.show(ConnectionStatus(ConnectionState.ONLINE, "the disk is full", closing_in=1.0))
        assert str(banner.render()).startswith("the disk is full. The host suspends")
        banner.show(ConnectionStatus(ConnectionState.RETRYING, "the host suspended the room", 2.0))
        assert "the host suspended the room: reconnecting in 2 s" in str(banner.render())


async def test_hostile_details_stay_text() -> None:
    app = Host()
    async with app.run_test():
        banner = app.query_one(Banner)
        banner.show(ConnectionStatus(ConnectionState.CLOSED, "[/red]\x1b[2J"))
        assert "[/red]␛[2J" in str(banner.render())


async def test_remedy_stays_until_reconnect() -> None:
    app = Host()
    async with app.run_test():
        banner = app.query_one(Banner)
        banner.show(ConnectionStatus(ConnectionState.RETRYING, "lost", 3.0))
        banner.offer("f8 goes on.")
        assert "in 3 s… f8 goes on." in str(banner.render())
        banner.show(ConnectionStatus(ConnectionState.RETRYING, "lost", 5.0))
        assert "f8" in str(banner.render())
        banner.show(ConnectionStatus(ConnectionState.ONLINE))
        banner.show(ConnectionStatus(ConnectionState.RETRYING, "lost", 3.0))
        assert "f8" not in str(banner.render())
