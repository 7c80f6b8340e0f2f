"""`--plain`: a person's room in lines, printed and typed."""

import asyncio
import sys
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeAlias

from genie_core.errors import GenieError
from genie_core.privacy.redaction import secrets_in
from genie_core.room.client.events import (
    ContinuationsChanged,
    EditRejected,
    EventsRecorded,
    MessageRejected,
    Notice,
    OtherHostsChanged,
    RoomEvent,
    RoomRenamed,
)
from genie_core.room.client.model import (
    Answer,
    ConnectionState,
    ConnectionStatus,
    Continuation,
    EngineState,
    EngineStatus,
    NextStep,
)
from genie_core.room.commands.arguments import (
    InvalidArguments,
    MessageLine,
    PromptLine,
    read_number,
)
from genie_core.room.commands.hosting import sent
from genie_core.room.commands.messages import say, thread_of
from genie_core.room.commands.outcome import NotDone, Outcome, Question, Result
from genie_core.room.commands.table import (
    CommandLine,
    InvalidLine,
    Spec,
    Surface,
    help_lines,
    parse_line,
)
from genie_core.room.open.requests import NewRoom, OpenRequest
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.events import (
    Event,
)
from genie_core.room.protocol.frames import HostingOffered, InviteIssued, JoinRequested
from genie_core.room.state.thread import ToolApproval
from genie_core.room.view.continuations import continues
from genie_core.room.view.reader import Earlier
from genie_core.room.view.wording import because
from genie_core.runtime.tasks import start_task
from genie_core.sessions.catalog import Catalog
from genie_core.settings.load import SettingsSource
from genie_core.settings.locations import Locations
from genie_core.settings.model import default_name
from genie_core.text.format import ago, counted
from genie_core.text.safe import visible_line
from genie_tui.cli.plain.lines import (
    call_entries,
    entries_of,
    last_entries,
    request_entry,
    thread_entries,
)
from genie_tui.cli.plain.typed import typed_lines
from genie_tui.cli.plain.visit import Finished, Item, Visit, complain, visit_room

SHOWN: Final = 20
"""Earlier entries that are printed at the start."""

RECORDED: Final = 20.0
"""Seconds that the room has, after the input ended, to record the typed lines."""

ABOUT_LINES: Final = """\
A line that is no command is a message; // begins one with a slash. Lines that are pasted with
/msg, /ask, /reply or /edit belong to it. From a pipe, each line is one message.
[N] begins an entry of the room. A line that begins with > continues the one before."""
Later: TypeAlias = Callable[[Awaitable[Outcome]], None]
NOTHING_ASKED: Final = "Not done: no question waits for you."


def run_plain(opening: OpenRequest, source: SettingsSource, locations: Locations) -> int:
    """Open a room, print its events, and read lines until the input ends; returns the exit code."""
    if isinstance(opening, NewRoom) and opening.title:
        _note_earlier(opening.title, source, locations)
    return visit_room(opening, source, locations, chat)


def _note_earlier(title: str, source: SettingsSource, locations: Locations) -> None:
    """Say that the person has a room with this title already, and how to go on in it."""
    name = source.read().settings.name or default_name()
    earlier = Catalog(locations.sessions).own_titled(title, name)
    if earlier is not None:
        when = ago(time.time() - earlier.last_activity)
        complain(
            f"this is a new room; to go on in your room {earlier.title} of {when}: "
            f"genie-tui resume {earlier.id} --plain"
        )


async def chat(visit: Visit) -> int:
    """Print the events of a room and carry out typed lines; 1 if the connection ends first."""
    joined, past = await visit.enter()
    slow: set[asyncio.Task[None]] = set()
    room = PlainRoom(joined, lambda work: slow.add(start_task(_wait_for(work, visit.put))))
    await visit.output.write(room.welcome())
    await visit.output.write(last_entries(past, joined.state, SHOWN))
    await visit.output.write(room.questions())
    listen(visit.put)
    try:
        while not room.is_over:
            item = await visit.next()
            await visit.output.write(room.take(item))
            await visit.output.write(room.questions())
            if isinstance(item, ContinuationsChanged):
                for each in item.continuations:  # later visits need not tell again
                    await asyncio.to_thread(joined.decline, each.room)
            is_closed = joined.connection.state is ConnectionState.CLOSED
            if is_closed and isinstance(item, ConnectionStatus):
                return 1
    finally:
        for task in slow:
            task.cancel()
    return await _finish(visit, joined)


