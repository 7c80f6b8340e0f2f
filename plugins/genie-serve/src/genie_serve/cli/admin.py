"""`genie-tui admin`: look after the rooms of a service, here or elsewhere."""

import argparse
import asyncio
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TextIO

import msgspec

from genie_core.backup.errors import NotRestorable
from genie_core.room.open.identities import identity_of_person
from genie_core.settings.locations import Locations, folder_at, short_path
from genie_core.settings.model import Settings, default_name
from genie_core.storage.atomic import reason
from genie_core.text.format import ago, counted, duration, file_size
from genie_serve.admin.client import ask_here, ask_remote
from genie_serve.admin.errors import AdminRefused
from genie_serve.admin.remotes import Remotes
from genie_serve.admin.requests import (
    AnyAnswer,
    AnyRequest,
    ArchiveRoom,
    CreateInvite,
    CreateRoom,
    CreateWebLink,
    DeleteRoom,
    Done,
    Failed,
    GetStatus,
    InviteText,
    ListMembers,
    ListRooms,
    MemberEntry,
    MemberList,
    ModerateMember,
    RoomChanged,
    RoomEntry,
    RoomList,
    Status,
    StopService,
    UnarchiveRoom,
    VoidAllInvites,
)
from genie_serve.backup import restore_room, restore_service, write_service_backup
from genie_serve.config import CONFIG_NAME, ServeConfig, read_config
from genie_tui.cli.backup import READABLE, ask_passphrase, restored_lines
from genie_tui.cli.output import json_text, safe_line
from genie_tui.cli.table import TableColumn, laid_out

WHICH_TITLE: Final = "the title of the room, to delete it: "
NO_TITLE: Final = "repeat the title of the room to delete it: --title TITLE"

NOT_ALL: Final = "this machine stands by, and may lack rooms; ask the one that hosts them"
NO_ROOMS: Final = "there are no rooms yet; make one: genie-tui admin create TITLE"
STANDS_BY: Final = "none: this machine stands by; ask the one that hosts the rooms"
ONLY_HERE: Final = "{part} works on the machine of the service; leave --at out"
_HERE: Final = ("backup", "restore", "remote")

_Build = Callable[[argparse.Namespace], AnyRequest]

_REQUESTS: Final[dict[str, _Build]] = {
    "status": lambda given: GetStatus(),
    "rooms": lambda given: ListRooms(),
    "create": lambda given: CreateRoom(" ".join(given.title)),
    "archive": lambda given: ArchiveRoom(given.room),
    "unarchive": lambda given: UnarchiveRoom(given.room),
    "delete": lambda given: DeleteRoom(given.room, given.title),
    "invite": lambda given: CreateInvite(given.room, given.role, given.uses, given.lifetime),
    "web": lambda given: CreateWebLink(given.room, given.lifetime, given.observers, given.uses),
    "void": lambda given: VoidAllInvites(given.room),
    "members": lambda given: ListMembers(given.room),
    "role": lambda given: ModerateMember(given.room, "role", given.member, given.role),
    "remove": lambda given: ModerateMember(
        given.room, "ban" if given.ban else "kick", given.member, reason=given.reason
    ),
    "pardon": lambda given: ModerateMember(given.room, "pardon", given.member),
    "free": lambda given: ModerateMember(given.room, "free", given.member),
    "stop": lambda given: StopService(),
}


def run_admin(
    options: argparse.Namespace,
    settings: Settings,
    locations: Locations,
    given: TextIO,
    out: TextIO,
    problems: TextIO,
) -> int:
    """Run an admin command; returns the exit code.

    Raises as `ask_here`, `ask_remote`, `Remotes`, `write_service_backup` and `restore_service`.
    """
    if options.at and options.part in _HERE:
        raise AdminRefused(ONLY_HERE.format(part=options.part))
    match options.part:
        case "backup":
            return _back_up(options, locations, given, out, problems)
        case "restore":
            return _restore(options, locations, given, out, problems)
        case "remote":
            return _remotes(options, Remotes(locations), out)
        case "delete" if not options.title:
            options.title = _asked_title(given, problems)
    request = _REQUESTS[options.part](options)
    answer = _ask(options.at, request, settings, locations)
    if options.json:
        out.write(f"{json_text(msgspec.to_builtins(answer))}\n")
    else:
        width = shutil.get_terminal_size().columns if out.isatty() else None
        out.writelines(f"{line}\n" for line in lines(answer, options.part, width))
    return 0


