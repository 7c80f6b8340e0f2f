"""Agents and reasoners whose model can change between runs."""

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
class _Instance:
    """An agent, the version it was instance for, and its open resources."""

    agent: Any
    version: int
    resources: AsyncExitStack = field(default_factory=AsyncExitStack)
    opened: bool = False


class SwitchableAgent(Agent):
    """An agent that uses the library and model selected when a run begins.

    `now` returns the version of the selection and the library; `make` creates an agent for a
    library with the current model. A new version takes effect at the next run, which keeps the
    history. The two libraries can't read each other's history: both are kept in one list of lines
    and distinguished by their form.
    """

    def __init__(
        self, make: Callable[[Runtime], Agent], now: Callable[[], tuple[int, Runtime]]
    ) -> None:
        self._make = make
        self._now = now
        self._instances: dict[Runtime, _Instance] = {}
        self._lines: dict[Runtime, list[Any]] = {}  # saved lines not yet restored
        self._unsaved: list[Any] = []
        version, runtime = now()
        self._instances[runtime] = _Instance(make(runtime), version)

    @property
    def runs_side_by_side(self) -> bool:
        """As the agent in use says; one that is to be replaced ends its runs first."""
        version, runtime = self._now()
        instance = self._instances.get(runtime)
        return (
            instance is not None
            and instance.version == version
            and instance.agent.runs_side_by_side
        )

    def get_serialized(self) -> Any:
        lines = [line for each in self._lines.values() for line in each]
        for instance in self._instances.values():
            lines += _as_lines(instance.agent.get_serialized())
        return lines

    def get_new_messages(self) -> list[Any]:
        lines, self._unsaved = self._unsaved, []
        for instance in self._instances.values():
            lines += instance.agent.get_new_messages()
        return lines

    def set_serialized(self, state: Any) -> None:
        """Restore lines, or the older state of a pydantic-ai agent."""
        for line in _as_lines(state):
            self._lines.setdefault(_runtime_of(line), []).append(line)
        for runtime, instance in self._instances.items():
            self._restore(runtime, instance.agent)

    @asynccontextmanager
    async def mcp(self) -> AsyncIterator["SwitchableAgent"]:
        """Close the resources of all runs at the end."""
        try:
            yield self
        finally:
            async with AsyncExitStack() as closing:  # each of them, also if others raise
                for instance in self._instances.values():
                    closing.push_async_callback(_close, instance)

    async def run(self, input: AgentInput, callback: ApprovalCallback) -> str:  # noqa: A002 - the contract's name
        agent = await self._current()
        return await agent.run(input, callback)

    async def run_streaming(
        self,
        input: AgentInput,  # noqa: A002 - the contract's name
        callback: ApprovalCallback,
        emit: Callable[[str], None],
    ) -> str:
        agent = await self._current()
        return await agent.run_streaming(input, callback, emit)

    async def _current(self) -> Agent:
        version, runtime = self._now()
        instance = self._instances.get(runtime)
        if instance is None or instance.version != version:
            replacement = _Instance(self._make(runtime), version)
            if instance is None:
                self._restore(runtime, replacement.agent)
            else:
                self._unsaved += instance.agent.get_new_messages()
                replacement.agent.set_serialized(instance.agent.get_serialized())
                await _close(instance)
            instance = self._instances[runtime] = replacement
        if not instance.opened:
            await instance.resources.enter_async_context(instance.agent.mcp())
            instance.opened = True
        agent: Agent = instance.agent
        return agent

    def _restore(self, runtime: Runtime, agent: Agent) -> None:
        lines = self._lines.pop(runtime, None)
        if lines:
            agent.set_serialized(lines)


async def _close(instance: _Instance) -> None:
    instance.opened = False
    await instance.resources.aclose()


def _as_lines(state: Any) -> list[Any]:
    return state if isinstance(state, list) else [state]


def _runtime_of(line: Any) -> Runtime:
    """Return the library that wrote a line; items of the SDK have a role or type."""
    if isinstance(line, dict) and line.get("runtime") == "acp":
        return "acp"
    items = isinstance(line, dict) and not line.keys() & {"messages", "kind"}
    return "openai-agents" if items and line.keys() & {"role", "type"} else "pydantic-ai"


class SwitchableReasoner(GroupReasoner):
    """A reasoner that uses the model selected when a run begins, and keeps the history.

    `version` returns the version of the selection; `make` creates a reasoner with
    `get_new_messages`.
    """

    def __init__(self, make: Callable[[], GroupReasoner], version: Callable[[], int]) -> None:
        self._make = make
        self._version = version
        self._instance = _Instance(make(), version())
        self._unsaved: list[Any] = []

    @property
    def processed(self) -> int:
        count: int = self._instance.agent.processed
        return count

    def get_serialized(self) -> Any:
        return self._instance.agent.get_serialized()

    def get_new_messages(self) -> list[Any]:
        lines, self._unsaved = self._unsaved, []
        return [*lines, *self._instance.agent.get_new_messages()]

    def set_serialized(self, serialized: Any) -> None:
        self._instance.agent.set_serialized(serialized)

    async def run(self, updates: list[Message]) -> Response:
        version = self._version()
        if version != self._instance.version:
            before, replacement = self._instance.agent, self._make()
            self._unsaved += before.get_new_messages()
            replacement.set_serialized(before.get_serialized())
            self._instance = _Instance(replacement, version)
        response: Response = await self._instance.agent.run(updates)
        return response
