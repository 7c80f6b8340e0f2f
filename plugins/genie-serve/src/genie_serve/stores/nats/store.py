"""Rooms in the streams of NATS JetStream; `check` sees to it that they survive a power cut."""

import asyncio
import urllib.request
from contextlib import suppress
from typing import Final, Self

import msgspec
from nats.aio.client import Client
from nats.js.api import (
    DiscardPolicy,
    KeyValueConfig,
    RetentionPolicy,
    StorageType,
    StreamConfig,
    StreamInfo,
)
from nats.js.errors import BadRequestError
from nats.js.kv import KeyValue

from genie_serve.config import StoreTable
from genie_serve.stores.folder_objects import FolderObjects
from genie_serve.stores.nats.connection import ANSWER, UNANSWERED, answering, connect
from genie_serve.stores.nats.documents import NatsDocuments
from genie_serve.stores.nats.lease import NatsLease
from genie_serve.stores.nats.log import NatsLog, token_of
from genie_serve.stores.nats.objects import NatsObjects
from genie_serve.stores.store import Objects, StoreUnavailable, UnsafeStore, cause, shard_of

MOST_BYTES: Final = 1024 * 1024
"""The smallest max_payload that servers may have: NATS's own default, and more than an event."""

SETTINGS_BYTES: Final = 4 * 1024 * 1024
"""More than a server's settings take."""

UNSYNCED: Final = (
    "the NATS server {} acknowledges what a power cut can lose: set `sync_interval: always` in "
    "its `jetstream` block"
)

UNSEEN: Final = (
    "nothing says that the NATS servers sync what they acknowledge: give the addresses of their "
    "monitoring as `monitor` in [store], or say `synced = true` after setting `sync_interval: "
    "always` on each"
)


class JetStreamSettings(msgspec.Struct, frozen=True):
    """The `jetstream.config` of a server's settings."""

    sync_always: bool = False


class JetStreamTable(msgspec.Struct, frozen=True):
    """The `jetstream` of a server's settings."""

    config: JetStreamSettings = JetStreamSettings()


class ServerSettings(msgspec.Struct, frozen=True):
    """The parts of `/varz` that matter here."""

    server_name: str
    jetstream: JetStreamTable = JetStreamTable()


class NatsStore:
    """Rooms in NATS; see `SharedStore`. Create it by `connect`, and `check` it before use."""

    def __init__(
        self, client: Client, table: StoreTable, documents: KeyValue, leases: KeyValue
    ) -> None:
        self._client = client
        self._table = table
        self._js = client.jetstream(timeout=ANSWER)
        self._leases = leases
        prefix = table.prefix
        self.documents: Final = NatsDocuments(self._js, documents, f"{prefix}_documents")
        self.objects: Final[Objects] = (
            NatsObjects(self._js, f"{prefix}_files", f"{prefix}.files")
            if table.objects is None
            else FolderObjects(table.objects)
        )

    @classmethod
    async def connect(cls, table: StoreTable) -> Self:
        """Connect, and create the streams and buckets that are missing.

        Raises:
            StoreUnavailable: the servers don't answer or refuse.
        """
        client = await connect(table)
        try:
            with answering("create the streams"):
                js = client.jetstream(timeout=ANSWER * 2)
                for config in _streams(table):
                    with suppress(BadRequestError):  # it exists, set up otherwise: `check` says so
                        await js.add_stream(config)
                buckets = []
                for name, lasts in (("documents", None), ("leases", table.lease)):
                    bucket = KeyValueConfig(
                        f"{table.prefix}_{name}",
                        ttl=lasts,
                        storage=StorageType.FILE,
                        replicas=table.replicas,
                        direct=False,
                    )
                    with suppress(BadRequestError):
                        await js.create_key_value(bucket)
                    buckets.append(await client.jetstream(timeout=ANSWER).key_value(bucket.bucket))
        except BaseException:
            await client.close()
            raise
        return cls(client, table, *buckets)

    def log(self, room: str) -> NatsLog:
        stream, subject = self._place(room)
        return NatsLog(self._js, stream, subject, self._client.max_payload)

    async def remove_log(self, room: str) -> None:
        stream, subject = self._place(room)
        with answering("remove the room's log"):
            await self._js.purge_stream(stream, subject=subject)

    def lease(self, name: str) -> NatsLease:
        return NatsLease(self._leases, name, self._table.lease)

    async def check(self) -> None:
        if self._client.max_payload < MOST_BYTES:
            raise UnsafeStore(
                f"the NATS servers take at most {self._client.max_payload:,} bytes at once: "
                f"raise max_payload to {MOST_BYTES:,}"
            )
        servers: set[str] = set()
        with answering("describe its streams"):
            for name in self._names():
                servers |= _check_stream(await self._js.stream_info(name), self._table)
        await self._check_syncing(servers)

    async def aclose(self) -> None:
        with suppress(*UNANSWERED):
            await self._client.close()

    def _place(self, room: str) -> tuple[str, str]:
        """Return the stream and the subject of a room's log."""
        shard = shard_of(room, self._table.shards)
        prefix = self._table.prefix
        return f"{prefix}_{shard}", f"{prefix}.{shard}.{token_of(room)}"

    def _names(self) -> list[str]:
        """Return the names of all streams, with those of the buckets."""
        prefix = self._table.prefix
        names = [config.name or "" for config in _streams(self._table)]
        return [*names, f"KV_{prefix}_documents", f"KV_{prefix}_leases"]

    async def _check_syncing(self, servers: set[str]) -> None:
        """Check that all servers that keep rooms sync acknowledged writes.

        The answers of the servers to a client do not show it; their monitoring does.
        """
        if self._table.synced:
            return
        if not self._table.monitor:
            raise UnsafeStore(UNSEEN)
        seen = set()
        for url in self._table.monitor:
            settings = await asyncio.to_thread(_settings, url)
            if not settings.jetstream.config.sync_always:
                raise UnsafeStore(UNSYNCED.format(settings.server_name))
            seen.add(settings.server_name)
        if missing := sorted(servers - seen):
            raise UnsafeStore(
                f"the NATS server {missing[0]} keeps rooms, but `monitor` in [store] does not have "
                "its monitoring address"
            )


