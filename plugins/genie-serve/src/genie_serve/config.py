"""The configuration of a service: `serve.toml`."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from genie_core.errors import GenieError
from genie_core.extensions import extensions
from genie_core.room.protocol.address import DEFAULT_PORT, Address, is_on_loopback, parse_address
from genie_core.room.protocol.errors import InvalidKey
from genie_core.room.protocol.limits import Limits
from genie_core.room.protocol.names import check_name
from genie_core.room.security.keys import is_key
from genie_core.settings.load import SettingsFile, parse_settings
from genie_core.settings.setting_keys import Key, from_text, spell
from genie_core.settings.validate import mistakes
from genie_core.storage.atomic import read_file, reason
from genie_core.text.decoding import NotText, decode_text
from genie_serve.errors import CannotServe

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
Bytes: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]

CONFIG_NAME: Final = "serve.toml"
OPS_PORT: Final = 7480
STORES: Final = "genie.stores"
"""The entry points of the kinds of stores."""


class ServiceLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[limits]`: the limits of the whole service; `disk` is in bytes, logs and files together.

    `room_disk` limits one room.
    """

    rooms: Count = 1_000
    members: Count = 5_000
    connections: Count = 10_000
    disk: Bytes = 100 * 1024**3
    room_disk: Bytes = 4 * 1024**3


class StoreTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[store]`: the store that a second machine continues from.

    Without it, rooms are on this machine only.

    `urls` are the servers of NATS, or one address of PostgreSQL. `credentials` is a file, and
    `objects` a folder for files, such as a mounted bucket; by default they are in the store.

    `ca` is a file with the authority that signed the servers' certificates, and `certificate` one
    with a certificate and its key, for servers that ask for it. For NATS: `monitor` are the
    addresses at which the servers show their settings; `synced` says without them that all servers
    sync acknowledged writes.
    """

    kind: str
    urls: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    prefix: str = "genie"
    shards: Annotated[int, msgspec.Meta(ge=1, le=64)] = 4
    replicas: Annotated[int, msgspec.Meta(ge=1, le=5)] = 3
    lease: Annotated[float, msgspec.Meta(ge=1, le=60)] = 3.0
    credentials: Path | None = None
    objects: Path | None = None
    ca: Path | None = None
    certificate: Path | None = None
    monitor: tuple[str, ...] = ()
    synced: bool = False


class GuestsTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[guests]`: the service's own agent for members without one; off by default.

    `model` is written as in the settings. `daily_tokens` are the most that its answers in all rooms
    together may take on one day, by UTC; 0 means no limit.
    """

    model: str
    daily_tokens: Annotated[int, msgspec.Meta(ge=0)] = 1_000_000


class WebTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[web]`: the page on which guests join in a browser; off by default.

    `url` is the address that people open, where a proxy answers for the page. Beyond loopback it
    needs a `certificate` that browsers trust, and its `key`, both as PEM files.
    """

    host: str = "127.0.0.1"
    port: Annotated[int, msgspec.Meta(ge=0, le=65_535)] = 0
    url: str = ""
    certificate: Path | None = None
    key: Path | None = None


class ServeConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The configuration of a service.

    `listen` is the interface, "" for all; `addresses` are those that members are given, by default
    the machine's own. `admins` are keys that may administer over the network. `ops` is the
    address on loopback at which health and metrics are served, empty for none.
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

    @property
    def ops_address(self) -> Address | None:
        return parse_address(self.ops, OPS_PORT) if self.ops else None


def read_config(path: Path, *, required: bool = True) -> ServeConfig:
    """Read a configuration; without a file it is the default one, unless that is `required`.

    Paths in it that are not absolute are in the folder of the file. Blocks.

    Raises:
        CannotServe: the file can't be read, or has a mistake; the text names the line and the key.
        SettingsError: it is not TOML.
    """
    try:
        text = decode_text(read_file(path))
    except FileNotFoundError as error:
        if required:
            raise CannotServe(f"there is no configuration {path}") from error
        text = ""
    except (OSError, NotText) as error:
        raise CannotServe(f"can't read the configuration {path}: {reason(error)}") from error
    written = parse_settings(path, text)
    for key, problem in _problems(written):
        raise CannotServe(f"{written.place(key)}: {problem}")
    config = msgspec.convert(written.values, ServeConfig, dec_hook=from_text)
    return _with_paths(config, path.absolute().parent)


def _problems(written: SettingsFile) -> Iterator[tuple[Key, str]]:
    """Yield the mistakes, by their keys."""
    wrong = [(each.key, each.text) for each in mistakes(written.values, ServeConfig)]
    yield from wrong
    if wrong:
        return
    config = msgspec.convert(written.values, ServeConfig, dec_hook=from_text)
    texts: list[tuple[Key, str, Callable[[str], object]]] = [
        (("name",), config.name, check_name),
        (("ops",), config.ops, _check_ops),
        *((("addresses",), each, parse_address) for each in config.addresses),
        *((("admins",), each, _check_key) for each in config.admins),
        *([(("store", "kind"), config.store.kind, _check_kind)] if config.store else []),
    ]
    for key, text, check in texts:
        try:
            check(text)
        except GenieError as error:
            yield key, f"{spell(key)} can't be {text!r}: {error}"


def _check_ops(text: str) -> None:
    if text and not is_on_loopback(parse_address(text, OPS_PORT)):
        raise CannotServe(
            "health and metrics are served without TLS, so on loopback only, such as at "
            "127.0.0.1:7480; let a proxy with TLS answer beyond this machine"
        )


def _check_key(text: str) -> None:
    if not is_key(text):
        raise InvalidKey(text)


def _check_kind(kind: str) -> None:
    known = extensions(STORES)
    if kind not in known:
        raise CannotServe(f"installed are stores of the kinds {', '.join(sorted(known))}")


def _with_paths(config: ServeConfig, base: Path) -> ServeConfig:
    """Return a configuration whose paths are absolute."""

    def absolute(path: Path | None) -> Path | None:
        return None if path is None else base / path.expanduser()

    store = config.store
    if store is not None:
        store = msgspec.structs.replace(
            store,
            credentials=absolute(store.credentials),
            objects=absolute(store.objects),
            ca=absolute(store.ca),
            certificate=absolute(store.certificate),
        )
    web = config.web
    if web is not None:
        web = msgspec.structs.replace(
            web, certificate=absolute(web.certificate), key=absolute(web.key)
        )
    return msgspec.structs.replace(
        config,
        web=web,
        key=absolute(config.key),
        certificate=absolute(config.certificate),
        store=store,
    )
