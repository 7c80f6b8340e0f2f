"""What a host does for those who are not there yet: invites, deeds, and being found."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TextIO

from genie_core.archive.catalogue import Catalogue
from genie_core.archive.saved import SavedRoom
from genie_core.blocking import off_loop
from genie_core.durable import replace_file
from genie_core.errors import GenieError
from genie_core.room.address import Address, parse_address
from genie_core.room.announcement import Announcement
from genie_core.room.certificate import Certificate, load_certificate
from genie_core.room.deed import Deed, sign_deed
from genie_core.room.discovery import Announcer
from genie_core.room.errors import InvalidPasses
from genie_core.room.identity import Identity
from genie_core.room.invite import Invite, write_invite
from genie_core.room.passes import Pass, Passes
from genie_core.room.reach import reachable_hosts
from genie_tui.locations import Locations

PASSES_NAME: Final = "passes.json"
_LOOPBACK: Final = "127.0.0.1"

LOOK_AROUND: Final = 3.0
"""Seconds between two looks at the own addresses, which change when a laptop moves."""

logger = logging.getLogger(__name__)


class PassFile:
    """A room's passes and the private file that they outlive the process in."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="passes")

    def load(self) -> Passes:
        """Read the file, which blocks; whatever is no pass any more opens nothing."""
        try:
            return Passes.decode(self._path.read_bytes())
        except FileNotFoundError:
            return Passes()
        except (OSError, InvalidPasses):
            logger.warning("the invites of this room can't be read; they are void", exc_info=True)
            return Passes()

    def save(self, passes: Passes) -> None:
        """Write the file soon. If the disk fails, passes last as long as the program."""
        self._writer.submit(self._write, passes.encode())

    async def aclose(self) -> None:
        """Wait for what is being written. Cancelling leaves that behind."""
        await off_loop(self._writer.shutdown, "passes")

    def _write(self, content: bytes) -> None:
        try:
            replace_file(self._path, content)
        except OSError:
            logger.warning("the invites of this room can't be saved", exc_info=True)


def invite_of(saved: SavedRoom, certificate: Certificate, now: float) -> str:
    """The invite to a hosted room, read from its files. Blocks.

    Raises:
        NoInvite: it was never open beyond this machine, or its passes have ended.

    """
    record = saved.record
    current = PassFile(saved.folder / PASSES_NAME).load().newest(now)
    hosts = reachable_hosts() or (_LOOPBACK,)
    if current is None or record.kind != "hosted" or record.pin != certificate.pin:
        raise NoInvite(record.title)
    port = parse_address(record.address).port
    places = tuple(Address(host, port) for host in hosts)
    return write_invite(Invite(places, certificate.pin, current.id, current.secret, record.title))


def print_invite(wanted: str, locations: Locations, out: TextIO) -> int:
    """Print the invite to a room, by default the one hosted last; returns the exit code.

    Raises:
        UnknownRoom: there is no such room.
        NothingHosted: no room is meant, and there is none.
        NoInvite: it has no open invite.

    """
    catalogue = Catalogue(locations.sessions)
    hosted = (each.id for each in catalogue.all() if each.kind == "hosted" and not each.note)
    room = wanted or next(hosted, "")
    if not room:
        raise NothingHosted
    saved = catalogue.find(room)
    certificate = load_certificate(locations.certificate, datetime.now(UTC))
    out.write(f"{invite_of(saved, certificate, time.time())}\n")
    return 0


class NothingHosted(GenieError):
    """An invite is asked for by somebody who hosts no room."""

    def __init__(self) -> None:
        super().__init__("you host no room yet; open one: genie-tui host")


class NoInvite(GenieError):
    """There is no invite to a room that could be read from outside of its host's program."""

    def __init__(self, title: str) -> None:
        super().__init__(f"there is no open invite to {title!r}; make one in the room: /invite")
        self.title = title


