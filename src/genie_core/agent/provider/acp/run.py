"""A run of an agent program: its updates, permissions, files and terminals."""

import asyncio
import contextvars
import logging
import math
from asyncio import Future, Task
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from acp.exceptions import RequestError
from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    AllowedOutcome,
    CreateTerminalRequest,
    CreateTerminalResponse,
    DeniedOutcome,
    KillTerminalRequest,
    KillTerminalResponse,
    PermissionOption,
    ReadTextFileRequest,
    ReadTextFileResponse,
    ReleaseTerminalRequest,
    ReleaseTerminalResponse,
    RequestPermissionRequest,
    RequestPermissionResponse,
    TerminalOutputRequest,
    TerminalOutputResponse,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    UsageUpdate,
    WaitForTerminalExitRequest,
    WaitForTerminalExitResponse,
    WriteTextFileRequest,
    WriteTextFileResponse,
)

from genie_core.agent.approval import ApprovalCallback, Verdict, approval_id, ask_about
from genie_core.agent.provider.acp.offered_tools import OfferedTool, is_offered, tool_meant
from genie_core.agent.provider.acp.terminals import (
    MOST_TERMINALS,
    NOT_STARTED,
    CommandEnd,
    RunCommand,
    Terminal,
    command_of,
)
from genie_core.agent.provider.acp.tool_calls import (
    HARMLESS,
    KnownCall,
    MappedCall,
    mapped,
    relative_path,
)
from genie_core.agent.provider.approval_answer import denial, failed
from genie_core.agent.provider.progress_reporter import ProgressReporter
from genie_core.errors import GenieError, ToolExited, public_summary, summary, tool_failure
from genie_core.privacy.redaction import hide_secrets
from genie_core.runtime.progress import Usage, acted, doing, note, plan_note
from genie_core.runtime.tasks import start_task
from genie_core.storage.journal import encode_json

log = logging.getLogger(__name__)

MOST_CHARS: Final = 2_000_000
"""Characters of an answer; a longer one ends the run."""

MOST_CALLS: Final = 5_000
"""Tool calls of one run that are distinguished."""

MOST_PENDING: Final = 32
"""Permissions that may wait for an answer at the same time."""

_MOST_NOTES: Final = 200
_MOST_OWN: Final = 30
"""Calls of one run that are recorded as made without asking."""

_LONGEST_NOTE: Final = 300
_LONGEST_OUTPUT: Final = 4_000
"""Characters at the end of a call's output in which its last line is looked for."""

MOST_STEPS: Final = 30
"""Steps of a plan that are shown."""

