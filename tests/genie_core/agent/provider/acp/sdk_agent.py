"""An agent made with the SDK's own server, in the manner of its examples.

It plans, asks whether it may write `made_by_agent.txt`, writes it in a terminal of the client if
that has some, and tells each step. Started as a program; it speaks over stdio.
"""

import asyncio
import subprocess
from typing import Any, cast
from uuid import uuid4

import acp
from acp.schema import (
    AgentCapabilities,
    Implementation,
    InitializeResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    SessionMode,
    SessionModeState,
    SetSessionModeResponse,
)

COMMAND = "touch made_by_agent.txt"
ANSWER = "Done, the file is there."


class FileMaker:
    """Answers every prompt alike. It has only those methods that its capabilities ask for."""

    def __init__(self) -> None:
        self._client: acp.Client
        self._folders: dict[str, str] = {}
        self._cancelled = asyncio.Event()
        self._has_terminals = False

    def on_connect(self, conn: acp.Client) -> None:
        self._client = conn

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: Any = None,
        client_info: Any = None,
        **_: Any,
    ) -> InitializeResponse:
        self._has_terminals = bool(client_capabilities and client_capabilities.terminal)
        return InitializeResponse(
            protocol_version=protocol_version,
            agent_capabilities=AgentCapabilities(),
            agent_info=Implementation(name="file-maker", title="File maker", version="1"),
        )

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        session = uuid4().hex
        self._folders[session] = cwd
        modes = [SessionMode(id=each, name=each.title()) for each in ("ask", "plan")]
        return NewSessionResponse(
            session_id=session,
            modes=SessionModeState(current_mode_id="ask", available_modes=modes),
        )

    async def set_session_mode(
        self, session_id: str, mode_id: str, **_: Any
    ) -> SetSessionModeResponse:
        await self._say(session_id, f"(now in {mode_id}) ")
        return SetSessionModeResponse()

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        self._cancelled.clear()
        steps = ["Ask", "Write"]
        plan = [acp.plan_entry(each, status="pending") for each in steps]
        await self._client.session_update(session_id, acp.update_plan(plan))
        if "wait" in prompt[-1].text:
            await self._say(session_id, "I wait.")
            await self._cancelled.wait()
            return PromptResponse(stop_reason="cancelled")
        raw = {"command": COMMAND, "cwd": self._folders[session_id]}
        call = acp.start_tool_call("call-1", "Make a file", kind="execute", raw_input=raw)
        await self._client.session_update(session_id, call)
        answer = await self._client.request_permission(
            session_id=session_id,
            tool_call=acp.update_tool_call("call-1", kind="execute", raw_input=raw),
            options=[
                PermissionOption(option_id="a", name="Always", kind="allow_always"),
                PermissionOption(option_id="y", name="Yes", kind="allow_once"),
                PermissionOption(option_id="n", name="No", kind="reject_once"),
            ],
        )
        if getattr(answer.outcome, "option_id", "") != "y":
            await self._client.session_update(
                session_id, acp.update_tool_call("call-1", status="failed")
            )
            await self._say(session_id, "Then not.")
            return PromptResponse(stop_reason="end_turn")
        await self._run(session_id)
        for word in ANSWER.split(" "):
            await self._say(session_id, f"{word} ")
        return PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id: str, **_: Any) -> None:
        self._cancelled.set()

    async def _run(self, session: str) -> None:
        folder, words = self._folders[session], COMMAND.split()
        if not self._has_terminals:
            subprocess.run(words, cwd=folder, check=True)
            done = acp.update_tool_call("call-1", status="completed")
        else:
            terminal = await self._client.create_terminal(
                command=COMMAND, session_id=session, cwd=folder
            )
            id_ = terminal.terminal_id
            await self._client.wait_for_terminal_exit(session_id=session, terminal_id=id_)
            await self._client.release_terminal(session_id=session, terminal_id=id_)
            done = acp.update_tool_call(
                "call-1", status="completed", content=[acp.tool_terminal_ref(id_)]
            )
        await self._client.session_update(session, done)

    async def _say(self, session: str, text: str) -> None:
        await self._client.session_update(session, acp.update_agent_message_text(text))


if __name__ == "__main__":
    asyncio.run(acp.run_agent(cast("acp.Agent", FileMaker())))
