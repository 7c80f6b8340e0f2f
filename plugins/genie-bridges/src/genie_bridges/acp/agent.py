"""The ACP agent that an editor talks to: prompts are messages, and the room's words are updates."""

import asyncio
import logging
import secrets
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from acp import PROTOCOL_VERSION, RequestError
from acp.interfaces import Client
from acp.schema import (
    AgentCapabilities,
    AllowedOutcome,
    Implementation,
    InitializeResponse,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    RequestPermissionResponse,
    StopReason,
)

from genie_bridges.acp.outbox import Outbox, Update
from genie_bridges.acp.prompts import Block, PromptFile, read_prompt
from genie_bridges.acp.updates import (
    ANSWERS,
    call_ended,
    call_resolved,
    call_start,
    end_line,
    is_line,
    is_message,
    line_of,
    options_for,
    outcome_line,
    question_about,
    quoted,
)
from genie_core import __version__
from genie_core.errors import GenieError
from genie_core.privacy.redaction import mask_known
from genie_core.room.client.events import (
    ContinuationsChanged,
    EventsRecorded,
    MessageRejected,
    Notice,
    RoomEvent,
)
from genie_core.room.client.model import (
    ConnectionState,
    ConnectionStatus,
    EngineState,
    EngineStatus,
    NextStep,
    Severity,
)
from genie_core.room.files.transfer import Direction, Transfer
from genie_core.room.open.opener import RoomOpener
from genie_core.room.open.requests import JoinRoom
from genie_core.room.open.session import RoomSession
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.errors import NotPrivate
from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    FileRef,
    RunCancelled,
    RunFailed,
)
from genie_core.room.protocol.frames import AgentProgress, AnswerDelta, HostingOffered
from genie_core.room.state.thread import RUNNING, MessageThread, ToolApproval
from genie_core.room.view.agents import agent_path
from genie_core.room.view.continuations import continues
from genie_core.runtime.tasks import start_task
from genie_core.text.safe import visible, visible_line

HISTORY: Final = 20
"""Latest messages that a new session shows."""

HEARD: Final = 200
"""Latest messages that are kept for a session that the editor returns to."""

STOPPING: Final = 10.0
"""Seconds within which a cancelled turn ends, even if the work does not."""

NO_COMMANDS: Final = "all members would read it; an editor sends nothing privately"
TO_FOLLOW: Final = "an editor can't follow, so join with genie-tui to do so"
BUSY: Final = "the room still works on your last prompt; cancel it, or wait for its end"

logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Turn:
    """A prompt and its outcome. `seq` is its message's number, 0 before it is recorded."""

    session: str
    ended: "asyncio.Future[StopReason]"
    message: str = ""
    seq: int = 0
    shown: str = ""
    activity: str = ""
    is_cancelled: bool = False

    def end(self) -> None:
        if not self.ended.done():
            self.ended.set_result("cancelled" if self.is_cancelled else "end_turn")


