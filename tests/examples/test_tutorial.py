import asyncio
from pathlib import Path

import pytest
from examples.service import KEY, PROVIDERS, EnvironmentSecrets, Service
from tests.examples.rulings import delegate, ignore
from tests.limits import scaled

from examples import tutorial
from genie_core.datastore import DataStore
from genie_core.session import GroupSession
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Call, Say

CHECK = "Carol says the Clock Museum is open until eight on Mondays. Is that so?"
ANSWER = "The Clock Museum is closed on Mondays."


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_mistake_is_found_and_corrected(
    provider: str,
    fake: FakeOpenAI,
    service: Service,
    secrets: EnvironmentSecrets,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fake.script(ignore("a question to friends"), ignore("a plan"), delegate(CHECK))
    fake.script(Call("opening_hours", {"place": "Clock Museum"}), Say(ANSWER))
    async with asyncio.timeout(scaled(60)):
        await tutorial.run(service, secrets, provider, tmp_path)
    assert capsys.readouterr().out.splitlines() == [
        "alice: Who is free on Monday?",
        "   ignored: a question to friends",
        "bob: I am. Let's finally see the Clock Museum!",
        "   ignored: a plan",
        "carol: Good idea, it is open until eight on Mondays.",
        f"   delegated: {CHECK}",
        "   system wants to call opening_hours(place='Clock Museum')",
        "   opening_hours was allowed",
        f"system → all: {ANSWER}",
    ]
    assert "Closed on Mondays" in fake.requests[-1].tool_results[0]
    assert "carol" in fake.requests[2].instructions
    saved = await GroupSession.load_messages(DataStore(tmp_path))
    assert saved is not None
    assert [message.sender for message in saved] == ["alice", "bob", "carol", "system"]


async def test_second_run_continues_first(
    fake: FakeOpenAI, service: Service, secrets: EnvironmentSecrets, tmp_path: Path
) -> None:
    for _ in range(2):
        fake.script(ignore("so"), ignore("so"), ignore("so"))
        async with asyncio.timeout(scaled(60)):
            await tutorial.run(service, secrets, "pydantic-ai", tmp_path)
    asked = "\n".join(fake.requests[3].texts)
    assert asked.count("Who is free on Monday?") == 2


async def test_both_frameworks_run_in_turn(
    fake: FakeOpenAI,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GENIE_MODEL", "openai:scripted")
    monkeypatch.setenv("OPENAI_BASE_URL", fake.base_url)
    monkeypatch.setenv(KEY, fake.api_key)
    for provider in (*PROVIDERS, PROVIDERS[0]):
        fake.script(ignore("so"), ignore("so"), delegate(CHECK), Say(ANSWER))
        async with asyncio.timeout(scaled(60)):
            await tutorial.start(provider)
        assert f"system → all: {ANSWER}" in capsys.readouterr().out
    assert "\n".join(fake.requests[-1].texts).count(CHECK) == 2


async def test_wrong_key_fails_each_message(
    service: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = EnvironmentSecrets({KEY: "sk-mistyped-by-alice"})
    async with asyncio.timeout(scaled(60)):
        await tutorial.run(service, wrong, "pydantic-ai", tmp_path)
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("   ")]
    assert len(told) == 3
    assert all("failed: reasoner of" in line and "key" in line for line in told)
    assert "sk-mistyped-by-alice" not in "".join(told)
