"""Find another person's room."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack, closing, suppress
from dataclasses import dataclass
from typing import Final

from genie_core.errors import GenieError
from genie_core.room.client.handshake import claim_of
from genie_core.room.discovery.browser import Browser
from genie_core.room.discovery.service_record import Announcement
from genie_core.room.protocol.address import is_on_loopback, parse_address
from genie_core.room.protocol.errors import InvalidAddress, InvalidInvite
from genie_core.room.protocol.frames import Challenge, Hello
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.security.challenge import InviteSecret, Transcript, new_nonce
from genie_core.room.security.founding import hash_in
from genie_core.room.security.identity import Identity
from genie_core.room.security.invite import Invite, looks_like_invite, read_invite
from genie_core.room.state.hosting import Claim, KnownHosts, can_host, others_may_host
from genie_core.room.state.room_state import RoomState
from genie_core.room.transport.dialer import Dialer, Endpoint
from genie_core.room.transport.websocket import tls_connect
from genie_core.runtime.tasks import start_task
from genie_core.sessions.session import SavedSession

ANSWER_TIMEOUT: Final = 4.0
"""Seconds for a host to answer."""

LOOK: Final = 2.0
"""Seconds to find a present host before a room is hosted again."""

LOOK_FOR_ONESELF: Final = 0.5
"""Seconds to find the person's own program at another machine, in a room that no other member may host.

