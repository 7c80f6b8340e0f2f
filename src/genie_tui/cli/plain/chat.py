"""`--plain`: a person's room in lines, printed and typed."""

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Final

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
from genie_core.room.open.requests import NewRoom, OpenRequest
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.events import (
    ChangeBody,
    Event,
    Measure,
    MessageDeleted,
    MessageEdited,
    ReactionChanged,
)
from genie_core.room.protocol.frames import HostingOffered, InviteIssued, JoinRequested
from genie_core.room.state.thread import MessageThread, ToolApproval
from genie_core.room.view.continuations import continues
from genie_core.room.view.wording import Restarts, author_line, because
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
from genie_tui.cli.plain.visit import Item, Visit, complain, visit_room
from genie_tui.commands.parse import (
    InvalidArguments,
    ModerationRequest,
    read_invite,
    read_reasoned,
    read_role,
)

SHOWN: Final = 20
"""Earlier entries that are printed at the start."""

RECORDED: Final = 20.0
"""Seconds that the room has, after the input ended, to record what was typed."""

HELP: Final = """\
A line that is no command is a message; // begins one with a slash. /me TEXT acts.
/reply N TEXT replies to message or answer N, /react N EMOJI reacts to it or takes that back.
/edit N TEXT and /delete N change a message of yours. /show N prints N again.
/msg NAME TEXT writes to one member, /ask TEXT to your agent; only they read it. Lines that are
pasted with /msg, /ask, /reply or /edit belong to it. From a pipe, each line is one message.
/allow N or /deny N REASON answers tool call N, /calls prints those that wait for you.
/admit N or /refuse N answers join request N, /who lists the members. Who has the host's role
can /invite [--new] [--once] [--for 1h] [--as ROLE], /kick, /ban, /pardon, /mute, /unmute
and /free NAME, and /role NAME host|member|guest|observer.
/stop stops your agents, /quit leaves.
[N] begins an entry of the room. A line that begins with > continues the one before."""
NOT_CONNECTED: Final = "Not done: not connected."
NO_INVITE: Final = (
    "There is no invite: the room is only for this machine, or all invites have ended."
)

_MEASURES: Final[dict[str, Measure]] = {
    "/kick": "kick",
    "/ban": "ban",
    "/pardon": "pardon",
    "/mute": "mute",
    "/unmute": "unmute",
    "/free": "free",
}


class Usage(GenieError):
    """A typed command lacks something."""


def run_plain(opening: OpenRequest, source: SettingsSource, locations: Locations) -> int:
    """Open a room, print what happens, and read lines until the input ends; returns the exit code."""
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
    """Print what happens in a room and carry out typed lines; 1 if the connection ends first."""
    joined, past = await visit.enter()
    room = PlainRoom(joined)
    await visit.output.write(room.welcome())
    await visit.output.write(last_entries(past, joined.state, SHOWN))
    await visit.output.write(room.questions())
    listen(visit.put)
    while (item := await visit.next()) is not None:
        await visit.output.write(room.take(item))
        await visit.output.write(room.questions())
        if isinstance(item, ContinuationsChanged):
            for each in item.continuations:  # later visits need not tell again
                await asyncio.to_thread(joined.decline, each.room)
        if joined.connection.state is ConnectionState.CLOSED and isinstance(item, ConnectionStatus):
            return 1
        if room.is_over:
            break
    return await _finish(visit, joined)


