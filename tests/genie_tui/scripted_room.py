"""A joined room that is a script: the test feeds it events and reads what the person did."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.limits import scaled
from textual.pilot import Pilot
from textual.screen import Screen
from textual.worker import WorkerCancelled, WorkerFailed

from genie_core.assistant.what_if.report import WhatIfReport
from genie_core.errors import GenieError
from genie_core.room.client.events import EventsRecorded, OnEvent, RoomEvent
from genie_core.room.client.messages import Messages
from genie_core.room.client.model import (
    Answer,
    ConnectionState,
    ConnectionStatus,
    EngineState,
    EngineStatus,
    PendingMessage,
    PendingReport,
    SessionEnded,
)
from genie_core.room.engine.approvals import Approvals
from genie_core.room.engine.controls import CustomCommand, EngineControls
from genie_core.room.engine.engine_host import EngineHost
from genie_core.room.engine.grants import Grant, Grants
from genie_core.room.engine.restart_backlog import BacklogChoice
from genie_core.room.engine.tool_effects import ToolEffect, ToolEffects
from genie_core.room.files.transfer import Direction, Transfer
from genie_core.room.open.requests import NearbyRoom, NewRoom, OpenRequest
from genie_core.room.open.service import RoomService, SavedSummary
from genie_core.room.participant.files import RoomFiles
from genie_core.room.participant.hosting import Hosting
from genie_core.room.participant.presence import HostPresence
from genie_core.room.participant.receipt import Receipt, ShutdownProgress
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.errors import TooLong
from genie_core.room.protocol.events import (
    ROOM,
    AnyBody,
    ApprovalRequested,
    ChangeBody,
    Event,
    FileRef,
    HostStarted,
    Measure,
    MemberJoined,
    MessagePosted,
    Quote,
    Role,
    RoomCreated,
)
from genie_core.room.protocol.events import DecisionMade as DecidedBody
from genie_core.room.protocol.limits import Limits
from genie_core.room.security.invite import Invite, looks_like_invite, read_invite
from genie_core.room.state.room_state import RoomState
from genie_core.sessions.labels import Labels
from genie_core.sessions.replay.player import Recording, open_recording
from genie_core.sessions.view_state import View
from genie_tui.app import AppOptions, GenieApp
from genie_tui.commands.keymap import Keymap
from genie_tui.screens.room import RoomScreen

START = 1_790_000_000.0
DEADLINE = scaled(60.0)


def _set_event() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


class ScriptedInvites(HostPresence):
    """Numbers its invites."""

    invite = ""

    def __init__(self, invite: str = "genie1-first") -> None:
        self.invite = invite
        self.takes_invites = bool(invite)
        self.renewals: list[tuple[int | None, float | None]] = []
        self.issued: list[tuple[int | None, float | None]] = []
        self.roles: list[Role | None] = []

    def issue(
        self,
        *,
        uses: int | None = None,
        lifetime: float | None = None,
        role: Role | None = None,
    ) -> str:
        self.issued.append((uses, lifetime))
        self.roles.append(role)
        return f"genie1-another{len(self.issued)}"

    def renew(
        self,
        *,
        uses: int | None = None,
        lifetime: float | None = None,
        role: Role | None = None,
    ) -> str:
        self.renewals.append((uses, lifetime))
        self.invite = f"genie1-number{len(self.renewals)}"
        return self.invite


class ScriptedMessages(Messages):
    """Keeps what was sent."""

    def __init__(self, joined: "ScriptedJoinedRoom") -> None:
        self._joined = joined
        self.limits = Limits()

    @property
    def pending(self) -> tuple[PendingMessage, ...]:
        return self._joined.pending

    def send(
        self,
        text: str,
        *,
        emote: bool = False,
        files: Sequence[FileRef] = (),
        quotes: Sequence[Quote] = (),
        reply_to: int = 0,
        to: str = "",
        quiet: bool = False,
    ) -> str:
        if len(text) > self.limits.text_chars:
            raise TooLong(len(text), self.limits.text_chars)
        self._joined.said.append((text, emote))
        self._joined.readers.append(to)
        self._joined.quiet.append(quiet)
        self._joined.replies.append(reply_to)
        self._joined.sent.append((tuple(files), tuple(quotes)))
        return str(len(self._joined.said))

    def change(self, body: ChangeBody) -> bool:
        self._joined.changes.append(body)
        return self._joined.connected

    def typing(self) -> None:
        self._joined.typed += 1


class ScriptedFiles(RoomFiles):
    """Attaches real files, and has those in the `places` of the joined room."""

    def __init__(self, joined: "ScriptedJoinedRoom") -> None:
        self._joined = joined

    async def attach(self, path: Path) -> FileRef:
        self._joined.attached.append(path)
        await self._joined.attaching.wait()
        if self._joined.attach_error is not None:
            raise self._joined.attach_error
        content = path.read_bytes()
        return FileRef(sha256(content).hexdigest(), path.name, len(content))

    def bring(self, file: FileRef) -> bool:
        self._joined.brought.append(file)
        return file.digest in self._joined.places

    def detach(self, digest: str) -> None:
        self._joined.detached.append(digest)

    def path(self, digest: str) -> Path | None:
        return self._joined.places.get(digest)


class ScriptedHosting(Hosting):
    """Keeps what was asked; the answer is whether the room is `connected`."""

    def __init__(self, joined: "ScriptedJoinedRoom") -> None:
        self._joined = joined
        self.address = joined.address
        self.invites = joined.invites
        self.successor = None

    def moderate(
        self, measure: Measure, name: str, *, role: Role | None = None, reason: str = ""
    ) -> bool:
        self._joined.moderations.append((measure, name, role, reason))
        return self._joined.connected

    def share(self, on: bool) -> bool:
        self._joined.shares.append(on)
        return self._joined.connected

    def ask_for_invite(
        self,
        *,
        uses: int | None = None,
        lifetime: float | None = None,
        role: Role | None = None,
        new: bool = False,
    ) -> bool:
        if self._joined.invite_error is not None:
            raise self._joined.invite_error
        self._joined.invites_asked.append((uses, lifetime, role, new))
        return self._joined.connected

    def admit(self, knock: int, allow: bool) -> bool:
        self._joined.admissions.append((knock, allow))
        return self._joined.connected

    def offer(self, name: str) -> bool:
        self._joined.offers.append(name)
        return self._joined.connected

    def accept(self) -> bool:
        self._joined.accepted += 1
        return self._joined.connected


class ScriptedEngine(EngineHost):
    """Has what the joined room says, and keeps what was asked of it."""

    def __init__(self, joined: "ScriptedJoinedRoom") -> None:
        self._joined = joined

    @property
    def status(self) -> EngineStatus:
        return self._joined.engine_status

    @property
    def controls(self) -> EngineControls | None:
        return self._joined.workbench

    def choose(self, choice: BacklogChoice) -> int | None:
        backlog, self._joined.backlog = self._joined.backlog, None
        return {"all": backlog, "latest": 1, "none": 0}[choice] if backlog else None

    def set_auto(self, *, on: bool) -> bool:
        joined = self._joined
        joined.autos.append(on)
        joined.engine_status = replace(joined.engine_status, auto=on)
        joined.emit(joined.engine_status)
        return joined.engine_status.state is EngineState.READY

    def stop(self, message: int | None = None) -> int:
        self._joined.stops.append(message)
        return self._joined.running

    async def use_model(self, name: str) -> str:
        self._joined.models.append(name)
        if self._joined.model_error is not None:
            raise self._joined.model_error
        return name


class ScriptedGrants(Grants):
    """Has what the joined room says."""

    def __init__(self, joined: "ScriptedJoinedRoom") -> None:
        self._joined = joined

    @property
    def active(self) -> tuple[Grant, ...]:
        return self._joined.grants

    def revoke(self, grant: int) -> bool:
        joined = self._joined
        joined.revoked.append(grant)
        kept = tuple(each for each in joined.grants if each.id != grant)
        found, joined.grants = len(kept) < len(joined.grants), kept
        return found


class ScriptedApprovals(Approvals):
    """Keeps the answers."""

    def __init__(self, joined: "ScriptedJoinedRoom") -> None:
        self._joined = joined
        self.grants = ScriptedGrants(joined)

    def schema(self, approval: str) -> dict[str, Any] | None:
        return self._joined.schemas.get(approval)

    def effects(self, approval: str) -> ToolEffects | None:
        return self._joined.effects.get(approval)

    def is_covered(self, approval: str, pattern: str) -> bool:
        effects = self._joined.effects.get(approval)
        return effects is not None and all(
            fnmatchcase(each.target, pattern.removesuffix(" *") + "*") for each in effects.known
        )

    def preview(self, approval: str, edited: dict[str, Any]) -> ToolEffects | None:
        if approval not in self._joined.effects:
            return None
        return ToolEffects((ToolEffect("run", str(edited.get("command"))),))

    def answer(self, approval: str, answer: Answer) -> bool:
        if not self._joined.takes_answers:
            return False
        self._joined.answers.append((approval, answer))
        state = self._joined.state
        return approval in state.open or approval in state.parked


def _nothing(_event: RoomEvent) -> None:
    pass


@dataclass
class ScriptedJoinedRoom(JoinedRoom):
    """A room over a real `RoomState`, whose other members are the test."""

    name: str = "ann"
    connection: ConnectionStatus = ConnectionStatus(ConnectionState.ONLINE)  # noqa: RUF009 - frozen
    engine_status: EngineStatus = EngineStatus(EngineState.READY, "offline", offline=True)  # noqa: RUF009 - frozen
    pending: tuple[PendingMessage, ...] = ()
    reports: tuple[PendingReport, ...] = ()
    address: str = "127.0.0.1:7654"
    state: RoomState = field(default_factory=RoomState)
    events: list[Event] = field(default_factory=list)
    said: list[tuple[str, bool]] = field(default_factory=list)
    replies: list[int] = field(default_factory=list)
    readers: list[str] = field(default_factory=list)
    quiet: list[bool] = field(default_factory=list)
    changes: list[ChangeBody] = field(default_factory=list)
    sent: list[tuple[tuple[FileRef, ...], tuple[Quote, ...]]] = field(default_factory=list)
    invites: ScriptedInvites | None = None
    ended: SessionEnded | None = None
    connected: bool = True
    moderations: list[tuple[Measure, str, Role | None, str]] = field(default_factory=list)
    shares: list[bool] = field(default_factory=list)
    admissions: list[tuple[int, bool]] = field(default_factory=list)
    offers: list[str] = field(default_factory=list)
    invite_error: GenieError | None = None
    invites_asked: list[tuple[int | None, float | None, Role | None, bool]] = field(
        default_factory=list
    )
    accepted: int = 0
    places: dict[str, Path] = field(default_factory=dict)
    attached: list[Path] = field(default_factory=list)
    attach_error: GenieError | None = None
    brought: list[FileRef] = field(default_factory=list)
    detached: list[str] = field(default_factory=list)
    attaching: asyncio.Event = field(default_factory=_set_event)
    answers: list[tuple[str, Answer]] = field(default_factory=list)
    schemas: dict[str, dict[str, Any]] = field(default_factory=dict)
    effects: dict[str, ToolEffects] = field(default_factory=dict)
    grants: tuple[Grant, ...] = ()
    revoked: list[int] = field(default_factory=list)
    autos: list[bool] = field(default_factory=list)
    backlog: int | None = None
    workbench: EngineControls | None = None
    models: list[str] = field(default_factory=list)
    model_error: GenieError | None = None
    preferences: list[str] = field(default_factory=list)
    stops: list[int | None] = field(default_factory=list)
    leaves: list[str] = field(default_factory=list)
    leaving: asyncio.Event = field(default_factory=_set_event)
    leave_error: Exception | None = None
    graces: list[float | None] = field(default_factory=list)
    hurries: int = 0
    ending: ShutdownProgress | None = None
    receipt: Receipt = field(default_factory=Receipt)
    seen: int = 0
    left: bool = False
    running: int = 1
    takes_answers: bool = True
    typed: int = 0
    saved: str = "2026-11-21-garden-abcd"
    may_host: bool = True
    declined: list[str] = field(default_factory=list)
    emit: OnEvent = _nothing

    def decline(self, room: str) -> None:
        self.declined.append(room)

    def __post_init__(self) -> None:
        self.messages = ScriptedMessages(self)
        self.files = ScriptedFiles(self)
        self.engine = ScriptedEngine(self)
        self.approvals = ScriptedApprovals(self)
        self.hosting = ScriptedHosting(self)

    def feed(self, *bodies: AnyBody, by: str = "") -> list[Event]:
        """Let these happen, one second apart, written by `by` or whoever fits."""
        events = [self._event(body, by) for body in bodies]
        for event in events:
            self.emit(EventsRecorded((event,)))
        return events

    def _event(self, body: AnyBody, by: str) -> Event:
        seq = self.state.head + 1
        event = Event(seq, START + seq, by or self._author(body), body)
        self.state.apply(event)
        self.events.append(event)
        return event

    def _author(self, body: AnyBody) -> str:
        return ROOM if isinstance(body, RoomCreated | HostStarted) else self.name

    def open_room(self, title: str = "Garden") -> None:
        """A hosted room with this person and one more in it."""
        self.feed(
            RoomCreated("r1", title), HostStarted(self.name), MemberJoined("host", engine=True)
        )
        self.feed(MemberJoined("member", engine=True), by="bob")

    def say_here(self, text: str, author: str = "") -> int:
        """A message that this person's engine handles; returns its number."""
        return self.feed(MessagePosted("x", text, handler=self.name), by=author or self.name)[0].seq

    def ask(
        self, tool: str = "delete_file", text: str = "please tidy up", **arguments: object
    ) -> str:
        """A message that leads to a pending approval; returns the approval's id."""
        message = self.say_here(text)
        approval = f"approval-{message}"
        self.feed(
            DecidedBody(message, "delegate", query=text, receiver=self.name),
            ApprovalRequested(message, approval, "genie", tool, dict(arguments), "on this machine"),
        )
        return approval

    def set_link(self, status: ConnectionStatus) -> None:
        """Let the connection change."""
        self.connection = status
        self.emit(status)

    def carry(
        self, file: FileRef, done: int, way: Direction = Direction.UP, problem: str = ""
    ) -> None:
        """Let a file come so far."""
        self.emit(Transfer(file.digest, file.name, way, done, file.size, problem))

    def prefer(self, text: str) -> bool:
        self.preferences.append(text)
        return self.connected

    def hurry(self) -> None:
        self.hurries += 1

    async def past(self, before: int, most: int) -> list[Event]:
        return [event for event in self.events if event.seq < before][-most:]

    def note_seen(self, seq: int) -> None:
        self.seen = max(self.seen, seq)

    async def leave(self, reason: str = "", grace: float | None = None) -> Receipt:
        self.leaves.append(reason)
        self.graces.append(grace)
        await self.leaving.wait()
        if self.leave_error is not None:
            raise self.leave_error
        self.left = True
        return self.receipt


