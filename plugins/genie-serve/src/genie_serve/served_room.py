"""One open room of a service: its folder, its server, its invites and its host record."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from genie_core.room.open.files import blobs_of
from genie_core.room.open.saved_room import NotYours, make_own, open_held
from genie_core.room.participant.presence import (
    TOKENS_NAME,
    HostPresence,
    InviteTokenFile,
    PresenceConfig,
)
from genie_core.room.protocol.address import Address
from genie_core.room.protocol.events import (
    Event,
    MemberJoined,
    MemberLeft,
    MemberModerated,
    Role,
)
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.security.certificate import Certificate
from genie_core.room.security.founding import earlier_id
from genie_core.room.security.identity import Identity
from genie_core.room.security.invite_tokens import InviteTokens
from genie_core.room.server.counters import Counters
from genie_core.room.server.file_worker import SharedFiles, open_file_worker
from genie_core.room.server.log import Log
from genie_core.room.server.quotas import StrangerQuotas
from genie_core.room.server.server import RoomServer
from genie_core.room.server.setup import RoomSetup
from genie_core.runtime.tasks import start_task
from genie_core.sessions.log.writer import OpenedLog
from genie_core.sessions.metadata import SessionMetadata, encode_metadata
from genie_core.sessions.session import SavedSession
from genie_core.storage.atomic import replace_file
from genie_serve.config import ServeConfig
from genie_serve.disk_quota import DiskQuota
from genie_serve.errors import NotSaved, RoomUnavailable
from genie_serve.shared_invites import SharedInviteTokens
from genie_serve.stores.cached_log import CachedLog
from genie_serve.stores.store import SharedStore

ANOTHER_KEY: Final = (
    "the service had another key when it hosted this room; give it that key back, as `key` in "
    "serve.toml or from a backup"
)

ROOM: Final = "room."
PASSES: Final = "tokens."
"""Prefixes of keys of documents; the name of a room's folder follows."""

MEMBERSHIP: Final = (MemberJoined, MemberLeft, MemberModerated)

OPENED_AT_ONCE: Final = 8
"""How many rooms a service opens at the same time."""


@dataclass(frozen=True, slots=True)
class RoomHost:
    """The common part of the rooms of a service: who hosts them, and where.

    `members_changed` is called with a room's folder once it is durable that a member came or went,
    or has another role.
    """

    config: ServeConfig
    identity: Identity
    certificate: Certificate
    address: Address
    addresses: tuple[Address, ...]
    strangers: StrangerQuotas
    counters: Counters
    quota: DiskQuota
    members_changed: Callable[[str], None]
    clock: Callable[[], float] = time.time
    store: SharedStore | None = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def name(self) -> str:
        return self.config.name


class ServedRoom:
    """One open room of a service; `open` opens it, `suspend` or `close` closes it."""

    def __init__(
        self,
        saved: SavedSession,
        server: RoomServer,
        tokens: InviteTokens,
        presence: HostPresence,
        opened: OpenedLog,
        resources: AsyncExitStack,
    ) -> None:
        self.saved = saved
        self.server = server
        self.tokens = tokens
        self.presence = presence
        self.problems = tuple(opened.problems)
        self._log = opened.log
        self._resources = resources

    @classmethod
    async def open(
        cls, saved: SavedSession, host: RoomHost, hosts: tuple[str, ...]
    ) -> "ServedRoom":
        """Open a saved room; `hosts` are the machine's own addresses.

        Raises:
            GenieError: it can't be opened, or not by this host.
        """
        async with AsyncExitStack() as resources:
            log, opened = await _open_log(saved, host, resources)
            file = await _open_passes(saved, host.store)
            resources.push_async_callback(file.aclose)
            tokens = await asyncio.to_thread(file.load)
            try:
                copied, founding = await asyncio.to_thread(
                    make_own, saved, opened, host.name, host.identity
                )
            except NotYours as error:
                raise RoomUnavailable(ANOTHER_KEY) from error
            record, limits, cache = saved.metadata, host.config.room, opened.log
            if host.store is not None:  # before the log has the room's first event
                await share_record(saved, host.store)
            shared = _shared_files(host.store, saved.id) if host.store is not None else None
            share = host.quota.share(saved.id)
            share.note_log(cache.size)
            files = await open_file_worker(blobs_of(saved), cache.files, limits, share, shared)

            async def append(events: Sequence[Event]) -> None:
                await log.append(events)
                share.note_log(cache.size)
                if any(isinstance(each.body, MEMBERSHIP) for each in events):
                    host.members_changed(saved.id)

            setup = RoomSetup(
                record.id,
                record.title,
                host.name,
                host.identity,
                tokens=tokens,
                ask=host.config.ask,
                trusts_loopback=False,
                base=opened.base.room(),
                past=log.read,
                copied=copied,
                origin=record.origin if copied else "",
                founding=founding,
                hosts_alone=True,
                limits=limits,
                counters=host.counters,
                strangers=host.strangers,
            )
            server = RoomServer(
                opened.events,
                append,
                setup,
                certificate=host.certificate,
                keep_tokens=file.save,
                files=files,
                clock=host.clock,
                turn=host.turn,
            )
            cache.memory = server.room.log.remembered
            resources.push_async_callback(server.close)
            await server.start()
            resources.callback(share.disconnect)
            share.connect(server.fill)
            presence = _presence(record, host, tokens, file, server.settle)
            presence.state(hosts)
            if host.config.announce:
                await resources.enter_async_context(presence.announced())
            await asyncio.to_thread(_note_hosting, saved, host, presence)
            return cls(saved, server, tokens, presence, opened, resources.pop_all())

    @property
    def ids(self) -> tuple[str, ...]:
        """The room's id, and the one that it had before it was founded."""
        return ids_of(self.saved.metadata)

    def invite(
        self, *, role: Role | None = None, uses: int | None = None, lifetime: float | None = None
    ) -> str:
        """Add an invite; `lifetime` is in seconds. One that gives a role is for one person by default."""
        return self.presence.issue(uses=uses, lifetime=lifetime, role=role)

    def void_invites(self) -> None:
        """Void all invites. Members stay."""
        self.presence.void()

    async def suspend(self, reason: str) -> None:
        """End the room: all members hear the reason, and that it is over for now.

        Raises:
            NotSaved: its end is not on disk.
        """
        is_saved = await self.server.suspend(reason)
        await self._release()
        if not is_saved:
            raise NotSaved(self.saved.log_path)

    async def close(self) -> None:
        """Stop serving the room; members come back once it is served again.

        Raises:
            NotSaved: the last events are not on disk; their authors keep them.
        """
        is_saved = await self.server.stop()
        await self._release()
        if not is_saved:
            raise NotSaved(self.saved.log_path)

    async def drop(self) -> None:
        """Stop serving immediately, because another machine may host the room from now on.

        Members come back there, with the messages that were not acknowledged.
        """
        self.server.give_way()
        await self.server.close()
        await self._release()

    async def _release(self) -> None:
        last = self._log.last
        summary = self.saved.summary(self.server.state, last.at if last is not None else 0.0)
        try:
            await asyncio.to_thread(partial(self.saved.update, **summary))
        finally:
            await self._resources.aclose()


