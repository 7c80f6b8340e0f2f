"""Looking at models through the real client libraries, over a real socket."""

import json
import socket

import pytest
from tests.genie_core.agent.provider.both import Reports
from tests.genie_core.assistant.models.asking import RUNTIMES

from genie_core.assistant.config import AgentSpec, AssistantConfig, ModelChoice, Runtime
from genie_core.assistant.models.probe import ProbeResult, Subject, examine, subjects_of
from genie_core.runtime.progress import reporting_to
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Call, Refuse, Say, Stall, Turn

pytestmark = [pytest.mark.timeout(100), pytest.mark.usefixtures("loopback")]

DECISION = Say(json.dumps({"decision": "ignore", "query": None, "receiver": None, "reason": "ok"}))
ADD = Call("add", {"first": 2, "second": 3})


@pytest.fixture(params=RUNTIMES)
def runtime(request: pytest.FixtureRequest) -> Runtime:
    chosen: Runtime = request.param
    return chosen


async def look(
    runtime: Runtime, *turns: Turn, decides: bool = False, acts: bool = True, limit: float = 30.0
) -> tuple[ProbeResult, int]:
    """What is found, and how many requests that took."""
    async with FakeOpenAI(*turns) as server:
        subject = Subject(
            ModelChoice("m", server.base_url, "OPENAI_API_KEY"), runtime, (), decides, acts
        )
        finding = await examine(subject, {"OPENAI_API_KEY": server.api_key}, limit)
        return finding, len(server.requests)


async def test_a_model_that_can_all_of_it(runtime: Runtime) -> None:
    finding, requests = await look(runtime, ADD, Say("5"), DECISION, decides=True)
    assert (finding.tools, finding.structured, finding.trouble) == (True, "by schema", "")
    assert finding.latency is not None
    assert requests == 3


async def test_latency_is_of_first_request(runtime: Runtime) -> None:
    with reporting_to(reports := Reports()):
        finding, _ = await look(runtime, ADD, Say("5"), DECISION, decides=True)
    assert finding.latency == reports.usages[0].seconds


async def test_deciding_model_is_asked_no_tool() -> None:
    finding, requests = await look("pydantic-ai", DECISION, decides=True, acts=False)
    assert (finding.tools, finding.structured, finding.trouble) == (None, "by schema", "")
    assert requests == 1


async def test_model_without_tools_still_decides(runtime: Runtime) -> None:
    refusal = Refuse(400, "m does not support tools")
    finding, _ = await look(runtime, refusal, DECISION, decides=True)
    assert (finding.tools, finding.structured) == (False, "by schema")
    assert "choose another model" in finding.trouble


async def test_talking_without_call_is_detected(runtime: Runtime) -> None:
    finding, _ = await look(runtime, Say("I would call add and get 5"))
    assert finding.tools is False
    assert "without the requested tool call" in finding.trouble


async def test_a_model_that_calls_for_ever_can_call(runtime: Runtime) -> None:
    finding, requests = await look(runtime, *[ADD] * 5)
    assert (finding.tools, finding.trouble, requests) == (True, "", 2)


async def test_decisions_that_nobody_can_read_are_told() -> None:
    finding, _ = await look("pydantic-ai", *[Say("hm")] * 3, decides=True, acts=False)
    assert finding.structured == "no"
    assert "cannot be used" in finding.trouble


@pytest.mark.parametrize(
    ("turn", "words"),
    [
        (Refuse(401), "does not accept the key"),
        (Refuse(404), "does not exist there"),
        (Refuse(429, code="insufficient_quota", retry_after=60), "quota or credit is used up"),
        (Refuse(429, retry_after=60), "takes no more requests"),
        (Refuse(500), "failed on the provider's side"),
    ],
    ids=["key", "model", "quota", "limit", "server"],
)
async def test_trouble_is_one_line_and_request(runtime: Runtime, turn: Turn, words: str) -> None:
    finding, requests = await look(runtime, turn, decides=True)
    assert words in finding.trouble
    assert "\n" not in finding.trouble
    assert requests == 1


async def test_silent_model_times_out(runtime: Runtime) -> None:
    finding, _ = await look(runtime, Stall(), limit=0.5)
    assert "did not answer" in finding.trouble


async def test_a_server_that_is_not_there(runtime: Runtime) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    choice = ModelChoice("m", f"http://127.0.0.1:{port}/v1")
    finding = await examine(Subject(choice, runtime, acts=True), {})
    assert f"http://127.0.0.1:{port}/v1 cannot be reached" in finding.trouble


async def test_what_cannot_be_set_up_is_told_like_that() -> None:
    finding = await examine(Subject(ModelChoice("groq:llama"), "openai-agents", acts=True), {})
    assert "set the runtime to pydantic-ai" in finding.trouble


def test_shared_model_is_probed_once() -> None:
    small, large = ModelChoice("ollama:small"), ModelChoice("ollama:large")
    config = AssistantConfig(
        "ollama:large",
        reasoner=small,
        agents=(
            AgentSpec("coder", "codes"),
            AgentSpec("clerk", "files", model=small, runtime="openai-agents"),
        ),
    )
    assert subjects_of(config) == [
        Subject(large, "pydantic-ai", ("agent", "coder"), decides=False, acts=True),
        Subject(small, "pydantic-ai", ("reasoner",), decides=True, acts=False),
        Subject(small, "openai-agents", ("clerk",), decides=False, acts=True),
    ]
    assert subjects_of(AssistantConfig()) == []
    assert subjects_of(AssistantConfig(reasoner=small))[0].users == ("reasoner",)
    assert subjects_of(AssistantConfig(reasoner=small, template="mention_only")) == []
