"""A room as lines of text: for screen readers, simple terminals, pipes and scripts.

`--plain` opens a room and reads lines, `say` posts a message and ends, `tail` prints what happens.
"""

import argparse
import asyncio
import json
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Final, TextIO

from genie_core.errors import GenieError
from genie_core.room.client.events import EventsRecorded, MessageRejected, Notice, RoomEvent
from genie_core.room.client.model import Answer, ConnectionState, ConnectionStatus
from genie_core.room.open.opener import RoomOpener
from genie_core.room.open.requests import JoinRoom, OpenRequest
from genie_core.room.participant.receipt import LeftInDisorder
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    DecisionMade,
    Event,
    MessageEdited,
    MessagePosted,
    RunCancelled,
    RunFailed,
)
from genie_core.room.protocol.frames import JoinRequested
from genie_core.room.protocol.names import check_name
from genie_core.room.security.sealing import is_sealed
from genie_core.room.state.room_state import RoomState
from genie_core.room.text.approvals import plain_arguments
from genie_core.room.text.events import (
    announcement,
    author_line,
    because,
    file_lines,
    private_reader,
    short_error,
)
from genie_core.runtime.grace import QUICK_GRACE
from genie_core.settings.credentials import hide_own_secrets
from genie_core.settings.load import SettingsSource
from genie_core.settings.locations import Locations
from genie_core.settings.model import default_name
from genie_core.text.safe import visible, visible_line
from genie_tui.cli.log_file import log_to
from genie_tui.cli.output import harmless_json

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SHOWN: Final = 20
"""Earlier lines that are printed at the start."""

ACKNOWLEDGED: Final = 20.0
"""Seconds in which the host has to record a message of `say`."""

HELP: Final = (
    "Type a message and enter. /allow N or /deny N [why] answers tool call N, /stop stops your "
    "agents, /msg NAME writes to one member and /ask to your agent privately, /admit NAME and /refuse NAME answer join requests, /who lists members, /me acts, "
    "/quit leaves."
)


class NotSent(GenieError):
    """A message was not recorded by the room."""


def run_plain(opening: OpenRequest, source: SettingsSource, locations: Locations) -> int:
    """Open a room, print what happens, and read lines until the input ends; returns the exit code."""
    return _run(lambda opener: _chat(opening, opener), source, locations)


def run_say(options: argparse.Namespace, source: SettingsSource, locations: Locations) -> int:
    """Post a message and leave; with `answer`, print the answer first."""
    opening, text = JoinRoom(options.room, guest=True), " ".join(options.text)
    return _run(lambda opener: _say(opening, opener, text, options.answer), source, locations)


def run_tail(options: argparse.Namespace, source: SettingsSource, locations: Locations) -> int:
    """Print what happens in a room until the connection ends or a signal arrives."""
    opening = JoinRoom(options.room, guest=True)
    return _run(
        lambda opener: _tail(opening, opener, options.json, options.last), source, locations
    )


def _run(
    work: "Callable[[RoomOpener], object]", source: SettingsSource, locations: Locations
) -> int:
    reading = source.read()
    settings = reading.settings
    name = check_name(default_name() if settings.name is None else settings.name)
    log_to(locations.log_file)
    threading.Thread(target=hide_own_secrets, args=(name, locations), daemon=True).start()
    renamed = reading.origin(("name",)).layer == "command line"
    opener = RoomOpener(name, settings, locations, renamed=renamed)
    return asyncio.run(work(opener))  # type: ignore[arg-type] # a coroutine that returns the code


class _Visit:
    """A joined room and its events, which may begin to arrive before it is known."""

    def __init__(self) -> None:
        self.events: asyncio.Queue[RoomEvent | str | None] = asyncio.Queue()
        self.knocks: dict[str, int] = {}
        self._changed = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self.events.put_nowait, None)

    async def enter(self, opening: OpenRequest, opener: RoomOpener) -> JoinedRoom:
        """Join, and return the room once its past is known."""
        joined = await opener.enter(opening, self._take)
        while not joined.is_caught_up and joined.connection.state is not ConnectionState.CLOSED:
            self._changed.clear()
            await self._changed.wait()
        return joined

    def _take(self, event: RoomEvent) -> None:
        if isinstance(event, JoinRequested):
            self.knocks[visible_line(event.name)] = event.knock
        self.events.put_nowait(event)
        self._changed.set()


