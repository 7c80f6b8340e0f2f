import asyncio
import json
import re

import pytest
from examples.service import PROVIDERS, EnvironmentSecrets, Service
from tests.examples.rulings import delegate
from tests.limits import scaled

from examples import coordinator
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Call, Say

QUERY = "How many people live on a square kilometre of Graz, Austria?"
ANSWER = "About 2,393 people live on each square kilometre of Graz."


def ask(name: str, query: str) -> Call:
    return Call("run_subagent", {"query": query, "subagent_name": name})


@pytest.fixture
def script(fake: FakeOpenAI) -> None:
    fake.script(delegate(QUERY, "alice"))
    fake.script(ask("atlas", "Population and area of Graz?"))
    fake.script(Call("city", {"name": "Graz"}), Say("305,314 inhabitants on 127.6 km²."))
    fake.script(ask("calculator", "305314 / 127.6"))
    fake.script(Call("calculate", {"left": 305314, "operation": "/", "right": 127.6}))
    fake.script(Say("2392.7"), Say(ANSWER))


@pytest.mark.usefixtures("script")
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_two_agents_work_for_a_third(
    provider: str,
    fake: FakeOpenAI,
    service: Service,
    secrets: EnvironmentSecrets,
    capfd: pytest.CaptureFixture[str],
) -> None:
    async with asyncio.timeout(scaled(60)):
        await coordinator.run(service, secrets, provider)
    shown = re.sub(r":[0-9a-f]{8} ", ":ID ", capfd.readouterr().out)
    asked = [line.strip() for line in shown.splitlines() if "wants to call" in line]
    assert [line.partition("(")[0] for line in asked] == [
        "system wants to call run_subagent",
        "atlas:ID wants to call city",
        "system wants to call run_subagent",
        "calculator:ID wants to call calculate",
    ]
    assert shown.splitlines()[-1] == f"system → alice: {ANSWER}"
    calculator, last = fake.requests[-2:]
    assert "2392.7429" in calculator.tool_results[0]
    reply = json.loads(last.tool_results[0])
    assert reply["subagent_response"] == "305,314 inhabitants on 127.6 km²."


@pytest.mark.usefixtures("script")
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_coordinator_is_offered_both_tools(
    provider: str, fake: FakeOpenAI, service: Service, secrets: EnvironmentSecrets
) -> None:
    async with asyncio.timeout(scaled(60)):
        await coordinator.run(service, secrets, provider)
    assert set(fake.requests[1].tools) == {"run_subagent", "get_group_chat_messages"}
    assert "- atlas: " in fake.requests[1].instructions
    assert "- calculator: " in fake.requests[1].instructions
