"""Runs of an agent on the OpenAI Agents SDK, beyond the contract that every agent fulfils."""

import asyncio
import json
import traceback
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import agents
import pytest
from agents import Model, ModelSettings, set_trace_processors, set_tracing_disabled
from agents.tracing.processors import default_processor
from openai import AsyncOpenAI
from tests.clock import pass_at_once, pass_until
from tests.genie_core.agent.provider.openai.doubles import Approver, Desk, ask, outputs
from tests.limits import scaled

from genie_core.agent import AgentInput, Verdict
from genie_core.agent.provider.instructions import preferring
from genie_core.agent.provider.openai import DefaultAgent
from genie_core.agent.provider.openai.history import INTERRUPTED
from genie_core.errors import GenieError, InvalidSetting, ModelFailed
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Call, Calls, Cut, Refuse, Say, Stall

pytestmark = pytest.mark.timeout(100)


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


ADD = Call("add", {"a": 1, "b": 2})


async def run(agent: DefaultAgent, query: str = "go", *, streaming: bool = True) -> str:
    if streaming:
        return await ask(agent, query)
    return await agent.run(AgentInput(query), Approver())


async def test_changed_prompt_applies_next_run(desk: Desk) -> None:
    agent = desk.agent("old prompt")
    await ask(agent, preferences="in rhymes")
    assert desk.last.instructions == f"old prompt\n\n{preferring('in rhymes')}"
    fresh = desk.agent("new prompt")
    fresh.set_serialized(agent.get_serialized())
    await ask(fresh)
    assert desk.last.instructions == "new prompt"
    assert desk.last.texts[1:] == ["go", "echo: go", "go"]


@pytest.mark.parametrize("streaming", [True, False])
async def test_cancelled_run_is_remembered(desk: Desk, streaming: bool) -> None:
    asked = asyncio.Event()

    async def callback(_name: str, arguments: dict[str, Any]) -> Any:
        match arguments["a"]:
            case 1:
                return Verdict(approved=True)
            case 2:
                return Verdict(approved=False, reason="no twos")
        await done.wait()
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    done = asyncio.Event()

    async def noted(a: int, b: int) -> int:
        done.set()
        return a + b

    noted.__name__ = "add"
    calls = Calls(*(Call("add", {"a": number, "b": 10}) for number in (1, 2, 3)))
    desk.server.script(calls)
    agent = desk.agent(tools=[noted])
    query = AgentInput("first")
    task = asyncio.create_task(
        agent.run_streaming(query, callback, lambda _piece: None)
        if streaming
        else agent.run(query, callback)
    )
    async with asyncio.timeout(scaled(60)):
        await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    kept = outputs(agent.get_serialized())
    assert sorted(kept) == sorted(
        ["11", "The user did not allow this tool call. Reason given: no twos", INTERRUPTED]
    )
    assert await run(agent, "second", streaming=streaming) == "echo: second"
    assert {each.result for each in desk.last.exchanges} == set(kept)


async def test_cancelled_run_keeps_partial_text(desk: Desk) -> None:
    heard = asyncio.Event()
    desk.server.script(Stall("Once upon"))
    agent = desk.agent()
    task = asyncio.create_task(
        agent.run_streaming(AgentInput("tell"), Approver(), lambda _piece: heard.set())
    )
    async with asyncio.timeout(scaled(60)):
        await heard.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    [_, said] = agent.get_serialized()
    assert said["role"] == "assistant"
    assert "Once upon".startswith(said["content"])
    assert await run(agent, "go on") == "echo: go on"
    assert desk.last.texts[:2] == ["tell", said["content"]]


@pytest.mark.parametrize("streaming", [True, False])
async def test_cancel_waits_for_tools_to_end(desk: Desk, streaming: bool) -> None:
    runs, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        try:
            runs.set()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.05)  # such as closing a file
            ended.set()

    desk.server.script(Call("work", {}))
    task = asyncio.create_task(run(desk.agent(tools=[work]), streaming=streaming))
    async with asyncio.timeout(scaled(60)):
        await runs.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert ended.is_set()


def _is_of_the_sdk(task: "asyncio.Task[Any]") -> bool:
    coroutine: Any = task.get_coro()
    return str(Path(agents.__file__).parent) in coroutine.cr_code.co_filename


async def test_failed_listener_leaves_no_task(desk: Desk) -> None:
    def fail(_piece: str) -> None:
        raise BrokenPipeError("nobody listens")

    desk.server.script(Stall("Once upon"))
    async with asyncio.timeout(scaled(60)):
        with pytest.raises(BrokenPipeError):
            await desk.agent().run_streaming(AgentInput("tell"), Approver(), fail)
    assert [task for task in asyncio.all_tasks() if _is_of_the_sdk(task)] == []


