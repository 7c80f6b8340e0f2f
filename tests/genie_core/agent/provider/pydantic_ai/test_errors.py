"""What becomes of requests that fail, with the real client library over a real socket."""

import asyncio
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from pydantic_ai.exceptions import ModelHTTPError, ModelRateLimitError
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import AgentInfo as ModelInfo
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from tests.clock import pass_at_once
from tests.genie_core.agent.provider.pydantic_ai.clients import NAME, chat_model, responses_model
from tests.limits import scaled

from genie_core.agent import Agent, AgentFactory, AgentInput
from genie_core.agent.provider.pydantic_ai import DefaultAgent, DefaultGroupReasoner
from genie_core.agent.provider.pydantic_ai.errors import (
    REQUEST_TIMEOUT,
    failures_told,
    silence_limit,
    with_limit,
)
from genie_core.errors import ModelFailed, ModelTrouble
from genie_core.execution import Failed
from genie_core.message import Message
from genie_core.runtime.model_limits import STALL_TIMEOUT
from genie_core.session import GroupSession
from genie_testing import reasoner_factory
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Call, Cut, Refuse, Say, Stall, Turn

pytestmark = [pytest.mark.timeout(100), pytest.mark.usefixtures("loopback")]

Make = Callable[..., Model]
Ask = Callable[[Model, ModelSettings | None], Any]


async def allow(_name: str, _arguments: dict[str, Any]) -> bool:
    return True


async def answer(model: Model, settings: ModelSettings | None = None) -> Any:
    return await DefaultAgent("p", model, settings).run(AgentInput("q"), allow)


async def stream(model: Model, settings: ModelSettings | None = None) -> Any:
    agent = DefaultAgent("p", model, settings)
    return await agent.run_streaming(AgentInput("q"), allow, lambda _piece: None)


async def decide(model: Model, settings: ModelSettings | None = None) -> Any:
    return await DefaultGroupReasoner("p", model, settings).run([Message("hi", "alice")])


@pytest.fixture(params=[chat_model, responses_model], ids=["chat", "responses"])
def make(request: pytest.FixtureRequest) -> Make:
    made: Make = request.param
    return made


@pytest.fixture(params=[answer, stream, decide])
def ask(request: pytest.FixtureRequest) -> Ask:
    asked: Ask = request.param
    return asked


async def failure(asking: Any) -> ModelFailed:
    with pytest.raises(ModelFailed) as caught:
        async with asyncio.timeout(scaled(60)):
            await asking
    return caught.value


KEY = "sk-proj-0123456789abcdefghWXYZ"