def _streams(table: StoreTable) -> list[StreamConfig]:
    """Return how each stream is to be: one for each shard, one for the files."""
    prefix = table.prefix
    subjects = {f"{prefix}_{n}": f"{prefix}.{n}.*" for n in range(table.shards)}
    subjects[f"{prefix}_files"] = f"{prefix}.files.>"
    return [
        StreamConfig(
            name=name,
            subjects=[subject],
            retention=RetentionPolicy.LIMITS,
            discard=DiscardPolicy.NEW,
            storage=StorageType.FILE,
            num_replicas=table.replicas,
            deny_delete=True,
        )
        for name, subject in subjects.items()
    ]


def _check_stream(info: StreamInfo, table: StoreTable) -> set[str]:
    """Check how a stream is kept; return the names of the servers that keep it."""
    config = info.config
    if config.storage != StorageType.FILE:
        raise UnsafeStore(f"the stream {config.name} in NATS is kept in memory: make it anew")
    if config.num_replicas != table.replicas:
        raise UnsafeStore(
            f"the stream {config.name} in NATS has {config.num_replicas} replicas, and [store] "
            f"says {table.replicas}: change one of them"
        )
    if config.name == f"KV_{table.prefix}_leases":
        if config.max_age != table.lease:
            raise UnsafeStore(
                f"the leases in NATS last {config.max_age:g} s, and [store] says {table.lease:g}: "
                f"say lease = {config.max_age:g}, or stop all machines and remove {config.name}"
            )
    elif _removes(config):
        raise UnsafeStore(f"the stream {config.name} in NATS removes messages: lift its limits")
    if info.cluster is None:
        return set()
    others = [peer.name for peer in info.cluster.replicas or ()]
    return {name for name in (info.cluster.leader, *others) if name}


def _removes(config: StreamConfig) -> bool:
    """Whether a stream removes messages by itself; a bucket may remove earlier values."""
    is_bucket = (config.name or "").startswith("KV_")
    limits = (config.max_age, config.max_msgs, 0 if is_bucket else config.max_msgs_per_subject)
    drops_old = config.discard == DiscardPolicy.OLD and (config.max_bytes or 0) > 0
    is_limited = any((limit or 0) > 0 for limit in limits)
    return is_limited or drops_old or config.retention != RetentionPolicy.LIMITS


def _settings(url: str) -> ServerSettings:
    """Read a server's settings from its monitoring. Blocks.

    Raises:
        StoreUnavailable: it does not answer, or something else does.
    """
    address = f"{url.rstrip('/')}/varz"
    if not address.startswith(("http://", "https://")):
        raise UnsafeStore(f"`monitor` in [store]: {url} is no address of http")
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:  # noqa: S310 - checked above
            return msgspec.json.decode(answer.read(SETTINGS_BYTES), type=ServerSettings)
    except (OSError, msgspec.MsgspecError, ValueError) as error:
        inner = getattr(error, "reason", None)  # urllib wraps the system's words
        why = cause(inner if isinstance(inner, Exception) else error)
        raise StoreUnavailable(f"the monitoring of NATS at {url} does not answer: {why}") from error