def _presence(
    record: SessionMetadata,
    host: RoomHost,
    tokens: InviteTokens,
    file: InviteTokenFile,
    settle: Callable[[HostRecord], None],
) -> HostPresence:
    config = PresenceConfig(
        record.id,
        record.title,
        host.name,
        host.address,
        trusts_loopback=False,
        addresses=host.addresses,
    )
    return HostPresence(host.identity, host.certificate, config, tokens, file, settle, host.clock)


def ids_of(record: SessionMetadata) -> tuple[str, ...]:
    """Return a room's id, and the one that it had before it was founded."""
    before = earlier_id(record.founding)
    return (record.id, before) if before else (record.id,)


def _shared_files(store: SharedStore, room: str) -> SharedFiles:
    return SharedFiles(partial(store.objects.put, room), partial(store.objects.get, room))


async def share_record(saved: SavedSession, store: SharedStore) -> None:
    """Tell other machines of a room, or of its changes.

    Raises:
        StoreUnavailable: the store does not answer.
    """
    await store.documents.put(f"{ROOM}{saved.id}", encode_metadata(saved.metadata))


async def _open_log(
    saved: SavedSession, host: RoomHost, resources: AsyncExitStack
) -> tuple[Log, OpenedLog]:
    """Lock the room and open its log, which is in the store if there is one."""
    if host.store is None:
        opened = await open_held(saved, host.name, resources)
        return opened.log, opened
    held = ExitStack()
    resources.push_async_callback(asyncio.to_thread, held.close)
    locking = start_task(asyncio.to_thread(held.enter_context, saved.held(host.name)))
    try:
        await asyncio.shield(locking)
    except asyncio.CancelledError:
        await asyncio.wait([locking])  # a thread can't be cancelled
        raise
    await _share_files(saved, host.store)
    log, opened = await CachedLog.open(host.store.log(saved.id), saved.log_path)
    resources.push_async_callback(log.aclose)
    return log, opened


async def _open_passes(saved: SavedSession, store: SharedStore | None) -> InviteTokenFile:
    """Open the file of invites, as the store has it if there is one."""
    path = saved.folder / TOKENS_NAME
    if store is None:
        return InviteTokenFile(path)
    key = f"{PASSES}{saved.id}"
    content = await store.documents.get(key)
    if content is not None:
        await asyncio.to_thread(replace_file, path, content)
    elif path.exists():
        await store.documents.put(key, await asyncio.to_thread(path.read_bytes))
    return SharedInviteTokens(path, store.documents, key)


async def _share_files(saved: SavedSession, store: SharedStore) -> None:
    """Put the files of a room that is new to a store there, before its log names them."""
    if await store.documents.get(f"{ROOM}{saved.id}") is None:
        blobs = blobs_of(saved)
        for digest in await asyncio.to_thread(blobs.digests):
            await store.objects.put(saved.id, digest, str(blobs.path(digest)))


def _note_hosting(saved: SavedSession, host: RoomHost, presence: HostPresence) -> None:
    saved.update(
        kind="hosted",
        host=host.name,
        name=host.name,
        address=str(host.address),
        addresses=tuple(map(str, presence.addresses)),
        copied="",
        origin="",
        pin=presence.pin,
    )