@dataclass
class ScriptedRoomService(RoomService):
    """Opens the scripted room, or raises the error it is given."""

    joined: ScriptedJoinedRoom
    error: Exception | None = None
    rooms: Sequence[SavedSummary] = ()
    openings: list[OpenRequest] = field(default_factory=list)
    nearby: Sequence[NearbyRoom] = ()
    browsing: int = 0
    on_change: Callable[[Sequence[NearbyRoom]], None] | None = None
    quotes: dict[str, Quote] = field(default_factory=dict)
    wishes: dict[str, str] = field(default_factory=dict)
    wishes_error: GenieError | None = None
    folder: Path = Path("/nonexistent")
    rooms_then: Sequence[SavedSummary] = ()
    past: str = ""
    views: dict[str, View] = field(default_factory=dict)
    view_error: GenieError | None = None
    stays_local: bool = False
    shared: list[str] = field(default_factory=list)
    unused: tuple[str, ...] = ()
    dropped: list[str] = field(default_factory=list)
    kept_open: list[str] = field(default_factory=list)
    shown: list[CustomCommand] = field(default_factory=list)
    leads: dict[str, Invite] = field(default_factory=dict)

    async def lead_of(self, way: str) -> Invite | None:
        if way in self.leads:
            return self.leads[way]
        return read_invite(way) if looks_like_invite(way) else None

    async def open(self, opening: OpenRequest, on_event: OnEvent) -> ScriptedJoinedRoom:
        self.openings.append(opening)
        if self.error is not None:
            raise self.error
        self.joined.emit = on_event
        if self.joined.events:
            on_event(EventsRecorded(tuple(self.joined.events)))
        return self.joined

    def saved(self) -> Sequence[SavedSummary]:
        return self.rooms

    def earlier(self, title: str, but: str) -> SavedSummary | None:
        own = (each for each in self.rooms if each.host is None and each.id != but)
        return next((each for each in own if each.title == title), None)

    def keep_open(self, rooms: Sequence[str]) -> None:
        self.kept_open = list(rooms)

    def was_shown(self, command: CustomCommand) -> bool:
        return command in self.shown

    def note_shown(self, command: CustomCommand) -> None:
        self.shown.append(command)

    def note_shared(self, saved: str) -> None:
        self.shared.append(saved)

    def drop_if_unused(self, saved: str) -> bool:
        if saved in self.unused:
            self.dropped.append(saved)
        return saved in self.unused

    def catch_up(self) -> str:
        self.rooms = self.rooms_then or self.rooms
        return self.past

    @asynccontextmanager
    async def browse(
        self, on_change: Callable[[Sequence[NearbyRoom]], None]
    ) -> AsyncIterator[None]:
        self.on_change = on_change
        self.browsing += 1
        if self.nearby:
            on_change(self.nearby)
        try:
            yield
        finally:
            self.browsing -= 1

    def announce(self, *rooms: NearbyRoom) -> None:
        """Let these be the rooms on the network."""
        self.nearby = rooms
        if self.on_change is not None:
            self.on_change(rooms)

    def recording(self, saved: str) -> Recording:
        return open_recording(self.folder, saved)

    def labels(self, saved: str) -> Labels:
        return Labels.read(self.folder)

    def view(self, saved: str) -> View:
        return self.views.get(saved, View())

    def keep_view(self, saved: str, view: View) -> None:
        if self.view_error is not None:
            raise self.view_error
        self.views[saved] = view

    def place_of(self, saved: str) -> str:
        return f"~/sessions/{saved}"

    def reports(self, saved: str) -> Sequence[WhatIfReport]:
        return ()

    def preferences(self, name: str) -> str:
        return self.wishes.get(name, "")

    def keep_preferences(self, name: str, text: str) -> None:
        if self.wishes_error is not None:
            raise self.wishes_error
        self.wishes[name] = text

    def quote(self, wanted: str, last: int) -> Quote:
        quote = self.quotes.get(wanted)
        if quote is None:
            raise GenieError(f"there is no saved room {wanted!r}")
        return Quote(quote.room, quote.title, quote.lines[-last:])


