"""`genie-tui invite`: print the invite to a room that is hosted here."""

import time
from datetime import UTC, datetime
from typing import Final, TextIO

from genie_core.errors import GenieError
from genie_core.room.discovery.interfaces import reachable_hosts
from genie_core.room.participant.presence import TOKENS_NAME, InviteTokenFile
from genie_core.room.protocol.address import LOOPBACK, Address, parse_address
from genie_core.room.security.certificate import Certificate, load_certificate
from genie_core.room.security.founding import hash_in
from genie_core.room.security.invite import Invite, write_invite
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.session import SavedSession
from genie_core.settings.locations import Locations
from genie_tui.cli.options import CommandParser, add_settings
from genie_tui.plugins import CommandCall


class NothingHosted(GenieError):
    """An invite is wanted, and no room is hosted here."""

    template = "you host no room yet; open one: genie-tui host"


class NoInvite(GenieError):
    """A room has no invite that can be read outside its host's process."""

    template = "there is no open invite to {title!r}; make one in the room: /invite"
    title: str


def print_invite(wanted: str, locations: Locations, out: TextIO) -> int:
    """Print the invite to a room, by default the one hosted last; returns the exit code.

    Raises:
        UnknownSession: there is no such room.
        NothingHosted: no room is meant, and there is none.
        NoInvite: it has no open invite.
    """
    catalog = Catalog(locations.sessions)
    hosted = (each.id for each in catalog.all() if each.kind == "hosted" and not each.note)
    room = wanted or next(hosted, "")
    if not room:
        raise NothingHosted
    saved = catalog.find(room)
    certificate = load_certificate(locations.certificate, datetime.now(UTC))
    out.write(f"{write_invite(invite_of(saved, certificate, time.time()))}\n")
    if saved.metadata.unshared:
        saved.update(unshared=False)
    return 0


def invite_of(saved: SavedSession, certificate: Certificate, now: float) -> Invite:
    """Return the invite to a hosted room from its files. Blocks.

    Raises:
        NoInvite: the room never took invites, or its tokens have ended.
    """
    record = saved.metadata
    current = InviteTokenFile(saved.folder / TOKENS_NAME).load().newest(now)
    if current is None or record.kind != "hosted" or record.pin != certificate.pin:
        raise NoInvite(record.title)
    places = tuple(map(parse_address, record.addresses)) or _own_places(record.address)
    return Invite(
        places, certificate.pin, current.id, current.secret, record.title, hash_in(record.id)
    )


def _own_places(address: str) -> tuple[Address, ...]:
    """Return where other machines reach a room that is hosted here."""
    port = parse_address(address).port
    return tuple(Address(host, port) for host in reachable_hosts() or (LOOPBACK,))


_ID_HELP: Final = "the room's name, or the start of it (default: the room hosted last)"


def add_invite(command: CommandParser) -> None:
    command.used = frozenset()
    add_settings(command)
    command.add_argument("id", metavar="ID", nargs="?", default="", help=_ID_HELP)
    command.set_defaults(run=_run)


def _run(call: CommandCall) -> int:
    return print_invite(call.options.id, call.locations, call.stdout)
