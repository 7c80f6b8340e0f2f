"""A room goes on in a new one without its host: continue it, find who does, and follow.

The new room has a founding of its own that names the old room, and its first entry there, signed by
the founder, names the old log's last one. Others are asked only about rooms of which the founder and
the host are members of theirs who may host. Nothing merges the two rooms if the host comes back.
"""

import asyncio
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from operator import itemgetter
from typing import Final

from genie_core.errors import GenieError
from genie_core.room.client.events import ContinuationsChanged, Notice, OnEvent
from genie_core.room.client.model import ConnectionState, ConnectionStatus, Continuation, Severity
from genie_core.room.discovery.browser import Browser
from genie_core.room.discovery.service_record import Announcement
from genie_core.room.open.network_watch import AskSigner, NetworkWatch, claims
from genie_core.room.open.requests import (
    ContinueRoom,
    FollowRoom,
    OtherWay,
    Question,
    ResumeRoom,
)
from genie_core.room.open.route import LOOK, ask_host, ask_signer
from genie_core.room.protocol.events import HostStarted
from genie_core.room.protocol.frames import MOST_PRESENT, Challenge
from genie_core.room.security.founding import continued_room
from genie_core.room.security.signing import is_signed
from genie_core.room.state.hosting import Claim, may_be_continued, may_host
from genie_core.room.state.room_state import RoomState
from genie_core.room.view.continuations import (
    CONTINUE,
    FOLLOW,
    about_continuing,
    about_following,
    is_back,
    was_continued,
)
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.fork import link_files
from genie_core.sessions.session import SavedSession
from genie_core.sessions.view_state import View, read_view, write_view

AWAY: Final = 10.0
"""Seconds without the host after which the person is asked whether to follow another member."""

AGAIN: Final = 20.0
"""Seconds after which announced rooms are checked again."""

TOGETHER: Final = 0.5
"""Seconds in which further rooms are found after the first one."""

MOST: Final = 8
"""How many announced rooms are checked at a time."""

MOST_DECLINED: Final = 64
"""How many rooms a copy knows that its person need not be asked about again."""


class CannotContinue(GenieError):
    """A person can't continue a room as a new one."""


class NoContinuation(GenieError):
    """No member was found who continues a room."""

    def __init__(self, title: str, by: str, found: Sequence[Continuation]) -> None:
        names = ", ".join(each.by for each in found)
        who = f"{by} was not found continuing" if by else "nobody was found who continues"
        others = f"; these members do: {names}" if names else "; ask them for an invite"
        super().__init__(f"{who} {title!r} on this network{others}")


class MayContinue(OtherWay):
    """A person may not host a room, but may continue it as a new one."""

    def __init__(self, error: GenieError, saved: SavedSession, opening: ResumeRoom) -> None:
        record = saved.metadata
        super().__init__(
            f"{error}; to continue it as a new room: genie-tui resume --continue {saved.id}",
            Question(
                CONTINUE,
                about_continuing(record.shown_title, record.host),
                "continue it",
                ContinueRoom(saved.id, opening.unsent),
            ),
        )


class ContinuedBy(OtherWay):
    """The host of a room is gone, and members continue it as new ones."""

    def __init__(
        self, error: GenieError, saved: SavedSession, found: Sequence[Continuation], now: float
    ) -> None:
        names = " or ".join(each.by for each in found)
        first = max(found, key=lambda each: len(each.present))
        super().__init__(
            f"{error}; {names} continues it as a new room, to follow: genie-tui join --follow "
            f"{first.by} {saved.id}",
            Question(
                FOLLOW,
                about_following(found, now),
                f"follow {first.by}",
                FollowRoom(saved.id, first.by, first.room, first.pin, first.addresses),
                tuple(each.room for each in found),
            ),
        )


def objection_to_continue(saved: SavedSession, state: RoomState, key: str) -> str:
    """Return why the owner of a key can't continue a room from a copy of it; empty if they can.

    The people of an imported copy are not proven to be those whose names they have, so it can only be
    forked.
    """
    record = saved.metadata
    if record.copied:
        return "this copy was not received from the room's host"
    if may_host(state, key):
        return f"you may host it; go on with it: genie-tui resume {saved.id}"
    if state.members.entitled(key) is None:
        return "only its members can, no guests, observers or muted members"
    return ""