@dataclass
class HandClock:
    """A monotonic clock that stands still until the test moves it."""

    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now

    def rest(self, seconds: float = 1.0) -> None:
        self.now += seconds


class Ticking:
    """A clock on which the keyboard always has rested."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 10.0
        return self.now


async def until(pilot: Pilot[Any], condition: Callable[[], object]) -> None:
    """Let the app work until something holds; fail after a generous deadline."""
    async with asyncio.timeout(DEADLINE):
        while not condition():
            await pilot.pause()


def too_late(
    monkeypatch: pytest.MonkeyPatch,
    screen: type[Screen[Any]],
    group: str,
    come: Callable[[], object],
) -> None:
    """Let what these workers of a screen wait for come when its parts are gone, and it is not."""

    async def on_unmount(self: Screen[Any]) -> None:
        waiting = [w for w in self.workers if w.node is self and w.group == group]
        come()
        async with asyncio.timeout(DEADLINE):
            for worker in waiting:
                with suppress(WorkerFailed, WorkerCancelled):  # the app tells
                    await worker.wait()

    monkeypatch.setattr(screen, "on_unmount", on_unmount, raising=False)


@asynccontextmanager
async def in_room(
    joined: ScriptedJoinedRoom,
    size: tuple[int, int] = (120, 40),
    clock: Callable[[], float] | None = None,
    service: ScriptedRoomService | None = None,
    keymap: Keymap | None = None,
    *,
    notices: bool = False,
) -> AsyncIterator[tuple[RoomScreen, Pilot[Any]]]:
    """The app with this room on screen and everything fed so far shown.

    Its `notices` are only noted, unless they are to be shown.
    """
    service = service or ScriptedRoomService(joined)
    app = GenieApp(
        service,
        NewRoom("Garden"),
        joined.name,
        clock=clock or HandClock(),
        options=AppOptions(keymap=keymap),
    )
    async with app.run_test(size=size, notifications=notices) as pilot:
        screen = app.screen
        assert isinstance(screen, RoomScreen)
        await until(pilot, lambda: screen.joined is not None)
        await pilot.pause()
        yield screen, pilot