async def _finish(visit: Visit, joined: JoinedRoom) -> int:
    """Wait until what was typed is recorded; 1 if the room refuses some of it."""
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
    """Turns what happens and what is typed into entries.

    A tool call can be allowed only once it was printed in full. Its number is that of the entry
    that requested it, and a join request has the host's number for it: neither is used twice.
    """

    def __init__(self, joined: JoinedRoom) -> None:
        self.is_over = False
        self._joined = joined
        self._state = joined.state
        self._printed: dict[int, str] = {}
        self._requests: dict[int, JoinRequested] = {}
        self._is_retrying = False
        self._restarts = Restarts()
        self._restarts.begin(joined.state)

    def welcome(self) -> Iterator[str]:
        joined, hosting = self._joined, self._joined.hosting
        yield f"Room: {visible_line(self._state.title)}, as {visible_line(joined.name)}. /help lists commands."
        if not self._state.handler_for(joined.name)[0]:
            yield "No agent answers guests here."
        if hosting.invites is not None and hosting.invites.invite:
            yield f"Invite: {hosting.invites.invite}"

    # -- what happens

    def take(self, item: RoomEvent | str) -> Iterator[str]:
        """Return the entries for an event, or carry out a typed line."""
        if isinstance(item, str):
            yield from self._typed(item)
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
            if not self._restarts.is_return(event):
                yield from entries_of([event], self._state)
            self._restarts.add(event)

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
        approvals, thread = self._joined.approvals, self._state.exchanges.get(call.message)
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

    # -- what is typed

    def _typed(self, line: str) -> Iterator[str]:
        line = line.lstrip()
        if names := secrets_in(line):
            yield f"Not sent: it contains your secret {visible_line(', '.join(names))}."
            return
        try:
            if line.startswith("//") or not line.startswith("/"):
                self._say(line.removeprefix("/") if line.startswith("//") else line)
            else:
                word, _, rest = line.partition(" ")
                yield from self._command(word, rest.strip())
        except (GenieError, InvalidArguments) as error:
            yield f"Not done: {visible_line(str(error))}"

    def _say(self, text: str) -> None:
        if text.strip():
            self._joined.messages.send(text)

    def _command(self, word: str, rest: str) -> Iterator[str]:
        joined = self._joined
        match word:
            case "/help":
                yield from HELP.splitlines()
            case "/quit":
                self.is_over = True
            case "/who":
                for person in self._state.present():
                    by = author_line(person.name, by_agent=person.is_agent)
                    role = self._state.role_of(person)
                    yield f"Here: {by} ({role}{', muted' if person.muted else ''})"
            case "/stop":
                yield f"Stopped: {joined.engine.stop()}"
            case "/me":
                joined.messages.send(_needed(rest, "/me TEXT"), emote=True)
            case "/msg":
                name, _, text = rest.partition(" ")
                joined.messages.send(_needed(text, "/msg NAME TEXT"), to=name.removeprefix("@"))
            case "/ask":
                joined.messages.send(_needed(rest, "/ask TEXT"), to=joined.name)
            case "/show":
                yield from self._show(rest)
            case "/reply":
                self._reply(*self._message(rest, "/reply N TEXT"))
            case "/edit" | "/delete" | "/react":
                yield from self._change(word, rest)
            case "/calls":
                waiting = self._waiting()
                for call in waiting:
                    yield from self._question(call)
                if not waiting:
                    yield "No tool call waits for you."
            case "/allow" | "/deny":
                yield self._answer(rest, allow=word == "/allow")
            case "/admit" | "/refuse":
                yield self._let_in(rest, allow=word == "/admit")
            case "/role":
                yield from self._moderate(read_role(rest))
            case _ if word in _MEASURES:
                yield from self._moderate(read_reasoned(_MEASURES[word], rest))
            case "/invite":
                yield from self._invite(rest)
            case _:
                yield f"There is no command {visible_line(word)}. /help lists all commands."

    def _show(self, number: str) -> Iterator[str]:
        call = next((each for each in self._waiting() if str(each.seq) == number), None)
        if call is not None:
            yield from self._question(call)
        else:
            thread, _, _ = self._message(number, "/show N")
            yield from thread_entries(thread, self._state)

    def _reply(self, thread: MessageThread, seq: int, text: str) -> None:
        to = thread.said.to
        to = thread.author if to and thread.author != self._joined.name else to
        self._joined.messages.send(_needed(text, "/reply N TEXT"), reply_to=seq, to=to)

    def _change(self, word: str, rest: str) -> Iterator[str]:
        thread, seq, text = self._message(rest, f"{word} N")
        me, is_answer = self._joined.name, seq != thread.seq
        change: ChangeBody
        if word == "/react":
            if thread.is_private:
                raise Usage("all members would see a reaction to a private message")
            shown = thread.answer_reactions if is_answer else thread.reactions
            reaction = _needed(text, "/react N EMOJI")
            on = me not in shown.get(reaction, ())
            change = ReactionChanged(thread.seq, reaction, on=on, answer=is_answer)
        elif thread.author != me or is_answer or thread.is_deleted:
            raise Usage(f"[{seq}] is no message of yours")
        elif word == "/edit":
            change = MessageEdited(seq, _needed(text, "/edit N TEXT"))
        else:
            change = MessageDeleted(seq)
        if not self._joined.messages.change(change):
            yield NOT_CONNECTED

    def _message(self, rest: str, usage: str) -> tuple[MessageThread, int, str]:
        """Return the message that a number means, that number, and what follows it.

        The number may be that of the answer.
        """
        number, _, text = _needed(rest, usage).partition(" ")
        for seq, thread in self._state.exchanges.items():
            if number in (str(seq), str(thread.answered_seq)) and not thread.is_hidden:
                return thread, int(number), text.strip()
        raise Usage(f"there is no message {number}, or it is too old")

    def _answer(self, rest: str, *, allow: bool) -> str:
        """Answer a tool call; it can be allowed if what was printed is what would run."""
        number, _, why = rest.partition(" ")
        printed = [each for each in self._waiting() if each.seq in self._printed]
        call = next((each for each in printed if str(each.seq) == number), None)
        if call is None:
            waiting = ", ".join(str(each.seq) for each in printed) or "none"
            return f"Which one? Tool calls that wait for you: {waiting}."
        if allow and why:
            return "Not done: /allow takes a number only."
        if allow and call.digest != self._printed[call.seq]:
            return f"Not done: call {number} has changed; /show {number} prints it again."
        if not self._joined.approvals.answer(call.id, Answer(allow, why.strip() or None)):
            return f"Not done: call {number} no longer waits, or it can't be answered here."
        return f"{'Allowed' if allow else 'Denied'} {visible_line(call.tool)} ({number})."

    def _let_in(self, number: str, *, allow: bool) -> str:
        request = next(
            (each for each in self._requests.values() if str(each.knock) == number), None
        )
        if request is None:
            waiting = ", ".join(map(str, self._requests)) or "none"
            return f"Which one? Join requests that wait for you: {waiting}."
        if not self._joined.hosting.admit(request.knock, allow):
            return NOT_CONNECTED
        del self._requests[request.knock]
        return f"{'Admitted' if allow else 'Refused'} {visible_line(request.name)} ({number})."

    def _moderate(self, request: ModerationRequest) -> Iterator[str]:
        self._check_authority()
        if not self._joined.hosting.moderate(
            request.measure, request.name, role=request.role, reason=request.reason
        ):
            yield NOT_CONNECTED

    def _invite(self, rest: str) -> Iterator[str]:
        """Print an invite of a room that is hosted here, or ask the host for one."""
        options, hosting = read_invite(rest), self._joined.hosting
        self._check_authority()
        if hosting.invites is not None:
            make = hosting.invites.renew if options.new else hosting.invites.issue
            if options.makes_one:
                made = make(uses=options.uses, lifetime=options.lifetime, role=options.role)
            else:
                made = hosting.invites.invite
            yield f"Invite: {made}" if made else NO_INVITE
        elif not hosting.ask_for_invite(
            uses=options.uses, lifetime=options.lifetime, role=options.role, new=options.new
        ):
            yield NOT_CONNECTED

    def _check_authority(self) -> None:
        if not self._state.administers(self._joined.name):
            raise Usage(f"only the host may do that, and {self._state.host} is hosting")


def _needed(text: str, usage: str) -> str:
    if not text.strip():
        raise Usage(f"type {usage}")
    return text.strip()


def _news(event: RoomEvent) -> Iterator[str]:
    """Tell what is not in the log."""
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