class Presence:
    """A hosted room as others on the network see it: where it is, and how to come in.

    Implements `genie_core.room.seat.Hosting`. `settle` is told the deed whenever it changes.
    """

    def __init__(
        self,
        identity: Identity,
        certificate: Certificate,
        *,
        room: str,
        title: str,
        host: str,
        address: Address,
        local: bool,
        passes: Passes,
        file: PassFile,
        settle: Callable[[Deed], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._identity = identity
        self._certificate = certificate
        self._room = room
        self._title = title
        self._host = host
        self._address = address
        self._local = local
        self._passes = passes
        self._file = file
        self._settle = settle
        self._clock = clock
        self._hosts: tuple[str, ...] = ()
        self.deed: Deed | None = None

    @property
    def addresses(self) -> tuple[Address, ...]:
        """Where others can try, the likeliest first; loopback where there is no network."""
        port = self._address.port
        return tuple(Address(host, port) for host in self._hosts or (_LOOPBACK,))

    @property
    def pin(self) -> str:
        """By which others know this host."""
        return self._certificate.pin

    @property
    def shown_address(self) -> str:
        """Where somebody on this machine can join, which needs no invite."""
        return str(Address(_LOOPBACK, self._address.port))

    @property
    def invite(self) -> str:
        """The invite that is open now; the first one is made when it is asked for.

        Empty for a room that is kept on this machine, and when all invites have ended: whoever
        limited them did so on purpose.
        """
        current = None if self._local else self._open_pass()
        if current is None:
            return ""
        return self._written(current)

    def _written(self, one: Pass) -> str:
        return write_invite(
            Invite(self.addresses, self._certificate.pin, one.id, one.secret, self._title)
        )

    def issue(self, *, uses: int | None = None, lifetime: float | None = None) -> str:
        """Make another invite beside those that are open; `lifetime` is in seconds."""
        made = self._passes.issue(self._clock(), uses=uses, lifetime=lifetime)
        self._file.save(self._passes)
        return self._written(made)

    def renew(self, *, uses: int | None = None, lifetime: float | None = None) -> str:
        """Make a new invite and void all others; `lifetime` is in seconds. Members stay."""
        self._passes.renew(self._clock(), uses=uses, lifetime=lifetime)
        self._file.save(self._passes)
        return self.invite

    def _open_pass(self) -> Pass | None:
        now = self._clock()
        current = self._passes.newest(now)
        if current is None and not self._passes:
            current = self._passes.issue(now)
            self._file.save(self._passes)
        return current

    def state(self, hosts: tuple[str, ...]) -> Deed:
        """State where the room is from now on."""
        self._hosts = hosts
        self.deed = sign_deed(
            self._identity,
            room=self._room,
            host=self._host,
            pin=self._certificate.pin,
            addresses=tuple(map(str, self.addresses)),
            at=self._clock(),
        )
        self._settle(self.deed)
        return self.deed

    @asynccontextmanager
    async def shown(self, *, announce: bool) -> AsyncIterator[None]:
        """Keep the deed true and, if wanted, announce the room, for as long as the block lasts."""
        deed = self.state(await self._look_around())
        if not self._local:
            self._open_pass()  # for those who read it from outside
        async with AsyncExitStack() as resources:
            announcer: Announcer | None = None
            if announce:
                announcer = await resources.enter_async_context(Announcer(self._announced(deed)))
            watch = asyncio.create_task(self._watch(announcer), name="own addresses")
            try:
                yield
            finally:
                watch.cancel()
                await asyncio.wait([watch])

    async def _watch(self, announcer: Announcer | None) -> None:
        while True:
            await asyncio.sleep(LOOK_AROUND)
            hosts = await self._look_around()
            if hosts != self._hosts:
                logger.info("this machine has other addresses now")
                deed = self.state(hosts)
                if announcer is not None:
                    announcer.update(self._announced(deed))

    async def _look_around(self) -> tuple[str, ...]:
        return () if self._local else await asyncio.to_thread(reachable_hosts)

    def _announced(self, deed: Deed) -> Announcement:
        return Announcement(deed, self._title, self._address.port)
