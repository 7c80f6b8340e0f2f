"""A person in a browser as a member of a room, and the browser's tabs."""

import asyncio
import logging
import secrets
from collections import deque
from contextlib import suppress
from typing import Any, Final, Literal, TypeAlias

import msgspec

from genie_core.errors import GenieError
from genie_core.privacy.redaction import mask_known
from genie_core.room.client.connection import RoomConnection
from genie_core.room.client.events import (
    Deliver,
    EditRejected,
    EventsRecorded,
    MessageRejected,
    Notice,
    RoomEvent,
)
from genie_core.room.client.handshake import ClientHandshake
from genie_core.room.client.model import ConnectionState, ConnectionStatus, NextStep
from genie_core.room.commands.arguments import MessageLine, PromptLine
from genie_core.room.commands.messages import say
from genie_core.room.commands.outcome import NotDone, Result
from genie_core.room.commands.table import (
    LATER_COMMAND,
    CommandLine,
    InvalidLine,
    Surface,
    help_lines,
    later_command,
    parse_line,
)
from genie_core.room.open.route import Route
from genie_core.room.participant.config import RoomConfig
from genie_core.room.participant.receipt import LeftInDisorder
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.errors import Diverged, RoomError
from genie_core.room.protocol.events import Event, MessageEdited, MessagePosted
from genie_core.room.protocol.frames import AnswerDelta, MemberTyping
from genie_core.room.security.challenge import InviteSecret
from genie_core.room.security.identity import Identity
from genie_core.room.state.hosting import Claim, KnownHosts, can_host
from genie_core.room.transport.dialer import Dialer
from genie_core.room.transport.rate import TokenBucket
from genie_core.room.transport.websocket import tls_connect
from genie_core.runtime.tasks import start_task
from genie_core.text.safe import visible, visible_line
from genie_serve.web.entries import message_entry
from genie_serve.web.feed import KEPT, RoomFeed

MOST_TABS: Final = 8
"""Tabs of one visitor at a time."""

TABS_AT_ONCE: Final = 20
TABS_PER_SECOND: Final = 1.0
"""How often a visitor may open a tab, or a tab reconnect: it may begin a connection to the room."""

AWAY: Final = 60.0
"""Seconds without a tab after which a visitor leaves the room; they come back with the next tab."""

ENTERING: Final = 15.0
"""Seconds until a room has let a visitor in, refused them, or asked them to wait."""

BURST: Final = 20
PER_SECOND: Final = 5.0
"""The frames that a tab may send."""

MOST_BYTES: Final = 256 * 1024
"""The size of an update beyond which the rest follows in others."""

MOST_SENT: Final = 200
"""Latest messages of a visitor whose fate is known, in case that a tab asks again."""

ABOUT_TEXT: Final = """\
Any other text is a message; // begins one with a slash. Each message shows its number in brackets.
"""
NO_PROMPTS: Final = "prompts of tool servers need the program genie-tui in a terminal"
ONLY_READS: Final = "this link is for reading only"
LEFT: Final = "you have left the room"
INTERNAL: Final = "an internal error ended the visit"

WebRole: TypeAlias = Literal["guest", "observer"]

logger = logging.getLogger(__name__)


class Status(msgspec.Struct, frozen=True, omit_defaults=True):
    """The connection to the room; `closing` says in how many seconds the host suspends the room."""

    state: str
    detail: str = ""
    closing: float | None = None


class Streamed(msgspec.Struct, frozen=True):
    """More text of the answer to a `message` that is being written."""

    message: int
    text: str


class Sent(msgspec.Struct, frozen=True, omit_defaults=True):
    """The outcome of a message or command of the visitor, by the page's id.

    Without `why`, the message is recorded or the command carried out; `shown` answers a command.
    """

    id: str
    why: str = ""
    shown: str = ""