_DONE: Final = {"completed": "✓", "in_progress": "▸"}

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class FileAccess:
    """Text files of the workspace, by paths relative to it.

    `read` returns the whole text of a file, and `write` replaces it or creates the file. Both
    raise `ValueError` with the reason if they refuse.
    """

    read: Callable[[str], Awaitable[str]]
    write: Callable[[str, str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _AllowedCall:
    """A change of a file or a command that was allowed and is not made yet through us.

    `approval` is the request that allowed it.
    """

    call: MappedCall
    approval: str


class FloodError(Exception):
    """The program sent more than a run may hold."""


class Run:
    """One run: the program's words, calls and requests since its prompt.

    Its reports go to the run in which it was created, whichever task handles the message.
    `failed` gets the exception of a callback that ends the run, such as that of a used-up budget.
    """

    def __init__(
        self,
        session: str,
        callback: ApprovalCallback,
        emit: Callable[[str], None],
        folder: str,
        files: FileAccess | None,
        tools: Mapping[str, OfferedTool] = {},
        commands: RunCommand | None = None,
    ) -> None:
        self.session = session
        self.failed: Future[None] = asyncio.get_running_loop().create_future()
        self.open = True
        self.told: list[str] = []  # denials, which the protocol tells without their reasons
        self.wishes: list[str] = []  # calls that a person wants made instead
        self.context_tokens = 0
        self.session_cost: float | None = None
        self._callback = callback
        self._emit = emit
        self._folder = folder
        self._files = files
        self._tools = tools
        self._commands = commands
        self._terminals: dict[str, Terminal | None] = {}  # None once it was released
        self._unclaimed: set[str] = set()  # terminals that no call has shown so far
        self._served: Counter[str] = Counter()  # calls of our tools without an update so far
        self._context = contextvars.copy_context()
        self._pulse = ProgressReporter()
        self._pieces: list[str] = []
        self._length = 0
        self._denied_at = -1
        self._broken = False
        self._calls: dict[str, KnownCall] = {}
        self._named: set[tuple[str, str]] = set()
        self._asked: set[str] = set()
        self._pending: dict[str, Task[RequestPermissionResponse]] = {}
        self._work: set[Task[Any]] = set()
        self._allowed: list[_AllowedCall] = []
        self._written: set[str] = set()
        self._plan = ""
        self._notes = 0
        self._own_ways = 0

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def take_follow_up(self) -> str:
        """Return the text for the program before this run can end, if anything.

        That is a call that a person wants made in another way; and, if it has ended its turn
        without a word because of a denial, that denial.
        """
        told, self.wishes, self._broken = self.wishes, [], True
        if not told and self._denied_at == self._length:
            told, self.told = self.told, []
        return "\n\n".join(told)

    def end(self) -> None:
        """Answer open requests with a cancellation, and take no more updates."""
        if not self.open:
            return
        self.open = False
        for task in self._work:
            task.cancel()
        self._context.run(self._note_unasked)
        if not self.failed.done():
            self.failed.cancel()

    def take(self, update: Any) -> None:
        """Handle an update."""
        try:
            self._context.run(self._take, update)
        except Exception as error:  # noqa: BLE001 - such as that of a caller's `emit`; it ends the run
            self._fail(error)

    async def permit(self, request: RequestPermissionRequest) -> RequestPermissionResponse:
        """Ask for permission; a request that is repeated while it waits shares the answer."""
        key = request.tool_call.tool_call_id
        again = key in self._pending
        if not again:
            if len(self._pending) >= MOST_PENDING:
                log.warning("more than %d permissions wait: one is refused", MOST_PENDING)
                return cancelled()
            self._pending[key] = self._start(self._permit(request))
            self._pending[key].add_done_callback(lambda _: self._pending.pop(key, None))
        try:
            return await asyncio.shield(self._pending[key])
        except asyncio.CancelledError:
            if self.open and _is_cancelled():
                raise
        except Exception as error:  # noqa: BLE001 - it ends the run, which raises it
            self._fail(error)
        return cancelled()

    async def read(self, request: ReadTextFileRequest) -> ReadTextFileResponse:
        """Read a file for the program, as our own tool would."""
        return await self._working(self._read(request))

    async def write(self, request: WriteTextFileRequest) -> WriteTextFileResponse:
        """Write a file for the program, as our own tool would."""
        return await self._working(self._write(request))

    async def create_terminal(self, request: CreateTerminalRequest) -> CreateTerminalResponse:
        """Run a command for the program, as our own tool would; it ends with the run at the latest."""
        return await self._working(self._create_terminal(request))

    async def terminal_output(self, request: TerminalOutputRequest) -> TerminalOutputResponse:
        """Return the latest output of a command."""
        return self._terminal(request.terminal_id).output

    async def wait_for_terminal(
        self, request: WaitForTerminalExitRequest
    ) -> WaitForTerminalExitResponse:
        """Wait until a command has ended."""
        return await self._working(self._wait_for(self._terminal(request.terminal_id)))

    async def kill_terminal(self, request: KillTerminalRequest) -> KillTerminalResponse:
        """End a command and all its processes; its output stays."""
        self._kill(self._terminal(request.terminal_id))
        return KillTerminalResponse()

    async def release_terminal(self, request: ReleaseTerminalRequest) -> ReleaseTerminalResponse:
        """End a command and forget it."""
        self._kill(self._terminal(request.terminal_id))
        self._terminals[request.terminal_id] = None
        return ReleaseTerminalResponse()

    async def call(self, tool: OfferedTool, arguments: dict[str, Any]) -> Any:
        """Make a call of a tool of ours for the program. Raises `RequestError`."""
        self._served[tool.name] += 1
        return await self._working(self._call(tool, arguments))

    # -- updates, in the context of the run

    def _take(self, update: Any) -> None:
        match update:
            case AgentMessageChunk(content=TextContentBlock(text=text)):
                self._pulse.at("writing")
                self._say(text)
            case AgentMessageChunk(content=content):
                self._note_once(f"sent {content.type}, which can't be shown here")
            case AgentThoughtChunk():
                self._pulse.at("thinking")
            case ToolCallStart() | ToolCallProgress():
                self._take_call(update)
            case AgentPlanUpdate(entries=entries):
                steps = plan_note(
                    f"{_DONE.get(each.status, '·')} {each.content[:_LONGEST_NOTE]}"
                    for each in entries[:MOST_STEPS]
                )
                if entries and steps != self._plan:
                    self._plan = steps
                    self._note(steps)
            case UsageUpdate():
                self.context_tokens = max(self.context_tokens, update.used)
                cost = update.cost
                if cost and cost.currency.upper() == "USD" and math.isfinite(cost.amount):
                    self.session_cost = cost.amount
            case _:
                pass

    def _say(self, text: str) -> None:
        if not text:
            return
        if self._broken and self._pieces and not self._pieces[-1].endswith("\n"):
            text = f"\n\n{text.lstrip()}"
        self._broken = False
        self._length += len(text)
        if self._length > MOST_CHARS:
            raise FloodError(f"an answer of more than {MOST_CHARS:,} characters")
        self._pieces.append(text)
        self._emit(text)

    def _take_call(self, update: ToolCallStart | ToolCallProgress) -> None:
        call = self._remember(update)
        self._broken = True
        name = mapped(call, self._folder).name
        if update.status or isinstance(update, ToolCallStart):
            self._report_calls()
        if call.subject and (call.id, call.subject) not in self._named:
            self._named.add((call.id, call.subject))
            self._note("", f"{name}: {call.subject}")
        if update.status == "failed":
            self._note(f"{name} failed", f"{name} failed: {call.subject}")
        if call.status in ("completed", "failed"):
            if update.status and (last := self._last_line(call)):
                self._note("", f"{name} ended with: {last}")
            self._note_unasked_call(call)
            self._calls[call.id] = replace(
                call, raw_input=None, changes=(), text=""
            )  # may be large

    def _report_calls(self) -> None:
        """Report the latest call that runs; if none does, the program's model is at work."""
        running = [each for each in self._calls.values() if each.status == "in_progress"]
        if running:
            self._pulse.at("calling", mapped(running[-1], self._folder).name)
        else:
            self._pulse.at("asking")

    def _last_line(self, call: KnownCall) -> str:
        """Return the last line of a call's output, of its last terminal or as the program tells it."""
        shown = self._terminals.get(call.terminals[-1]) if call.terminals else None
        text = shown.output.output if shown is not None else call.text
        return text[-_LONGEST_OUTPUT:].strip().rpartition("\n")[2]

    def _remember(self, update: Any) -> KnownCall:
        known = self._calls.get(update.tool_call_id)
        if known is None and len(self._calls) >= MOST_CALLS:
            raise FloodError(f"more than {MOST_CALLS:,} tool calls")
        call = (known or KnownCall(update.tool_call_id)).updated(update)
        self._calls[call.id] = call
        return call

    def _note_unasked(self) -> None:
        for call in self._calls.values():
            if call.status == "in_progress":
                self._note_unasked_call(call)

    def _note_unasked_call(self, call: KnownCall) -> None:
        """Tell the room of a call that was made without asking."""
        if call.kind in HARMLESS or call.id in self._asked:
            return
        if (name := tool_meant(call, self._tools)) and self._served[name]:
            self._served[name] -= 1
            self._asked.add(call.id)  # when it reached us
            return
        paths = {relative_path(self._folder, path) for path in call.paths}
        if paths and paths <= self._written:  # it was asked about when it wrote through us
            return
        if call.terminals and self._unclaimed.issuperset(call.terminals):  # likewise
            self._unclaimed.difference_update(call.terminals)
            self._asked.add(call.id)
            return
        self._asked.add(call.id)  # so that it gets it once
        made = mapped(call, self._folder)
        self._own_ways += 1
        if self._own_ways == 1:
            doing("note", f"acts on its own: {made.name}")
            doing("detail", _line(f"acts on its own: {made.name}: {call.subject}"))
        if self._own_ways <= _MOST_OWN:
            acted(made.name, made.arguments)

    def _note_once(self, text: str) -> None:
        if ("", text) not in self._named:
            self._named.add(("", text))
            self._note(text)

    def _note(self, public: str, whole: str = "") -> None:
        self._notes += 1
        if self._notes <= _MOST_NOTES and not public:
            doing("detail", _line(whole))  # titles repeat arguments, which are the owner's
        elif self._notes <= _MOST_NOTES:
            note(_line(public), _line(whole or public))
        elif self._notes == _MOST_NOTES + 1:
            doing("note", "does more than is shown here")

    # -- requests

    async def _permit(self, request: RequestPermissionRequest) -> RequestPermissionResponse:
        call = self._remember(request.tool_call)
        allow = _option(request.options, "allow_once")
        deny = _option(request.options, "reject_once")
        if allow is not None and is_offered(call, self._tools):
            return _selected(allow)  # we ask when the call reaches us
        self._asked.add(call.id)
        if allow is None:
            self._note_once("asked for a permission that can't be given just once: it was denied")
            return _selected(deny)
        wanted = mapped(call, self._folder)
        verdict = await self._ask(wanted)
        if verdict and not _is_edited(verdict, wanted):
            if wanted.name in ("write_file", "edit_file", "run_command"):
                self._allowed.append(_AllowedCall(wanted, approval_id.get()))
            self._pulse.at("calling", wanted.name)
            return _selected(allow)
        reason = _refusal(verdict)
        if verdict:
            self.wishes.append(f"Your call of {wanted.name} was not made. {reason}")
            said = f"{wanted.name}: a changed call can't be handed back; it is denied and asked for"
            doing("note", said)
        else:
            self.told.append(f"Your call of {wanted.name} was not made. {reason}")
            self._denied_at = self._length
        return _selected(deny, reason)

    async def _ask(self, call: MappedCall, schema: dict[str, Any] | None = None) -> Verdict:
        try:
            return await ask_about(self._callback, call.name, call.arguments, schema)
        except Exception as error:
            self._fail(error)  # directly: it ends the run
            raise

    async def _call(self, tool: OfferedTool, arguments: dict[str, Any]) -> Any:
        try:
            wanted = MappedCall(tool.name, tool.settled(arguments))
        except ValueError as error:
            raise RequestError(-32602, str(error)) from error
        verdict = await self._ask(wanted, {**tool.schema, "description": tool.description})
        if not verdict:
            raise RequestError(-32000, denial(verdict))
        self._pulse.at("calling", tool.name)
        try:
            return await tool(wanted.arguments if verdict.arguments is None else verdict.arguments)
        except Exception as error:
            raise RequestError(-32603, failed(tool.name, error)) from error
        except (SystemExit, KeyboardInterrupt) as error:
            exited = ToolExited(tool.name, error)
            self._fail(exited)
            raise RequestError(-32603, tool_failure(exited)) from error

    async def _read(self, request: ReadTextFileRequest) -> ReadTextFileResponse:
        files, path = self._place(request.path)
        await self._allow(MappedCall("read_file", {"path": path}))
        text = await _served("read_file", files.read(path))
        if request.line is not None or request.limit is not None:
            lines = text.splitlines(keepends=True)
            first = max((request.line or 1) - 1, 0)
            text = "".join(lines[first:][: request.limit])
        return ReadTextFileResponse(content=text)

    async def _write(self, request: WriteTextFileRequest) -> WriteTextFileResponse:
        files, path = self._place(request.path)
        if (approval := await self._covering(files, path, request.content)) is not None:
            approval_id.set(approval)
        else:
            content = request.content
            arguments = {"path": path, "content": content, "overwrite": True}
            await self._allow(MappedCall("write_file", arguments))
        await _served("write_file", files.write(path, request.content))
        self._written.add(path)
        return WriteTextFileResponse()

    async def _create_terminal(self, request: CreateTerminalRequest) -> CreateTerminalResponse:
        if self._commands is None:
            raise RequestError.method_not_found("terminal/create")
        try:
            wanted = command_of(request, self._folder)
        except ValueError as error:
            raise RequestError(-32602, str(error)) from error
        allowed = next((each for each in self._allowed if each.call == wanted), None)
        if allowed is not None:
            self._allowed.remove(allowed)
            approval_id.set(allowed.approval)
        else:
            await self._allow(wanted)
        if sum(each is not None for each in self._terminals.values()) >= MOST_TERMINALS:
            raise RequestError(-32000, f"{MOST_TERMINALS} terminals are open; release some first")
        terminal, id_ = Terminal(request.output_byte_limit), f"terminal-{len(self._terminals) + 1}"
        self._terminals[id_] = terminal
        self._unclaimed.add(id_)
        terminal.work = self._start(self._run_command(self._commands, wanted, terminal))
        return CreateTerminalResponse(terminal_id=id_)

    async def _run_command(
        self, run: RunCommand, call: MappedCall, terminal: Terminal
    ) -> CommandEnd:
        try:
            return await run(call.arguments, terminal.feed)
        except (ValueError, OSError, GenieError) as error:
            note(_line(f"{call.name}: {public_summary(error)}"), _line(f"{call.name}: {error}"))
            terminal.feed(f"{error}\n".encode())
            return NOT_STARTED, ""

    async def _wait_for(self, terminal: Terminal) -> WaitForTerminalExitResponse:
        if terminal.work is not None:
            await asyncio.wait({terminal.work})
        end = terminal.end
        return WaitForTerminalExitResponse(
            exit_code=end.exit_code if end else None, signal=end.signal if end else None
        )

    def _kill(self, terminal: Terminal) -> None:
        if terminal.work is not None:
            terminal.work.cancel()

    def _terminal(self, id_: str) -> Terminal:
        if (terminal := self._terminals.get(id_)) is None:
            raise RequestError(-32602, f"there is no terminal {id_[:80]!r}")
        return terminal

    async def _allow(self, call: MappedCall) -> None:
        """Ask for a call that we make for the program. Raises `RequestError` if it is denied."""
        verdict = await self._ask(call)
        if not verdict or _is_edited(verdict, call):
            raise RequestError(-32000, _refusal(verdict))
        doing("calling", call.name)

    def _place(self, path: str) -> tuple[FileAccess, str]:
        """Return the files and the path in the workspace. Raises `RequestError`."""
        if self._files is None:
            raise RequestError.method_not_found("fs")
        place = relative_path(self._folder, path)
        if not place:
            raise RequestError(-32602, f"{path!r} is hidden or outside of the workspace")
        return self._files, place

    async def _covering(self, files: FileAccess, path: str, content: str) -> str | None:
        """Return the id of the request that allowed this very change, which it covers once."""
        for change in self._allowed:
            wanted = change.call.arguments
            if wanted.get("path") != path:
                continue
            after = wanted.get("content")
            if change.call.name == "edit_file":
                try:
                    before = await files.read(path)
                except (ValueError, OSError):
                    continue
                times = -1 if wanted.get("everywhere") else 1
                is_clear = times < 0 or before.count(wanted["old"]) == 1
                after = before.replace(wanted["old"], wanted["new"], times) if is_clear else None
            if after == content and change in self._allowed:
                self._allowed.remove(change)
                return change.approval
        return None

    def _fail(self, error: Exception) -> None:
        if not self.failed.done():
            self.failed.set_exception(error)
            self.failed.exception()  # retrieved, in case the run ends first

    async def _working(self, work: Coroutine[Any, Any, Result]) -> Result:
        try:
            return await self._start(work)
        except asyncio.CancelledError:
            if self.open and _is_cancelled():
                raise
            raise RequestError(-32800, "the run was cancelled") from None
        except RequestError:
            raise
        except Exception as error:
            self._fail(error)
            raise RequestError(-32603, "the run has failed") from error

    def _start(self, work: Coroutine[Any, Any, Result]) -> "Task[Result]":
        """Start a task that reports to the run; each has its own copy of `approval_id`."""
        task = start_task(work, context=self._context.copy())
        self._work.add(task)
        task.add_done_callback(self._work.discard)
        return task


async def _served(tool: str, work: Awaitable[Result]) -> Result:
    """Do work of a tool of ours; its failure is the answer to the program."""
    try:
        return await work
    except (ValueError, OSError, GenieError) as error:
        said = str(error) if isinstance(error, ValueError) else tool_failure(error)
        note(_line(f"{tool}: {public_summary(error)}"), _line(f"{tool}: {summary(error)}"))
        raise RequestError(-32603, said) from error


def _option(options: list[PermissionOption], kind: str) -> PermissionOption | None:
    return next((each for each in options if each.kind == kind), None)


def _selected(option: PermissionOption | None, reason: str = "") -> RequestPermissionResponse:
    """Choose an option, or cancel if there is none. `reason` goes where extensions may look."""
    if option is None:
        response = cancelled()
    else:
        chosen = AllowedOutcome(outcome="selected", option_id=option.option_id)
        response = RequestPermissionResponse(outcome=chosen)
    return response.model_copy(update={"field_meta": {"reason": reason}}) if reason else response


def cancelled() -> RequestPermissionResponse:
    """Return the answer to a permission request that is no longer open."""
    return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))


