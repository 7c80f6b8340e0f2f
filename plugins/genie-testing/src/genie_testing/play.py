"""Playing a script without any model or network."""

import asyncio
import inspect
import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from genie_core.agent.approval import ApprovalCallback, ask_about
from genie_core.agent.base import AgentInput, AsyncTool, CutAnswer
from genie_testing.shown import Arrivals, ShownExchange
from genie_testing.turns import Call, Calls, Cut, Raw, Refuse, Say, Stall, Turn, split_words


class Refused(Exception):
    """The script refuses to go on, as a provider might."""


@dataclass(frozen=True)
class Moment:
    """The input of a model when it is its turn."""

    texts: list[str]
    exchanges: list[ShownExchange]
    files: list[str] = field(default_factory=list)


class Play:
    """A run function for `ScriptedAgent` that takes turns as a model would.

    `ScriptedAgent(Play(Call("add", {"a": 1, "b": 2}), Say("3"), tools=[add]))` asks for approval,
    calls `add` and answers. A run goes on until a text; when no turn is left, the query is
    repeated. Each run starts afresh: it is shown nothing of the runs before. Arguments are not
    checked against the types that a tool declares.
    """

    def __init__(self, *turns: Turn, tools: Sequence[AsyncTool] = ()) -> None:
        self._turns = deque(turns)
        self._tools: dict[str, AsyncTool] = {tool.__name__: tool for tool in tools}
        self._moments: Arrivals[Moment] = Arrivals()

    @property
    def requests(self) -> list[Moment]:
        """The requests of each turn."""
        return self._moments.items

    async def reached(self, count: int) -> None:
        """Wait for a number of turns."""
        await self._moments.reached(count)

    async def __call__(
        self,
        input: AgentInput,  # noqa: A002 - as in Agent.run
        callback: ApprovalCallback,
        emit: Callable[[str], None],
    ) -> str:
        exchanges: list[ShownExchange] = []
        while True:
            await self._moments.add(Moment(list(_texts(input, exchanges)), list(exchanges)))
            match self._turns.popleft() if self._turns else Say(f"echo: {input.query}"):
                case Say(text, cut):
                    _stream(text, emit)
                    return CutAnswer(text) if cut else text
                case Call() as call:
                    exchanges.append(await self._exchange(call, callback))
                case Calls(calls):
                    each = (self._exchange(call, callback) for call in calls)
                    exchanges.extend(await _together(*each))
                case Refuse(status, message):
                    raise Refused(message or f"refused with status {status}")
                case Stall(after):
                    _stream(after, emit)
                    await asyncio.Event().wait()
                case Cut(after):
                    _stream(after, emit)
                    raise ConnectionResetError("the answer broke off")
                case Raw():
                    raise TypeError("raw events are those of a provider, not of an agent")

    async def _exchange(self, call: Call, callback: ApprovalCallback) -> ShownExchange:
        written = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
        return ShownExchange(call.name, written, await self._result(call.name, written, callback))

    async def _result(self, name: str, written: str, callback: ApprovalCallback) -> str:
        if (tool := self._tools.get(name)) is None:
            return f"there is no tool {name!r}"
        try:
            arguments: dict[str, Any] = json.loads(written)
            inspect.signature(tool).bind(**arguments)
        except (TypeError, ValueError) as error:
            return f"these are no arguments for {name}: {error}"
        verdict = await ask_about(callback, name, arguments)
        if not verdict:
            return f"not allowed: {verdict.reason or 'no reason given'}"
        if verdict.arguments is not None:
            arguments = verdict.arguments
        try:
            return str(await tool(**arguments))
        except Exception as error:  # noqa: BLE001 - for the model to read
            return f"{name} failed: {error}"


def _texts(given: AgentInput, exchanges: list[ShownExchange]) -> Iterator[str]:
    if given.preferences:
        yield given.preferences
    yield given.query
    for exchange in exchanges:
        yield exchange.result


def _stream(text: str, emit: Callable[[str], None]) -> None:
    for word in split_words(text):
        emit(word)


async def _together(*exchanges: Any) -> list[ShownExchange]:
    """Run all concurrently; unlike `gather`, cancelling leaves none running."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(exchange) for exchange in exchanges]
    return [task.result() for task in tasks]
