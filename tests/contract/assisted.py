"""Two people in one room over loopback, whose ready-made assistants ask scripted models."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.genie_core.room.live_room import Ear, LiveRoom, opened

from genie_core.assistant.build import build_assistant
from genie_core.assistant.config import AssistantConfig, ModelChoice
from genie_core.datastore import DataStore
from genie_core.room.client.model import EngineState
from genie_core.room.engine.config import Engine, EngineLoader
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.events import AnyBody, Event
from genie_core.room.state.thread import MessageThread, ToolApproval
from genie_core.room.transport.websocket import ws_connector
from genie_core.secrets import SecretsProvider
from genie_core.session import GroupSession
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Say

KEY = "sk-scripted-key"
KEY_NAME = "OPENAI_API_KEY"


class Keys(SecretsProvider):
    """The key of the scripted models, and no other."""

    def get_secrets(self, username: str) -> dict[str, str]:
        return {KEY_NAME: KEY}


def served_by(server: FakeOpenAI, name: str = "scripted-1") -> ModelChoice:
    """A model that the scripted server has."""
    return ModelChoice(name, server.base_url, KEY_NAME)


def config(server: FakeOpenAI | None = None, **settings: Any) -> AssistantConfig:
    """Settings with a scripted model, or with none."""
    if server is not None:
        scripted = {"model": "scripted-1", "base_url": server.base_url, "key_name": KEY_NAME}
        settings = {**scripted, **settings}
    return AssistantConfig(**settings)


def ignores(reason: str) -> Say:
    """What a model says that would have a message ignored."""
    return Say(json.dumps({"decision": "ignore", "reason": reason}))


def delegates(query: str, receiver: str, reason: str) -> Say:
    """What a model says that hands a query to the agent."""
    answer = {"decision": "delegate", "query": query, "receiver": receiver, "reason": reason}
    return Say(json.dumps(answer))


def loader(settings: AssistantConfig, owner: str, folder: Path) -> EngineLoader:
    """The engine that the program would load, without its thread.

    The libraries are imported here, before anybody waits.
    """
    assistant = build_assistant(settings, Keys(), owner)
    assistant.changes.folder = folder / "changes"

    async def load() -> Engine:
        store = DataStore(folder)
        session = GroupSession(
            "room",
            assistant.reasoner_factory,
            assistant.agent_factory,
            data_store=store,
            side_by_side=settings.parallel_runs,
        )

        async def close() -> None:
            session.stop()
            await session.join()
            await store.aclose()

        return Engine(
            session,
            await session.remembered(),
            assistant.label,
            assistant.offline,
            close,
            assistant.notices,
            policy=assistant.policy,
            controls=assistant.controls,
        )

    return load


@dataclass
class Guest:
    """A person in the room, with what a screen would be told."""

    joined: JoinedRoom
    ear: Ear

    async def asked(self) -> ToolApproval:
        """Wait for a tool call that waits for a person."""
        await self.ear.until(self._waiting)
        return self._waiting()[0]

    def _waiting(self) -> list[ToolApproval]:
        return [each for each in self.joined.state.open.values() if not each.unasked]

    async def noted(self, *words: str) -> None:
        """Wait until each of these was told of the runs so far."""
        await self.ear.until(
            lambda: all(any(each in note for note in self.notes) for each in words)
        )

    @property
    def notes(self) -> list[str]:
        """What was to be known about runs, beside their answers."""
        return [detail for _, _, what, detail in self.ear.progress if what == "note"]

    async def ended(self, text: str) -> MessageThread:
        """Wait until nothing is done any more about a message."""
        await self.ear.until(lambda: (found := self.said(text)) is not None and found.ended_at)
        found = self.said(text)
        assert found is not None
        return found

    def said(self, text: str) -> MessageThread | None:
        """What became of the latest message with this text."""
        every = reversed(self.joined.state.threads.values())
        return next((each for each in every if each.said.text == text), None)

    async def caught_up(self, other: "Guest") -> None:
        """Wait until everything the other has seen has been seen here."""
        last = other.ear.events[-1].seq
        await self.ear.until(lambda: self.ear.events and self.ear.events[-1].seq >= last)

    def bodies(self, kind: type[AnyBody]) -> list[Any]:
        """What events of a kind said, in order."""
        return [event.body for event in self.ear.events if isinstance(event.body, kind)]

    @property
    def events(self) -> list[Event]:
        """All that was seen."""
        return self.ear.events


@dataclass
class Two:
    """Ann hosts; Bob has joined over loopback."""

    live: LiveRoom
    ann: Guest
    bob: Guest


@asynccontextmanager
async def room_of_two(
    folder: Path,
    ann: AssistantConfig | None = None,
    bob: AssistantConfig | None = None,
    events: Sequence[Event] = (),
    **options: Any,
) -> AsyncIterator[Two]:
    """Open a room in which both engines are ready; settings are for who has an engine.

    With `events` it is one that was suspended after them; `options` are the server's.
    """
    async with opened(events, **options) as live:
        address = str(await live.server.listen(port=0))
        here = await live.joined("ann", loader(ann, "ann", folder / "ann") if ann else None)
        there = await live.joined(
            "bob",
            loader(bob, "bob", folder / "bob") if bob else None,
            connector=ws_connector(address),
        )
        two = Two(live, Guest(*here), Guest(*there))
        await asyncio.gather(*(_ready(each) for each in (two.ann, two.bob)))
        yield two


async def _ready(guest: Guest) -> None:
    over = {EngineState.READY, EngineState.ABSENT, EngineState.FAILED}
    await guest.ear.until(lambda: guest.joined.engine.status.state in over)
    assert guest.joined.engine.status.state is not EngineState.FAILED, (
        guest.joined.engine.status.detail
    )
