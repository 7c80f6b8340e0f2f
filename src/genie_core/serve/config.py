"""The configuration of a service: `serve.toml`."""

from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from genie_core.room.protocol.address import DEFAULT_PORT
from genie_core.room.protocol.limits import Limits

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
Bytes: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]

CONFIG_NAME: Final = "serve.toml"


class ServiceLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[limits]`: what the whole service accepts; `disk` is in bytes, logs and files together.

    `room_disk` limits one room.
    """

    rooms: Count = 1_000
    members: Count = 5_000
    connections: Count = 10_000
    disk: Bytes = 100 * 1024**3
    room_disk: Bytes = 4 * 1024**3


class StoreTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[store]`: what a second machine continues from; without it, rooms are on this machine only.

    `urls` are the servers of NATS, or one address of PostgreSQL. `credentials` is a file, and
    `objects` a folder for files, such as a mounted bucket; by default they are in the store.
    """

    kind: Literal["nats", "postgres"]
    urls: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    prefix: str = "genie"
    shards: Annotated[int, msgspec.Meta(ge=1, le=64)] = 4
    replicas: Annotated[int, msgspec.Meta(ge=1, le=5)] = 3
    lease: Annotated[float, msgspec.Meta(ge=1, le=60)] = 3.0
    credentials: Path | None = None
    objects: Path | None = None


class GuestsTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[guests]`: the service's own agent for members without one; off by default.

    `model` is written as in the settings.
    """

    model: str
    prompt: str = ""


class WebTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[web]`: the page on which guests join in a browser; off by default.

    `url` is what people open, where a proxy answers for the page. Beyond loopback it needs a
    `certificate` that browsers trust, and its `key`, both as PEM files.
    """

    host: str = "127.0.0.1"
    port: Annotated[int, msgspec.Meta(ge=0, le=65_535)] = 0
    url: str = ""
    certificate: Path | None = None
    key: Path | None = None


class ServeConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a service is run.

    `listen` is the interface, "" for all; `addresses` are those that members are given, by default
    the machine's own. `admins` are keys that may administer over the network. `ops` is where health
    and metrics are served.
    """

    name: str = "service"
    listen: str = ""
    port: Annotated[int, msgspec.Meta(ge=0, le=65_535)] = DEFAULT_PORT
    addresses: tuple[str, ...] = ()
    admins: tuple[str, ...] = ()
    ask: bool = False
    announce: bool = False
    ops: str = "127.0.0.1:7480"
    logs: Literal["json", "text"] = "json"
    key: Path | None = None
    certificate: Path | None = None
    room: Limits = Limits()
    limits: ServiceLimits = ServiceLimits()
    store: StoreTable | None = None
    guests: GuestsTable | None = None
    web: WebTable | None = None
