"""How to get to a room that somebody else hosts."""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import Final

from genie_core.archive.saved import SavedRoom
from genie_core.errors import GenieError
from genie_core.room.address import is_on_loopback, parse_address
from genie_core.room.announcement import Announcement
from genie_core.room.discovery import Browser
from genie_core.room.errors import InvalidAddress
from genie_core.room.invite import looks_like_invite, read_invite
from genie_core.room.proof import Ticket
from genie_core.room.seeker import Seeker, Whereabouts
from genie_core.room.websocket import tls_connect

ANSWER_TIMEOUT: Final = 4.0
"""Seconds in which a host that is there answers."""


class NowhereToLook(GenieError):
    """A saved room of which it is not known where it was."""

    def __init__(self, title: str) -> None:
        super().__init__(f"it is not known where {title!r} is hosted; join it by an invite")


@dataclass(frozen=True, slots=True)
class Way:
    """How to get to a room: where to try, and the pass of an invite if there is one."""

    whereabouts: tuple[Whereabouts, ...]
    ticket: Ticket | None = None


def way_of(text: str) -> Way:
    """Read what a person has: an invite, or an address of this machine.

    Raises:
        InvalidInvite: it is meant as an invite and is none.
        InvalidAddress: it is neither.

    """
    if looks_like_invite(text):
        invite = read_invite(text)
        places = tuple(Whereabouts(address, invite.pin) for address in invite.addresses)
        return Way(places, Ticket(invite.pass_id, invite.secret))
    return Way((Whereabouts(parse_address(text), ""),))


def way_back(saved: SavedRoom, found: Sequence[str] = (), pin: str = "") -> Way:
    """Where a room of which there is a copy may be: where it was found now, and where it was.

    Raises:
        NowhereToLook: nothing is known.

    """
    record = saved.record
    places = [*_places(found, pin or record.pin)]
    places += _places((record.address, *record.addresses), record.pin)
    if not places:
        raise NowhereToLook(record.title)
    return Way(tuple(dict.fromkeys(places)))


async def is_hosted(saved: SavedRoom) -> bool:
    """Whether the host of a room that was joined answers, where it was or where it is now."""
    async with AsyncExitStack() as resources:
        try:
            way = way_back(saved)
            finder = await finder_for(way, saved.record.id, resources)
            async with asyncio.timeout(ANSWER_TIMEOUT):
                link = await Seeker(
                    way.whereabouts, tls_connect, room=saved.record.id, finder=finder
                )()
        except (TimeoutError, GenieError):
            return False
        link.abort()
        return True


async def finder_for(way: Way, room: str, resources: AsyncExitStack) -> Browser | None:
    """What finds a host that has moved. One on this machine stays where it is."""
    if all(is_on_loopback(each.address) for each in way.whereabouts):
        return None
    pins = {each.pin for each in way.whereabouts}

    def prefers(announced: Announcement) -> bool:
        return announced.deed.pin in pins or announced.deed.room == room

    return await resources.enter_async_context(Browser(prefers=prefers))


def _places(texts: Iterable[str], pin: str) -> list[Whereabouts]:
    places: list[Whereabouts] = []
    for text in texts:
        with suppress(InvalidAddress):
            places.append(Whereabouts(parse_address(text), pin))
    return places