async def _chat(opening: OpenRequest, opener: RoomOpener) -> int:
    visit = _Visit()
    joined = await visit.enter(opening, opener)
    loop = asyncio.get_running_loop()
    _print(
        f"{visible_line(joined.state.title)}, as {visible_line(joined.name)}. /help lists commands."
    )
    if joined.hosting.invites is not None and joined.hosting.invites.invite:
        _print(f"Invite: {joined.hosting.invites.invite}")

    def listen() -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(visit.events.put_nowait, line.rstrip("\n"))
        loop.call_soon_threadsafe(visit.events.put_nowait, None)

    threading.Thread(target=listen, daemon=True).start()
    printed = 0
    try:
        while (event := await visit.events.get()) is not None:
            if isinstance(event, str):
                _act(visit, joined, event)
            elif isinstance(event, EventsRecorded):
                lines = list(lines_of(event.events, joined.state, joined.name))
                skipped = max(0, len(lines) - SHOWN) if not printed else 0
                printed += len(lines)
                for line in lines[skipped:]:
                    _print(line)
            else:
                for line in _notice(event):
                    _print(line)
                if isinstance(event, ConnectionStatus) and event.state is ConnectionState.CLOSED:
                    _print(because("the connection ended", event.detail))
                    return 1
    finally:
        await _leave(joined)
    return 0


async def _say(opening: OpenRequest, opener: RoomOpener, text: str, answer: float) -> int:
    visit = _Visit()
    joined = await visit.enter(opening, opener)
    try:
        id_ = joined.messages.send(text)
        async with asyncio.timeout(ACKNOWLEDGED):
            seq = await _recorded(visit, joined, id_)
        if not answer:
            return 0
        async with asyncio.timeout(answer):
            return await _answered(visit, joined, seq)
    except TimeoutError as error:
        what = "no answer came in time" if joined.state.has_said(joined.name, id_) else "not sent"
        raise NotSent(f"{what}: the room did not reply") from error
    finally:
        await _leave(joined)


async def _recorded(visit: _Visit, joined: JoinedRoom, id_: str) -> int:
    while (event := await visit.events.get()) is not None:
        if isinstance(event, MessageRejected):
            raise NotSent(f"not sent: {visible_line(event.reason)}")
        if isinstance(event, EventsRecorded):
            for each in event.events:
                body = each.body
                if each.by == joined.name and isinstance(body, MessagePosted) and body.id == id_:
                    return each.seq
    raise NotSent("not sent: interrupted")


async def _answered(visit: _Visit, joined: JoinedRoom, seq: int) -> int:
    """Print the answer to a message; 1 if there is none."""
    while joined.state.running.get(seq) is not None:
        if await visit.events.get() is None:
            return 1
    exchange = joined.state.exchanges[seq]
    if exchange.answer is not None:
        _print(visible(exchange.answer.text))
        return 0
    reason = exchange.decision.reason if exchange.decision is not None else None
    sys.stderr.write(f"genie-tui: no answer{f': {visible_line(reason)}' if reason else ''}\n")
    return 1


async def _tail(opening: OpenRequest, opener: RoomOpener, as_json: bool, last: int) -> int:  # noqa: FBT001 - an option
    visit = _Visit()
    joined = await visit.enter(opening, opener)
    is_first = True
    try:
        while (event := await visit.events.get()) is not None:
            if isinstance(event, EventsRecorded):
                make = _json_of if as_json else lines_of
                lines = list(make(event.events, joined.state, joined.name))
                for line in lines[max(0, len(lines) - last) if is_first else 0 :]:
                    _print(line)
                is_first = False
            elif isinstance(event, ConnectionStatus) and event.state is ConnectionState.CLOSED:
                sys.stderr.write(f"genie-tui: {visible_line(event.detail or 'the room closed')}\n")
                return 1
    finally:
        await _leave(joined)
    return 0


async def _leave(joined: JoinedRoom) -> None:
    with suppress(LeftInDisorder):
        await joined.leave(grace=QUICK_GRACE)


def lines_of(events: Iterable[Event], state: RoomState, me: str) -> Iterator[str]:
    """Yield a line, or several for a long text, for each event that tells something."""
    for event in events:
        told = event.told
        by = author_line(told.by, by_agent=state.members.is_agent(told.by))
        if is_sealed(told.body) and not _is_readable(told, state):
            continue
        match told.body:
            case MessagePosted() as said:
                if said.to:
                    by = f"{by} (private, to {private_reader(told.by, said.to)})"
                text = visible(said.text)
                names = "".join(f"\n  [file {each.name}]" for each in file_lines(said.files))
                line = f"* {by} {text}" if said.emote else f"{by}: {text}"
                yield f"[{event.seq}] {line}{names}"
            case AnswerPosted(text=text, receiver=receiver, sealed=sealed):
                to = f" to {visible_line(receiver)}" if receiver else ""
                to += " (private)" if sealed else ""
                yield f"[{event.seq}] genie{to}: {visible(text)}"
            case DecisionMade(decision="ignore", message=message, reason=reason):
                yield because(f"genie stayed silent on [{message}]", reason or "no reason given")
            case RunFailed(message=message, error=error):
                yield f"genie could not answer [{message}]: {visible_line(short_error(error))}"
            case RunCancelled(message=message, reason=reason):
                yield because(f"genie's work on [{message}] was stopped", reason)
            case ApprovalRequested() as asked if not asked.unasked:
                yield from _question(event, asked, me)
            case _:
                line_of = announcement(event, {})
                if line_of is not None:
                    yield line_of[1]