async def find_continuations(
    state: RoomState, key: str, since: float, within: float = LOOK
) -> list[Continuation]:
    """Return the rooms on the network in which members of a room continue it.

    `key` is this person's, `since` when the host was last here, and `within` in seconds.
    """
    changed = asyncio.Event()
    async with Browser(changed.set, prefers=partial(is_candidate, state)) as browser:
        await browser.settle()
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while not candidates(state, browser.rooms.values()):
                    changed.clear()
                    await changed.wait()
                await asyncio.sleep(TOGETHER)
        announced = candidates(state, browser.rooms.values())
        return await _answering(state, announced, key, since, ask_signer)


def is_candidate(state: RoomState, announced: Announcement) -> bool:
    """Whether a member who may host a room announces another one that continues it."""
    return may_be_continued(state, announced.host_record, announced.continues)


def candidates(state: RoomState, announced: Iterable[Announcement]) -> list[Announcement]:
    """Return announced rooms to check: of each member the latest, then of each the second."""
    counts = Counter[str]()
    ranked: list[tuple[int, Announcement]] = []
    found = [each for each in announced if is_candidate(state, each)]
    for each in sorted(found, key=lambda each: each.host_record.at, reverse=True):
        ranked.append((counts[each.host_record.key], each))
        counts[each.host_record.key] += 1
    return [each for _, each in sorted(ranked, key=itemgetter(0))][:MOST]


def is_continued_by(state: RoomState, announced: Announcement) -> bool:
    """Whether a former host announces the room that goes on in this one."""
    host_record, name = announced.host_record, state.owner_of(announced.host_record.key)
    is_former = name in state.hosts and host_record.key != state.host_key
    return (
        is_former
        and continued_room(state.founding) == host_record.room
        and name == host_record.host
    )


async def _answering(
    state: RoomState,
    announced: Sequence[Announcement],
    key: str,
    since: float,
    ask: AskSigner,
) -> list[Continuation]:
    found = (
        proven(state, host_record.room, where, claim, key, since)
        for host_record, where, claim in await claims(
            ask, key, [(a.host_record, a.addresses) for a in announced]
        )
    )
    return [each for each in found if each is not None]


async def continuation_at(
    state: RoomState, room: str, pin: str, addresses: Sequence[str], key: str, since: float
) -> Continuation | None:
    """Return the room that continues one, if its host answers at these addresses and proves it."""
    return proven(state, room, addresses, await ask_host(room, pin, addresses, key), key, since)


def proven(
    state: RoomState,
    room: str,
    addresses: Sequence[str],
    claim: Claim | None,
    key: str,
    since: float,
) -> Continuation | None:
    """Return the room that a host proves to continue this one; None if the host does not.

    Its founder and its host are members here who may host. `key` is this person's.
    """
    founding = claim.challenge.founding if claim is not None else None
    if claim is None or founding is None or founding.before != state.room:
        return None
    challenge, by = claim.challenge, state.members.entitled(founding.key)
    is_room = challenge.room == room != state.room and claim.is_founded
    is_by_members = by is not None and state.members.entitled(claim.key) is not None
    if by is None or not (is_by_members and is_room and _is_continued(challenge)):
        return None
    others = state.people.keys() - {by, state.owner_of(key)}
    present = tuple(name for name in challenge.present[:MOST_PRESENT] if name in others)
    return Continuation(
        room, founding.title, by, state.host, claim.pin, tuple(addresses), present, since
    )


def _is_continued(challenge: Challenge) -> bool:
    """Whether the founder signed that the room continues another, and is no fork for themselves."""
    founding = challenge.founding
    return any(
        isinstance(body := event.body, HostStarted)
        and body.copied == "continuation"
        and body.founding == founding
        and is_signed(body.key, challenge.room, body, event.parent)
        for event in challenge.links
    )