async def test_stubborn_tool_permits_cancel(desk: Desk) -> None:
    runs, released = asyncio.Event(), asyncio.Event()

    async def stubborn() -> None:
        while not released.is_set():
            runs.set()
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue

    desk.server.script(Call("stubborn", {}))
    agent = desk.agent(tools=[stubborn])
    task = asyncio.create_task(run(agent))
    try:
        async with asyncio.timeout(scaled(60)):
            await runs.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert await run(agent, "again") == "echo: again"
    finally:
        released.set()


async def test_failed_run_remembers_tool_results(desk: Desk) -> None:
    agent = desk.agent(tools=[add])
    desk.server.script(ADD, Refuse(500))
    with pytest.raises(ModelFailed):
        await run(agent)
    assert outputs(agent.get_serialized()) == ["3"]
    assert await run(agent, "again") == "echo: again"
    assert json.loads(desk.last.exchanges[0].arguments) == {"a": 1, "b": 2}


@pytest.mark.parametrize("turns", [[Refuse(500)], [ADD, Refuse(400)]])
async def test_silent_or_refused_run_is_dropped(desk: Desk, turns: list[Any]) -> None:
    agent = desk.agent(tools=[add])
    desk.server.script(*turns)
    with pytest.raises(ModelFailed):
        await run(agent)
    assert agent.get_serialized() == []
    assert agent.get_new_messages() == []


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize(
    ("turn", "kind"),
    [
        (Refuse(401), "key"),
        (Refuse(403), "key"),
        (Refuse(404), "model"),
        (Refuse(429, retry_after=7), "limit"),
        (Refuse(429, code="insufficient_quota"), "quota"),
        (Refuse(400, code="context_length_exceeded"), "length"),
        (Refuse(400), "refused"),
        (Refuse(503), "server"),
        (Stall(), "timeout"),
        (Stall("half"), "timeout"),
        (Cut(), "cut"),
        (Cut("half"), "cut"),
    ],
    ids=str,
)
async def test_model_failure_is_one_line(desk: Desk, turn: Any, kind: str, streaming: bool) -> None:
    desk.server.script(turn)
    agent = desk.agent(settings=ModelSettings(extra_args={"timeout": 20}))
    asking = asyncio.create_task(run(agent, streaming=streaming))
    await desk.server.reached(1)
    if isinstance(turn, Stall):
        await pass_until(asking, 25)
    with pytest.raises(ModelFailed) as failed:
        await asking
    assert failed.value.kind == kind
    told = str(failed.value)
    assert "'gpt-x'" in told
    assert desk.server.base_url in told
    assert "\n" not in told
    assert failed.value.__context__ is not None
    assert await run(agent, "again", streaming=streaming) == "echo: again"


async def test_a_refused_key_is_named_but_not_shown(desk: Desk) -> None:
    key = "sk-wrong-0123456789-abcd"
    async with AsyncOpenAI(base_url=desk.server.base_url, api_key=key) as client:
        with pytest.raises(ModelFailed) as failed:
            await run(desk.agent(client=client))
    assert failed.value.kind == "key"
    assert "ending in 'abcd'" in str(failed.value)
    assert key[:-4] not in str(failed.value)


async def test_a_server_that_is_not_there_is_named(desk: Desk) -> None:
    nowhere = "http://127.0.0.1:1/v1"
    async with AsyncOpenAI(base_url=nowhere, api_key="sk-x", max_retries=0) as client:
        with pytest.raises(ModelFailed, match="cannot be reached") as failed:
            await run(desk.agent(client=client))
    assert nowhere in str(failed.value)


@pytest.mark.parametrize("status", [429, 500])
async def test_client_retries_before_failure(desk: Desk, status: int) -> None:
    again = Refuse(status, retry_after=0.01)
    async with desk.client.with_options(max_retries=2) as client:
        agent = desk.agent(client=client)
        desk.server.script(again, again, Say("at last"))
        assert await run(agent) == "at last"
        desk.server.script(again, again, again)
        with pytest.raises(ModelFailed):
            await run(agent)
    assert len(desk.server.requests) == 6


def limits(monkeypatch: pytest.MonkeyPatch, client: AsyncOpenAI) -> list[Any]:
    """Collect how long each request may take to be read."""
    seen: list[Any] = []
    send = client._client.send

    async def note(request: Any, **options: Any) -> Any:
        seen.append(request.extensions["timeout"]["read"])
        return await send(request, **options)

    monkeypatch.setattr(client._client, "send", note)
    return seen


