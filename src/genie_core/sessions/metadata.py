"""The metadata of a session: the content of `room.json`, in every version of it."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec

from genie_core.room.protocol.codec import whole_text
from genie_core.room.protocol.events import Copied
from genie_core.room.protocol.founding import Founding
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.state.room_state import AGENT, RoomState
from genie_core.sessions.errors import DamagedSession, InvalidTag, NewerVersion, check_ordinary

FORMAT: Final = 3
"""Version of the folder's layout and of `room.json`."""

OLDEST: Final = 1

Fields: TypeAlias = dict[str, Any]

TITLE_CHARS: Final = 120
PREVIEW_CHARS: Final = 120
TAG_CHARS: Final = 32
MOST_TAGS: Final = 20
MOST_NAMES: Final = 20

SessionKind: TypeAlias = Literal["hosted", "joined"]

_BREAKS: Final = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")


class SessionMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """The content of `room.json`.

    `id` is the room's, which for a joined one differs from its folder's name. `address` is where
    it was last hosted or joined, `addresses` all that may lead there, and `pin` that of the host's
    certificate. By its `device` a room knows the terminal that has a copy, which one process at a
    time is. Times are in seconds since the epoch. `tags` and `alias`, a title of one's own, are
    this person's. `copied` says that the room was imported, forked or continues another, the room
    `origin`, and is not yet hosted since. `declined` are the rooms that continue this one and that
    the person need not be asked about again. `unshared`: the room was opened on a screen, and its
    invite was never shown, so that it may be dropped while it is empty. `archived`: a service does
    not open it. `founding` is that of the room, by which a lost first line comes back, and `hosts` are
    the latest records of its hosts.
    `seen` is the last event that they have seen, 0 if that is not known.

    The fields from `last_activity` to `head` summarise the log, so that a list of rooms need not
    read it: `names` are those of the people who came last, `parked` counts tool calls that wait for
    this person, `unread` messages and answers behind `seen`, `preview` is the last of them in one
    line, and `head` the last event's number.
    """

    version: int = FORMAT
    id: str
    title: str
    kind: SessionKind
    created: float
    host: str = ""
    name: str = ""
    address: str = ""
    addresses: tuple[str, ...] = ()
    pin: str = ""
    device: str = ""
    copied: Copied = ""
    origin: str = ""
    declined: tuple[str, ...] = ()
    founding: Founding | None = None
    hosts: tuple[HostRecord, ...] = ()
    model: str = ""
    template: str = ""
    workspace: str = ""
    tags: tuple[str, ...] = ()
    alias: str = ""
    unshared: bool = False
    archived: bool = False
    seen: int = 0
    last_activity: float = 0.0
    people: int = 0
    names: tuple[str, ...] = ()
    messages: int = 0
    parked: int = 0
    unread: int = 0
    preview: str = ""
    head: int = 0

    @property
    def owner(self) -> str:
        """The name of this person in the room."""
        return self.name or self.host

    @property
    def is_own(self) -> bool:
        """Whether this person continues it by hosting it, as with any import."""
        return self.kind == "hosted" or bool(self.copied)

    def leads_back(self, name: str) -> bool:
        """Whether a person of that name can host it or knows where to join it."""
        if self.is_own:
            return True
        return self.name == name and bool(self.address or self.addresses)

    @property
    def shown_title(self) -> str:
        """The title that this person sees."""
        return self.alias or self.title


def read_metadata(path: Path) -> tuple[SessionMetadata, int]:
    """Read metadata of any version; returns also the version. Blocks.

    Raises:
        NewerVersion: this version does not know the format.
        DamagedSession: it is missing or can't be understood.
    """
    try:
        check_ordinary(path)
        fields = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
        version = msgspec.convert(fields.get("version"), int)
        if version > FORMAT:
            raise NewerVersion(path, version, FORMAT)
        return msgspec.convert(migrate(fields, version), SessionMetadata), version
    except (OSError, ValueError, RecursionError) as error:
        raise DamagedSession(path, _reason(error)) from error


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


def encode_metadata(metadata: SessionMetadata) -> bytes:
    """Return the file's content, which people can read, too."""
    return msgspec.json.format(msgspec.json.encode(metadata), indent=2) + b"\n"


def one_line(text: str, most: int = TITLE_CHARS) -> str:
    """Return a text without line breaks and control characters, cut to a length."""
    return whole_text(_BREAKS.sub(" ", text[: 8 * most])).strip()[:most]


def check_tag(text: str) -> str:
    """A tag as it is kept: one word or more in one line, without the mark that may precede it.

    Raises:
        InvalidTag: nothing is left, or it is too long.
    """
    tag = one_line(text.strip().removeprefix("#"), TAG_CHARS + 1)
    if not tag or len(tag) > TAG_CHARS:
        raise InvalidTag(text, f"a tag has 1 to {TAG_CHARS} characters")
    return tag


def summary_of(state: RoomState, seen: int, name: str) -> dict[str, Any]:
    """Return the fields that summarise a log, without title and last activity.

    `name` is the person, and `seen` the last event that they have seen.
    """
    return {
        "host": state.host,
        "people": len(state.people),
        "names": tuple(state.people)[-MOST_NAMES:],
        "messages": state.messages,
        "parked": len(state.parked_for(name)),
        "unread": unread_in(state, seen, name),
        "preview": preview_of(state),
        "head": state.head,
    }


def preview_of(state: RoomState) -> str:
    """Return the state's last message or answer in one line; empty if there is none.

    Private and deleted ones are left out.
    """
    latest, shown = 0, ""
    for thread in state.threads.values():
        if thread.is_private:
            continue
        text, answer = thread.text, thread.answer
        if thread.seq > latest and not thread.is_deleted:
            latest = thread.seq
            who = f"* {thread.author} " if thread.said.emote else f"{thread.author}: "
            shown = who + (text if text.strip() else "(files)")
        if answer is not None and (thread.answered_seq or 0) > latest:
            latest, shown = thread.answered_seq or 0, f"{AGENT}: {answer.text}"
    return one_line(shown, PREVIEW_CHARS)


def unread_in(state: RoomState, seen: int, name: str) -> int:
    """Messages by others, and answers, behind the last event that this person has seen.

    Those that the state has forgotten don't count. None are unread if the last seen entry is
    unknown.
    """
    if not seen:
        return 0
    threads = [
        each
        for each in state.threads.values()
        if not each.is_private or name in (each.author, each.said.to)
    ]
    said = sum(each.seq > seen and each.author != name for each in threads)
    return said + sum((each.answered_seq or 0) > seen for each in threads)


# Earlier versions


def _to_2(fields: Fields) -> Fields:
    """Version 2 knows tags, a title of one's own, and more of what the log amounts to.

    What had been seen is not known, so all that was there counts as seen.
    """
    return {**fields, "tags": [], "alias": "", "parked": 0, "preview": "", "head": 0, "seen": 0}


def _to_3(fields: Fields) -> Fields:
    """Version 3 knows foundings; rooms get one when they are next hosted."""
    return fields


STEPS: Final[dict[int, Callable[[Fields], Fields]]] = {1: _to_2, 2: _to_3}
"""The step that leads from each version to the next."""


def migrate(fields: Fields, version: int) -> Fields:
    """Migrate the fields of a known version to the present one; the original stays unchanged.

    Raises:
        ValueError: there never was such a version.
    """
    if not OLDEST <= version <= FORMAT:
        raise ValueError(f"there is no format {version}")
    for step in range(version, FORMAT):
        fields = STEPS[step](fields)
    return {**fields, "version": FORMAT}