async def test_a_wrong_key_is_named_and_not_shown(
    make: Make, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    async with FakeOpenAI() as server:
        told = await failure(ask(make(server, api_key=KEY), None))
        assert (told.kind, told.model, told.where) == ("key", NAME, server.base_url)
        assert "key in OPENAI_API_KEY ending in 'WXYZ'" in str(told)
        assert KEY[:6] not in str(told)
        assert len(server.requests) == 1


async def test_traceback_hides_key(make: Make, ask: Ask) -> None:
    key = "mine-0123456789abcdefghWXYZ"
    async with FakeOpenAI(Refuse(400, f"what is {key}?"), api_key=key) as server:
        told = await failure(ask(make(server, api_key=key), None))
        assert key in str(told.__context__)
        assert key not in "".join(traceback.format_exception(told))


@pytest.mark.parametrize("slip", ["\n", "é", "\u200b"])
async def test_a_key_that_cannot_be_sent_is_to_blame(make: Make, ask: Ask, slip: str) -> None:
    async with FakeOpenAI() as server:
        told = await failure(ask(make(server, api_key=KEY + slip), {"max_retries": 0}))
        assert told.kind == "key"
        assert "cannot be sent" in str(told)
        assert KEY[:6] not in repr(told)
        assert server.requests == []


@pytest.mark.parametrize(
    ("refusal", "kind", "requests"),
    [
        (Refuse(404), "model", 1),
        (Refuse(400, "no such parameter: x"), "refused", 1),
        (Refuse(400, "too many tokens", "context_length_exceeded"), "length", 1),
        (Refuse(403), "key", 1),
        (Refuse(429, "slow down", retry_after=0.01), "limit", 3),
        (Refuse(429, "no credit left", "insufficient_quota", retry_after=0.01), "quota", 3),
        (Refuse(500, "it broke", retry_after=0.01), "server", 3),
        (Refuse(503, "overloaded", retry_after=0.01), "server", 3),
    ],
)
async def test_refusal_after_retries_keeps_words(
    make: Make, ask: Ask, refusal: Refuse, kind: ModelTrouble, requests: int
) -> None:
    async with FakeOpenAI(*[refusal] * 5) as server:
        told = await failure(ask(make(server), None))
        assert told.kind == kind
        assert refusal.message.lower() in str(told).lower()
        assert len(server.requests) == requests


async def test_a_provider_that_recovers_is_not_told_of(make: Make) -> None:
    busy = Refuse(429, retry_after=0.01)
    async with FakeOpenAI(busy, Refuse(500, retry_after=0.01), Say("At last.")) as server:
        assert await stream(make(server)) == "At last."
        assert len(server.requests) == 3


async def test_retry_count_follows_settings(make: Make) -> None:
    async with FakeOpenAI(*[Refuse(500)] * 3) as server:
        assert (await failure(stream(make(server), {"max_retries": 0}))).kind == "server"
        assert len(server.requests) == 1


@pytest.mark.parametrize("after", ["", "Once upon"])
async def test_a_stall_ends_with_the_timeout(make: Make, ask: Ask, after: str) -> None:
    async with FakeOpenAI(*[Stall(after)] * 3) as server:
        told = await failure(ask(make(server), {"timeout": 0.2, "max_retries": 0}))
        assert told.kind == "timeout"
        assert "timeout" in str(told)


async def test_one_limit_covers_all_attempts(make: Make) -> None:
    async with FakeOpenAI(*[Stall()] * 3) as server:
        told = await failure(decide(make(server), {"request_timeout": 0.2}))
        assert told.kind == "timeout"
        assert "0.2 seconds" in str(told)


async def test_an_answer_that_is_cut_off_is_no_answer(make: Make, ask: Ask) -> None:
    async with FakeOpenAI(*[Cut("Once upon")] * 3) as server:
        told = await failure(ask(make(server), {"max_retries": 0}))
        assert told.kind == "cut"


async def test_a_place_where_nobody_is_is_named(make: Make, ask: Ask) -> None:
    async with FakeOpenAI() as server:
        model, address = make(server), server.base_url
    told = await failure(ask(model, {"max_retries": 0}))
    assert (told.kind, told.where) == ("connection", address)


async def test_an_answer_that_stays_unusable_is_told(make: Make) -> None:
    async with FakeOpenAI(*[Say("maybe")] * 9) as server:
        told = await failure(decide(make(server)))
        assert told.kind == "answer"
        assert len(server.requests) == 3


async def test_tools_and_approvals_cost_no_time(make: Make) -> None:
    async def slow() -> str:
        await pass_at_once(25)
        return "done"

    async def ask_slowly(_name: str, _arguments: dict[str, Any]) -> bool:
        await pass_at_once(25)
        return True

    async with FakeOpenAI(Call("slow", {}), Say("It is done.")) as server:
        limits: ModelSettings = {"timeout": 20, "request_timeout": 20}
        agent = DefaultAgent("p", make(server), limits, tools=[slow])
        assert await agent.run(AgentInput("q"), ask_slowly) == "It is done."


async def did() -> str:
    """Do it."""
    return "did it"


@pytest.mark.parametrize(
    ("trouble", "kept"),
    [
        (Refuse(500, retry_after=0.01), True),
        (Cut(), True),
        (Refuse(400, "this result is odd"), False),
    ],
)
async def test_failed_run_keeps_harmless_results(make: Make, trouble: Turn, kept: bool) -> None:
    async with FakeOpenAI(Call("did", {}), trouble) as server:
        agent = DefaultAgent("p", make(server), {"max_retries": 0}, tools=[did])
        await failure(agent.run(AgentInput("do it"), allow))
        assert await agent.run(AgentInput("again"), allow) == "echo: again"
        results = [exchange.result for exchange in server.requests[-1].exchanges]
        assert results == (["did it"] if kept else [])
        fresh = DefaultAgent("p", make(server))
        fresh.set_serialized(agent.get_new_messages())
        assert fresh.get_serialized() == agent.get_serialized()


async def test_failure_before_action_is_dropped(make: Make) -> None:
    async with FakeOpenAI(Refuse(500)) as server:
        agent = DefaultAgent("p", make(server), {"max_retries": 0})
        await failure(agent.run(AgentInput("first"), allow))
        await agent.run(AgentInput("second"), allow)
        assert "first" not in "".join(server.requests[-1].texts)


async def test_session_names_owner_and_model(make: Make) -> None:
    async with FakeOpenAI() as server:
        model = make(server, api_key=KEY)

        def create(_secrets: dict[str, str]) -> Agent:
            return DefaultAgent("p", model)

        chat = GroupSession("s", reasoner_factory(), AgentFactory(create))
        async with asyncio.timeout(scaled(60)):
            events = [event async for event in chat.handle(Message("hi", "alice")).events()]
            await chat.join()
    failed = events[-1]
    assert isinstance(failed, Failed)
    assert failed.error.startswith(f"agent 'system' of alice: model '{NAME}' at http://127.0.0.1")
    assert isinstance(failed.exception, ModelFailed)


class Wrapper(WrapperModel):
    """Any wrapper."""


def refusing(status: int, name: str) -> FunctionModel:
    def respond(_messages: Sequence[ModelMessage], _info: ModelInfo) -> ModelResponse:
        raise ModelHTTPError.for_category(
            ModelRateLimitError,
            status_code=status,
            model_name=name,
            body={"message": f"not {name}"},
        )

    return FunctionModel(respond, model_name=name)


async def test_last_of_several_models_is_named() -> None:
    several = FallbackModel(refusing(429, "one"), refusing(429, "two"))
    told = await failure(answer(several))
    assert (told.kind, told.model, told.detail) == ("limit", "two", "not two")


def test_unrelated_errors_pass() -> None:
    with pytest.raises(LookupError), failures_told(TestModel()):
        raise LookupError


async def test_time_limit_fills_only_gaps() -> None:
    limit = ModelSettings(timeout=STALL_TIMEOUT)
    assert with_limit(TestModel(), None, limit) == limit
    assert with_limit(TestModel(), {"temperature": 0.5}, limit) == {"temperature": 0.5, **limit}
    assert with_limit(TestModel(), {"request_timeout": 5}, limit) == {"request_timeout": 5}
    assert with_limit(TestModel(settings={"timeout": 5}), None, limit) is None


def test_unsupported_timeout_limits_whole() -> None:
    class Deaf(TestModel):
        unsupported_settings = frozenset({"timeout"})

    assert silence_limit(TestModel()) == {"timeout": STALL_TIMEOUT}
    assert silence_limit(Wrapper(Deaf())) == {"request_timeout": REQUEST_TIMEOUT}
