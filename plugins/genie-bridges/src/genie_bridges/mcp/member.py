"""An agent in a room: its reading, writing and waiting."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from genie_bridges.mcp.messages import (
    Line,
    Member,
    Page,
    contains,
    first_that_fit,
    is_line,
    is_message,
    is_own,
    last_that_fit,
    line_of,
    member_of,
)
from genie_core.assistant.tools.files.workspace import AccessRefused, Workspace, is_unlisted
from genie_core.errors import GenieError
from genie_core.privacy.redaction import mask_known
from genie_core.room.client.events import (
    ContinuationsChanged,
    EventsRecorded,
    MessageRejected,
    RoomEvent,
)
from genie_core.room.client.model import ConnectionState, ConnectionStatus
from genie_core.room.files.transfer import Direction, Transfer
from genie_core.room.open.opener import RoomOpener
from genie_core.room.open.requests import JoinRoom
from genie_core.room.open.session import RoomSession
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.events import ChangeBody, Event, FileRef
from genie_core.room.view.continuations import continues
from genie_core.text.safe import visible_line

MOST_LINES: Final = 200
"""Messages in one result."""

LONGEST_WAIT: Final = 300.0
"""Seconds that one call may wait for a message."""

RECORDING: Final = 20.0
"""Seconds that a call waits for the room to record a message."""

SENDING: Final = 120.0
"""Seconds that a call waits for the room to record a message with a file."""

MOST_REFUSED: Final = 20
"""Messages refused after their call had ended that the next result tells."""

EXCERPT: Final = 80

HEARD: Final = 2_000
"""Latest messages that are kept in memory; the copy of the log has those before."""

PART: Final = 1_000
"""Events that are read from the copy in one go."""

SEARCHED: Final = 50_000
"""Latest events that a search looks at."""

NOT_RECORDED: Final = (
    "the room has not recorded it yet ({why}); it waits here and is sent by itself, so do not post it "
    "again: `read` shows it once it is recorded"
)


class NotPosted(GenieError):
    """The room refused a message, or has not recorded it yet."""


class AgentMember:
    """An agent that is a member of one room.

    As a context manager it begins to join and leaves at the end. Every call waits for the joining,
    which is tried again if it failed, and after a session that goes on at another host. Cancelling a
    call is safe; a message that it was to post may be posted all the same.

    `folder` is the only one whose files it attaches.
    """

    def __init__(self, invite: str, opener: RoomOpener, folder: Path) -> None:
        opening = JoinRoom(invite, guest=True)
        self._session = RoomSession(opening, opener, self._take, self._joined, self._forget)
        self._folder = folder
        self._heard: deque[Event] = deque()
        self._heard_from = 0
        self._changed = asyncio.Event()
        self._unrecorded: dict[str, asyncio.Future[int]] = {}
        self._not_sent: dict[str, str] = {}
        self._refused: deque[str] = deque(maxlen=MOST_REFUSED)
        self._continued: tuple[str, ...] = ()

    async def __aenter__(self) -> Self:
        await self._session.__aenter__()
        self._session.begin()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._session.__aexit__(*error)

    # -- reading

    async def read(self, since: int | None = None, most: int = 50) -> tuple[Page, list[Line]]:
        """Return the messages after event `since`, oldest first; without it, the latest ones.

        Raises:
            NotInRoom: the agent is not in the room, and was not let in soon.
            OSError: the copy of the log can't be read.
        """
        room = await self._session.room()
        most = _bounded(most)
        head = room.state.head
        if since is None:
            events, _ = await self._back(room, most, lambda _: True)
            lines = last_that_fit(_lines(events, room))
            return self._page(room, max(head, events[-1].seq if events else 0)), lines
        events = await self._after(room, max(0, since), most + 1)
        lines = first_that_fit(_lines(events[:most], room))
        more = len(lines) < len(events)
        last = lines[-1].seq if lines else since
        return self._page(room, last if more else max(head, last), more=more), lines

    async def search(self, text: str, most: int = 20) -> tuple[Page, list[Line]]:
        """Return the latest messages that contain all the words, oldest first; errors as in `read`.

        Regardless of case; a word may be part of a longer one, or of the author's name.
        """
        room = await self._session.room()
        words = text.casefold().split()
        events, first = await self._back(
            room, _bounded(most), lambda event: contains(event, words, room.state)
        )
        lines = last_that_fit(_lines(events, room))
        return self._page(room, room.state.head, searched_from=first), lines

    async def wait(self, since: int | None, seconds: float) -> tuple[Page, list[Line]]:
        """Wait for the next messages of others after event `since`, by default after this call.

        Returns immediately if there are some, and none after `seconds`. Errors as in `read`.
        """
        room = await self._session.room()
        since = room.state.head if since is None else max(0, since)
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, min(seconds, LONGEST_WAIT))):
                while True:
                    changed, room = self._changed, await self._session.room()
                    head = room.state.head
                    events = await self._after(room, since, MOST_LINES + 1)
                    others = [each for each in events if not is_own(each, room.name)]
                    if any(map(is_message, others)):  # not for a reaction alone
                        return self._next(room, others, more=len(events) > MOST_LINES)
                    if not others:
                        since = max(since, head)
                    await changed.wait()
        return self._page(room, since, timed_out=True), []

    def _next(
        self, room: JoinedRoom, events: list[Event], *, more: bool
    ) -> tuple[Page, list[Line]]:
        lines = first_that_fit(_lines(events[:MOST_LINES], room))
        more = more or len(lines) < len(events)
        return self._page(room, lines[-1].seq, more=more), lines

    async def who(self) -> tuple[Page, list[Member]]:
        """Return the people and agents in the room, the host first; errors as in `read`."""
        room = await self._session.room()
        people = [member_of(person, room.name) for person in room.state.present()]
        return self._page(room, room.state.head), people

    # -- writing

    async def say(self, text: str) -> int:
        """Post a message; returns its number once the room has recorded it.

        Raises:
            NotInRoom: the agent is not in the room, and was not let in soon.
            NotPosted: the room refused it, or has not recorded it yet.
            GenieError: it is too long, or too many wait.
        """
        if not text.strip():
            raise NotPosted("a message needs a text")
        return await self._post(await self._session.room(), text, (), RECORDING)

    async def attach(self, path: str, text: str) -> int:
        """Post a file of the folder, with a text; errors as in `say`, and if it can't be read."""
        room = await self._session.room()
        file = await room.files.attach(await asyncio.to_thread(self._place, path))
        return await self._post(room, text, (file,), SENDING)

    def _place(self, path: str) -> Path:
        """Return a file of the folder. Blocks; raises a `GenieError` for any other."""
        folder = Workspace.at(self._folder)
        if Path(path).is_absolute():
            with suppress(ValueError):
                path = str(Path(path).relative_to(self._folder.absolute()))
        try:
            found = folder.resolve(path)
        except AccessRefused as error:
            raise NotPosted(str(error)) from None
        if is_unlisted(folder.key(found)):
            raise NotPosted(f"{path!r} is hidden, so it can't be attached")
        if folder.is_private(folder.key(found)):
            raise NotPosted(f"{path!r} usually holds credentials, so it can't be attached")
        if not found.is_file():
            raise NotPosted(f"{path!r} is not a file")
        return found

    async def _post(
        self, room: JoinedRoom, text: str, files: tuple[FileRef, ...], seconds: float
    ) -> int:
        id_ = room.messages.send(text, files=files)
        recorded: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._unrecorded[id_] = recorded
        try:
            async with asyncio.timeout(seconds):
                return await recorded
        except TimeoutError:
            problems = (self._not_sent.get(file.digest, "") for file in files)
            why = next(filter(None, problems), "") or self._trouble(room) or "the room is slow"
            raise NotPosted(NOT_RECORDED.format(why=why)) from None
        finally:
            del self._unrecorded[id_]

    # -- the room

    def _forget(self) -> None:
        self._heard.clear()
        self._heard_from = 0

    def _joined(self, room: JoinedRoom) -> None:
        self._heard_from = self._heard_from or room.state.head + 1

    def _take(self, event: RoomEvent) -> None:
        match event:
            case EventsRecorded(events=events):
                self._hear(events)
            case MessageRejected(message=message, reason=reason):
                if message.id in self._unrecorded:
                    self._fail(message.id, f"the room refused it: {reason}")
                else:
                    self._refused.append(visible_line(f"{message.text[:EXCERPT]}: {reason}"))
            case ContinuationsChanged(continuations=found):
                self._continued = tuple(continues(each, time.time()) for each in found)
            case Transfer(direction=Direction.UP, problem=problem) if problem:
                self._not_sent[event.digest] = problem
            case ConnectionStatus(state=ConnectionState.CLOSED, detail=detail):
                for id_ in list(self._unrecorded):
                    self._fail(id_, f"you are no longer in the room: {detail}")
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _hear(self, events: Iterable[Event]) -> None:
        for event in events:
            self._heard_from = self._heard_from or event.seq
            if is_message(event) or isinstance(event.original.body, ChangeBody):
                self._heard.append(event)
            if len(self._heard) > HEARD:
                self._heard_from = self._heard.popleft().seq + 1
            waiting = self._unrecorded.get(event.posted.id) if event.posted is not None else None
            if waiting is not None and not waiting.done():
                waiting.set_result(event.seq)

    def _fail(self, id_: str, why: str) -> None:
        waiting = self._unrecorded.get(id_)
        if waiting is not None and not waiting.done():
            waiting.set_exception(NotPosted(mask_known(why)))

    def _page(
        self,
        room: JoinedRoom,
        last: int,
        *,
        more: bool = False,
        timed_out: bool = False,
        searched_from: int = 0,
    ) -> Page:
        refused = tuple(self._refused)
        self._refused.clear()
        return Page(
            visible_line(room.title),
            last,
            more,
            timed_out,
            searched_from,
            len(room.messages.pending),
            visible_line(self._trouble(room)),
            refused,
        )

    def _trouble(self, room: JoinedRoom) -> str:
        """Name the problem of the connection; empty if nothing is."""
        status = room.connection
        detail = mask_known(status.detail)
        match status.state:
            case ConnectionState.ONLINE if status.closing_in is not None:
                return "the host is about to suspend the room"
            case ConnectionState.ONLINE:
                return detail
            case ConnectionState.CLOSED:
                return f"ended: {detail}"
            case _:
                why = f"lost, and tried again by itself: {detail}" if detail else "not there yet"
                return "; ".join([why, *self._continued])

    # -- the log

    async def _after(self, room: JoinedRoom, since: int, most: int) -> list[Event]:
        """Return the first messages after an event, in order."""
        found: list[Event] = []
        known = since
        while since + 1 < self._heard_from and len(found) < most:
            count = min(PART, self._heard_from - 1 - since)
            events = await room.past(since + count + 1, count)
            found += (event for event in events if is_line(event, room.state, known))
            since += count
        if len(found) < most:
            heard = (event for event in self._heard if event.seq > since)
            found += (event for event in heard if is_line(event, room.state, known))
        return found[:most]

    async def _back(
        self, room: JoinedRoom, most: int, wanted: Callable[[Event], bool]
    ) -> tuple[list[Event], int]:
        """Return the last wanted messages, in order, and the number of the first event looked at."""
        heard = filter(is_message, self._heard)
        found = [*filter(wanted, heard)][-most:]
        first = self._heard_from or room.state.head + 1
        end = first - SEARCHED
        while len(found) < most and first > max(1, end):
            count = min(PART, first - 1)
            events = filter(is_message, await room.past(first, count))
            found = [*filter(wanted, events), *found][-most:]
            first -= count
        return found, first


def _bounded(most: int) -> int:
    return max(1, min(most, MOST_LINES))


def _lines(events: Iterable[Event], room: JoinedRoom) -> list[Line]:
    return [line_of(event, room) for event in events]
