"""`genie-tui invite`: print the invite to a room that is hosted here."""

import time
from datetime import UTC, datetime
from typing import TextIO

from genie_core.errors import GenieError
from genie_core.room.open.presence import invite_of
from genie_core.room.security.certificate import load_certificate
from genie_core.sessions.catalog import Catalog
from genie_core.settings.locations import Locations


class NothingHosted(GenieError):
    """An invite is wanted, and no room is hosted here."""

    def __init__(self) -> None:
        super().__init__("you host no room yet; open one: genie-tui host")


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
    out.write(f"{invite_of(saved, certificate, time.time())}\n")
    return 0