def _ask(remote: str, request: AnyRequest, settings: Settings, locations: Locations) -> AnyAnswer:
    if not remote:
        return ask_here(locations, request)
    place = Remotes(locations).find(remote)
    identity = identity_of_person(settings.name or default_name(), locations)
    return asyncio.run(ask_remote(place, identity, request))


def _asked_title(given: TextIO, problems: TextIO) -> str:
    if not given.isatty():
        raise AdminRefused(NO_TITLE)
    problems.write(WHICH_TITLE)
    problems.flush()
    return given.readline().rstrip("\n")


# -- answers


def lines(answer: AnyAnswer, part: str, width: int | None) -> Iterator[str]:
    """Describe the answer to a command, in lines that are safe for a terminal."""
    match answer:
        case Status():
            yield from _status_lines(answer)
        case RoomList(rooms=rooms, stands_by=stands_by):
            yield from _room_lines(rooms, width, stands_by=stands_by)
        case MemberList(members=members):
            yield from _member_lines(members, width)
        case InviteText(invite=invite):
            yield safe_line(invite)
        case RoomChanged(id=id_, title=title):
            yield f"{_DONE[part]}: {safe_line(id_)}  {safe_line(title)}"
        case Done():
            yield _DONE[part]
        case Failed(text=text):
            yield safe_line(text)


_DONE: Final = {
    "create": "created",
    "archive": "archived",
    "unarchive": "open again",
    "delete": "moved to the trash",
    "void": "all invites to the room are void; members stay",
    "role": "the role is given",
    "remove": "removed",
    "pardon": "may join again",
    "free": "the name is free for another person",
    "stop": "the service stops; members connect again once it runs again",
}


def _status_lines(status: Status) -> Iterator[str]:
    rooms = counted(status.rooms, "open room")
    facts = (
        ("service", f"{status.name}, version {status.version}, process {status.pid}"),
        ("running", f"for {duration(status.uptime)}"),
        ("listens", status.address),
        ("address", ", ".join(status.addresses)),
        ("pin", status.pin),
        ("key", status.key),
        ("rooms", f"{rooms}, {status.archived:,} archived"),
        ("members", f"{status.members:,} present"),
        ("store", status.store),
        ("shards", ", ".join(map(str, status.shards)) or (STANDS_BY if status.store else "")),
    )
    yield from (f"{name:<9}{safe_line(text)}" for name, text in facts if text)
    yield from (f"problem  {safe_line(each)}" for each in status.problems)


def _room_lines(
    rooms: tuple[RoomEntry, ...], width: int | None, *, stands_by: bool
) -> Iterator[str]:
    if stands_by:
        yield NOT_ALL
    if not rooms:
        yield from () if stands_by else (NO_ROOMS,)
        return
    yield from laid_out(
        [
            _column("ID", (each.id for each in rooms)),
            _column("TITLE", (each.title for each in rooms), least=12),
            _column("HERE", (f"{each.present:,}" for each in rooms), 2, right=True),
            _column("MEMBERS", (f"{each.members:,}" for each in rooms), 4, right=True),
            _column("EVENTS", (f"{each.events:,}" for each in rooms), 5, right=True),
            _column("SIZE", (file_size(each.bytes) for each in rooms), 3, right=True),
            _column("STATE", (_state(each) for each in rooms), 1, least=8),
        ],
        width,
    )
    for room in rooms:
        yield from (f"{safe_line(room.id)}: {safe_line(each)}" for each in room.problems)


