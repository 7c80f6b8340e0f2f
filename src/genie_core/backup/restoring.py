"""Restore a backup: verify all of it, then put each part in place.

Sessions and files that are here are not lost: they stay, or are renamed if the backup's are to
replace them. A secret that is replaced is overwritten.
"""

import difflib
import os
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import BinaryIO

import msgspec

from genie_core.assistant.errors import SecretsError
from genie_core.assistant.secrets import ENVIRONMENT, OwnSecrets
from genie_core.backup.errors import NotRestorable, WrongPassphrase
from genie_core.backup.format import (
    HEADER_BYTES,
    HEADER_NAME,
    PRIVATE_BYTES,
    PRIVATE_NAME,
    VERSION,
    ArchivedFile,
    Header,
    PrivatePart,
    decrypt_part,
)
from genie_core.backup.places import SESSIONS, place_of
from genie_core.sessions.catalog import staged
from genie_core.sessions.lock import SessionInUse, holder, in_turn
from genie_core.sessions.session import METADATA_NAME
from genie_core.settings.locations import Locations
from genie_core.storage.archives import BROKEN_ARCHIVE, check_space, copy_pieces, pieces_of
from genie_core.storage.atomic import (
    create_file,
    make_private_folder,
    read_file,
    replace_file,
    sync_data,
    sync_folder,
    unused_path,
    write_whole,
)
from genie_core.storage.errors import disk_access


@dataclass(slots=True)
class Restored:
    """The result of a restore.

    `kept` names the items that were here already and stay. `replaced` maps the name of each replaced
    item to its new name. `notes` are further lines for the person.
    """

    sessions: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    secrets: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    replaced: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def restore_backup(
    locations: Locations,
    secrets: OwnSecrets,
    passphrase: str,
    source: BinaryIO,
    name: str,
    *,
    replace: bool = False,
    session: str = "",
) -> Restored:
    """Restore a backup from a seekable file; `name` is its name in errors. Blocks.

    Sessions, files and secrets that are here stay. With `replace` the backup's take their places.
    With `session`, the id of one of the person's own, only that session is restored.
    Nothing is changed before everything was read and verified.

    Raises:
        WrongPassphrase: it does not open the backup, or the backup was changed.
        NotRestorable: it is no backup, or damaged.
        SessionInUse: a session to be replaced is open in a program.
        DiskFailure: something can't be read or written.
    """
    base = locations.sessions
    with disk_access("restore into", base), _opened(source, name) as archive:
        part = _private_part(archive, passphrase, name)
        _check_names(archive, part, locations, name)
        if session:
            part = _only(session, part, name)
        make_private_folder(base)
        check_space(base, sum(entry.size for entry in part.entries.values()))
        with staged(base) as folder:
            _unpack(archive, part, folder, name)
            return _Putting(locations, folder, replace=replace).put(part, secrets)


@contextmanager
def _opened(source: BinaryIO, name: str) -> Iterator[zipfile.ZipFile]:
    """Open the archive; damage that is found in the block is `NotRestorable`."""
    try:
        with zipfile.ZipFile(source) as archive:
            yield archive
    except BROKEN_ARCHIVE as error:
        source.seek(0)
        why = f"it is damaged ({error})" if zipfile.is_zipfile(source) else "it is no backup"
        raise NotRestorable(name, why) from error


def _private_part(archive: zipfile.ZipFile, passphrase: str, name: str) -> PrivatePart:
    try:
        header = msgspec.json.decode(_read(archive, HEADER_NAME, HEADER_BYTES), type=Header)
        data = _read(archive, PRIVATE_NAME, PRIVATE_BYTES)
    except (KeyError, msgspec.MsgspecError) as error:
        raise NotRestorable(name, "it is no backup") from error
    if header.version > VERSION:
        raise NotRestorable(name, "a newer version of the program wrote it; update the program")
    part = decrypt_part(data, passphrase, header)
    if part is None:
        raise WrongPassphrase(name)
    return part


def _read(archive: zipfile.ZipFile, entry: str, most: int) -> bytes:
    if archive.getinfo(entry).file_size > most:
        raise ValueError(f"{entry} is too large")
    with archive.open(entry) as file:
        return file.read(most)


def _check_names(
    archive: zipfile.ZipFile, part: PrivatePart, locations: Locations, name: str
) -> None:
    """Refuse files that the encrypted part does not know, or that belong nowhere."""
    entries = archive.infolist()
    found = {each.filename for each in entries} - {HEADER_NAME, PRIVATE_NAME}
    if found != part.entries.keys() or len(entries) != len(found) + 2:
        raise NotRestorable(name, "it has other files than when it was written")
    for each in (*part.entries, *part.files):
        if place_of(each, locations) is None:
            raise NotRestorable(name, f"no backup has a file {each!r}")


