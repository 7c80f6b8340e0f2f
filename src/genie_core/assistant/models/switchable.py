"""Agents and reasoners that can be given another model between two runs, and go on."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from genie_core.agent import Agent, AgentInput
from genie_core.agent.approval import ApprovalCallback
from genie_core.assistant.config import Runtime
from genie_core.message import Message
from genie_core.reasoner import GroupReasoner, Response


@dataclass(slots=True)
class _Made:
    """An agent, the version that it was made as, and what is open for it."""

    agent: Any
    version: int
    resources: AsyncExitStack = field(default_factory=AsyncExitStack)
    opened: bool = False


class SwitchableAgent(Agent):
    """Runs on the library, and asks the model, that are chosen when a run begins.

    `now` tells the version of the choice and the library; `make` makes an agent for a library as
    chosen now. A change of the version takes effect with the next run, which remembers those before
    it. What was said to an agent on one library is unknown to the one on the other: neither can
    read the other's memory. Both are kept, in one list of lines, which are told apart by their form.
    """

    def __init__(
        self, make: Callable[[Runtime], Agent], now: Callable[[], tuple[int, Runtime]]
    ) -> None:
        self._make = make
        self._now = now
        self._made: dict[Runtime, _Made] = {}
        self._lines: dict[Runtime, list[Any]] = {}  # saved ones that nobody has read yet
        self._unsaved: list[Any] = []
        version, runtime = now()
        self._made[runtime] = _Made(make(runtime), version)

    def get_serialized(self) -> Any:
        """Return all lines."""
        lines = [line for each in self._lines.values() for line in each]
        for made in self._made.values():
            lines += _as_lines(made.agent.get_serialized())
        return lines

    def get_new_messages(self) -> list[Any]:
        """Return the lines that were added since the last call, to be journalled."""
        lines, self._unsaved = self._unsaved, []
        for made in self._made.values():
            lines += made.agent.get_new_messages()
        return lines

    def set_serialized(self, state: Any) -> None:
        """Take over lines, or the state of a pydantic-ai agent as it was saved once."""
        for line in _as_lines(state):
            self._lines.setdefault(_runtime_of(line), []).append(line)
        for runtime, made in self._made.items():
            self._remind(runtime, made.agent)

    @asynccontextmanager
    async def mcp(self) -> AsyncIterator["SwitchableAgent"]:
        """Close at the end what runs have opened."""
        try:
            yield self
        finally:
            async with AsyncExitStack() as closing:  # each of them, whatever the others raise
                for made in self._made.values():
                    closing.push_async_callback(_close, made)

    async def run(self, input: AgentInput, callback: ApprovalCallback) -> str:  # noqa: A002 - the contract's name
        """Answer a query, without streaming."""
        agent = await self._current()
        return await agent.run(input, callback)

    async def run_streaming(
        self,
        input: AgentInput,  # noqa: A002 - the contract's name
        callback: ApprovalCallback,
        emit: Callable[[str], None],
    ) -> str:
        """Answer a query, streaming the text."""
        agent = await self._current()
        return await agent.run_streaming(input, callback, emit)

    async def _current(self) -> Agent:
        version, runtime = self._now()
        made = self._made.get(runtime)
        if made is None or made.version != version:
            fresh = _Made(self._make(runtime), version)
            if made is None:
                self._remind(runtime, fresh.agent)
            else:
                self._unsaved += made.agent.get_new_messages()
                fresh.agent.set_serialized(made.agent.get_serialized())
                await _close(made)
            made = self._made[runtime] = fresh
        if not made.opened:
            await made.resources.enter_async_context(made.agent.mcp())
            made.opened = True
        agent: Agent = made.agent
        return agent

    def _remind(self, runtime: Runtime, agent: Agent) -> None:
        lines = self._lines.pop(runtime, None)
        if lines:
            agent.set_serialized(lines)


async def _close(made: _Made) -> None:
    made.opened = False
    await made.resources.aclose()


def _as_lines(state: Any) -> list[Any]:
    return state if isinstance(state, list) else [state]


def _runtime_of(line: Any) -> Runtime:
    """Which library's agent wrote a line: the items of the SDK have a role or a type."""
    items = isinstance(line, dict) and not line.keys() & {"messages", "kind"}
    return "openai-agents" if items and line.keys() & {"role", "type"} else "pydantic-ai"


class SwitchableReasoner(GroupReasoner):
    """Decides with the model that is chosen when a decision is due, remembering those before.

    `version` tells the version of the choice; `make` makes a reasoner as chosen now, which can tell
    what is new in its state.
    """

    def __init__(self, make: Callable[[], GroupReasoner], version: Callable[[], int]) -> None:
        self._make = make
        self._version = version
        self._made = _Made(make(), version())
        self._unsaved: list[Any] = []

    @property
    def processed(self) -> int:
        """How many messages were taken in."""
        count: int = self._made.agent.processed
        return count

    def get_serialized(self) -> Any:
        """Return the whole state."""
        return self._made.agent.get_serialized()

    def get_new_messages(self) -> list[Any]:
        """Return what was added since the last call, to be journalled."""
        lines, self._unsaved = self._unsaved, []
        return [*lines, *self._made.agent.get_new_messages()]

    def set_serialized(self, serialized: Any) -> None:
        """Take over a state or the lines of a journal."""
        self._made.agent.set_serialized(serialized)

    async def run(self, updates: list[Message]) -> Response:
        """Take in messages and decide on the last one."""
        version = self._version()
        if version != self._made.version:
            before, fresh = self._made.agent, self._make()
            self._unsaved += before.get_new_messages()
            fresh.set_serialized(before.get_serialized())
            self._made = _Made(fresh, version)
        response: Response = await self._made.agent.run(updates)
        return response
