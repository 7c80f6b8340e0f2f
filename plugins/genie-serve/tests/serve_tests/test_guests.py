"""The service's own agent, with the offline helper as its model."""

import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec import structs
from tests.genie_core.room.doubles import Guest, Recorder

from genie_core.assistant.errors import AssistantError
from genie_core.room.engine.approval_policy import ToolCall
from genie_core.room.engine.controls import Allowance
from genie_core.room.engine.engine_host import EngineHost
from genie_core.room.engine.tool_effects import UNKNOWN_EFFECTS
from genie_core.room.protocol.events import AnswerPosted, MemberJoined, MemberLeft, MessagePosted
from genie_serve import guests
from genie_serve.config import GuestsTable
from genie_serve.guests import DENIED, DailyTokens, DenyAll
from genie_serve.service import Service
from serve_tests.test_service import LOCAL, joining, places, serving


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guests, "COUNT", 0.05)


GUESTS = structs.replace(LOCAL, guests=GuestsTable(model=""))


async def answered(*guests: Guest, by: str = LOCAL.name) -> None:
    """Wait until so and so answers each of them."""
    for guest in guests:
        name = guest.client.name
        await guest.seen.until(
            partial(lambda name, seen: seen.state.handler_for(name)[0] == by, name)
        )


async def test_a_guest_is_answered_by_the_service(tmp_path: Path) -> None:
    async with serving(tmp_path, GUESTS) as service:
        room = await service.create("First")
        async with joining(room.invite(), "ann") as ann:
            await ann.seen.until(lambda seen: seen.state.handler_for("ann")[0] == "service")
            ann.client.messages.send("@genie hello")
            await ann.seen.until(
                lambda seen: any(isinstance(each.body, AnswerPosted) for each in seen.events)
            )
            said = next(each.body for each in ann.seen.events if each.by == "ann")
            assert isinstance(said, MemberJoined)
            (message,) = (e.body for e in ann.seen.events if isinstance(e.body, MessagePosted))
            assert message.handler == "service"
        await service.archive(room.saved.id)  # the agent leaves before the room closes
        assert not service.rooms


async def test_agent_lingers_after_last_guest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guests, "LINGER", 0.2)
    async with serving(tmp_path, GUESTS) as service:
        room = await service.create("First")
        async with joining(room.invite(), "bob", engine=True) as bob:
            async with joining(room.invite(), "ann"):
                await bob.seen.until(lambda seen: _is_here("service", seen))
            await bob.seen.until(lambda seen: not _is_here("ann", seen))
            await bob.seen.until(lambda seen: not _is_here("service", seen))


async def test_member_with_engine_needs_no_agent(tmp_path: Path) -> None:
    async with serving(tmp_path, GUESTS) as service:
        room, other = await service.create("First"), await service.create("Second")
        async with (
            joining(room.invite(), "ann", engine=True) as ann,
            joining(other.invite(), "bob") as bob,
        ):
            await bob.seen.until(lambda seen: seen.state.handler_for("bob")[0])
            assert ann.seen.state.handler_for("ann") == ("ann", ann.client.device)
            assert "service" not in ann.seen.state.people


def _is_here(name: str, seen: Recorder) -> bool:
    person = seen.state.people.get(name)
    return person is not None and person.present


async def test_daily_tokens_suspend_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 86_400.0
    quota = DailyTokens(1_000, clock=lambda: now)
    monkeypatch.setattr("genie_serve.guests.DailyTokens", lambda limit, clock: quota)
    async with serving(tmp_path, GUESTS) as service:
        room, other = await service.create("First"), await service.create("Second")
        async with joining(room.invite(), "ann") as ann, joining(other.invite(), "bob") as bob:
            await answered(ann, bob)
            quota.spend(1_000)
            await answered(ann, bob, by="")
            now += 86_400
            await answered(ann, bob)


async def test_what_an_agent_uses_counts_for_the_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EngineHost, "controls", SimpleNamespace(allowance=Allowance(tokens=1_000)))
    small = structs.replace(LOCAL, guests=GuestsTable(model="", daily_tokens=1_000))
    async with serving(tmp_path, small) as service:
        room = await service.create("First")
        async with joining(room.invite(), "ann") as ann:
            left = "service"
            await ann.seen.until(
                lambda seen: any(
                    isinstance(each.body, MemberLeft) and each.body.name == left
                    for each in seen.events
                )
            )
            assert "service" not in [each.name for each in ann.seen.state.present()]


async def test_unusable_model_fails_start(tmp_path: Path) -> None:
    config = structs.replace(LOCAL, guests=GuestsTable(model="nobody:x"))
    with pytest.raises(AssistantError, match="nobody"):
        await Service(config, places(tmp_path)).start()


def test_tool_calls_are_denied_with_reason() -> None:
    call = ToolCall("ann", "system", "read_file", {"path": "/etc/passwd"})
    result = DenyAll().evaluate(call)
    assert (result.effect, result.because) == ("deny", DENIED)
    assert not DenyAll().is_covered(call, UNKNOWN_EFFECTS, "*")


def test_without_guests_no_engine_is_loaded() -> None:
    code = "import sys, genie_serve.service; sys.exit('genie_core.session' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