def _only(session: str, part: PrivatePart, name: str) -> PrivatePart:
    """Return the files of one session."""
    own = f"{SESSIONS}/{session}/"
    entries = {each: entry for each, entry in part.entries.items() if each.startswith(own)}
    files = {each: content for each, content in part.files.items() if each.startswith(own)}
    if not entries:
        others = sorted({each.split("/")[1] for each in part.entries if each.startswith(SESSIONS)})
        near = difflib.get_close_matches(session, others, 3) or others[:3]
        hint = f"; it has {len(others)}, such as {', '.join(near)}" if near else ""
        raise NotRestorable(name, f"it has no session {session!r}{hint}")
    return PrivatePart(entries, files, {})


def _unpack(archive: zipfile.ZipFile, part: PrivatePart, folder: Path, name: str) -> None:
    """Write the sessions into a folder that no list includes, and verify every file."""
    for entry, expected in part.entries.items():
        path = folder.joinpath(*PurePosixPath(entry).parts)
        make_private_folder(path.parent)
        if _copied(archive, entry, path, expected) != expected:
            raise NotRestorable(name, f"{entry} in it is damaged")
        if not stat.S_IMODE(archive.getinfo(entry).external_attr >> 16) & stat.S_IWUSR:
            path.chmod(0o400)
    for entry, content in part.files.items():
        if _session_in(entry):
            path = folder.joinpath(*PurePosixPath(entry).parts)
            replace_file(path, content)


def _copied(
    archive: zipfile.ZipFile, entry: str, path: Path, expected: ArchivedFile
) -> ArchivedFile:
    """Copy no more of an entry than there should be."""
    descriptor = create_file(path)
    try:
        with archive.open(entry) as file:
            pieces = pieces_of(file, expected.size + 1)
            found = copy_pieces(pieces, partial(write_whole, descriptor))
        sync_data(descriptor)
    finally:
        os.close(descriptor)
    return ArchivedFile(found.size, found.sha256)


def _session_in(entry: str) -> str:
    """Return the folder of the session that a file belongs to; empty for other files."""
    parts = entry.split("/")
    place = 2 if parts[0] == "agents" else 0
    if len(parts) > place + 2 and parts[place] == SESSIONS:
        return "/".join(parts[: place + 2])
    return ""


class _Putting:
    """Puts verified parts in place."""

    def __init__(self, locations: Locations, folder: Path, *, replace: bool) -> None:
        self._locations = locations
        self._folder = folder
        self._replace = replace
        self._done = Restored()

    def put(self, part: PrivatePart, secrets: OwnSecrets) -> Restored:
        names = sorted(
            {found for each in (*part.entries, *part.files) if (found := _session_in(each))}
        )
        self._check_free(names)
        for each, content in part.files.items():
            if not _session_in(each):
                self._put_file(each, content)
        for each in names:
            self._put_session(each)
        self._put_secrets(part.secrets, secrets)
        return self._done

    def _check_free(self, names: list[str]) -> None:
        for each in names if self._replace else ():
            place = self._place(each)
            if place.exists() and (other := holder(place)) is not None:
                raise SessionInUse(place.name, other)

    def _put_session(self, name: str) -> None:
        place = self._place(name)
        make_private_folder(place.parent)
        with in_turn(place.parent):
            if place.exists() and not self._replace:
                self._done.kept.append(name)
                return
            if place.exists():
                self._set_aside(name, place, "~")
            (self._folder / name).rename(place)
            sync_folder(place.parent)
        self._done.sessions.append(name)

    def _put_file(self, name: str, content: bytes) -> None:
        place = self._place(name)
        if place.exists():
            if place.is_file() and read_file(place) == content:
                return
            if not self._replace:
                self._done.kept.append(name)
                return
            self._set_aside(name, place, ".replaced-")
        replace_file(place, content)
        self._done.files.append(name)

    def _put_secrets(self, values: dict[str, str], secrets: OwnSecrets) -> None:
        try:
            here = {each.name for each in secrets.entries() if each.where != ENVIRONMENT}
            for name, value in values.items():
                if name in here and not self._replace:
                    self._done.kept.append(f"the secret {name}")
                else:
                    secrets.set(name, value)
                    self._done.secrets.append(name)
        except SecretsError as error:
            self._done.notes.append(f"not all secrets are restored: {error}")

    def _set_aside(self, name: str, place: Path, mark: str) -> None:
        """Rename the present one, as the program does with an older copy of a room."""
        aside = unused_path(place, mark)
        place.rename(aside)
        self._done.replaced[name] = aside.name

    def _place(self, name: str) -> Path:
        file = f"{name}/{METADATA_NAME}" if name == _session_in(f"{name}/-") else name
        place = place_of(file, self._locations)
        if place is None:
            raise ValueError(f"{name!r} belongs nowhere")
        return place if file == name else place.parent
