"""`genie-tui web`: a page on which guests join one room in a browser."""

import argparse
import asyncio
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TextIO

from genie_core.room.open.route import Route, ask_host, route_of
from genie_core.room.protocol.address import LOOPBACK, Address
from genie_core.room.security.certificate import load_certificate
from genie_core.room.security.identity import Identity
from genie_core.room.security.invite import looks_like_invite, write_invite
from genie_core.sessions.catalog import Catalog
from genie_core.settings.locations import Locations
from genie_core.text.format import duration
from genie_core.text.safe import visible_line
from genie_serve.config import WebTable
from genie_serve.web.gateway import WebGateway
from genie_serve.web.visitor import WebRole, WebRoom
from genie_tui.cli.invite import invite_of
from genie_tui.cli.log_file import log_to
from genie_tui.cli.shutdown import stop_event

NO_ANSWER: Final = "no host of the room answers now; visitors wait until one does"
ONLY_HERE: Final = "Only browsers on this machine reach it; see genie-tui web --help for others."


def run_web(
    options: argparse.Namespace, locations: Locations, out: TextIO, complaints: TextIO
) -> int:
    """Serve the page until a signal arrives; returns the exit code.

    Raises:
        InvalidInvite: the invite is none.
        UnknownSession: no room here has this name.
        NoInvite: the room is not hosted here, or has no open invite.
        CannotServe: the address or the certificate can't be used.
    """
    route = _route(" ".join(options.way), locations)
    table = WebTable(
        options.host,
        options.page_port,
        options.url,
        Path(options.certificate) if options.certificate else None,
        Path(options.key) if options.key else None,
    )
    log_to(locations.log_file)
    asyncio.run(_serve(route, table, options, out, complaints))
    return 0


def _route(way: str, locations: Locations) -> Route:
    """Return where a room is: by its invite or address, or by the name of one hosted here."""
    if looks_like_invite(way) or ":" in way:
        return route_of(way)
    certificate = load_certificate(locations.certificate, datetime.now(UTC))
    invite = invite_of(Catalog(locations.sessions).find(way), certificate, time.time())
    here = Address(LOOPBACK, invite.addresses[0].port)
    return route_of(write_invite(replace(invite, addresses=(here, *invite.addresses))))


async def _serve(
    route: Route, table: WebTable, options: argparse.Namespace, out: TextIO, complaints: TextIO
) -> None:
    stopped = stop_event()
    gateway = WebGateway(table)
    await gateway.start()
    try:
        role: WebRole = "observer" if options.observers else "guest"
        link = gateway.link(WebRoom(route), role, lifetime=options.lifetime, uses=options.uses)
        if not await _is_answered(route):
            complaints.write(f"genie-tui: {NO_ANSWER}\n")
        out.write(_told(link, route, options))
        out.flush()
        await stopped.wait()
    finally:
        await gateway.stop()


async def _is_answered(route: Route) -> bool:
    """Whether a host answers at the room's addresses."""
    places = route.whereabouts
    pin = places[0].pin if places else ""
    addresses = [str(each.address) for each in places]
    return await ask_host("", pin, addresses, Identity.generate().key) is not None


def _told(link: str, route: Route, options: argparse.Namespace) -> str:
    room = visible_line(route.title) or "the room"
    who = "Observers read" if options.observers else "Guests join"
    limit = f", {options.uses} of them" if options.uses else ""
    lines = [
        f"{who} {room} in a browser by this link{limit}, for {duration(options.lifetime)}:",
        "",
        link,
        "",
        *([] if options.url else [ONLY_HERE]),
        "Ctrl+C ends it, and the visitors leave the room.",
    ]
    return "".join(f"{line}\n" for line in lines)
