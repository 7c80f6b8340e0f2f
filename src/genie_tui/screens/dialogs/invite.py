"""Show an invite as text and QR code, with its permissions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from genie_core.errors import GenieError
from genie_core.room.commands.arguments import InviteOptions
from genie_core.room.protocol.errors import InvalidInvite
from genie_core.room.protocol.events import Role
from genie_core.room.security.invite import read_invite
from genie_core.text.format import clock_time
from genie_core.text.safe import visible_line
from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Scope, bindings
from genie_tui.screens.dialogs.confirm import ConfirmScreen
from genie_tui.screens.dialogs.dialog import Dialog
from genie_tui.widgets.keys_line import KeyText, key_list
from genie_tui.widgets.qr import qr_code

if TYPE_CHECKING:
    from genie_core.room.participant.presence import HostPresence

_ONLY_HERE: Final = (
    "There is no invite: the room is only for this machine. Others on it run:\ngenie-tui join :{0}"
)
_NO_INVITE: Final = "There is no invite. Press {key} to make one."

ASIDE: Final = 8
"""Rows that the QR code must leave to the title, the text and the keys."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The permissions of an invite, as far as stated here. `until` is a time of day."""

    invite: str = ""
    once: bool = False
    until: str = ""
    role: Role | None = None

    @property
    def text(self) -> str:
        """A warning before sharing it."""
        who = "One person" if self.once else "Anyone who has it"
        when = f" until {self.until}" if self.until else ""
        how = ", once" if self.once else ""
        role = _ROLES[self.role]
        return f"{who} can join {role}{how}{when}. Share it with no one else."


_ROLES: Final[dict[Role | None, str]] = {
    None: "as a member",
    "host": "with the host's role",
    "member": "as a member",
    "guest": "as a guest",
    "observer": "as an observer",
}


def renewed(hosting: "HostPresence", options: InviteOptions, now: float) -> Terms:
    """Create an invite, in place of all others if it is new; `now` is since the epoch."""
    make = hosting.renew if options.new else hosting.issue
    invite = make(uses=options.uses, lifetime=options.lifetime, role=options.role)
    return terms_of(options, now, invite)


def terms_of(options: InviteOptions, now: float, invite: str = "") -> Terms:
    """Return the terms of an invite that was just made with these options."""
    until = clock_time(now + options.lifetime) if options.lifetime else ""
    return Terms(invite, options.once, until, options.role)


class InviteScreen(Dialog[Terms]):
    """Shows an invite and copies it immediately. Returns its terms when closed.

    It may differ from the invite that the host gives to everyone. `renew` replaces all invites and
    returns the terms of the new one; None if it comes later, by `take`. Without `takes_invites`,
    there are no people who need one.
    """

    CSS_PATH = "invite.tcss"
    BINDINGS = bindings(Scope.INVITE)

    def __init__(
        self,
        renew: Callable[[], Terms | None],
        title: str,
        address: str,
        terms: Terms,
        clock: Callable[[], float],
        *,
        takes_invites: bool = True,
    ) -> None:
        super().__init__()
        self._renew = renew
        self._takes_invites = takes_invites
        self._title = title
        self._address = address
        self._terms = terms
        self._clock = clock

    def compose(self) -> ComposeResult:
        with Vertical(id="invite", classes="dialog"):
            yield Static(id="invite-title", classes="title", markup=False)
            with VerticalScroll(id="invite-scroll", can_focus=False):
                yield Static(id="invite-string", markup=False)
                yield Static(id="invite-about", markup=False)
                yield Static(id="invite-code", markup=False)
            yield KeyText(self._keys(), id="invite-keys")

    def on_mount(self) -> None:
        """Show and copy it."""
        self._show()
        self.action_copy()

    def on_resize(self) -> None:
        """Check again whether the QR code fits."""
        self._show_code()

    def action_copy(self) -> None:
        """Copy the invite to the clipboard and say so."""
        if self._terms.invite:
            self.app.copy_to_clipboard(self._terms.invite)
            self.notify("Invite copied.", timeout=3)

    def action_close(self) -> None:
        _ = self.dismiss(self._terms)

    @work
    async def action_renew(self) -> None:
        """Renew the invite after a confirmation."""
        text = Content(
            "People who have the old invite and have not joined yet need the new one.\n"
            "Members need none."
        )
        ask = ConfirmScreen("Replace the invite?", text, "replace it", self._clock)
        if await self.app.push_screen_wait(ask):
            try:
                renewed = self._renew()
            except GenieError as error:
                self.notify(str(error), severity="error")
            else:
                if renewed is not None:
                    self.take(renewed)

    def take(self, terms: Terms) -> None:
        """Show and copy another invite."""
        self._terms = terms
        self._show()
        self.action_copy()

    def _show(self) -> None:
        invite = self._terms.invite
        title = visible_line(self._title)
        self.query_one("#invite-title", Static).update(f"Invite to {title}")
        none = _NO_INVITE.format(key=keymap_of(self).text(Scope.INVITE, "new"))
        self.query_one("#invite-string", Static).update(
            invite or (none if self._takes_invites else _ONLY_HERE.format(self._port))
        )
        self.query_one(KeyText).update(self._keys())
        about = self.query_one("#invite-about", Static)
        about.display = bool(invite)
        about.update(_about(self._terms))
        self._show_code()

    @property
    def _port(self) -> str:
        return self._address.rpartition(":")[2]

    def _keys(self) -> Content:
        """List the keys that do something: without an invite there is none to copy."""
        needless = set[str]() if self._terms.invite else {"copy"}
        needless |= set() if self._takes_invites else {"renew"}
        listed = keymap_of(self).actions(Scope.INVITE)
        return key_list(each for each in listed if each.run not in needless)

    def _show_code(self) -> None:
        invite = self._terms.invite
        code = qr_code(invite, quiet=2) if invite else Content("")
        lines = code.plain.split("\n")
        taken = ASIDE + len(invite) // max(self.size.width * 8 // 10, 1)
        fits = len(lines[0]) + 8 <= self.size.width and len(lines) + taken <= self.size.height
        picture = self.query_one("#invite-code", Static)
        picture.display = bool(code) and fits
        picture.update(code if fits else "")


def _about(terms: Terms) -> Content:
    if not terms.invite:
        return Content("")
    try:
        places = ", ".join(str(address) for address in read_invite(terms.invite).addresses)
    except InvalidInvite:
        places = ""
    lines = [
        Content(terms.text),
        Content.styled("They run: genie-tui join INVITE", "$foreground-muted"),
    ]
    if places:
        lines.append(Content.assemble(("It leads to ", "$foreground-muted"), visible_line(places)))
    return Content("\n").join(lines)