async def test_silence_limit_is_two_minutes(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = limits(monkeypatch, desk.client)
    await run(desk.agent())
    await run(desk.agent(settings=ModelSettings(extra_args={"timeout": 7})))
    await run(desk.agent(client=desk.client.with_options(timeout=9)))
    assert seen == [120, 7, 9]


async def test_people_and_tools_cost_no_time(desk: Desk) -> None:
    async def slow(_name: str, _arguments: dict[str, Any]) -> bool:
        await pass_at_once(25)
        return True

    async def nap() -> str:
        await pass_at_once(25)
        return "rested"

    desk.server.script(Call("nap", {}), Say("ok"))
    agent = desk.agent(tools=[nap], settings=ModelSettings(extra_args={"timeout": 20}))
    assert await agent.run_streaming(AgentInput("go"), slow, lambda _piece: None) == "ok"


@pytest.mark.parametrize("streaming", [True, False])
async def test_endless_tool_calls_are_stopped(desk: Desk, streaming: bool) -> None:
    agent = desk.agent(tools=[add], max_turns=3)
    desk.server.script(*[ADD] * 3)
    with pytest.raises(GenieError, match="max_turns"):
        await run(agent, streaming=streaming)
    assert len(desk.server.requests) == 3
    assert outputs(agent.get_serialized()) == ["3"] * 3
    assert await run(agent, "again", streaming=streaming) == "echo: again"


async def test_long_chains_of_calls_are_fine(desk: Desk) -> None:
    desk.server.script(*[ADD] * 20, Say("ok"))
    assert await run(desk.agent(tools=[add])) == "ok"


class Tracer(agents.tracing.TracingProcessor):
    """Whoever would upload what is traced."""

    def __init__(self) -> None:
        self.traced: list[Any] = []

    def on_trace_start(self, trace: Any) -> None:
        self.traced.append(trace)

    def on_span_start(self, span: Any) -> None:
        self.traced.append(span)

    def on_trace_end(self, trace: Any) -> None: ...

    def on_span_end(self, span: Any) -> None: ...

    def shutdown(self) -> None: ...

    def force_flush(self) -> None: ...


async def test_nested_agent_logs_no_warning(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    async def inner() -> str:
        """Ask somebody else."""
        return await ask(desk.agent("inner"), "and you?")

    desk.server.script(Call("inner", {}), Say("asked"), Say("done"))
    with caplog.at_level("WARNING"):
        assert await ask(desk.agent("outer", tools=[inner])) == "done"
    assert caplog.messages == []


@pytest.fixture
def tracer() -> Iterator[Tracer]:
    """Sees what would be uploaded, with the SDK's tracing on as it is by default."""
    tracer = Tracer()
    set_trace_processors([tracer])
    set_tracing_disabled(False)
    try:
        yield tracer
    finally:
        set_tracing_disabled(True)
        set_trace_processors([default_processor()])


async def test_tracing_off_covers_agent_tools(desk: Desk, tracer: Tracer) -> None:
    helper = agents.Agent(name="helper", model=desk.model)
    desk.server.script(Call("helper", {"input": "please"}), Say("helped"), Say("done"))
    tool = helper.as_tool("helper", "Helps.")
    assert await run(desk.agent(tools=[tool], tracing=False)) == "done"
    assert desk.last.tool_results == ["helped"]
    assert tracer.traced == []


@pytest.mark.parametrize("streaming", [True, False])
async def test_the_tracing_of_a_program_is_left_alone(
    desk: Desk, tracer: Tracer, streaming: bool
) -> None:
    desk.server.script(ADD, Say("ok"))
    with agents.trace("mine"):
        assert await run(desk.agent(tools=[add]), streaming=streaming) == "ok"
    first, *rest = tracer.traced
    assert first.name == "mine"
    assert {each.trace_id for each in rest} == {first.trace_id}
    assert "function" in {each.span_data.type for each in rest}


class Deaf(Model):
    """A model that can't stream, in one of the ways to say so."""

    def __init__(self, inner: Model, way: str) -> None:
        self._inner = inner
        self._way = way

    async def get_response(self, *given: Any, **options: Any) -> Any:
        return await self._inner.get_response(*given, **options)

    def stream_response(self, *_given: Any, **_options: Any) -> Any:
        async def coroutine() -> None:
            raise NotImplementedError

        async def generator() -> AsyncIterator[None]:
            if self._way == "generator":
                raise NotImplementedError
            yield

        if self._way == "call":
            raise NotImplementedError
        return coroutine() if self._way == "coroutine" else generator()


@pytest.mark.parametrize("way", ["call", "coroutine", "generator"])
async def test_unsupported_stream_falls_back(desk: Desk, way: str) -> None:
    desk.server.script(ADD, Say("It is three."), Say("Still."))
    agent = DefaultAgent("", Deaf(desk.model, way), ModelSettings(), tools=[add])
    async with agent.mcp():
        assert await ask(agent) == "It is three."
        assert desk.last.tool_results == ["3"]
        assert await ask(agent) == "Still."


async def test_old_items_are_repaired(desk: Desk) -> None:
    lines = [
        {"role": "user", "content": [{"type": "input_text", "text": "first"}]},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "c1",
            "name": "add",
            "arguments": "{}",
            "status": "completed",
        },
        {
            "type": "message",
            "id": "m1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "one", "annotations": []}],
        },
    ]
    agent = desk.agent()
    agent.set_serialized(lines)
    assert await run(agent, "second") == "echo: second"
    assert desk.last.texts[0] == "first"
    assert desk.last.texts[-1] == "second"
    assert len(agent.get_new_messages()) == 2


async def test_a_model_can_be_given_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeOpenAI() as server:
        monkeypatch.setenv("OPENAI_API_KEY", server.api_key)
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        agent = DefaultAgent("", "gpt-named", ModelSettings())
        async with agent.mcp():
            assert await run(agent) == "echo: go"
    assert server.requests[0].model == "gpt-named"


async def test_model_without_key_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelFailed, match="OPENAI_API_KEY") as failed:
        await run(DefaultAgent("", "gpt-named", ModelSettings()))
    assert failed.value.kind == "key"