class Update(msgspec.Struct, frozen=True, omit_defaults=True):
    """The changes for a tab since its last update; with `reset` it forgets all before.

    `head` and `feed` are for the tab to continue from here on its next connection.
    """

    feed: str
    head: int
    title: str = ""
    name: str = ""
    role: str = ""
    most_chars: int = 0
    reset: bool = False
    entries: tuple[msgspec.Raw, ...] = ()
    gone: tuple[int, ...] = ()
    members: msgspec.Raw | None = None
    status: Status | None = None
    streams: tuple[Streamed, ...] = ()
    typing: tuple[str, ...] = ()
    sent: tuple[Sent, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to tell."""
        told = self.entries, self.gone, self.streams, self.typing, self.sent, self.notices
        is_greeting = self.reset or self.title or self.members is not None
        return not (any(told) or is_greeting or self.status)


class Tab:
    """One open page of a visitor, and how much of the room it has.

    It has a position rather than a queue: a slow tab misses intermediate states, and costs nothing.
    """

    def __init__(self, feed: str, since: int) -> None:
        self.feed = feed
        self.since = since
        self.floor = since
        self.changed = asyncio.Event()
        self.changed.set()
        self.pace = TokenBucket(BURST, PER_SECOND)
        self.members: msgspec.Raw | None = None
        self.status: Status | None = None
        self.greeting: tuple[str, str] | None = None
        self.streamed: dict[int, int] = {}
        self.typing: deque[str] = deque(maxlen=16)
        self.sent: deque[Sent] = deque(maxlen=MOST_SENT)
        self.notices: deque[str] = deque(maxlen=4)


class WebRoom:
    """A room that visitors join through this gateway, and their shared part of it."""

    def __init__(self, route: Route) -> None:
        self.route: Final = route
        self.feed = RoomFeed()

    def renew(self, feed: RoomFeed) -> None:
        """Begin again, as the room's log is another one than this feed's."""
        if self.feed is feed:
            self.feed = RoomFeed()


class Visitor:
    """A person in a browser: a member of the room, as a guest without an engine.

    The key is made here and kept in memory only. Tabs of one browser that came by the same link
    share a visitor; nothing of one visitor is ever handed to another one's tabs.
    """

    def __init__(
        self, room: WebRoom, name: str, role: WebRole, ticket: InviteSecret | None
    ) -> None:
        self.role: Final = role
        self._name = name
        self._ticket = ticket
        self.status = Status(ConnectionState.CONNECTING.value)
        self.tabs: set[Tab] = set()
        self._opening = TokenBucket(TABS_AT_ONCE, TABS_PER_SECOND)
        self._room = room
        self._feed = room.feed
        self._identity = Identity.generate()
        self._device = secrets.token_hex(8)
        self._joined: JoinedRoom | None = None
        self._connection: RoomConnection | None = None
        self._running: asyncio.Task[None] | None = None
        self._settled = asyncio.Event()
        self._sent: dict[str, tuple[str, Sent | None]] = {}
        self._opened: dict[int, str] = {}
        self._streams: dict[int, str] = {}
        self._away: asyncio.TimerHandle | None = None
        self._leaving: asyncio.Task[Any] | None = None
        self._refusal: RoomError | None = None

    @property
    def name(self) -> str:
        """The person's name, as the room spells it once it has let them in."""
        return self._joined.name if self._joined is not None else self._name

    # -- in and out of the room

    async def enter(self) -> None:
        """Join; returns once the person is in, or the room can't be reached or lets them wait.

        Raises:
            RoomError: the room refuses the person.
        """
        self._begin()
        with suppress(TimeoutError):
            async with asyncio.timeout(ENTERING):
                await self._settled.wait()
        if self._refusal is not None:
            raise self._refusal

    @property
    def is_here(self) -> bool:
        """Whether the person is in the room, or tries to be."""
        is_closed = self.status.state == ConnectionState.CLOSED.value
        return self._running is not None and not is_closed

    def expect(self) -> None:
        """Leave the room soon if no tab comes."""
        if not self.tabs:
            self._stop_timer()
            self._away = asyncio.get_running_loop().call_later(AWAY, self._go)

    async def leave(self, reason: str = "") -> None:
        """Leave the room; the person can come back."""
        self._stop_timer()
        joined, running = self._joined, self._running
        if joined is None or running is None:
            return
        if running.done():
            with suppress(LeftInDisorder):  # unsent messages go out when the person is back
                await joined.leave(reason)
        else:
            running.cancel()
            await asyncio.wait([running])
        if self._running is running:  # no tab came meanwhile
            self._show(Status(ConnectionState.CLOSED.value, LEFT))

    def attach(self, tab: Tab) -> bool:
        """Add a tab; False if there are too many. The first one brings the person back."""
        now = asyncio.get_running_loop().time()
        if len(self.tabs) >= MOST_TABS or not self._opening.take(now):
            return False
        self.tabs.add(tab)
        self._stop_timer()
        if not self.is_here or (self._leaving is not None and not self._leaving.done()):
            self._begin()
        return True

    def detach(self, tab: Tab) -> None:
        """Remove a tab; after the last one the person leaves the room soon."""
        self.tabs.discard(tab)
        self.expect()

    def _stop_timer(self) -> None:
        if self._away is not None:
            self._away.cancel()
            self._away = None

    def _go(self) -> None:
        self._away = None
        self._leaving = start_task(self.leave("closed the page"), name="visitor leaves")

    def _begin(self) -> None:
        self._refusal = None
        self.status = Status(ConnectionState.CONNECTING.value)
        self._settled.clear()
        leaving, self._leaving = self._leaving, None  # a second tab must not join again
        self._running = start_task(self._run(leaving), name="visitor")

    async def _run(self, leaving: "asyncio.Task[Any] | None") -> None:
        if leaving is not None and not leaving.done():
            await asyncio.wait([leaving])
        try:
            while not await self._join():
                self._room.renew(self._feed)
        except RoomError as error:
            self._refusal = error
            logger.info("a visitor's connection ended: %s", error)
            self._show(Status(ConnectionState.CLOSED.value, _told(str(error))))
        except Exception:  # a fault must be seen, not lost in a task
            logger.exception("joining the room failed")
            self._show(Status(ConnectionState.CLOSED.value, INTERNAL))
        finally:
            self._settled.set()

    async def _join(self) -> bool:
        """Join the room; False if its log is another one than the feed's."""
        before, name = self._joined, self.name
        joined = self._joined = JoinedRoom(name, self._take, self._config(name))
        if before is not None:
            joined.restore_messages(before.messages.pending)
        try:
            await joined.start()
        except Diverged:
            return False
        return True

    def _config(self, name: str) -> RoomConfig:
        since, mark = self._connection.position if self._connection is not None else (0, 0)
        if self._feed is not self._room.feed:
            self._feed, since, mark = self._room.feed, 0, 0
        feed, route = self._feed, self._room.route
        if not since and feed.last is not None:
            since, mark = feed.last.seq, feed.mark
        hosts = KnownHosts(
            lambda: feed.state,
            (each.pin for each in route.whereabouts),
            first=not feed.state.head,
            wanted=route.wanted,
        )
        dialer = Dialer(
            route.whereabouts,
            tls_connect,
            room=feed.state.room,
            trusts=lambda host_record: can_host(feed.state, host_record),
        )

        async def accepts(claim: Claim) -> bool:
            if not hosts.accepts(claim):
                dialer.forget(claim.pin)
                return False
            dialer.approve()
            return True

        who = ClientHandshake(
            name,
            self._identity,
            self._device,
            room=feed.state.room,
            ticket=self._ticket,
            accepts=accepts,
            digest=route.wanted,
        )

        def connect(deliver: Deliver) -> RoomConnection:
            self._connection = RoomConnection(dialer, deliver, who, since=since, mark=mark)
            return self._connection

        return RoomConfig(
            connect, put_away, claim=lambda: hosts.claim, learn=dialer.learn, shared=feed, grace=0.0
        )

    # -- from the room

    def _take(self, event: RoomEvent) -> None:
        match event:
            case EventsRecorded(events=events):
                for each in events:
                    self._record(each)
            case ConnectionStatus(state=ConnectionState.CLOSED, detail=detail):
                self._close(detail)
            case ConnectionStatus(state=ConnectionState.CONNECTING, detail=""):
                pass  # the outcome of the attempt is reported
            case ConnectionStatus(state=ConnectionState.RETRYING, detail=detail):
                logger.info("a visitor is not connected: %s", detail)  # it may name addresses
                self._show(Status(ConnectionState.RETRYING.value))
                self._settled.set()
            case ConnectionStatus(state=state, detail=detail, closing_in=closing):
                self._show(Status(state.value, _told(detail), closing))
                self._settled.set()
            case MemberTyping(name=name):
                for tab in self.tabs:
                    tab.typing.append(visible_line(name))
                self._wake()
            case AnswerDelta(message=message, text=text):
                self._stream(message, text)
            case MessageRejected(message=message, reason=reason):
                self._settle(message.id, _told(reason))
            case EditRejected(reason=reason):
                self._note(f"not edited: {reason}")
            case Notice(text=text):
                self._note(text)

    def _close(self, why: str) -> None:
        """Show that the connection ended; join again if the room's log became another one."""
        joined = self._joined
        if joined is None or joined.ending is not None:
            return  # `leave` tells
        if joined.ended is not None and joined.ended.next_step is NextStep.REJOIN:
            self._room.renew(self._feed)
            self._leaving = start_task(joined.leave(), name="visitor joins again")
            self._begin()
        else:
            self._show(Status(ConnectionState.CLOSED.value, _told(why)))

    def _record(self, event: Event) -> None:
        self._open(event)
        if event.posted is not None and event.original.by == self.name:
            self._settle(event.posted.id)
        running = self._feed.state.running
        for message in [each for each in self._streams if each not in running]:
            del self._streams[message]
            for tab in self.tabs:
                tab.streamed.pop(message, None)
        self._wake()

    def _open(self, event: Event) -> None:
        """Keep the text of a private message that is for this person."""
        body = event.body
        if not isinstance(body, MessagePosted | MessageEdited) or not body.sealed:
            return
        if isinstance(body, MessagePosted) and body.text:
            self._opened[event.seq] = visible(body.text)
            if len(self._opened) > KEPT:
                del self._opened[next(iter(self._opened))]
        elif isinstance(body, MessageEdited) and body.text and body.message in self._opened:
            self._opened[body.message] = visible(body.text)

    def _stream(self, message: int, text: str) -> None:
        thread = self._feed.state.running.get(message)
        if thread is None or thread.is_private:
            return
        before = self._streams.get(message, "")
        most = self._joined.messages.limits.text_chars if self._joined is not None else 0
        self._streams[message] = before + visible(text)[: max(0, most - len(before))]
        self._wake()

    def _note(self, text: str) -> None:
        for tab in self.tabs:
            tab.notices.append(_told(text))
        self._wake()

    def _show(self, status: Status) -> None:
        self.status = status
        self._wake()

    def _wake(self) -> None:
        for tab in self.tabs:
            tab.changed.set()

    # -- to the room

    def say(self, tab: Tab, id_: str, text: str, reply_to: int) -> None:
        """Send a message or carry out a command, once for each id; the tab gets the outcome."""
        if id_ in self._sent:
            self._report(tab, self._sent[id_][1])
            return
        joined = self._joined
        if self.role == "observer" or joined is None:
            self._report(tab, Sent(id_, ONLY_READS))
            return
        before = {each.id for each in joined.messages.pending}
        try:
            shown = _submit(joined, text, reply_to)
        except GenieError as error:
            self._report(tab, Sent(id_, _told(str(error))))
            return
        added = [each.id for each in joined.messages.pending if each.id not in before]
        outcome = None if added else Sent(id_, shown=visible(mask_known(shown)))
        self._sent[id_] = "".join(added), outcome
        while len(self._sent) > MOST_SENT:
            del self._sent[next(iter(self._sent))]
        self._report(tab, outcome)

    def _report(self, tab: Tab, sent: Sent | None) -> None:
        if sent is not None:
            tab.sent.append(sent)
            tab.changed.set()

    def types(self) -> None:
        """Show the others that the person is typing."""
        if self._joined is not None and self.role != "observer":
            self._joined.messages.typing()

    def _settle(self, message: str, why: str = "") -> None:
        """Tell the tabs that a message was recorded, or why it was not."""
        for id_, (known, _) in self._sent.items():
            if known == message:
                sent = Sent(id_, why)
                self._sent[id_] = message, sent
                for tab in self.tabs:
                    tab.sent.append(sent)
                self._wake()
                return

    # -- to a tab

    def update(self, tab: Tab) -> Update:
        """Return the missing entries of a tab, and move it on.

        While the person is not in the room, or its past is still arriving, that is their status only.
        """
        feed, state, joined = self._feed, self._feed.state, self._joined
        is_online = self.status.state == ConnectionState.ONLINE.value
        if joined is None or not (is_online and joined.is_verified):
            return Update(tab.feed, tab.since, status=_if_new(tab, self.status))
        is_new = tab.feed != feed.id or tab.since < tab.floor < feed.dropped
        if is_new:
            tab.feed, tab.since, tab.floor = feed.id, 0, feed.dropped
        entries, gone = self._entries(tab)
        members, greeting = feed.members, (visible_line(state.title), self.name)
        title, name = greeting if greeting != tab.greeting else ("", "")
        update = Update(
            feed.id,
            tab.since,
            title=title,
            name=name,
            role=self.role,
            most_chars=joined.messages.limits.text_chars,
            reset=is_new,
            entries=tuple(entries),
            gone=() if is_new else tuple(gone),
            members=members if members != tab.members else None,
            status=_if_new(tab, self.status),
            streams=tuple(self._unstreamed(tab)),
            typing=tuple(tab.typing),
            sent=tuple(tab.sent),
            notices=tuple(tab.notices),
        )
        tab.members, tab.greeting = members, greeting
        for told in (tab.typing, tab.sent, tab.notices):
            told.clear()
        return update

    def _entries(self, tab: Tab) -> tuple[list[msgspec.Raw], list[int]]:
        """Return the next entries that a tab lacks, up to `MOST_BYTES`, and those that are gone."""
        entries: list[msgspec.Raw] = []
        gone: list[int] = []
        size = 0
        for number, changed in self._feed.changed_since(tab.since):
            if size > MOST_BYTES and changed > tab.since:
                tab.changed.set()  # the rest comes with the next update
                return entries, gone
            tab.since = changed
            entry = self._feed.entry(number) or self._private(number)
            if entry is None:
                gone.append(number)
            else:
                entries.append(entry)
                size += len(memoryview(entry))
        tab.since = self._feed.state.head
        return entries, gone

    def _private(self, number: int) -> msgspec.Raw | None:
        """Return a private message that is for this person."""
        thread = self._feed.state.threads.get(number)
        if thread is None or number not in self._opened:
            return None
        made = message_entry(thread, self._feed.state, self._opened[number])
        return msgspec.Raw(msgspec.json.encode(made))

    def _unstreamed(self, tab: Tab) -> list[Streamed]:
        more = []
        for message, text in self._streams.items():
            begin = tab.streamed.get(message, 0)
            if begin < len(text):
                more.append(Streamed(message, text[begin:]))
                tab.streamed[message] = len(text)
        return more


def _submit(joined: JoinedRoom, text: str, reply_to: int) -> str:
    """Send a message or carry out a command; return the text that answers it.

    Raises:
        GenieError: nothing was done; the text says why.
    """
    line = parse_line(text, Surface.BROWSER)
    if command := later_command(text):
        raise NotDone(LATER_COMMAND.format(command=command))
    match line:
        case MessageLine():
            say(joined, line, reply_to=reply_to)
        case CommandLine(spec=spec, arguments=arguments) if spec.effect is not None:
            outcome = spec.effect(joined, arguments)
            return outcome.text if isinstance(outcome, Result) else ""
        case CommandLine():
            return "\n".join([*help_lines(Surface.BROWSER), ABOUT_TEXT])
        case PromptLine():
            raise NotDone(NO_PROMPTS)
        case InvalidLine(text=why):
            raise NotDone(why)
    return ""


async def put_away() -> None:
    """End a visit, of which nothing is left."""


def _if_new(tab: Tab, status: Status) -> Status | None:
    if tab.status == status:
        return None
    tab.status = status
    return status


def _told(text: str) -> str:
    return visible_line(mask_known(text))
