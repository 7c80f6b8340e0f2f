"""An agent and a reasoner that have `get_new_messages` only, and a store for them."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from genie_core import (
    Agent,
    AgentFactory,
    AgentInput,
    ApprovalCallback,
    ApprovalPending,
    DataStore,
    Decision,
    GroupReasoner,
    GroupReasonerFactory,
    GroupSession,
    Message,
    Response,
    SecretsProvider,
    SessionEvent,
    __version__,
)


class Echo(Agent):
    def __init__(self, key: str) -> None:
        self.key = key
        self.count = 0

    def get_new_messages(self) -> list[Any]:
        return [self.count]

    def set_serialized(self, state: Any) -> None:
        self.count = state[-1]

    @asynccontextmanager
    async def mcp(self) -> AsyncIterator["Echo"]:
        yield self

    async def run(self, input: AgentInput, callback: ApprovalCallback) -> str:  # noqa: A002 - the contract's name
        self.count += 1
        allowed = await callback("shout", {"text": input.query})
        return f"{self.count} {input.query.upper() if allowed else input.query} {self.key}"


class Always(GroupReasoner):
    def __init__(self) -> None:
        self.seen: list[str] = []
        self.new: list[str] = []

    @property
    def processed(self) -> int:
        return len(self.seen)

    def get_new_messages(self) -> list[str]:
        new, self.new = self.new, []
        return new

    def set_serialized(self, serialized: list[str]) -> None:
        self.seen = list(serialized)

    async def run(self, updates: list[Message]) -> Response:
        contents = [message.content for message in updates]
        self.seen += contents
        self.new += contents
        return Response(Decision.DELEGATE, contents[-1])


class Keys(SecretsProvider):
    def get_secrets(self, username: str) -> dict[str, str] | None:
        return {"KEY": f"of {username}"}


async def allow_all(session: GroupSession) -> list[SessionEvent]:
    events = []
    async for event in session.events():
        events.append(event)
        if isinstance(event.event, ApprovalPending):
            event.event.approval.approve(by=event.message.sender)
    return events


async def main(folder: Path) -> None:
    reasoners = GroupReasonerFactory(lambda _secrets, _owner: Always())
    agents = AgentFactory(lambda secrets: Echo(secrets["KEY"]), secrets_provider=Keys())
    async with asyncio.TaskGroup() as tasks, DataStore(folder) as store:
        async with GroupSession("s", reasoners, agents, store) as session:
            allowing = tasks.create_task(allow_all(session))
            earlier: Sequence[Message] = session.messages[:]
            async for element in session.handle(Message("hello", "alice")).stream():
                if isinstance(element, Message):
                    sys.stdout.write(f"{len(earlier)} {element.content}\n")
        kinds = [type(each.event).__name__ for each in await allowing]
    sys.stdout.write(f"{' '.join(kinds)}\n")


if __name__ == "__main__":
    assert __version__
    asyncio.run(main(Path(sys.argv[1])))