class RoomAgent:
    """An ACP agent that shows one room to a person at an editor.

    All sessions are views of the same room, in which the person is one member. Events are shown in
    the session that was begun or prompted last; one that is returned to first gets the missed ones.
    As a context manager it leaves the room at the end; `serve` sends while it runs.

    `folder` is where relative paths of tool calls begin.
    """

    def __init__(self, opening: JoinRoom, opener: RoomOpener, folder: Path | None = None) -> None:
        self._room = RoomSession(opening, opener, self._take, self._joined)
        self._folder = folder
        self._client: Client | None = None
        self._outbox = Outbox(self._send)
        self._sessions: dict[str, str] = {}
        self._session = ""
        self._seen: dict[str, int] = {}
        self._heard: deque[Event] = deque(maxlen=HEARD)
        self._notices: deque[str] = deque(maxlen=HISTORY)
        self._continued: set[str] = set()
        self._turns: list[_Turn] = []
        self._prompts: dict[int, str] = {}
        self._calls: dict[str, int] = {}
        self._asked: dict[str, asyncio.Task[None]] = {}
        self._is_troubled = False

    async def serve(self) -> None:
        """Send the words of the room, until cancelled; then leave the room."""
        try:
            async with self._room:
                try:
                    await self._outbox.run()
                finally:
                    self._session = ""  # leaving parks open calls, which asks nothing here
                    await self._stop_asking()
        finally:
            for turn in self._turns:
                turn.end()

    async def _stop_asking(self) -> None:
        tasks = list(self._asked.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    # -- the protocol

    def on_connect(self, client: Client) -> None:
        """Take the connection to the editor."""
        self._client = client

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        """Describe the abilities of this agent."""
        return InitializeResponse(
            protocol_version=min(protocol_version, PROTOCOL_VERSION) or PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(
                load_session=False,
                prompt_capabilities=PromptCapabilities(
                    image=True, audio=False, embedded_context=True
                ),
            ),
            agent_info=Implementation(
                name="genie-tui", title="genie-tui room", version=__version__
            ),
            auth_methods=[],
        )

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        """Join the room, or show it in another session."""
        with _told():
            room = await self._room.room()
        session = secrets.token_hex(8)
        self._sessions[session] = cwd
        self._session = session
        # The sending task runs after this response is queued, so the editor knows the session.
        self._greet(room)
        return NewSessionResponse(session_id=session)

    async def prompt(self, prompt: list[Block], session_id: str, **_: Any) -> PromptResponse:
        """Post a message, and wait for the end of the work on it."""
        folder = self._sessions.get(session_id)
        if folder is None:
            raise RequestError(-32602, "there is no such session")
        if any(turn.session == session_id for turn in self._turns):
            raise _error(BUSY)
        turn = _Turn(session_id, asyncio.get_running_loop().create_future())
        self._turns.append(turn)
        try:
            with _told():
                room = await self._room.room()
                self._check_connection(room)
                draft = read_prompt(prompt, folder)
                files = [await _attach(room, file) for file in draft.files]
                self._return_to(session_id, room)
                if turn.is_cancelled:
                    return PromptResponse(stop_reason="cancelled")
                if draft.text.lstrip().startswith(("/msg ", "/ask ")):
                    raise NotPrivate(NO_COMMANDS)
                turn.message = room.messages.send(draft.text, files=files)
            reason = await turn.ended
            await self._outbox.flushed()
            return PromptResponse(stop_reason=reason)
        finally:
            self._turns.remove(turn)

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Stop the person's running work, as `/stop` does."""
        turns = [turn for turn in self._turns if turn.session == session_id]
        for turn in turns:
            turn.is_cancelled = True
            asyncio.get_running_loop().call_later(STOPPING, turn.end)
        room = self._room.joined
        if room is not None:
            room.engine.stop()

    # -- sessions

    def _joined(self, room: JoinedRoom) -> None:
        """Show the room again after it was joined again, maybe with another past."""
        self._is_troubled = False
        if self._session:
            self._seen.clear()
            self._greet(room)

    def _greet(self, room: JoinedRoom) -> None:
        """Tell a new session where it is, and the latest messages."""
        others = [visible_line(one.name) for one in room.state.present() if one.name != room.name]
        with_ = f", with {', '.join(others)}" if others else ""
        self._show(
            f"◇ {visible_line(room.title)}: you are here as {visible_line(room.name)}{with_}"
        )
        for text in self._notices:
            self._show(text)
        self._notices.clear()
        said = [event for event in self._heard if is_message(event)]
        self._tell(said[-HISTORY:], room)
        self._ask_all(room)

    def _return_to(self, session: str, room: JoinedRoom) -> None:
        """Show the room in a session, after the missed entries."""
        if session != self._session:
            self._session = session
            self._tell(self._heard, room)

    def _tell(self, events: Iterable[Event], room: JoinedRoom) -> None:
        seen = self._seen.get(self._session, 0)
        for event in events:
            about = getattr(event.body, "message", event.seq)
            if event.seq > seen and self._prompts.get(about) != self._session:
                self._say(event, room)
        self._seen[self._session] = room.state.head

    def _view_of(self, message: int) -> str:
        """Return the session that shows the work on a message."""
        return self._prompts.get(message, self._session)

    def _show(self, text: str, session: str = "") -> None:
        """Show a line that is no member's words; a later session sees it if there is none yet."""
        if self._session:
            self._outbox.message(session or self._session, quoted(text), "notice")
        else:
            self._notices.append(text)

    def _say(self, event: Event, room: JoinedRoom) -> None:
        if line := line_of(event, room.state):
            self._outbox.message(self._session, quoted(line), f"event-{event.seq}")

    async def _send(self, session: str, update: Update) -> None:
        if self._client is not None:
            await self._client.session_update(session, update)

    # -- the room

    def _check_connection(self, room: JoinedRoom) -> None:
        status = room.connection
        if status.state is not ConnectionState.ONLINE:
            why = mask_known(status.detail) or "the host does not answer"
            raise NotConnected(visible_line(why))

    def _take(self, event: RoomEvent) -> None:
        match event:
            case EventsRecorded(events=events):
                for each in events:
                    self._record(each)
            case AnswerDelta(message=message, text=text):
                self._stream(message, text)
            case AgentProgress():
                self._show_progress(event)
            case ConnectionStatus():
                self._show_connection(event)
            case MessageRejected(message=message, reason=reason):
                self._refused(message.id, message.text, reason)
            case Notice(severity=severity, text=text):
                mark = "·" if severity is Severity.INFO else "⚠"
                self._show(f"{mark} {visible_line(text)}")
            case ContinuationsChanged(continuations=found):
                for room in (each for each in found if each.room not in self._continued):
                    self._continued.add(room.room)
                    self._show(f"⚑ {continues(room, time.time())}; {TO_FOLLOW}")
            case HostingOffered(by=by):
                self._show(
                    f"⚑ {visible_line(by)} asks you to host this room next; an editor can't, so "
                    "join with genie-tui to accept"
                )
            case Transfer(direction=Direction.UP, problem=problem) if problem:
                self._show(f"⚠ {visible_line(event.name)} was not sent: {visible_line(problem)}")
            case EngineStatus(state=EngineState.READY) if self._session and self._room.joined:
                self._ask_all(self._room.joined)
            case _:
                pass

    def _record(self, event: Event) -> None:
        if is_line(event):
            self._heard.append(event)
        room = self._room.joined
        if room is None or not self._session or event.seq <= self._seen.get(self._session, 0):
            return
        self._seen[self._session] = event.seq
        body = event.body
        about = room.state.threads.get(getattr(body, "message", event.seq))
        if about is not None and about.is_hidden:
            return
        own = event.posted if event.by == room.name else None
        match body:
            case _ if own is not None and (turn := self._turn_with(own.id)):
                self._recorded(turn, event.seq, room)
            case DecisionMade(message=message, decision="delegate", reason=reason):
                if reason and self._turn_of(message):
                    self._outbox.thought(self._view_of(message), visible_line(reason))
            case ApprovalRequested(approval=approval):
                self._show_call(room.state.calls.get(approval), room)
            case ApprovalResolved(approval=approval):
                self._show_outcome(approval, body, event.by, room)
            case (
                AnswerPosted(message=message)
                | RunFailed(message=message)
                | RunCancelled(message=message)
            ):
                self._ended(event, message, room)
            case _ if is_line(event):
                self._say(event, room)
        self._end_turns(room)
        self._ask_all(room)

    def _recorded(self, turn: _Turn, seq: int, room: JoinedRoom) -> None:
        turn.seq = seq
        self._prompts[seq] = turn.session
        if turn.is_cancelled:
            room.engine.stop(seq)

    def _ended(self, event: Event, message: int, room: JoinedRoom) -> None:
        """Show the end of a run, and the rest of its answer."""
        for approval in [each for each, of in self._calls.items() if of == message]:
            del self._calls[approval]
            complete = isinstance(event.body, AnswerPosted)
            self._outbox.call(self._view_of(message), call_ended(approval, complete=complete))
        turn = self._turn_of(message)
        if turn is None:
            if is_line(event):
                self._say(event, room)
            return
        if isinstance(event.body, AnswerPosted | RunFailed | RunCancelled):
            self._complete(turn, event.body.text)

    def _complete(self, turn: _Turn, text: str) -> None:
        """Show the rest of an answer that was not streamed; all of it if another text was."""
        if text.startswith(turn.shown):
            rest = text[len(turn.shown) :]
        elif turn.shown.startswith(text):
            rest = ""
        else:
            rest = f"\n\n{text}"
        if rest:
            self._outbox.message(turn.session, visible(rest, tab=0), f"answer-{turn.seq}")

    def _end_turns(self, room: JoinedRoom) -> None:
        for turn in self._turns:
            thread = room.state.threads.get(turn.seq) if turn.seq else None
            if thread is None or thread.phase in RUNNING or turn.ended.done():
                continue
            if line := end_line(thread, room.state):
                self._show(f"· {line}", turn.session)
            turn.end()

    def _stream(self, message: int, text: str) -> None:
        turn = self._turn_of(message)
        if turn is not None:
            turn.shown += text
            self._outbox.message(turn.session, visible(text, tab=0), f"answer-{message}")

    def _show_progress(self, progress: AgentProgress) -> None:
        turn = self._turn_of(progress.message)
        if turn is None or progress.what == "writing":
            return
        who = agent_path(progress.agent)
        line = visible_line(f"{who}: {progress.what} {progress.detail}".rstrip())
        if line != turn.activity:
            turn.activity = line
            self._outbox.thought(turn.session, line)

    def _show_connection(self, status: ConnectionStatus) -> None:
        if self._room.joined is None or not self._session:
            return
        detail = visible_line(mask_known(status.detail))
        match status.state:
            case ConnectionState.ONLINE if status.closing_in is not None:
                self._show("⚠ the host is about to suspend the room")
            case ConnectionState.ONLINE if self._is_troubled:
                self._is_troubled = False
                self._show("◇ you are in the room again")
            case ConnectionState.RETRYING if not self._is_troubled:
                self._is_troubled = True
                why = f": {detail}" if detail else ""
                self._show(f"⚠ the connection to the room is lost{why}; it is tried again")
            case ConnectionState.CLOSED:
                self._closed(self._room.joined, detail)

    def _closed(self, room: JoinedRoom, detail: str) -> None:
        parting = room.ended
        if parting is not None and parting.next_step is NextStep.REJOIN:
            self._show(f"⚠ this session of the room ended: {detail}; it is joined again")
            self._heard.clear()
            self._prompts.clear()
            self._calls.clear()
            for task in self._asked.values():
                task.cancel()
            self._asked.clear()
        else:
            self._show(f"⚠ you are no longer in the room: {detail or 'the connection ended'}")
        for turn in self._turns:
            turn.end()

    def _refused(self, id_: str, text: str, reason: str) -> None:
        turn = self._turn_with(id_)
        about = "" if turn is not None else f" “{visible_line(text[:80])}”"
        self._show(f"⚠ the room refused your message{about}: {visible_line(reason)}")
        if turn is not None:
            turn.end()

    def _turn_with(self, id_: str) -> _Turn | None:
        return next((turn for turn in self._turns if turn.message == id_), None)

    def _turn_of(self, message: int) -> _Turn | None:
        return next((turn for turn in self._turns if turn.seq == message), None)

    # -- tool calls

    def _show_call(self, call: ToolApproval | None, room: JoinedRoom) -> None:
        """Show a call of the person's own agent, or for their own message."""
        thread = room.state.threads.get(call.message) if call is not None else None
        if call is None or thread is None or call.id in self._calls:
            return
        if room.name not in (thread.author, thread.handler):
            return
        self._calls[call.id] = call.message
        effects = room.approvals.effects(call.id)
        start = call_start(call, _asker(thread, room), effects, self._folder)
        self._outbox.call(self._view_of(call.message), start)

    def _show_outcome(
        self, approval: str, resolved: ApprovalResolved, by: str, room: JoinedRoom
    ) -> None:
        asking = self._asked.pop(approval, None)
        if asking is not None:
            asking.cancel()  # it was answered elsewhere, or right here
        call = room.state.calls.get(approval)
        if call is None or approval not in self._calls:
            return
        session = self._view_of(call.message)
        self._outbox.call(session, call_resolved(call, resolved))
        if resolved.outcome != "approved" or resolved.how:
            self._outbox.thought(session, outcome_line(call, resolved, by))
        if resolved.outcome != "approved":
            del self._calls[approval]

    def _ask_all(self, room: JoinedRoom) -> None:
        """Ask about all calls that wait for this person, once each."""
        waiting = room.state.pending_for(room.name)
        if room.engine.status.state is EngineState.READY:
            waiting += room.state.parked_for(room.name)
        for call in waiting:
            thread = room.state.threads.get(call.message)
            is_shown = not call.withheld or room.approvals.effects(call.id) is not None
            if call.id not in self._asked and thread is not None and is_shown:
                self._show_call(call, room)
                name = f"asking about {call.id}"
                self._asked[call.id] = start_task(self._ask(call, thread, room), name=name)

    async def _ask(self, call: ToolApproval, thread: MessageThread, room: JoinedRoom) -> None:
        """Ask the editor about a call, and pass its answer on.

        Without an answer the call stays open: it can be answered at another terminal.
        """
        effects = room.approvals.effects(call.id)
        options = options_for(effects, is_open=call.id in room.state.open)
        question = question_about(call, _asker(thread, room), effects, self._folder)
        await self._outbox.flushed()
        if self._client is None:
            return
        try:
            response = await self._client.request_permission(
                self._view_of(call.message), question, options
            )
        except ConnectionError:
            return
        except Exception:  # an editor that can't ask must not end the room
            logger.exception("the editor could not ask about a call")
            self._show(
                f"⚠ the editor can't ask about a call of {visible_line(call.tool)}; answer it at "
                "another terminal of yours"
            )
            return
        self._answer(call, response, {each.option_id for each in options}, room)

    def _answer(
        self,
        call: ToolApproval,
        response: RequestPermissionResponse,
        offered: set[str],
        room: JoinedRoom,
    ) -> None:
        outcome = response.outcome
        if not isinstance(outcome, AllowedOutcome) or outcome.option_id not in offered:
            self._show(
                f"· {visible_line(call.tool)} still waits: answer it at another terminal of yours"
            )
            return
        if not room.approvals.answer(call.id, ANSWERS[outcome.option_id]):
            self._show(f"⚠ your answer about {visible_line(call.tool)} could not be taken")


class NotConnected(GenieError):
    """The connection to the room is lost."""

    template = "the connection to the room is lost: {why}; it is tried again, so prompt again later"
    why: str


def _asker(thread: MessageThread, room: JoinedRoom) -> str:
    return thread.author if thread.author != room.name else ""


async def _attach(room: JoinedRoom, file: PromptFile) -> FileRef:
    """Attach data of a prompt, which need not be a file on this machine."""
    with tempfile.TemporaryDirectory(prefix="genie-prompt-") as folder:
        path = Path(folder) / file.name
        await asyncio.to_thread(path.write_bytes, file.data)
        return await room.files.attach(path)


def _error(text: str) -> RequestError:
    """Return an error with a text that every editor shows."""
    return RequestError(-32603, text, {"details": text})


@contextmanager
def _told() -> Iterator[None]:
    """Report known failures in one line."""
    try:
        yield
    except GenieError as error:
        raise _error(visible_line(mask_known(str(error)))) from error
    except OSError as error:
        raise _error(f"the disk: {error.strerror or error}") from error
