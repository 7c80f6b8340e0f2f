"""What engines remember of a room that was suspended, for its host and for a member who returns."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.contract.assisted import KEY, Guest, delegates
from tests.genie_core.room.live_room import Ear

from genie_core.room.client.model import EngineState
from genie_core.room.open.opener import RoomOpener
from genie_core.room.open.requests import JoinRoom, NewRoom, OpenRequest, RejoinRoom, ResumeRoom
from genie_core.room.participant.room import JoinedRoom
from genie_core.settings.locations import Locations
from genie_core.settings.model import Settings
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Say

pytestmark = pytest.mark.timeout(300)

NUMBERS = {"ann": "seven", "bob": "eleven"}


@asynccontextmanager
async def seated(
    name: str, opening: OpenRequest, home: Path, model: FakeOpenAI, port: int
) -> AsyncIterator[Guest]:
    """Somebody in a room whose own engine is loaded, with what the program itself makes of it.

    The port is one that nobody else takes while the room is closed.
    """
    settings = Settings(
        local=True,
        port=port,
        model="scripted-1",
        base_url=model.base_url,
        api_key_env="OPENAI_API_KEY",
        grace=0.0,
    )
    places = Locations(home / "config", home / "data", home / "log")
    ear = Ear()
    joined = await RoomOpener(name, settings, places).enter(opening, ear)
    assert isinstance(joined, JoinedRoom)
    try:
        await ear.until(lambda: joined.engine.status.state is EngineState.READY)
        yield Guest(joined, ear)
    finally:
        await joined.leave()


async def ask(guest: Guest, model: FakeOpenAI, query: str, answer: str) -> None:
    """Say something that is handed to the own agent, which answers."""
    model.script(delegates(query, guest.joined.name, "a question"), Say(answer))
    guest.joined.messages.send(query)
    assert (await guest.ended(query)).answer is not None


async def test_agents_remember_after_suspend(
    tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    homes = {name: tmp_path / name for name in NUMBERS}
    async with FakeOpenAI(api_key=KEY) as anns, FakeOpenAI(api_key=KEY) as bobs:
        models = {"ann": anns, "bob": bobs}
        async with seated("ann", NewRoom("Standup"), homes["ann"], anns, port) as ann:
            join = JoinRoom(ann.joined.hosting.address)
            async with seated("bob", join, homes["bob"], bobs, port) as bob:
                copy = bob.joined.saved
                for guest in (ann, bob):
                    number = NUMBERS[guest.joined.name]
                    await ask(guest, models[guest.joined.name], f"keep {number}", f"kept {number}")
        async with (
            seated("ann", ResumeRoom(""), homes["ann"], anns, port) as ann,
            seated("bob", RejoinRoom(copy), homes["bob"], bobs, port) as bob,
        ):
            for guest in (ann, bob):
                name = guest.joined.name
                await ask(guest, models[name], f"which number had {name}?", "that one")
        for name, number in NUMBERS.items():
            *_, decided, answered = models[name].requests
            other = next(each for each in NUMBERS.values() if each != number)
            told = "\n".join(answered.texts)
            assert f"keep {number}" in told
            assert f"kept {number}" in told
            assert f"kept {other}" not in told  # each agent has a memory of its own
            # The reasoner knows the whole conversation, each message of it once.
            heard = "\n".join(decided.texts)
            for each in NUMBERS.values():
                assert heard.count(f"\nkeep {each}\n") == 1
