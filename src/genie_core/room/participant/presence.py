"""A host's presence on the network: invites, host records and announcements."""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from genie_core.room.client.model import Severity
from genie_core.room.discovery.browser import Announcer
from genie_core.room.discovery.interfaces import reachable_hosts
from genie_core.room.discovery.service_record import Announcement
from genie_core.room.protocol.address import LOOPBACK, Address
from genie_core.room.protocol.errors import InvalidInviteTokens
from genie_core.room.protocol.events import Role
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.security.certificate import Certificate
from genie_core.room.security.founding import hash_in
from genie_core.room.security.host_records import sign_host_record
from genie_core.room.security.identity import Identity
from genie_core.room.security.invite import Invite, write_invite
from genie_core.room.security.invite_tokens import InviteToken, InviteTokens
from genie_core.runtime.tasks import start_task
from genie_core.runtime.threads import off_loop
from genie_core.storage.atomic import reason, replace_file, sync_folder

TOKENS_NAME: Final = "passes.json"

LOOK_AROUND: Final = 3.0
"""Seconds between two checks of the own addresses, which change when a laptop moves."""

logger = logging.getLogger(__name__)


RETRY_FIRST: Final = 0.2
RETRY_LONGEST: Final = 5.0
"""Seconds between two attempts to write to a failing disk."""

NOT_SAVED: Final = (
    "the invites can't be written to the disk ({why}): a new one is valid only until the room "
    "closes, and one that was used up is valid again after that. It is tried again until then"
)
VOID_BUT_NOT_SAVED: Final = (
    "the new invite can't be written to the disk ({why}): it is valid only until the room closes. "
    "Those before it are void for good. It is tried again until then"
)
NOT_VOID: Final = (
    "not done for good: the invites before this one are void while the room is open, but the disk "
    "can't be written ({why}), and they are valid again once it closes. It is tried again until then"
)
SAVED: Final = "the invites of this room are on the disk now"


class InviteTokenFile:
    """A room's invite tokens and the private file that keeps them.

    `notify` is called when they can't be written, and again once they are: on the event loop where
    `save` was called last, which may be the room's own.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: threading.Thread | None = None
        self._lock = threading.Lock()
        self._news = threading.Event()
        self._closing = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wanted: bytes | None = None
        self._voids = False
        self._told = ""
        self.notify: Callable[[Severity, str], None] = _log_notice

    def load(self) -> InviteTokens:
        """Read the file; invalid tokens are ignored. Blocks."""
        try:
            return InviteTokens.decode(self._path.read_bytes())
        except FileNotFoundError:
            return InviteTokens()
        except (OSError, InvalidInviteTokens):
            logger.warning("the invites of this room can't be read; they are void", exc_info=True)
            return InviteTokens()

    def save(self, tokens: InviteTokens, *, voids: bool = False) -> None:
        """Write the file soon, retrying until the disk accepts it.

        If it `voids` tokens, the old file is removed first; a full disk has space for that.
        """
        with self._lock:
            self._wanted = tokens.encode()
            self._voids = self._voids or voids
            self._loop = asyncio.get_running_loop()
            if self._writer is None:
                self._writer = threading.Thread(target=self._write_all, name="tokens")
                self._writer.start()
        self._news.set()

    async def saved(self, within: float) -> bool:
        """Wait up to `within` seconds for pending writes; return whether all is on the disk."""
        writer = self._writer
        if writer is not None:
            await asyncio.to_thread(writer.join, within)
        return self._wanted is None

    async def aclose(self) -> None:
        """Wait for pending writes; failed ones are not retried."""
        self._closing = True
        self._news.set()
        writer = self._writer
        if writer is not None:
            await off_loop(writer.join, "tokens")

    def _write_all(self) -> None:
        """Write until the file holds the latest content; the thread ends then."""
        delay = RETRY_FIRST
        while True:
            self._news.clear()
            last = self._closing
            with self._lock:
                content, voids, loop = self._wanted, self._voids, self._loop
                if content is None or loop is None:
                    self._writer = None
                    return
            trouble = self._write(content, voids=voids)
            self._tell(loop, trouble)
            if not trouble:
                delay = RETRY_FIRST
            elif last:
                with self._lock:
                    self._writer = None
                return
            else:
                self._news.wait(delay)
                delay = min(delay * 2, RETRY_LONGEST)

    def _write(self, content: bytes, *, voids: bool) -> str:
        """Write once; return the message if it fails."""
        trouble = NOT_VOID if voids else NOT_SAVED
        try:
            if voids:
                self._path.unlink(missing_ok=True)
                sync_folder(self._path.parent)
                trouble = VOID_BUT_NOT_SAVED
            replace_file(self._path, content)
        except OSError as error:
            logger.warning("the invites of this room can't be saved", exc_info=True)
            return trouble.format(why=reason(error))
        with self._lock:
            if self._wanted is content:
                self._wanted, self._voids = None, False
        return ""

    def _tell(self, loop: asyncio.AbstractEventLoop, trouble: str) -> None:
        told, self._told = self._told, trouble
        if trouble == told:
            return
        severity = Severity.ERROR if trouble else Severity.INFO
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(self._notify, severity, trouble or SAVED)

    def _notify(self, severity: Severity, text: str) -> None:
        self.notify(severity, text)


def _log_notice(severity: Severity, text: str) -> None:
    logger.warning("%s: %s", severity.value, text)


@dataclass(frozen=True, slots=True)
class PresenceConfig:
    """A hosted room as others are to find it."""

    room: str
    title: str
    host: str
    address: Address
    """Where it listens."""
    local: bool = False
    """Whether others on this machine alone can join."""
    trusts_loopback: bool = True
    """Whether they need no invite."""
    addresses: tuple[Address, ...] = ()
    """The addresses that members are given, by default the machine's own."""
    continues: str = ""
    """The id of the room that goes on in this one."""


