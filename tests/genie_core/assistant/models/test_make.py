"""Models as the settings name them, asked by the real client libraries over a real socket."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.genie_core.assistant.models.asking import RUNTIMES, Chat, agent_on
from tests.limits import scaled

from genie_core.agent import AgentInput
from genie_core.agent.provider.failures import NO_KEY
from genie_core.assistant.config import ModelChoice, Runtime
from genie_core.assistant.errors import ModelUnavailable, OtherRuntimeNeeded, UnknownProvider
from genie_core.assistant.models.make import openai_model, pydantic_model
from genie_core.assistant.models.switchable import SwitchableAgent
from genie_core.errors import ModelFailed, ModelTrouble
from genie_core.privacy.redaction import mask_known
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Call, Refuse, Say, Turn

pytestmark = [pytest.mark.timeout(100), pytest.mark.usefixtures("loopback")]


@pytest.fixture(params=RUNTIMES)
def runtime(request: pytest.FixtureRequest) -> Runtime:
    chosen: Runtime = request.param
    return chosen


def connections(server: FakeOpenAI) -> int:
    """How many clients keep a connection to it."""
    assert server._listener is not None
    return len(server._listener._server.server_state.connections)


async def until(holds: Callable[[], bool]) -> None:
    while not holds():
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("name", "variable", "asked"),
    [
        ("qwen3:8b", "OPENAI_API_KEY", ("qwen3:8b", "chat")),
        ("mistral:latest", "OPENAI_API_KEY", ("mistral:latest", "chat")),
        ("openai:gpt-oss:20b", "OPENAI_API_KEY", ("gpt-oss:20b", "chat")),
        ("openai-responses:local", "OPENAI_API_KEY", ("local", "responses")),
        ("ollama:qwen3:8b", "OLLAMA_API_KEY", ("qwen3:8b", "chat")),
        ("vllm:org/model", "VLLM_API_KEY", ("org/model", "chat")),
    ],
)
async def test_server_gets_model_and_stored_key(
    runtime: Runtime, name: str, variable: str, asked: tuple[str, str]
) -> None:
    async with FakeOpenAI(Say("here"), api_key="stored") as server:
        choice = ModelChoice(name, server.base_url, variable)
        chat = Chat(agent_on(choice, {variable: "stored"}, runtime))
        assert await chat.ask() == "here"
        request = server.requests[0]
        assert (request.model, request.api) == asked


@pytest.mark.parametrize(
    "name", ["m", "openai:m", "openai-chat:m", "openai-responses:m", "ollama:m", "vllm:m"]
)
async def test_foreign_address_gets_no_key(
    runtime: Runtime, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = {f"{kind}_API_KEY": f"sk-of-{kind}-12345" for kind in ("OPENAI", "OLLAMA", "VLLM")}
    for variable, value in theirs.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("OPENAI_BASE_URL", "https://gateway.invalid/v1")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-private")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-private")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway-Token: private")
    async with FakeOpenAI(Say("here"), api_key="none") as server:
        assert await Chat(agent_on(ModelChoice(name, server.base_url), theirs, runtime)).ask()
        (head,) = (dict(each.headers) for each in server.requests)
    assert head["authorization"] == "Bearer none"
    assert not {"openai-organization", "openai-project", "x-gateway-token"} & set(head)
    assert not [each for each in head.values() if "private" in each or "sk-" in each]


async def test_key_follows_own_base_url(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeOpenAI(Say("here"), api_key="stored") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        choice = ModelChoice("m", f"{server.base_url}/")
        chat = Chat(agent_on(choice, {"OPENAI_API_KEY": "stored"}, runtime))
        assert await chat.ask() == "here"


async def test_named_key_is_used_and_hidden(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_GATEWAY", f"of-the-gateway-{runtime}")
    async with FakeOpenAI(Say("here"), api_key=f"of-the-gateway-{runtime}") as server:
        choice = ModelChoice("m", server.base_url, "MY_GATEWAY")
        assert await Chat(agent_on(choice, {"OPENAI_API_KEY": "k"}, runtime)).ask() == "here"
    assert runtime not in mask_known(f"it is of-the-gateway-{runtime}")


async def test_missing_key_names_setting(
    runtime: Runtime,
) -> None:
    async with FakeOpenAI() as server:
        keys = {"OPENAI_API_KEY": server.api_key}
        with pytest.raises(ModelFailed, match="api_key_env") as failure:
            await Chat(agent_on(ModelChoice("m", server.base_url), keys, runtime)).ask()
    assert failure.value.kind == "key"
    line = str(failure.value)
    assert "asks for a key, and none is sent to this address" in line
    assert "none'" not in line


async def test_keyless_server_gets_no_key(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_API_KEY", "")
    monkeypatch.setenv("OPENAI_API_KEY", "of-another-server")
    async with FakeOpenAI(Say("here"), api_key="none") as server:
        chat = Chat(agent_on(ModelChoice("vllm:m", server.base_url), {}, runtime))
        assert await chat.ask() == "here"


@pytest.mark.parametrize(
    ("name", "address", "api"),
    [
        ("openai:gpt-x", "OPENAI_BASE_URL", "responses"),
        ("openai-chat:gpt-x", "OPENAI_BASE_URL", "chat"),
        ("ollama:gpt-x", "OLLAMA_BASE_URL", "chat"),
        ("vllm:gpt-x", "VLLM_BASE_URL", "chat"),
    ],
)
async def test_providers_use_stored_values(
    runtime: Runtime, name: str, address: str, api: str
) -> None:
    async with FakeOpenAI(Call("note", {"text": "x"}), Say("done"), api_key="stored") as server:
        kind = address.partition("_")[0]
        keys = {address: server.base_url, f"{kind}_API_KEY": "stored"}
        chat = Chat(agent_on(ModelChoice(name), keys, runtime))
        assert await chat.ask() == "done"
        assert [(each.model, each.api) for each in server.requests] == [("gpt-x", api)] * 2
        assert server.requests[1].tool_results == ["noted: x"]


def test_stored_key_precedes_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of-the-environment")
    stored = pydantic_model(ModelChoice("openai:gpt-5"), {"OPENAI_API_KEY": "stored"})
    absent = pydantic_model(ModelChoice("openai:gpt-5"), {})
    for model, key in ((stored, "stored"), (absent, "of-the-environment")):
        assert model.provider is not None
        assert model.provider.client.api_key == key


def test_local_ollama_gets_no_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", "of-ollama.com")
    model = pydantic_model(ModelChoice("ollama:qwen3"), {"OLLAMA_API_KEY": "of-ollama.com"})
    assert "127.0.0.1:11434" in str(model.base_url)
    assert model.provider is not None
    assert model.provider.client.api_key == NO_KEY


@pytest.mark.parametrize("name", ["anthropic:claude-sonnet-4-5", "google:gemini-2.5-pro"])
def test_unsupported_library_is_refused(name: str) -> None:
    keys = {"ANTHROPIC_API_KEY": "k", "GOOGLE_API_KEY": "k"}
    assert pydantic_model(ModelChoice(name), keys).model_name in name
    with pytest.raises(OtherRuntimeNeeded, match="set the runtime to pydantic-ai"):
        openai_model(ModelChoice(name), keys)


@pytest.mark.parametrize("make", [pydantic_model, openai_model])
def test_what_cannot_be_set_up_is_one_line(make: Callable[..., object]) -> None:
    with pytest.raises(UnknownProvider, match="did you mean openai"):
        make(ModelChoice("opnai:gpt-5"), {})
    with pytest.raises(ModelUnavailable, match="DEEPSEEK_API_KEY") as failure:
        make(ModelChoice("deepseek:deepseek-chat"), {})
    assert "\n" not in str(failure.value)


TROUBLES: list[tuple[str, tuple[Turn, ...], ModelTrouble, str]] = [
    (
        "no quota",
        (Refuse(429, "You exceeded your quota.", "insufficient_quota", retry_after=0.001),) * 3,
        "quota",
        "raise it with the provider",
    ),
    ("no such model", (Refuse(404),), "model", "check the model's name"),
    (
        "no tools",
        (Refuse(400, "gemma3:4b does not support tools"),),
        "tools",
        "choose another model, one that can call tools",
    ),
]


@pytest.mark.parametrize(
    ("turns", "kind", "advice"), [each[1:] for each in TROUBLES], ids=[each[0] for each in TROUBLES]
)
async def test_trouble_is_one_line_with_advice(
    runtime: Runtime, turns: tuple[Turn, ...], kind: ModelTrouble, advice: str
) -> None:
    async with FakeOpenAI(*turns, Say("better now")) as server:
        choice = ModelChoice("m", server.base_url, "OPENAI_API_KEY")
        chat = Chat(agent_on(choice, {"OPENAI_API_KEY": server.api_key}, runtime))
        with pytest.raises(ModelFailed) as failure:
            await chat.ask()
        line = str(failure.value)
        assert (failure.value.kind, "\n" in line) == (kind, False)
        assert "model 'm' at http://127.0.0.1:" in line
        assert advice in line
        assert server.api_key not in line
        assert await chat.ask() == "better now"


async def test_replaced_model_disconnects(runtime: Runtime) -> None:
    async with (
        FakeOpenAI(Call("note", {"text": "x"}), Say("from the old")) as old,
        FakeOpenAI(Say("from the new")) as new,
    ):
        choices = [ModelChoice("m", server.base_url, "OPENAI_API_KEY") for server in (old, new)]
        keys = {"OPENAI_API_KEY": old.api_key}
        version = 0
        agent = SwitchableAgent(
            lambda library: agent_on(choices[version], keys, library), lambda: (version, runtime)
        )

        async def replace(_name: str, _arguments: dict[str, Any]) -> bool:
            nonlocal version
            version = 1
            return True

        async with agent.mcp():
            assert await agent.run(AgentInput("go"), replace) == "from the old"
            assert (len(old.requests), len(new.requests)) == (2, 0)
            assert await agent.run(AgentInput("again"), replace) == "from the new"
            async with asyncio.timeout(scaled(60)):
                await until(lambda: not connections(old))
        assert new.requests[0].tool_results == ["noted: x"]


async def test_wrong_key_spares_next_message(
    runtime: Runtime,
) -> None:
    async with FakeOpenAI(Say("better now")) as server:
        chat = Chat(
            agent_on(
                ModelChoice("m", server.base_url, "OPENAI_API_KEY"),
                {"OPENAI_API_KEY": "sk-wrong-123456"},
                runtime,
            )
        )
        with pytest.raises(ModelFailed, match="does not accept the key") as failure:
            await chat.ask()
        assert failure.value.kind == "key"
        assert "wrong" not in str(failure.value)
        server.api_key = "sk-wrong-123456"
        assert await chat.ask() == "better now"