async def _wait_for(work: Awaitable[Outcome], put: Callable[[Item], None]) -> None:
    try:
        put(Finished(await work))
    except GenieError as error:
        put(Finished(error=error))


async def _finish(visit: Visit, joined: JoinedRoom) -> int:
    """Wait until the typed lines are recorded; 1 if the room refuses some of it."""
    code = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(RECORDED):
            while joined.messages.pending and joined.connection.state is not ConnectionState.CLOSED:
                item = await visit.next()
                if isinstance(item, MessageRejected):
                    complain(f"not sent: {item.reason}: {item.message.text}")
                    code = 1
    return code


def listen(put: Callable[[Item], None]) -> None:
    """Pass on each line of standard input, and its end, from a thread."""
    loop = asyncio.get_running_loop()

    def read() -> None:
        try:
            for line in typed_lines(0, sys.stdin.encoding):
                loop.call_soon_threadsafe(put, line)
        except (OSError, AttributeError):
            pass  # there is no input, or its terminal is gone
        loop.call_soon_threadsafe(put, None)

    threading.Thread(target=read, name="input", daemon=True).start()


class PlainRoom:
    """Turns events and typed lines into entries.

    `later` waits for a slow command and passes its end to `take`; lines typed meanwhile wait.
    A tool call can be allowed only once it was printed in full. Its number is that of the entry
    that requested it, and a join request has the host's number for it: neither is used twice.
    """

    def __init__(self, joined: JoinedRoom, later: Later) -> None:
        self._joined = joined
        self._later = later
        self._asked: Question | None = None
        self._held: deque[str] = deque()
        self._is_busy = self._has_quit = self._has_ended = False
        self._state = joined.state
        self._printed: dict[int, str] = {}
        self._requests: dict[int, JoinRequested] = {}
        self._is_retrying = False
        self._earlier = Earlier()
        self._earlier.begin(joined.state)
        self._own: dict[str, Callable[[Any], Iterator[str]]] = {
            "help": self._help,
            "quit": self._quit,
            "calls": self._calls,
            "show": self._show,
            "allow": partial(self._answer, allow=True),
            "deny": partial(self._answer, allow=False),
            "admit": partial(self._let_in, allow=True),
            "refuse": partial(self._let_in, allow=False),
        }

    @property
    def is_over(self) -> bool:
        """Whether the person has quit, or the input has ended and its commands have, too."""
        return self._has_quit or (self._has_ended and not self._is_busy)

    def welcome(self) -> Iterator[str]:
        joined, hosting = self._joined, self._joined.hosting
        yield f"Room: {visible_line(self._state.title)}, as {visible_line(joined.name)}. /help lists commands."
        if not self._state.handler_for(joined.name)[0]:
            yield "No agent answers guests here."
        if hosting.invites is not None and hosting.invites.invite:
            yield f"Invite: {hosting.invites.invite}"

    # -- events

    def take(self, item: Item) -> Iterator[str]:
        """Return the entries for an event, or carry out a typed line."""
        if item is None:
            self._has_ended = True
        elif isinstance(item, str) and self._is_busy:
            self._held.append(item)
        elif isinstance(item, str):
            yield from self._typed(item)
        elif isinstance(item, Finished):
            yield from self._finished(item)
        elif isinstance(item, EventsRecorded):
            yield from self._recorded(item.events)
        elif isinstance(item, ConnectionStatus):
            yield from self._connection(item)
        elif isinstance(item, JoinRequested):
            yield from self._join_request(item)
        elif isinstance(item, ContinuationsChanged):
            yield from self._continuations(item.continuations)
        else:
            yield from _news(item)

    def _recorded(self, events: Iterable[Event]) -> Iterator[str]:
        for event in events:
            yield from entries_of([event], self._state, self._earlier)

    def questions(self) -> Iterator[str]:
        """Yield each tool call that waits and was not printed yet; then it may be answered."""
        for call in self._waiting():
            if call.seq not in self._printed:
                yield from self._question(call)

    def _waiting(self) -> list[ToolApproval]:
        joined = self._joined
        is_ready = joined.engine.status.state is EngineState.READY  # or none could be answered
        parked = self._state.parked_for(joined.name) if is_ready else []
        return [*parked, *self._state.pending_for(joined.name)]

    def _question(self, call: ToolApproval) -> Iterator[str]:
        approvals, thread = self._joined.approvals, self._state.threads.get(call.message)
        if thread is not None:
            said = str((approvals.schema(call.id) or {}).get("description", ""))
            yield from call_entries(call, thread, approvals.effects(call.id), said)
            self._printed[call.seq] = call.digest

    def _connection(self, status: ConnectionStatus) -> Iterator[str]:
        if status.state is ConnectionState.RETRYING:
            if not self._is_retrying:
                yield because("Connection: lost, and tried again", status.detail)
            self._is_retrying = True
            self._requests.clear()  # the room repeats those that are open
        elif status.state is ConnectionState.ONLINE and self._is_retrying:
            self._is_retrying = False
            yield "Connection: there again."
        elif status.closing_in is not None:
            yield f"Connection: the host suspends the room in {status.closing_in:.0f} s."
        elif status.state is ConnectionState.CLOSED:
            yield because("Connection: ended", status.detail)
            yield from self._next_step()

    def _next_step(self) -> Iterator[str]:
        ended = self._joined.ended
        if ended is not None and ended.saved:
            how = "resume" if ended.next_step is NextStep.HOST else "join"
            yield f"To go on: genie-tui {how} {visible_line(ended.saved)} --plain"

    def _join_request(self, request: JoinRequested) -> Iterator[str]:
        if not request.over:
            self._requests[request.knock] = request
            yield request_entry(request)
        elif self._requests.pop(request.knock, None) is not None:
            yield f"Join request {request.knock} of {visible_line(request.name)} is over."

    def _continuations(self, found: Iterable[Continuation]) -> Iterator[str]:
        """Tell of each room that continues this one."""
        saved = visible_line(self._joined.saved)
        for each in found:
            yield f"Note: {continues(each, time.time())}"
            yield f"To follow: genie-tui join --follow {visible_line(each.by)} {saved} --plain"

    # -- typed lines

    def _typed(self, line: str) -> Iterator[str]:
        asked, self._asked = self._asked, None
        if names := secrets_in(line):
            yield f"Not sent: it contains your secret {visible_line(', '.join(names))}."
            return
        try:
            match parse_line(line, Surface.LINES):
                case MessageLine() as message:
                    if message.text.strip():
                        say(self._joined, message)
                case CommandLine(spec=spec, arguments=arguments):
                    yield from self._command(spec, arguments, asked)
                case PromptLine():
                    yield "Not done: prompts of tool servers need the screen."
                case InvalidLine(text=why):
                    yield f"Not done: {visible_line(why)}"
        except (GenieError, InvalidArguments) as error:
            yield _refusal(error)

    def _command(self, spec: Spec, arguments: object, asked: Question | None) -> Iterator[str]:
        if spec.effect is not None:
            yield from self._ended(spec.effect(self._joined, arguments))
        elif spec.name != "yes":
            yield from self._own[spec.name](arguments)
        elif asked is not None:
            yield from self._ended(asked.act())
        else:
            yield NOTHING_ASKED

    def _ended(self, outcome: Outcome | Awaitable[Outcome]) -> Iterator[str]:
        """Return the entries for the outcome of a command; a slow one comes as `Finished`."""
        if isinstance(outcome, Result):
            yield f"{outcome.title or 'Note'}: {outcome.text}"
        elif isinstance(outcome, Question):
            self._asked = outcome
            yield f"QUESTION: {outcome.title} /yes to {outcome.yes}\n{outcome.text}"
        elif outcome is not None:
            self._is_busy = True
            self._later(outcome)

    def _finished(self, finished: Finished) -> Iterator[str]:
        """Return the entries for a slow command, and carry out the lines typed meanwhile."""
        self._is_busy = False
        if finished.error is not None:
            yield _refusal(finished.error)
        yield from self._ended(finished.outcome)
        while self._held and not self._is_busy:
            yield from self._typed(self._held.popleft())

    def _help(self, _: None) -> Iterator[str]:
        yield from help_lines(Surface.LINES)
        yield from ABOUT_LINES.splitlines()

    def _quit(self, _: None) -> Iterator[str]:
        self._has_quit = True
        return iter(())

    def _calls(self, _: None) -> Iterator[str]:
        waiting = self._waiting()
        for call in waiting:
            yield from self._question(call)
        if not waiting:
            yield "No tool call waits for you."

    def _show(self, number: str) -> Iterator[str]:
        call = next((each for each in self._waiting() if str(each.seq) == number), None)
        if call is not None:
            yield from self._question(call)
        else:
            yield from thread_entries(thread_of(self._state, read_number(number)), self._state)

    def _answer(self, rest: str, *, allow: bool) -> Iterator[str]:
        """Answer a tool call; it can be allowed if the printed call is the one that would run."""
        number, _, why = rest.partition(" ")
        printed = [each for each in self._waiting() if each.seq in self._printed]
        call = next((each for each in printed if str(each.seq) == number), None)
        if call is None:
            waiting = ", ".join(str(each.seq) for each in printed) or "none"
            yield f"Which one? Tool calls that wait for you: {waiting}."
        elif allow and why:
            yield "Not done: /allow takes a number only."
        elif allow and call.digest != self._printed[call.seq]:
            yield f"Not done: call {number} has changed; /show {number} prints it again."
        elif not self._joined.approvals.answer(call.id, Answer(allow, why.strip() or None)):
            yield f"Not done: call {number} no longer waits, or it can't be answered here."
        else:
            yield f"{'Allowed' if allow else 'Denied'} {visible_line(call.tool)} ({number})."

    def _let_in(self, number: str, *, allow: bool) -> Iterator[str]:
        request = next(
            (each for each in self._requests.values() if str(each.knock) == number), None
        )
        if request is None:
            waiting = ", ".join(map(str, self._requests)) or "none"
            yield f"Which one? Join requests that wait for you: {waiting}."
        else:
            sent(self._joined.hosting.admit(request.knock, allow))
            del self._requests[request.knock]
            yield f"{'Admitted' if allow else 'Refused'} {visible_line(request.name)} ({number})."


