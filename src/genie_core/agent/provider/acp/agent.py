"""An agent that is an installed program."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic
from typing import Any, Final

from acp.schema import (
    CancelNotification,
    ClientCapabilities,
    FileSystemCapabilities,
    LoadSessionRequest,
    LoadSessionResponse,
    NewSessionRequest,
    NewSessionResponse,
    PromptRequest,
    ResumeSessionRequest,
    ResumeSessionResponse,
    TextContentBlock,
)
from pydantic import BaseModel

from genie_core.agent.approval import ApprovalCallback
from genie_core.agent.base import AgentInput, AsyncTool, CutAnswer
from genie_core.agent.provider.acp.client import Client
from genie_core.agent.provider.acp.content import Block, prompt_blocks, summary_of
from genie_core.agent.provider.acp.errors import AgentProgramFailed
from genie_core.agent.provider.acp.history import History
from genie_core.agent.provider.acp.offered_tools import OfferedToolServer
from genie_core.agent.provider.acp.options import SessionSettings
from genie_core.agent.provider.acp.process import START_SECONDS, AgentProcess, AgentProgram
from genie_core.agent.provider.acp.run import FileAccess, FloodError, Run, usage_of
from genie_core.agent.provider.acp.terminals import RunCommand
from genie_core.agent.provider.acp.transport import LONGEST_LINE
from genie_core.agent.provider.agent import ProviderAgent
from genie_core.runtime.agent_options import AgentOptions, owner_command
from genie_core.runtime.progress import doing, note, spent
from genie_core.runtime.tasks import start_task
from genie_core.runtime.threads import first_done

CANCEL_SECONDS: Final = 2.0
"""Seconds that a program may take to end a cancelled prompt before it is killed."""

MOST_FOLLOW_UPS: Final = 3
"""Prompts that a run adds to tell of calls that a person has denied or changed."""

_CUT: Final = frozenset({"max_tokens", "max_turn_requests"})


def _discard(_text: str) -> None:
    """Ignore a piece of text."""


class DefaultAgent(ProviderAgent[History]):
    """Answers with an installed program that speaks ACP; its permission requests need approval.

    The program works in `folder`, starts with the first run and stays until `mcp()` is left;
    without that, it ends with each run. If it dies, the run fails and the next one starts it again.
    `instructions` precede the first prompt of a session, since programs have system prompts of
    their own.

    `tools` are offered to the program through a tool server, beside its own.

    `options` gets the program's modes, options and commands, and a choice there applies from the
    next run on. Only with it is a message that the owner begins with one of these commands passed
    on as it is; no other request can be a command.

    With `files`, the program may read and write the workspace through us, and with `commands` run
    commands. It has tools of its own and may run them without asking; the run then reports that it
    acts on its own.

    The conversation is the program's. Kept here are the session's id, with which the program is
    asked to continue it, and shortened turns, which a program without that ability gets.

    A silent program is not given up: its work may take long.
    """

    def __init__(
        self,
        program: AgentProgram,
        folder: Path | None = None,
        instructions: str = "",
        files: FileAccess | None = None,
        tools: Sequence[AsyncTool] = (),
        *,
        commands: RunCommand | None = None,
        options: AgentOptions | None = None,
        start_seconds: float = START_SECONDS,
        longest_line: int = LONGEST_LINE,
    ) -> None:
        self._program = program
        self._folder = folder
        self._instructions = instructions
        self._files = files
        self._start_seconds = start_seconds
        self._longest_line = longest_line
        self._history = History(program.command)
        self._commands = commands
        self._options = options
        self._settings = SessionSettings(options or AgentOptions(), program.name, program.modes)
        self._client = Client(self._settings.take)
        self._tools = OfferedToolServer(tools, self._client.call)
        self._process: AgentProcess | None = None
        self._session = ""  # of the running process
        self._cost: float | None = 0.0  # of that session, None if not known
        self._before: list[str] = []  # the beginning of the next prompt
        self._held = False

    @property
    def pid(self) -> int:
        """The id of the program's process and group; 0 if none runs."""
        return self._process.pid if self._process is not None and self._process.running else 0

    @asynccontextmanager
    async def mcp(self) -> AsyncIterator["DefaultAgent"]:
        """Keep the program running between runs, and end it and its processes at the end."""
        self._held = True
        try:
            yield self
        finally:
            self._held = False
            await self._close()

    async def _run(
        self, query: AgentInput, callback: ApprovalCallback, emit: Callable[[str], None] | None
    ) -> str:
        try:
            process = await self._running()
            await self._continue_session(process)
            await self._settings.apply(process, self._session)
            capabilities = process.info.agent_capabilities
            command = self._command()
            blocks = await prompt_blocks(
                query,
                capabilities.prompt_capabilities if capabilities else None,
                self._program.name,
                self._before,
                command,
            )
            if not command:
                self._before = []
            return await self._answer(process, query.query, blocks, callback, emit or _discard)
        finally:
            if not self._held:
                await self._close()

    def _command(self) -> str:
        """Return the owner's message if it is a command of the program, else nothing."""
        said = owner_command.get()
        return said if self._options is not None and self._options.is_command(said) else ""

    # -- the process and its session

    async def _running(self) -> AgentProcess:
        if self._process is not None and self._process.running:
            return self._process
        if self._process is not None:
            said = f"{self._program.name} had ended and is started again"
            note(said, said)
            await self._close()
        await self._tools.open()
        process = AgentProcess(
            self._program,
            self._folder,
            self._client,
            start_seconds=self._start_seconds,
            longest_line=self._longest_line,
            shown=self._tools.files,
        )
        serves = self._files is not None
        files = FileSystemCapabilities(read_text_file=serves, write_text_file=serves)
        doing("asking", f"{self._program.name} to start")
        await process.start(ClientCapabilities(fs=files, terminal=self._commands is not None))
        self._process = process
        return process

    async def _continue_session(self, process: AgentProcess) -> None:
        """Open a session: the one of before if the program can, else a new one."""
        if self._session:
            return
        earlier = self._history.session
        if earlier and (found := await self._brought_back(process, earlier)):
            await self._settings.opened(process, earlier, found)
            self._session, self._cost = earlier, None
            return
        asked = NewSessionRequest(cwd=process.folder, mcp_servers=self._tools.described())
        answer = await process.request_within("session/new", asked, NewSessionResponse)
        await self._settings.opened(process, answer.session_id, answer)
        self._session, self._cost = answer.session_id, 0.0
        self._before = [self._instructions] if self._instructions else []
        if self._history.turns:
            self._before.append(summary_of(self._history.turns))

    async def _brought_back(
        self, process: AgentProcess, session: str
    ) -> LoadSessionResponse | ResumeSessionResponse | None:
        """Resume or load a session; repeated parts of it reach no run."""
        can = process.info.agent_capabilities
        about: dict[str, Any] = {"session_id": session, "cwd": process.folder}
        about["mcp_servers"] = self._tools.described()
        request: BaseModel
        answer: type[LoadSessionResponse | ResumeSessionResponse]
        if can and can.session_capabilities and can.session_capabilities.resume is not None:
            method, answer = "session/resume", ResumeSessionResponse
            request = ResumeSessionRequest(**about)
        elif can and can.load_session:
            method, answer = "session/load", LoadSessionResponse
            request = LoadSessionRequest(**about)
        else:
            return None
        try:
            return await process.request_within(method, request, answer)
        except AgentProgramFailed as error:
            if error.kind not in ("request", "answer"):
                raise
            said = f"{self._program.name} has lost the earlier session: a new one begins"
            note(said, f"{said} ({error.detail})")
            return None

    async def _close(self) -> None:
        process, self._process = self._process, None
        self._session = ""
        try:
            if process is not None:
                try:
                    await process.close()
                finally:
                    process.kill()
        finally:
            await self._tools.close()

    # -- a run

    async def _answer(
        self,
        process: AgentProcess,
        query: str,
        blocks: list[Block],
        callback: ApprovalCallback,
        emit: Callable[[str], None],
    ) -> str:
        tools = self._tools.tools
        run = Run(self._session, callback, emit, process.folder, self._files, tools, self._commands)
        self._client.run = run
        reason = ""
        try:
            reason = await self._prompted(process, run, blocks)
            for _ in range(MOST_FOLLOW_UPS):
                if reason not in ("end_turn", "cancelled") or not (more := run.take_follow_up()):
                    break
                block = TextContentBlock(type="text", text=more)
                reason = await self._prompted(process, run, [block])
            return self._result(run, reason)
        finally:
            self._client.run = None
            run.end()
            self._before += [*run.told, *run.wishes]
            if reason != "refusal":  # it leaves out refused ones, too
                self._history.add(query, run.text, self._session)

    async def _prompted(self, process: AgentProcess, run: Run, blocks: list[Block]) -> str:
        """Send a prompt and return why the turn ended."""
        began = monotonic()
        doing("asking")
        asked = PromptRequest(session_id=self._session, prompt=blocks)
        prompt = start_task(process.request("session/prompt", asked))
        try:
            await first_done(prompt, run.failed)
        except asyncio.CancelledError:
            await self._interrupt(process, run, prompt)
            raise
        if run.failed.done() and (error := run.failed.exception()) is not None:
            await self._interrupt(process, run, prompt)
            if isinstance(error, FloodError):
                raise self._program.failed("flood", str(error)) from error
            raise error
        result = prompt.result()
        self._spend(result, run, monotonic() - began)
        return str(result.get("stopReason"))

    async def _interrupt(
        self, process: AgentProcess, run: Run, prompt: "asyncio.Task[dict[str, Any]]"
    ) -> None:
        """End a prompt: ask the program first, then kill it, also if this is cancelled."""
        run.end()
        cancel = CancelNotification(session_id=run.session)
        asking = start_task(process.notify("session/cancel", cancel))
        try:
            await asyncio.wait({prompt}, timeout=CANCEL_SECONDS)
        finally:
            asking.cancel()
            if not prompt.done():
                prompt.cancel()
                process.kill()
            elif not prompt.cancelled():
                prompt.exception()  # retrieved: the cancellation counts

    def _spend(self, result: dict[str, Any], run: Run, seconds: float) -> None:
        if (usage := usage_of(self._program.name, result, run, self._cost, seconds)) is not None:
            spent(usage)
        if run.session_cost is not None:
            self._cost = run.session_cost
        run.context_tokens = 0

    def _result(self, run: Run, reason: str) -> str:
        text = run.text
        if reason == "refusal":
            raise self._program.failed("refused")
        if not text.strip():
            raise self._program.failed("stopped" if reason == "cancelled" else "silent")
        return CutAnswer(text) if reason in _CUT else text