def _refusal(verdict: Verdict) -> str:
    """Return why a call is not made, for the program's model."""
    if not verdict:
        return denial(verdict)
    edited = encode_json(verdict.arguments or {}).decode()
    return f"The user denied the call as it is and wants it made like this: {edited}"


def _is_edited(verdict: Verdict, call: MappedCall) -> bool:
    return verdict.arguments is not None and verdict.arguments != call.arguments


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _line(text: str) -> str:
    line = hide_secrets(" ".join(text[: 4 * _LONGEST_NOTE].split()))
    return line if len(line) <= _LONGEST_NOTE else f"{line[:_LONGEST_NOTE]}…"


def usage_of(
    model: str, result: dict[str, Any], run: Run, cost_before: float | None, seconds: float
) -> Usage | None:
    """Return the usage of a prompt from its result, or from the usage updates.

    `cost_before` is the earlier cost of the session, None if it is unknown.

    The protocol says that a result counts the whole session; programs count the turn. Without a
    result's usage, the tokens in the context count as input: the text read at least once.
    """
    is_known = run.session_cost is not None and cost_before is not None
    cost = max((run.session_cost or 0.0) - (cost_before or 0.0), 0.0) if is_known else None
    counts = result.get("usage")
    if not isinstance(counts, dict):
        if not run.context_tokens and cost is None:
            return None
        return Usage(model, input_tokens=run.context_tokens, seconds=seconds, cost=cost)
    read, written, thought, total, cached, stored = (
        value if isinstance(value := counts.get(name), int) and value > 0 else 0
        for name in (
            *("inputTokens", "outputTokens", "thoughtTokens"),
            *("totalTokens", "cachedReadTokens", "cachedWriteTokens"),
        )
    )
    usage = Usage(model, 1, read, written, cached, seconds, cost)
    apart = read + written + thought + cached + stored
    if total == apart:  # the input is counted without the cached part, the output without thoughts
        return replace(usage, input_tokens=read + cached + stored, output_tokens=written + thought)
    return usage