def _refusal(error: GenieError | InvalidArguments) -> str:
    separator = "." if isinstance(error, NotDone) else ":"  # a sentence, or a part of one
    return f"Not done{separator} {visible_line(str(error))}"


def _news(event: RoomEvent) -> Iterator[str]:
    """Print notes that are not in the log."""
    match event:
        case Notice(text=text):
            yield f"Note: {visible_line(text)}"
        case MessageRejected(message=message, reason=reason):
            yield f"Not sent: {visible_line(reason)}: {visible_line(message.text)}"
        case EditRejected(message=number, text=text, reason=reason):
            yield f"Not edited: {visible_line(reason)}: /edit {number} {visible_line(text)}"
        case RoomRenamed(title=title):
            yield f"Note: the room is now called {visible_line(title)}"
        case EngineStatus(state=EngineState.FAILED, detail=detail):
            yield because("Note: your agent could not be loaded", detail)
        case EngineStatus(backlog=backlog) if backlog:
            yield f"Note: {counted(backlog, 'message')} from before wait for your agent's answer"
        case OtherHostsChanged(hosts=hosts) if hosts:
            names = ", ".join(map(visible_line, hosts))
            yield f"Note: also hosted by {names}; people see only what is said at their own host"
        case InviteIssued(invite=invite):
            yield f"Invite: {invite}"
        case HostingOffered(by=by):
            yield f"Note: {visible_line(by)} asks you to host this room; that needs the full program"
