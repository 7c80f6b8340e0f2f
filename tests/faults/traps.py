"""A session in which something goes wrong at one place, for one person."""

import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from tests.faults.scene import VICTIM

from genie_core.agent import Agent, AgentFactory, AgentInfo, AgentInput
from genie_core.datastore import DataStore
from genie_core.message import Message
from genie_core.preferences import PreferencesSource
from genie_core.reasoner import GroupReasoner, GroupReasonerFactory, Response
from genie_core.secrets import SecretsProvider
from genie_core.session import GroupSession
from genie_testing import ScriptedAgent, ScriptedReasoner

STAGES: Final = {
    "reasoner secrets": "secrets",
    "reasoner factory": "factory",
    "reasoner restored": "state",
    "reasoner processed": "reasoner",
    "reasoner run": "reasoner",
    "preferences": "preferences",
    "agent secrets": "secrets",
    "agent factory": "factory",
    "agent restored": "state",
    "tools start": "tools",
    "agent run": "agent",
}
"""The places where an execution can fail, and the stage it then names."""

SAVING: Final = ("reasoner saved", "agent saved")
"""The places where something can go wrong that costs no answer."""


class Trap:
    """Does `fault` whenever the victim comes to `place`, as long as it is `armed`."""

    def __init__(self, place: str, fault: Callable[[], Any]) -> None:
        self._place = place
        self._fault = fault
        self.armed = True

    def step(self, place: str, owner: str) -> Any:
        if self.armed and place == self._place and owner == VICTIM:
            return self._fault()
        return None

    async def walk(self, place: str, owner: str) -> None:
        outcome = self.step(place, owner)
        if inspect.isawaitable(outcome):
            await outcome


class Vault(SecretsProvider):
    """Knows one secret of everybody: who they are."""

    def __init__(self, trap: Trap, whose: str) -> None:
        self._trap = trap
        self._place = f"{whose} secrets"

    def get_secrets(self, username: str) -> dict[str, str] | None:
        self._trap.step(self._place, username)
        return {"owner": username}


class Wishes(PreferencesSource):
    def __init__(self, trap: Trap) -> None:
        self._trap = trap

    async def get_preferences(self, username: str) -> str | None:
        await self._trap.walk("preferences", username)
        return f"as {username} likes it"


class TrappedReasoner(ScriptedReasoner):
    def __init__(self, trap: Trap, owner: str) -> None:
        super().__init__()
        self._trap = trap
        self._owner = owner

    @property
    def processed(self) -> int:
        self._trap.step("reasoner processed", self._owner)
        return super().processed

    def get_serialized(self) -> Any:
        self._trap.step("reasoner saved", self._owner)
        return super().get_serialized()

    def set_serialized(self, serialized: Any) -> None:
        self._trap.step("reasoner restored", self._owner)
        super().set_serialized(serialized)

    async def run(self, updates: list[Message]) -> Response:
        await self._trap.walk("reasoner run", self._owner)
        return await super().run(updates)


class TrappedAgent(ScriptedAgent):
    def __init__(self, trap: Trap, owner: str) -> None:
        super().__init__()
        self._trap = trap
        self._owner = owner

    def get_serialized(self) -> Any:
        self._trap.step("agent saved", self._owner)
        return super().get_serialized()

    def set_serialized(self, state: Any) -> None:
        self._trap.step("agent restored", self._owner)
        super().set_serialized(state)

    @asynccontextmanager
    async def mcp(self) -> AsyncIterator["TrappedAgent"]:
        await self._trap.walk("tools start", self._owner)
        yield self
        await self._trap.walk("tools end", self._owner)

    async def run_streaming(self, input: AgentInput, *args: Any) -> str:  # noqa: A002 - as in Agent.run
        await self._trap.walk("agent run", self._owner)
        return await super().run_streaming(input, *args)


def trapped_session(
    trap: Trap, store: DataStore | None = None, idle_timeout: float | None = None
) -> GroupSession:
    def create_reasoner(secrets: dict[str, str], owner: str) -> GroupReasoner:
        assert secrets == {"owner": owner}
        trap.step("reasoner factory", owner)
        return TrappedReasoner(trap, owner)

    def create_agent(secrets: dict[str, str]) -> Agent:
        trap.step("agent factory", secrets["owner"])
        return TrappedAgent(trap, secrets["owner"])

    return GroupSession(
        "s",
        GroupReasonerFactory(create_reasoner, idle_timeout, Vault(trap, "reasoner")),
        AgentFactory(
            create_agent,
            AgentInfo("system", "", idle_timeout=idle_timeout),
            secrets_provider=Vault(trap, "agent"),
        ),
        store,
        Wishes(trap),
    )
