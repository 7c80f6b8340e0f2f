"""Write a backup. Sessions are streamed; running programs need not be closed."""

import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from genie_core.assistant.errors import SecretsError
from genie_core.assistant.secrets import OwnSecrets
from genie_core.backup.errors import WeakPassphrase
from genie_core.backup.format import (
    HEADER_NAME,
    LEAST_CHARS,
    PRIVATE_NAME,
    ArchivedFile,
    Header,
    PrivatePart,
    encrypt_part,
)
from genie_core.backup.places import (
    SESSIONS,
    homes,
    is_private,
    private_files,
    session_files,
    session_folders,
)
from genie_core.sessions.export.jsonl import file_pieces, whole_lines
from genie_core.sessions.export.writer import fresh_file
from genie_core.sessions.session import LOG_NAME
from genie_core.settings.locations import Locations
from genie_core.storage.archives import copy_pieces, private_entry
from genie_core.storage.atomic import read_file
from genie_core.storage.blobs import BLOBS_NAME
from genie_core.storage.errors import disk_access


@dataclass(slots=True)
class BackupReport:
    """The contents of a backup, in numbers. `notes` are lines for the person, usually none."""

    sessions: int = 0
    keys: int = 0
    secrets: int = 0
    notes: list[str] = field(default_factory=list)


def write_backup(
    locations: Locations,
    secrets: OwnSecrets,
    passphrase: str,
    path: Path,
    now: float,
    *,
    force: bool = False,
    elsewhere: Mapping[str, Path] | None = None,
) -> BackupReport:
    """Write all sessions, keys, settings and secrets to a private file. Blocks.

    Keys, settings, secrets and invites are encrypted, the sessions are not. The file gets its name
    when it is complete. `elsewhere` are private files outside of the usual folders, by the names in
    the archive at which a restore expects them.

    Raises:
        WeakPassphrase: the passphrase is too short.
        InTheWay: the file is there, and `force` is not set.
        DiskFailure: something can't be read or written.
    """
    if len(passphrase) < LEAST_CHARS:
        raise WeakPassphrase(LEAST_CHARS)
    header = Header.fresh(now)
    with (
        disk_access("write", path),
        fresh_file(path, force=force) as out,
        zipfile.ZipFile(out, "w") as archive,
    ):
        return _Writer(archive, header).write(locations, secrets, passphrase, elsewhere or {})


class _Writer:
    """A backup that is being written."""

    def __init__(self, archive: zipfile.ZipFile, header: Header) -> None:
        self._archive = archive
        self._header = header
        self._entries: dict[str, ArchivedFile] = {}
        self._files: dict[str, bytes] = {}
        self._report = BackupReport()

    def write(
        self,
        locations: Locations,
        secrets: OwnSecrets,
        passphrase: str,
        elsewhere: Mapping[str, Path],
    ) -> BackupReport:
        self._archive.writestr(
            private_entry(HEADER_NAME, packed=False), msgspec.json.encode(self._header)
        )
        for prefix, home in homes(locations):
            for name, path in private_files(home):
                self._take_private(f"{prefix}{name}", path)
            for folder in session_folders(home):
                self._take_session(f"{prefix}{SESSIONS}/{folder.name}", folder)
        for name, path in elsewhere.items():
            self._take_private(name, path)
        kept = self._secrets(secrets)
        part = PrivatePart(self._entries, self._files, kept)
        data = encrypt_part(part, passphrase, self._header)
        self._archive.writestr(private_entry(PRIVATE_NAME, packed=False), data)
        self._report.keys = sum(name.endswith(".key") for name in self._files)
        self._report.secrets = len(kept)
        return self._report

    def _secrets(self, secrets: OwnSecrets) -> dict[str, str]:
        try:
            return secrets.kept()
        except SecretsError as error:
            self._report.notes.append(f"your secrets are left out: {error}")
            return {}

    def _take_private(self, name: str, path: Path) -> None:
        with disk_access("read", path):
            if path.exists():
                self._files[name] = read_file(path)

    def _take_session(self, prefix: str, folder: Path) -> None:
        self._report.sessions += 1
        for path in session_files(folder):
            name = f"{prefix}/{path.relative_to(folder).as_posix()}"
            if is_private(path):
                self._take_private(name, path)
            else:
                self._take(name, path)

    def _take(self, name: str, path: Path) -> None:
        """Copy a file, but of a log that grows meanwhile only whole lines.

        Other files are replaced as a whole, so the one that is opened is read to its end.
        """
        with disk_access("read", path):
            try:
                status = path.stat()
            except FileNotFoundError:  # a running program removed it meanwhile
                return
        size = whole_lines(path) if path.name == LOG_NAME else sys.maxsize
        packed = path.parent.name != BLOBS_NAME  # most attached files are packed already
        info = private_entry(name, status.st_mode, packed=packed)
        with self._archive.open(info, "w", force_zip64=True) as entry:
            found = copy_pieces(file_pieces(path, size), entry.write)
        self._entries[name] = ArchivedFile(found.size, found.sha256)
