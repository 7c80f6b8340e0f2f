"""Servers that ask the person's model during a call, on both libraries and in both protocols."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.genie_core.assistant.servers import modern_server
from tests.genie_core.assistant.servers.rig import Bench, Program, bench
from tests.genie_core.assistant.servers.toy_server import tool

from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.sampling import MOST_SAMPLES
from genie_core.room.engine.approval_policy import SAMPLE_MODEL
from genie_testing.turns import Call, Say

pytestmark = pytest.mark.timeout(300)

MODERN = ServerSpec("toy", sys.executable, (str(Path(modern_server.__file__)),))
SAMPLE = Call("toy_sample", {})
QUESTION = {
    "server": "toy",
    "prompt": "Say a word",
    "system prompt": "Be short.",
    "max tokens": 100,
}


@pytest.fixture
def sampling(program: Program) -> ServerSpec:
    program.does("serve", tools=[tool("sample")])
    return program.spec()


class Person:
    """Allows calls, and the use of the model or not."""

    def __init__(self, *, allows: bool = True) -> None:
        self.allows = allows
        self.asked: list[dict[str, Any]] = []

    async def __call__(self, name: str, arguments: dict[str, Any]) -> bool:
        if name == SAMPLE_MODEL:
            self.asked.append(arguments)
            return self.allows
        return True


async def sampled(made: Bench, person: Person, call: Call, *words: str) -> str:
    """Make a call during which the model says these words to the server; the call's result."""
    last = await made.ask(call, *map(Say, words), approve=person)
    return last.tool_results[-1]


async def test_allowed_sample_is_answered(runtime: str, sampling: ServerSpec) -> None:
    person = Person()
    async with bench(runtime, sampling) as made:
        answer = json.loads(await sampled(made, person, SAMPLE, "apple"))
        assert answer["content"] == {"type": "text", "text": "apple"}
        assert (answer["role"], answer["stopReason"]) == ("assistant", "endTurn")
        assert person.asked == [QUESTION]
        to_model = made.model.requests[-2]
        assert "Be short." in to_model.instructions
        assert to_model.tools == []
        assert len(made.notes.usages) == 3, "two of the agent, and one for the server"


async def test_a_denial_costs_nothing(runtime: str, sampling: ServerSpec) -> None:
    async with bench(runtime, sampling) as made:
        answer = json.loads(await sampled(made, Person(allows=False), SAMPLE))
        assert "rejected" in answer["message"]
        assert len(made.model.requests) == 2


async def test_the_protocol_of_2026_asks_in_results(runtime: str) -> None:
    async with bench(runtime, MODERN) as made:
        answer = json.loads(await sampled(made, Person(), SAMPLE, "apple"))
        assert answer["content"]["text"] == "apple"
        denied = await sampled(made, Person(allows=False), SAMPLE)
        assert "rejected" in denied
        assert made.state == "ready"


async def test_excess_requests_are_refused(runtime: str, sampling: ServerSpec) -> None:
    person = Person()
    call = Call("toy_sample", {"times": MOST_SAMPLES + 2})
    async with bench(runtime, sampling) as made:
        answer = json.loads(await sampled(made, person, call, *["apple"] * MOST_SAMPLES))
        assert f"more than {MOST_SAMPLES} times" in answer["message"]
        assert len(person.asked) == MOST_SAMPLES
        assert "may not use the model" in made.notes.notes[-1]
        assert "apple" in await sampled(made, person, SAMPLE, "apple"), "the next call counts anew"


@pytest.mark.parametrize(
    "params",
    [
        {"messages": [{"role": "user", "content": {"type": "text", "text": "x" * 50_000}}]},
        {"messages": [{"role": "user", "content": {"type": "text", "text": ""}}]},
        {"messages": []},
        {
            "messages": [
                {
                    "role": "user",
                    "content": {"type": "image", "data": "AA==", "mimeType": "image/png"},
                }
            ]
        },
    ],
)
async def test_what_a_person_can_not_read_is_refused(
    runtime: str, sampling: ServerSpec, params: dict[str, Any]
) -> None:
    person = Person()
    call = Call("toy_sample", {"params": {"maxTokens": 10, **params}})
    async with bench(runtime, sampling) as made:
        answer = json.loads(await sampled(made, person, call))
    assert "refused" in answer["message"]
    assert person.asked == []
