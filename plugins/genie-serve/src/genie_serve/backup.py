"""A backup of a service, which may be running, and its restoring where none runs.

It is the backup of a person's rooms and keys (`genie_core.backup`), with the service's key,
certificate and configuration, wherever these are. A log is append-only and its lines are written
before they are acknowledged: the copy of each begins after the backup did, ends with a whole line,
and so has everything that was acknowledged before.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from genie_core.assistant.secrets import OwnSecrets
from genie_core.backup.places import CONFIG
from genie_core.backup.restoring import Restored, restore_backup
from genie_core.backup.writing import BackupReport, write_backup
from genie_core.errors import GenieError
from genie_core.room.open.identities import key_file
from genie_core.sessions.catalog import Catalog
from genie_core.settings.locations import Locations
from genie_serve.admin.client import holding_rooms
from genie_serve.admin.socket_file import ROOT, no_service
from genie_serve.config import CONFIG_NAME, ServeConfig

SHARED: Final = (
    "the rooms are in the {kind} store; this backup has what this machine has of them, so back up "
    "the store as well"
)
ROOTS: Final = (
    "what was restored belongs to root; before the service runs as user {owner}: "
    "chown -R {owner} {data} {config}"
)
NO_CONFIG: Final = (
    "there is no {path}, so it has no configuration; if the service was started with --config, name "
    "the same file here"
)
LACKING: Final = (
    "it lacks the service's {what}: there is no {path}; keep a copy of that file elsewhere"
)
KEPT_APART: Final = "{path} is not in it: the configuration names it as a secret of the store"


class NotEmpty(GenieError):
    """A service is to be restored where rooms or keys are already. Nothing has changed."""

    template = (
        "{folder} has rooms or keys already, and a service is restored into an empty folder: set "
        "GENIE_HOME to one, or restore one room with --room ID"
    )
    folder: Path


def write_service_backup(
    locations: Locations,
    config: ServeConfig,
    config_file: Path,
    passphrase: str,
    path: Path,
    *,
    force: bool = False,
) -> BackupReport:
    """Write rooms, invites, keys, certificate and configuration to a private file. Blocks.

    A service that runs meanwhile goes on, but deletes no room until the file is complete. Errors as
    `write_backup` and `holding_rooms`.
    """
    secrets = OwnSecrets(config.name, locations.secrets)
    files = _elsewhere(locations, config, config_file)
    with holding_rooms(locations):
        report = write_backup(
            locations,
            secrets,
            passphrase,
            path,
            time.time(),
            force=force,
            elsewhere={name: file for name, file in files.items() if file.exists()},
        )
    named, key, certificate = files.values()
    if not named.exists():
        report.notes.append(NO_CONFIG.format(path=named))
    for what, file in (("key", key), ("certificate", certificate)):
        if not file.exists():
            report.notes.append(LACKING.format(what=what, path=file))
    if config.store is not None:
        report.notes.append(SHARED.format(kind=config.store.kind))
        if config.store.credentials is not None:
            report.notes.append(KEPT_APART.format(path=config.store.credentials))
    return report


def restore_service(
    locations: Locations, config: ServeConfig, passphrase: str, source: BinaryIO, name: str
) -> Restored:
    """Restore a service where there is none; `name` is the file's in errors. Blocks.

    Raises:
        ServiceRunning: a service runs here.
        NotEmpty: there are rooms or keys here.

    Others as `restore_backup`.
    """
    with no_service(locations):
        here = (locations.keys, locations.certificate)
        if any(each.exists() for each in here) or Catalog(locations.sessions).ids():
            raise NotEmpty(locations.data)
        secrets = OwnSecrets(config.name, locations.secrets)
        done = restore_backup(locations, secrets, passphrase, source, name)
    done.notes.extend(_notes(locations))
    return done


def restore_room(
    locations: Locations,
    config: ServeConfig,
    passphrase: str,
    source: BinaryIO,
    name: str,
    room: str,
) -> Restored:
    """Restore one room, by its whole id, beside those that are here. Blocks.

    One that is here stays as it is. Errors as `restore_backup`.
    """
    secrets = OwnSecrets(config.name, locations.secrets)
    done = restore_backup(locations, secrets, passphrase, source, name, session=room)
    done.notes.extend(_notes(locations))
    return done


def _notes(locations: Locations) -> Iterator[str]:
    """Yield the remaining steps if root restored files for another user's service."""
    owner = locations.data.parent.stat().st_uid
    if os.geteuid() == ROOT and owner != ROOT:
        yield ROOTS.format(owner=owner, data=locations.data, config=locations.config)


def _elsewhere(locations: Locations, config: ServeConfig, config_file: Path) -> dict[str, Path]:
    """Return where configuration, key and certificate are, in this order, by their usual names."""
    own_key = key_file(config.name, locations)
    return {
        f"{CONFIG}/{CONFIG_NAME}": config_file,
        own_key.relative_to(locations.data).as_posix(): config.key or own_key,
        locations.certificate.relative_to(locations.data).as_posix(): (
            config.certificate or locations.certificate
        ),
    }