class Continuations(NetworkWatch[Announcement]):
    """Reports in which rooms members continue one whose host is away.

    Rooms that the person `declined` are left out; `keep` notes a further one on disk. While the host
    is here, a notice tells once of each room beside this one: of the room that this one continues,
    and a person who `hosts` also of those that continue this one.
    """

    def __init__(
        self,
        state: Callable[[], RoomState],
        on_event: OnEvent,
        key: str,
        declined: Iterable[str] = (),
        keep: Callable[[str], None] = lambda _: None,
        ask: AskSigner = ask_signer,
        *,
        hosts: bool = False,
    ) -> None:
        super().__init__(state, on_event, key, ask)
        self._hosts = hosts
        self._declined = set(declined)
        self._keep = keep
        self._since: float | None = None
        self._checked: list[Announcement] = []
        self._next = 0.0
        self._told: tuple[Continuation, ...] = ()

    def connection_changed(self, status: ConnectionStatus) -> None:
        """Note whether the host is here."""
        if status.state is not ConnectionState.RETRYING:
            self._since = None
        elif self._since is None:
            self._since, self._next = time.time(), 0.0
        self._news.set()

    def decline(self, room: str) -> None:
        """Ask no more about a room, from the next check on. Blocks."""
        self._declined.add(room)
        self._keep(room)

    async def _look(self, announced: Sequence[Announcement]) -> float | None:
        since, state = self._since, self._state()
        if since is None:
            self._tell(())
            return await self._look_beside(state, announced)
        if (left := AWAY - (time.time() - since)) > 0:
            return left
        rooms = self._undeclined(candidates(state, announced))
        if left := self._left(rooms):
            return left
        found = await _answering(state, rooms, self._key, since, self._ask)
        if self._since is not None:
            self._tell(tuple(each for each in found if each.room not in self._declined))
        return AGAIN

    async def _look_beside(
        self, state: RoomState, announced: Sequence[Announcement]
    ) -> float | None:
        """Tell once of each room beside this one; return the seconds until the next check."""
        before = self._undeclined(each for each in announced if is_continued_by(state, each))[:MOST]
        after = self._undeclined(candidates(state, announced)) if self._hosts else []
        if not (before or after):
            return None
        if left := self._left([*before, *after]):
            return left
        for each in before:
            claim = await self._ask(
                each.host_record.room, each.host_record, each.addresses, self._key
            )
            if claim is not None and claim.challenge.room == each.host_record.room:
                self._tell_beside(each.host_record.room, is_back(each.host_record.host))
        for found in await _answering(state, after, self._key, 0.0, self._ask):
            self._tell_beside(found.room, was_continued(found))
        return AGAIN

    def _tell_beside(self, room: str, text: str) -> None:
        self._declined.add(room)
        self._emit(Notice(Severity.INFO, text))

    def _undeclined(self, rooms: Iterable[Announcement]) -> list[Announcement]:
        return [each for each in rooms if each.host_record.room not in self._declined]

    def _left(self, rooms: list[Announcement]) -> float:
        """Return the seconds until the same rooms are checked again; 0 to check them now."""
        now = time.monotonic()
        if rooms == self._checked and self._next > now:
            return self._next - now
        self._checked, self._next = rooms, now + AGAIN
        return 0.0

    def _tell(self, found: tuple[Continuation, ...]) -> None:
        if found != self._told:
            self._emit(ContinuationsChanged(found))
        self._told = found


def noted_as_declined(saved: SavedSession, room: str) -> None:
    """Note in a copy that its person need not be asked about a room again. Blocks."""
    declined = dict.fromkeys((*saved.metadata.declined, room))
    saved.update(declined=tuple(declined)[-MOST_DECLINED:])


def copy_to_follow(
    catalog: Catalog, saved: SavedSession, state: RoomState, found: Continuation
) -> tuple[SavedSession, bool]:
    """Return the copy of the room that continues one, and whether it is new. Blocks.

    A new one has the draft and the files of the old copy, which stays as it is.
    """
    name = saved.metadata.owner
    known = next(_copies(catalog, found.room, name), None)
    if known is not None:
        return known, False
    copy = catalog.copy_of(
        found.room, found.title, name, time.time(), pin=found.pin, addresses=found.addresses
    )
    view = read_view(saved.folder)
    digests = [*state.files, *(file.digest for file in view.files_needed())]
    link_files(saved.folder, copy.folder, digests)
    write_view(copy.folder, View(draft=view.draft, files=view.files, quotes=view.quotes))
    return copy, True


def _copies(catalog: Catalog, room: str, name: str) -> Iterator[SavedSession]:
    for listing in catalog.all():
        record = listing.metadata
        if record is not None and record.id == room and record.owner == name:
            yield catalog.find(listing.id)


def drop_copy(copy: SavedSession) -> None:
    """Remove a new copy of a room that was not joined. Blocks."""
    if copy.log_path.exists() and copy.log_path.stat().st_size:
        return
    shutil.rmtree(copy.folder, ignore_errors=True)
