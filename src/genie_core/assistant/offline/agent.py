"""The offline helper as an agent."""

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
from genie_core.assistant.offline.ask import PlannedCall
from genie_core.assistant.offline.calls import CallResult, call_tool
from genie_core.assistant.offline.intent import asked_of_helper
from genie_core.runtime.progress import doing
from genie_core.text.query import question_in

_WORDS: Final = re.compile(r"\s*\S+|\s+$")


class OfflineAgent(Agent):
    """Answers by rules, with at most one tool call; generates no text.

    Each query is understood by itself. The conversation is kept for a model that is chosen later,
    in the form of an agent on pydantic-ai. `found` returns a line about a model or an agent that is
    there, for those whom the helper can't help; it may block.
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
        return await self._run(input, callback, emit=None)

    async def run_streaming(
        self,
        input: AgentInput,  # noqa: A002 - the contract's name
        callback: ApprovalCallback,
        emit: Callable[[str], None],
    ) -> str:
        """Answer a query, streaming the text word by word."""
        return await self._run(input, callback, emit)

    async def _run(
        self, query: AgentInput, ask: ApprovalCallback, emit: Callable[[str], None] | None
    ) -> str:
        content = await messages.content_of(query.query, query.attachments)
        turn = [messages.prompt(content)]
        try:
            text = await self._answer(_text_of(content), ask, turn)
            turn.append(messages.answered(text))
            if emit is not None:
                await _stream(text, emit)
        finally:
            self._keep(turn)
        return text

    async def _answer(
        self, prompt: str, ask: ApprovalCallback, turn: list[messages.ModelMessage]
    ) -> str:
        """Make the requested call and report its result; without one, say what is possible."""
        doing("asking")
        question = question_in(prompt)
        call = asked_of_helper(question)
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
        number = f"offline-{uuid4().hex[:12]}"
        doing("writing", CALL)
        turn.append(messages.asked_call(call, number))
        result = CallResult(call.tool, "The run was cancelled.", "failed")
        try:
            result = await call_tool(self._tools[call.tool], call, ask)
        finally:  # models refuse a conversation in which a call has no result
            turn.append(messages.returned(result, number))
        return result

    def _keep(self, turn: list[messages.ModelMessage]) -> None:
        self._unsaved.append({"keep": len(self._messages), "messages": turn})
        self._messages += turn


async def _stream(text: str, emit: Callable[[str], None]) -> None:
    doing("writing")
    for word in _WORDS.findall(text):
        emit(word)
        await asyncio.sleep(0)  # let the screen keep up


def _text_of(content: str | list[Any]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(piece for piece in content if isinstance(piece, str))