def _state(room: RoomEntry) -> str:
    parts = ("archived" if room.archived else "", "see below" if room.problems else "")
    return ", ".join(filter(None, parts))


def _member_lines(members: tuple[MemberEntry, ...], width: int | None) -> Iterator[str]:
    if not members:
        yield "no one was in the room yet; invite people: genie-tui admin invite ROOM"
        return
    now = time.time()
    yield from laid_out(
        [
            _column("NAME", (each.name for each in members)),
            _column("ROLE", (each.role for each in members)),
            _column("STATE", (_member_state(each) for each in members), 1),
            _column("LAST CAME", (ago(now - each.since) for each in members), 2),
            _column("KEY IN WORDS", (each.words for each in members), 3, least=16),
        ],
        width,
    )


def _member_state(member: MemberEntry) -> str:
    parts = (
        "here" if member.present else "away",
        "agent" if member.kind == "agent" else "",
        "muted" if member.muted else "",
        "banned" if member.banned else "",
    )
    return ", ".join(filter(None, parts))


def _column(
    heading: str, cells: Iterator[str], rank: int = 0, least: int = 0, *, right: bool = False
) -> TableColumn:
    return TableColumn(heading, tuple(cells), rank, least, right)


# -- services elsewhere


def _remotes(options: argparse.Namespace, remotes: Remotes, out: TextIO) -> int:
    match options.action:
        case "add":
            remotes.add(options.remote, options.address, options.pin)
            out.write(f"added; try it: genie-tui admin status --at {options.remote}\n")
        case "remove":
            remotes.remove(options.remote)
            out.write(f"{safe_line(options.remote)} is removed\n")
        case _:
            known = remotes.all()
            columns = [
                _column("NAME", iter(known)),
                _column("ADDRESS", (each.address for each in known.values())),
                _column("PIN", (each.pin for each in known.values())),
            ]
            out.writelines(f"{line}\n" for line in laid_out(columns, None) if known)
            if not known:
                out.write("none; add one: genie-tui admin remote add NAME HOST:PORT PIN\n")
    return 0


# -- backup and restore


def _back_up(
    options: argparse.Namespace,
    locations: Locations,
    given: TextIO,
    out: TextIO,
    problems: TextIO,
) -> int:
    file, config = _config(options, locations)
    path = folder_at(options.file)
    passphrase = ask_passphrase(given, twice=True)
    report = write_service_backup(locations, config, file, passphrase, path, force=options.force)
    problems.writelines(f"genie-tui: {safe_line(note)}\n" for note in report.notes)
    size = file_size(path.stat().st_size)
    rest = ", the configuration" if file.exists() else ""
    rooms, keys = counted(report.sessions, "room"), counted(report.keys, "key")
    out.write(f"{safe_line(short_path(path))} ({size}) has {rooms}, {keys}{rest}\n")
    out.write(f"{READABLE}\n")
    return 0


def _restore(
    options: argparse.Namespace,
    locations: Locations,
    given: TextIO,
    out: TextIO,
    problems: TextIO,
) -> int:
    _, config = _config(options, locations)
    try:
        source = folder_at(options.file).open("rb")
    except OSError as error:
        raise NotRestorable(options.file, reason(error)) from error
    with source:
        passphrase = ask_passphrase(given, twice=False)
        if options.room:
            done = restore_room(locations, config, passphrase, source, options.file, options.room)
        else:
            done = restore_service(locations, config, passphrase, source, options.file)
    problems.writelines(f"genie-tui: {safe_line(note)}\n" for note in done.notes)
    out.writelines(f"{safe_line(line)}\n" for line in restored_lines(done))
    if options.room and done.sessions:
        out.write(f"open it in a running service: genie-tui admin unarchive {options.room}\n")
    return 0


def _config(options: argparse.Namespace, locations: Locations) -> tuple[Path, ServeConfig]:
    """Return the service's configuration and its file, which may be missing."""
    path = options.config or locations.config / CONFIG_NAME
    return path, read_config(path, required=options.config is not None)