def _is_readable(told: Event, state: RoomState) -> bool:
    body = told.body
    if isinstance(body, MessagePosted | MessageEdited):
        return bool(body.text)
    message = getattr(body, "message", 0)
    return message in state.exchanges and not state.exchanges[message].is_hidden


def _question(event: Event, asked: ApprovalRequested, me: str) -> Iterator[str]:
    """Ask the owner of an agent to answer a tool call, with all that it is called with."""
    tool = visible_line(asked.tool)
    if event.by != me:
        yield f"{visible_line(event.by)}'s agent waits for approval of {tool}"
        return
    yield f"APPROVAL {event.seq}: your agent wants to use {tool}, asked because {visible_line(asked.because) or 'nothing allows it'}"
    for effect in asked.effects:
        yield f"  it would: {visible_line(effect)}"
    for line in plain_arguments(asked.arguments, withheld=asked.withheld).split("\n"):
        yield f"  | {line}"
    yield f"  Type /allow {event.seq} or /deny {event.seq} and a reason."


def _json_of(events: Iterable[Event], _state: RoomState, _me: str) -> Iterator[str]:
    import msgspec

    for event in events:
        yield harmless_json(json.dumps(msgspec.to_builtins(event), ensure_ascii=False))


def _notice(event: RoomEvent) -> Iterator[str]:
    match event:
        case Notice(text=text):
            yield f"note: {visible_line(text)}"
        case MessageRejected(message=message, reason=reason):
            yield f"not sent: {visible_line(reason)}: {visible_line(message.text)}"
        case JoinRequested(name=name):
            who = visible_line(name)
            yield f"{who} asks to join: /admit {who} or /refuse {who}"
        case ConnectionStatus(state=ConnectionState.RETRYING as state, detail=detail):
            yield because(f"connection: {state.value}", detail)


def _act(visit: _Visit, joined: JoinedRoom, line: str) -> None:
    """Carry out a typed line: a command, or a message."""
    word, _, rest = line.partition(" ")
    rest = rest.strip()
    try:
        match word:
            case "" if not rest:
                return
            case "/help":
                _print(HELP)
            case "/quit":
                signal.raise_signal(signal.SIGTERM)
            case "/who":
                for person in joined.state.present():
                    _print(f"{visible_line(person.name)} ({person.role})")
            case "/stop":
                _print(f"stopped: {joined.engine.stop()}")
            case "/me" if rest:
                joined.messages.send(rest, emote=True)
            case "/msg":
                name, _, text = rest.partition(" ")
                joined.messages.send(text, to=name.removeprefix("@"))
            case "/ask" if rest:
                joined.messages.send(rest, to=joined.name)
            case "/allow" | "/deny":
                _print(_answer(joined, word == "/allow", rest))
            case "/admit" | "/refuse":
                knock = visit.knocks.pop(rest, None)
                if knock is None or not joined.hosting.admit(knock, word == "/admit"):
                    _print(f"{visible_line(rest) or 'No one'} does not wait to be admitted.")
            case _ if line.startswith("/") and not line.startswith("//"):
                _print(f"There is no command {visible_line(word)}. {HELP}")
            case _:
                joined.messages.send(line.removeprefix("/") if line.startswith("//") else line)
    except GenieError as error:
        _print(f"not done: {visible_line(str(error))}")


def _answer(joined: JoinedRoom, allow: bool, rest: str) -> str:  # noqa: FBT001 - what was typed
    number, _, why = rest.partition(" ")
    waiting = {str(each.seq): each for each in joined.state.pending_for(joined.name)}
    call = waiting.get(number)
    if call is None:
        listed = ", ".join(waiting) or "none"
        return f"Which one? Tool calls that wait for you: {listed}."
    if not joined.approvals.answer(call.id, Answer(allow, why.strip() or None)):
        return f"Tool call {number} is no longer waiting, or your agent is still loading."
    return f"{'Allowed' if allow else 'Denied'} {visible_line(call.tool)} ({number})."


def _print(text: str, out: TextIO | None = None) -> None:
    with suppress(BrokenPipeError):
        print(text, file=out or sys.stdout, flush=True)