@pytest.mark.parametrize(
    ("options", "error", "name"),
    [
        ({"max_turns": 0}, InvalidSetting, "max_turns"),
        (
            {"handoffs": [agents.Agent(name="other", instructions="secret plan")]},
            InvalidSetting,
            r"^handoffs must be left out; direct subagents, not \['other'\]$",
        ),
        ({"colour": "red"}, TypeError, "colour"),
    ],
)
def test_senseless_settings_are_refused(
    options: dict[str, Any], error: type[Exception], name: str
) -> None:
    with pytest.raises(error, match=name):
        DefaultAgent("", "gpt-x", ModelSettings(), **options)


async def test_duplicate_tool_names_are_refused(desk: Desk) -> None:
    with pytest.raises(agents.UserError, match="add"):
        await run(desk.agent(tools=[add, agents.function_tool(add)]))
    assert desk.server.requests == []


async def test_further_arguments_are_those_of_the_sdk(desk: Desk) -> None:
    ended: list[str] = []

    class Hooks(agents.AgentHooks):
        async def on_end(self, _context: Any, agent: Any, _output: Any) -> None:
            ended.append(agent.name)

    await run(desk.agent(name="scribe", hooks=Hooks()))
    assert ended == ["scribe"]


async def test_traceback_hides_key(desk: Desk) -> None:
    desk.server.script(Refuse(400, f"what is {desk.server.api_key}?"))
    with pytest.raises(ModelFailed) as failed:
        await run(desk.agent())
    assert desk.server.api_key in str(failed.value.__context__)
    assert desk.server.api_key not in "".join(traceback.format_exception(failed.value))


@pytest.mark.parametrize("slip", ["\n", "é", "\u200b"])
async def test_a_key_that_cannot_be_sent_is_to_blame(desk: Desk, slip: str) -> None:
    key = "mine-0123456789abcdefghWXYZ"
    with pytest.raises(ModelFailed) as failed:
        await run(desk.agent(client=desk.client.with_options(api_key=key + slip)))
    assert failed.value.kind == "key"
    assert "cannot be sent" in str(failed.value)
    assert key not in repr(failed.value)
    assert desk.server.requests == []


async def test_tool_as_answer_may_return_nothing(desk: Desk) -> None:
    async def nothing() -> str:
        """Return nothing."""
        return ""

    desk.server.script(Call("nothing", {}))
    agent = desk.agent(tools=[nothing], tool_use_behavior="stop_on_first_tool")
    assert await run(agent) == ""
    assert len(desk.server.requests) == 1


async def test_an_empty_answer_is_not_kept(desk: Desk) -> None:
    desk.server.script(Say(""), Say(""), Say("here"))
    agent = desk.agent()
    with pytest.raises(ModelFailed, match="empty"):
        await run(agent)
    assert agent.get_serialized() == []
    assert await run(agent) == "here"