Announcements are answered within 0.2 s; a lost query is asked again after a second.
"""


class NowhereToLook(GenieError):
    """A saved room without any known address."""

    template = "it is not known where {title!r} is hosted; join it by an invite"
    title: str


@dataclass(frozen=True, slots=True)
class Route:
    """The addresses of a room; of an invite also the token, the hash in the room's id, and the title.

    With `anywhere` the network is searched, too, even if no other machine is known.
    """

    whereabouts: tuple[Endpoint, ...]
    ticket: InviteSecret | None = None
    anywhere: bool = False
    wanted: str = ""
    title: str = ""


def route_of(text: str) -> Route:
    """Parse an invite, or an address of this machine.

    Raises:
        InvalidInvite: it looks like an invite and is none.
        InvalidAddress: it is neither.
    """
    if looks_like_invite(text):
        invite = read_invite(text)
        places = tuple(Endpoint(address, invite.pin) for address in invite.addresses)
        ticket = InviteSecret(invite.pass_id, invite.secret)
        return Route(places, ticket, wanted=invite.room, title=invite.title)
    return Route((Endpoint(parse_address(text), ""),))


def route_back(saved: SavedSession, found: Sequence[str] = (), pin: str = "") -> Route:
    """Return where a room with a copy may be: the addresses found now, and earlier ones.

    Raises:
        NowhereToLook: no address is known.
    """
    record = saved.metadata
    endpoints = [*places(found, pin or record.pin)]
    endpoints += places((record.address, *record.addresses), record.pin)
    if not endpoints:
        raise NowhereToLook(record.title)
    return Route(tuple(dict.fromkeys(endpoints)))


@dataclass(frozen=True, slots=True)
class HostFound:
    """The present host and their proven key; `host` is the name, empty if it is not known."""

    addresses: tuple[str, ...]
    pin: str
    host: str = ""
    key: str = ""


async def host_of(
    saved: SavedSession, state: RoomState, key: str, *, network: bool
) -> HostFound | None:
    """Find the host of a saved room at its earlier addresses or, with `network`, by announcements.

    Hosts count that are right by the copy's `state`; `key` is this person's. None if none answers
    soon.
    """
    looks = [start_task(_look_where_it_was(saved, state, key))]
    if network:
        within = LOOK if others_may_host(state, key) else LOOK_FOR_ONESELF
        looks.append(start_task(_look_around(state, key, within)))
    try:
        for look in asyncio.as_completed(looks):
            found = await look
            if found is not None:
                return found
        return None
    finally:
        for task in looks:
            task.cancel()
        await asyncio.wait(looks)


async def _look_where_it_was(saved: SavedSession, state: RoomState, key: str) -> HostFound | None:
    record = saved.metadata
    if record.kind != "joined":  # then it was here
        return None
    addresses = tuple(dict.fromkeys(each for each in (record.address, *record.addresses) if each))
    claim = await ask_host(record.id, record.pin, addresses, key, LOOK)
    hosts = KnownHosts(lambda: state, (record.pin, state.pin))
    if claim is None or not hosts.accepts(claim):
        return None
    return HostFound(addresses, record.pin, record.host, claim.key)


async def _look_around(state: RoomState, key: str, within: float) -> HostFound | None:
    changed = asyncio.Event()

    def prefers(announced: Announcement) -> bool:
        return announced.host_record.room == state.room

    async with Browser(changed.set, prefers=prefers) as browser:
        await browser.settle()
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                return await _first_answering(state, key, browser, changed)
    return None


async def _first_answering(
    state: RoomState, key: str, browser: Browser, changed: asyncio.Event
) -> HostFound:
    """Ask each announced, entitled host once, until one answers."""
    asked = set[tuple[str, str]]()
    while True:
        changed.clear()
        for host_record, addresses in browser.found(state.room):
            known = host_record.key, host_record.pin
            if known not in asked and can_host(state, host_record):
                asked.add(known)
                claim = await ask_signer(state.room, host_record, addresses, key)
                if claim is not None and KnownHosts(lambda: state).accepts(claim):
                    return HostFound(addresses, host_record.pin, host_record.host, host_record.key)
        await changed.wait()


async def ask_host(
    room: str, pin: str, addresses: Sequence[str], key: str, within: float = ANSWER_TIMEOUT
) -> Claim | None:
    """Return the claim of the host with this certificate at one of these addresses, if one answers.

    The host gets the caller's public `key` and nothing else: it shows its links to none who are
    banned. `within` is in seconds.
    """
    endpoints = places(addresses, pin)
    hello = Hello("visitor", room=room, key=key, nonce=new_nonce())
    try:
        async with asyncio.timeout(within):
            return await _challenge(Dialer(endpoints, tls_connect), hello)
    except (TimeoutError, GenieError):
        return None


async def lead_of(text: str) -> Invite | None:
    """Return an invite as it is, or the room, certificate and place found at an address.

    The host at an address gets a key that is used for nothing else. None if the text is neither, or
    no founded room answers there soon.
    """
    with suppress(InvalidInvite):
        return read_invite(text)
    try:
        address = parse_address(text)
        hello = Hello("visitor", key=Identity.generate().key, nonce=new_nonce())
        async with asyncio.timeout(LOOK):
            claim = await _challenge(Dialer((Endpoint(address, ""),), tls_connect), hello)
    except (TimeoutError, GenieError):
        return None
    if claim is None or not claim.is_founded:
        return None
    return Invite((address,), claim.pin, "", b"", room=hash_in(claim.challenge.room))


async def _challenge(dialer: Dialer, hello: Hello) -> Claim | None:
    """Return the claim of the first host that has the room; None if none has."""
    with closing(dialer):
        while True:
            link = await dialer()
            try:
                await link.send([hello])
                challenge = await link.receive()
            finally:
                link.abort()
            if isinstance(challenge, Challenge):
                parts = hello.name, hello.key, hello.nonce, challenge.nonce, link.channel or ""
                return claim_of(challenge, Transcript(challenge.room, *parts))
            if not dialer.pass_over():
                return None


async def ask_signer(
    room: str,
    host_record: HostRecord,
    addresses: Sequence[str],
    key: str,
    within: float = ANSWER_TIMEOUT,
) -> Claim | None:
    """Return the claim of the signer of a host record, if they answer at its addresses."""
    claim = await ask_host(room, host_record.pin, addresses, key, within)
    return claim if claim is not None and claim.key == host_record.key else None


async def browser_for(
    way: Route,
    room: str,
    resources: AsyncExitStack,
    on_change: Callable[[], None] | None = None,
    matters: Callable[[Announcement], bool] = lambda _: False,
) -> Browser | None:
    """Return a browser that finds a host that has moved. One on this machine stays where it is.

    `on_change` is called whenever others announce rooms. Of too many, those are kept that `matters`
    accepts, too.
    """
    if not way.anywhere and all(is_on_loopback(each.address) for each in way.whereabouts):
        return None
    pins = {each.pin for each in way.whereabouts}

    def prefers(announced: Announcement) -> bool:
        is_here = announced.host_record.pin in pins or announced.host_record.room == room
        return is_here or matters(announced)

    return await resources.enter_async_context(Browser(on_change, prefers=prefers))


def places(texts: Iterable[str], pin: str) -> list[Endpoint]:
    """Return the addresses that are some, of a host whose certificate has this pin."""
    endpoints: list[Endpoint] = []
    for text in texts:
        with suppress(InvalidAddress):
            endpoints.append(Endpoint(parse_address(text), pin))
    return endpoints
