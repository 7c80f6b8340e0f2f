"""Show the connection to the room, and react to changes of it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from genie_core.room.client.model import ConnectionState, ConnectionStatus, SessionEnded
from genie_core.room.commands.hosting import cannot_continue, cannot_take_over
from genie_core.text.safe import visible_line
from genie_tui.commands.context import RoomContext
from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Scope
from genie_tui.widgets.status_bar import StatusBar

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom


GONE: Final = 60.0
"""Seconds without the host after which a member is offered to continue in a new room."""


class ConnectionDisplay:
    """Shows how the connection is; without one, lets the person neither write nor answer.

    `part` is called once, when the connection has ended by itself.
    """

    def __init__(self, context: RoomContext, part: Callable[[SessionEnded], None]) -> None:
        self._context = context
        self._part = part
        self._parted = False

    def show(self, status: ConnectionStatus, joined: "JoinedRoom | None") -> None:
        """Show the state of the connection, or of a room that is still opening."""
        context = self._context
        context.screen.query_one(StatusBar).show_link(status)
        if joined is None or joined.ending is None:
            context.banner.show(status)  # while the person leaves, another screen tells
        closed = status.state is ConnectionState.CLOSED
        context.composer.closed = closed
        if closed:
            context.approvals.close_room()
            context.show_waiting()
            context.join_requests.clear()
        if status.state is not ConnectionState.ONLINE:
            context.hints.clear_typing()
            context.join_requests.forget_requests()
        if status.state is not ConnectionState.RETRYING:
            context.away_since = None
        elif context.away_since is None:
            context.away_since = context.clock()
        parting = joined.ended if joined is not None else None
        if closed and parting is not None and not self._parted:
            self._parted = True
            self._part(parting)

    def second_passed(self, joined: "JoinedRoom | None") -> None:
        """Count down to the next attempt; offer to host after a long absence of the host."""
        context = self._context
        context.banner.count_down(1.0)
        if joined is None or context.away_since is None:
            return
        host = visible_line(joined.state.host)
        key = keymap_of(context.screen).text(Scope.ROOM, "host")
        how = "/host" if key == "/host" else f"{key} or /host"
        if not cannot_take_over(joined):
            context.banner.offer(
                f"{host} is away, and you may host the room as an heir: {how} goes on with it "
                "from your copy."
            )
        elif context.clock() - context.away_since >= GONE and not cannot_continue(joined):
            context.banner.offer(f"{host} is away: {how} continues in a new room of yours.")