class HostPresence:
    """A hosted room on the network: its addresses and invites.

    `settle` gets each new host record; the room may run in another thread.
    """

    def __init__(
        self,
        identity: Identity,
        certificate: Certificate,
        config: PresenceConfig,
        tokens: InviteTokens,
        file: InviteTokenFile,
        settle: Callable[[HostRecord], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._identity = identity
        self._certificate = certificate
        self._config = config
        self.takes_invites = not (config.local and config.trusts_loopback)
        """Whether there are people who need an invite."""
        self._tokens = tokens
        self._file = file
        self._settle = settle
        self._clock = clock
        self._hosts: tuple[str, ...] = ()
        self._announcer: Announcer | None = None
        self.host_record: HostRecord | None = None

    def tell(self, notify: Callable[[Severity, str], None]) -> None:
        """Notify the host from now on when invites can't be saved."""
        self._file.notify = notify

    @property
    def addresses(self) -> tuple[Address, ...]:
        """The addresses for other machines, likeliest first; loopback without a network."""
        if self._config.addresses:
            return self._config.addresses
        port = self._config.address.port
        return tuple(Address(host, port) for host in self._hosts or (LOOPBACK,))

    @property
    def pin(self) -> str:
        return self._certificate.pin

    @property
    def shown_address(self) -> str:
        """The address for other terminals of this machine."""
        return str(Address(LOOPBACK, self._config.address.port))

    @property
    def invite(self) -> str:
        """The open invite, created when first read.

        Empty where none is needed, and when all limited invites have ended.
        """
        current = self._open_pass() if self.takes_invites else None
        if current is None:
            return ""
        return self._written(current)

    def _written(self, one: InviteToken) -> str:
        return write_invite(
            Invite(
                self.addresses,
                self._certificate.pin,
                one.id,
                one.secret,
                self._config.title,
                hash_in(self._config.room),
            )
        )

    def issue(
        self,
        *,
        uses: int | None = None,
        lifetime: float | None = None,
        role: Role | None = None,
    ) -> str:
        """Add an invite; `lifetime` is in seconds. One that gives a role is for a single use by default."""
        made = self._tokens.issue(self._clock(), uses=uses, lifetime=lifetime, role=role)
        self._file.save(self._tokens)
        return self._written(made)

    def renew(
        self,
        *,
        uses: int | None = None,
        lifetime: float | None = None,
        role: Role | None = None,
    ) -> str:
        """Replace all invites by a new one, as `issue` does. Members stay."""
        made = self._tokens.renew(self._clock(), uses=uses, lifetime=lifetime, role=role)
        self._file.save(self._tokens, voids=True)
        return self._written(made) if self.takes_invites else ""

    def void(self) -> None:
        """Void all invites. Members stay."""
        self._tokens.void()
        self._file.save(self._tokens, voids=True)

    async def saved(self, within: float = 10.0) -> bool:
        """Wait some seconds for the invites to be on the disk; return whether they are."""
        return await self._file.saved(within)

    def _open_pass(self) -> InviteToken | None:
        now = self._clock()
        current = self._tokens.newest(now)
        if current is None and not self._tokens:
            current = self._tokens.issue(now)
            self._file.save(self._tokens)
        return current

    def state(self, hosts: tuple[str, ...]) -> HostRecord:
        """Tell the room where it is hosted."""
        self._hosts = hosts
        self.host_record = sign_host_record(
            self._identity,
            room=self._config.room,
            host=self._config.host,
            pin=self._certificate.pin,
            addresses=tuple(map(str, self.addresses)),
            at=self._clock(),
        )
        self._settle(self.host_record)
        if self._announcer is not None:
            self._announcer.update(self._announced(self.host_record))
        return self.host_record

    @asynccontextmanager
    async def announced(self) -> AsyncIterator[None]:
        """Announce the room to the network while the block runs; it was told by `state` where it is."""
        assert self.host_record is not None  # noqa: S101 - see above
        async with Announcer(self._announced(self.host_record)) as self._announcer:
            try:
                yield
            finally:
                self._announcer = None

    @asynccontextmanager
    async def shown(self, *, announce: bool) -> AsyncIterator[None]:
        """Keep the host record current, and announced if wanted, while the block runs."""
        self.state(await self._look_around())
        if self.takes_invites:
            self._open_pass()  # for those who read it from outside
        async with AsyncExitStack() as resources:
            if announce:
                await resources.enter_async_context(self.announced())
            watch = start_task(self._watch(), name="own addresses")
            try:
                yield
            finally:
                watch.cancel()
                await asyncio.wait([watch])

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_AROUND)
            hosts = await self._look_around()
            if hosts != self._hosts:
                logger.info("this machine has other addresses now")
                self.state(hosts)

    async def _look_around(self) -> tuple[str, ...]:
        return () if self._config.local else await asyncio.to_thread(reachable_hosts)

    def _announced(self, host_record: HostRecord) -> Announcement:
        return Announcement(
            host_record,
            self._config.title,
            self._config.address.port,
            continues=self._config.continues,
        )
