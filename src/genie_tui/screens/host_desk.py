"""What is done about hosting a room: inviting, letting people in, handing over, taking over."""

from collections.abc import Callable
from time import time
from typing import TYPE_CHECKING, Final

from textual.content import Content
from textual.screen import Screen

from genie_core.errors import GenieError
from genie_core.room.client.model import ConnectionState, ConnectionStatus
from genie_core.room.protocol.frames import HostingOffered, JoinRequested
from genie_core.room.protocol.names import fold_name
from genie_core.text.safe import visible_line
from genie_tui.authority import UNCONNECTED, cannot_take_over, only_host, use_authority
from genie_tui.order import Admission, Host, Invite, Moderation, Share
from genie_tui.screens.dialogs.confirm import ConfirmScreen
from genie_tui.screens.dialogs.invite import InviteScreen, Terms, renewed
from genie_tui.widgets.banner import Banner
from genie_tui.widgets.join_requests import Caller, JoinRequests

if TYPE_CHECKING:
    from genie_core.room.participant.config import Invites
    from genie_core.room.participant.room import JoinedRoom

PATIENCE: Final = 60.0
"""Seconds without the host after which a member is told that they can host."""


class HostDesk:
    """Carries out what concerns the host's office, with what the room screen has for it.

    `take_over` is called when this person wants to host the room from their copy.
    """

    def __init__(
        self,
        screen: Screen[None],
        door: JoinRequests,
        banner: Banner,
        take_over: Callable[[], None],
        clock: Callable[[], float],
    ) -> None:
        self._screen = screen
        self._door = door
        self._banner = banner
        self._take_over = take_over
        self._clock = clock
        self._terms = Terms()
        self._away_since: float | None = None

    def carry_out(
        self, seat: "JoinedRoom", order: Invite | Moderation | Share | Host | Admission
    ) -> None:
        """Do it, or say why not."""
        match order:
            case Invite():
                self.invite(seat, order)
            case Moderation() | Share():
                self._complain(use_authority(seat, order))
            case Host(name=name):
                self._host(seat, name)
            case Admission():
                self._admit(seat, order)

    def invite(self, seat: "JoinedRoom", order: Invite) -> None:
        """Show the invite, a new one if that is ordered."""
        hosting = seat.hosting.invites
        if hosting is None:
            self._complain(only_host(seat) or "This terminal does not host the room.")
            return
        try:
            if order.makes_one:
                self._terms = renewed(hosting, order, time())
            elif self._terms.invite != hosting.invite:
                self._terms = Terms(hosting.invite)
        except GenieError as error:
            self._complain(str(error))
        else:
            self._show_invite(hosting, seat.state.title)

    def take_over(self, seat: "JoinedRoom", *, surely: bool) -> None:
        """Let this person host the room from their copy, if its host is away.

        Unless it is meant `surely`, they are asked first while the host has not been away for long:
        who comes back soon finds another host.
        """
        if objection := cannot_take_over(seat):
            self._complain(objection)
        elif surely or not self._may_be_back_soon(seat):
            self._take_over()
        else:
            self._screen.run_worker(self._ask_to_take_over(seat), group="take over")

    def _may_be_back_soon(self, seat: "JoinedRoom") -> bool:
        """Whether the host is away for less than a minute, or so shortly that nobody told us."""
        if seat.connection.state is not ConnectionState.RETRYING:
            return False
        return self._away_since is None or self._clock() - self._away_since < PATIENCE

    async def _ask_to_take_over(self, seat: "JoinedRoom") -> None:
        host = visible_line(seat.state.host)
        text = Content(
            f"{host} has not been away for a minute yet. If they come back, there are two rooms "
            "until one of you joins the other; nothing is lost by that, but others may follow "
            "either."
        )
        ask = ConfirmScreen("Host the room from your copy?", text, "host it", self._clock)
        if await self._screen.app.push_screen_wait(ask) and not cannot_take_over(seat):
            self._take_over()

    def answer(self, seat: "JoinedRoom", caller: Caller, *, allow: bool) -> None:
        """Answer somebody at the door."""
        if isinstance(caller, JoinRequested):
            taken = seat.hosting.admit(caller.knock, allow)
        else:
            taken = not allow or seat.hosting.accept()
        if taken:
            self._door.remove_caller(caller)
        else:
            self._complain(UNCONNECTED)
        if taken and allow and isinstance(caller, HostingOffered):
            self._screen.notify(f"You host the room as soon as {visible_line(caller.by)} leaves.")

    def link_changed(self, status: ConnectionStatus) -> None:
        """Take note of how the connection is, and of since when."""
        if status.state is not ConnectionState.RETRYING:
            self._away_since = None
        elif self._away_since is None:
            self._away_since = self._clock()
        if status.state is ConnectionState.CLOSED:
            self._door.clear()

    def second_passed(self, seat: "JoinedRoom") -> None:
        """Offer to take over once the host has been away for long."""
        since = self._away_since
        if since is None or self._clock() - since < PATIENCE or cannot_take_over(seat):
            return
        host = visible_line(seat.state.host)
        self._banner.offer(
            f"{host} has been away for a minute: f8 or /host goes on with the room from your copy."
        )

    def _host(self, seat: "JoinedRoom", name: str) -> None:
        if not name:
            self.take_over(seat, surely=True)
        elif objection := only_host(seat):
            self._complain(objection)
        elif fold_name(name) == fold_name(seat.name):
            self._complain("You are the host already.")
        elif seat.hosting.offer(name):
            self._screen.notify(f"Asking {visible_line(name)} whether they would host…")
        else:
            self._complain(UNCONNECTED)

    def _admit(self, seat: "JoinedRoom", order: Admission) -> None:
        knocks = self._door.knocks_by(order.name)
        if objection := only_host(seat):
            self._complain(objection)
        elif not knocks:
            self._complain(f"Nobody called {visible_line(order.name)} waits to come in.")
        elif len(knocks) > 1:
            self._complain("Several wait under this name: answer each on its card (f7).")
        else:
            self.answer(seat, knocks[0], allow=order.allow)

    def _show_invite(self, hosting: "Invites", title: str) -> None:
        _ = self._screen.app.push_screen(
            InviteScreen(hosting, title, self._terms, self._clock), self._remember
        )

    def _remember(self, terms: Terms | None) -> None:
        self._terms = terms or self._terms

    def _complain(self, text: str) -> None:
        if text:
            self._screen.notify(text, severity="warning")
