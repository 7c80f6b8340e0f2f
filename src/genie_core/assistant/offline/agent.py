"""The offline helper as an agent.

It needs no SDK: importing two of them took 65 MB and two fifths of the time to a ready engine.
Its history has pydantic-ai's form, which a model chosen later reads.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final
from uuid import uuid4

from genie_core.agent.approval import ApprovalCallback
from genie_core.agent.base import Agent, AgentInput, AsyncTool
from genie_core.agent.provider.journal_lines import messages_in
from genie_core.agent.provider.progress_reporter import CALL
from genie_core.assistant.offline import answer, messages
from genie_core.assistant.offline.calls import CallResult, call_tool
from genie_core.assistant.offline.requests import PlannedCall, request_in
from genie_core.runtime.progress import doing
from genie_core.text.query import question_in

_WORDS: Final = re.compile(r"\s*\S+|\s+$")


class OfflineAgent(Agent):
    """Answers by rules, with at most one tool call; generates no text.

    Each query is understood by itself. The conversation is kept for a model that is chosen later,
    in the form of an agent on pydantic-ai. `found` returns a line about a model or an agent that is
    there, for those that the helper can't help; it may block.
    """

    def __init__(
        self, tools: Sequence[AsyncTool] = (), found: Callable[[], str] = lambda: ""
    ) -> None:
        self._found = found
        self._tools = {tool.__name__: tool for tool in tools}
        self._messages: list[messages.ModelMessage] = []
        self._unsaved: list[dict[str, Any]] = []

    @property
    def runs_side_by_side(self) -> bool:
        return True

    def get_serialized(self) -> Any:
        return {"messages": list(self._messages)}

    def get_new_messages(self) -> list[Any]:
        lines, self._unsaved = self._unsaved, []
        return lines

    def set_serialized(self, state: Any) -> None:
        self._messages = messages_in(state)
        self._unsaved = []

    @asynccontextmanager
    async def mcp(self) -> AsyncIterator["OfflineAgent"]:
        yield self

    async def run(self, input: AgentInput, callback: ApprovalCallback) -> str:  # noqa: A002 - the contract's name
        return await self.run_streaming(input, callback, lambda _: None)

    async def run_streaming(
        self,
        input: AgentInput,  # noqa: A002 - the contract's name
        callback: ApprovalCallback,
        emit: Callable[[str], None],
    ) -> str:
        """Answer a query, streaming the text word by word."""
        content = await messages.content_of(input.query, input.attachments)
        turn = [messages.request("user-prompt", content)]
        try:
            text = await self._answer(question_in(input.query), callback, turn)
            turn.append(messages.response("text", content=text))
            await _stream(text, emit)
        finally:
            self._unsaved.append({"keep": len(self._messages), "messages": turn})
            self._messages += turn
        return text

    async def _answer(
        self, question: str, ask: ApprovalCallback, turn: list[messages.ModelMessage]
    ) -> str:
        """Make the requested call and report its result; without one, list the possibilities."""
        doing("asking")
        call = request_in(question)
        if call is None:
            found = await asyncio.to_thread(self._found)
            if answer.asks_for_help(question):
                return answer.introduction(self._tools, found)
            return answer.not_understood(found)
        if call.tool not in self._tools:
            return answer.unavailable(call)
        result = await self._call(call, ask, turn)
        doing("asking")
        return answer.from_result(result)

    async def _call(
        self, call: PlannedCall, ask: ApprovalCallback, turn: list[messages.ModelMessage]
    ) -> CallResult:
        ids = {"tool_name": call.tool, "tool_call_id": f"offline-{uuid4().hex[:12]}"}
        doing("writing", CALL)
        turn.append(messages.response("tool-call", args=dict(call.args), **ids))
        result = CallResult(call.tool, "The run was cancelled.", "failed")
        try:
            result = await call_tool(self._tools[call.tool], call, ask)
        finally:  # models refuse a conversation in which a call has no result
            turn.append(messages.request("tool-return", result.text, outcome=result.outcome, **ids))
        return result


async def _stream(text: str, emit: Callable[[str], None]) -> None:
    doing("writing")
    for word in _WORDS.findall(text):
        emit(word)
        await asyncio.sleep(0)  # let the screen keep up
