"""The ready-made assistant in a real session."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from tests.limits import scaled

from genie_core.agent import Approval
from genie_core.assistant.build import Assistant, build_assistant
from genie_core.assistant.config import AssistantConfig, Library, Sandbox
from genie_core.assistant.errors import (
    MissingVariable,
    ModelUnavailable,
    UnknownTemplate,
    WorkspaceError,
)
from genie_core.assistant.offline.reasoner import OfflineReasoner
from genie_core.datastore import DataStore
from genie_core.execution import (
    Answered,
    ApprovalPending,
    Decided,
    Execution,
    ExecutionEvent,
    Failed,
    TextDelta,
)
from genie_core.message import Message
from genie_core.reasoner import Decision
from genie_core.session import GroupSession
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Call, Raw, Stall, Turn


def session(assistant: Assistant, store: DataStore | None = None) -> GroupSession:
    return GroupSession(
        "test", assistant.reasoner_factory, assistant.agent_factory, data_store=store
    )


async def finished(execution: Execution, *, deny: str | None = None) -> str | None:
    """Run to the end, settling every approval the same way, and return the answer."""
    async with asyncio.timeout(scaled(60)):
        async for element in execution.stream():
            match element:
                case Approval() if deny is None:
                    element.approve()
                case Approval():
                    element.deny(deny)
                case Message():
                    return element.content
    return None


async def approved(execution: Execution) -> AsyncIterator[ExecutionEvent]:
    async for event in execution.events():
        if isinstance(event, ApprovalPending):
            event.approval.approve()
        yield event


async def decision(execution: Execution) -> Decided:
    async with asyncio.timeout(scaled(60)):
        async for event in execution.events():
            assert not isinstance(event, Failed), event
            if isinstance(event, Decided):
                return event
    raise AssertionError("no decision was recorded")


async def close(chat: GroupSession) -> None:
    async with asyncio.timeout(scaled(60)):
        chat.stop()
        await chat.join()


async def test_offline_helper_is_default() -> None:
    assistant = build_assistant(AssistantConfig())
    assert (assistant.label, assistant.offline, assistant.notices) == ("offline helper", True, ())
    chat = session(assistant)
    assert await finished(chat.handle(Message("what is 12*7?", "alice"))) == "12*7 = 84"
    assert await finished(chat.handle(Message("@genie 15% of 80", "alice"))) == "15% of 80 = 12"
    assert await finished(chat.handle(Message("I'll call you at 3", "alice"))) is None
    await close(chat)


async def test_both_decisions_come_with_a_reason() -> None:
    chat = session(build_assistant(AssistantConfig()))
    ignored = await decision(chat.handle(Message("good morning", "alice")))
    assert ignored.decision is Decision.IGNORE
    assert ignored.reason == "The message does not ask for anything the offline helper can do."
    asked = await decision(chat.handle(Message("@genie what is 1+1?", "alice")))
    assert asked.decision is Decision.DELEGATE
    assert asked.reason == "addressed with @genie"
    await close(chat)


async def test_the_chat_is_searched_and_summarised() -> None:
    chat = session(build_assistant(AssistantConfig()))
    chat.append(Message("The invoice is due on Friday.", "bob"))
    chat.append(Message("Then I pay the invoice on Thursday.", "carol"))
    found = await finished(chat.handle(Message("search this chat for friday", "alice")))
    assert found is not None
    assert "bob: The invoice is due on Friday." in found
    summary = await finished(chat.handle(Message("@genie summarise the last 2 messages", "alice")))
    assert summary is not None
    assert "carol: Then I pay the invoice on Thursday." in summary
    await close(chat)


async def test_denial_reason_reaches_answer() -> None:
    chat = session(build_assistant(AssistantConfig()))
    answer = await finished(chat.handle(Message("what is 12*7?", "alice")), deny="do it yourself")
    assert answer is not None
    assert answer.startswith("I did not use `calculate`.")
    assert "do it yourself" in answer
    assert "84" not in answer
    await close(chat)


async def test_an_answer_is_streamed_while_it_is_made() -> None:
    chat = session(build_assistant(AssistantConfig()))
    execution = chat.handle(Message("@genie", "alice"))
    async with asyncio.timeout(scaled(60)):
        events = [event async for event in execution.events()]
    deltas = [event.text for event in events if isinstance(event, TextDelta)]
    answer = events[-1]
    assert isinstance(answer, Answered)
    assert len(deltas) > 10
    assert "".join(deltas) == answer.message.content
    await close(chat)


async def test_approved_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("buy tea", encoding="utf-8")
    chat = session(build_assistant(AssistantConfig(workspace=tmp_path)))
    execution = chat.handle(Message("show me the file notes.md", "alice"))
    answer = await finished(execution)
    assert answer is not None
    assert "buy tea" in answer
    await close(chat)


async def test_memory_survives_restart(tmp_path: Path) -> None:
    for question, answer in (("what is 1+1?", "1+1 = 2"), ("what is 2+2?", "2+2 = 4")):
        async with asyncio.timeout(scaled(60)), aclosing(DataStore(tmp_path)) as store:
            chat = session(build_assistant(AssistantConfig()), store)
            assert await finished(chat.handle(Message(question, "alice"))) == answer
            await close(chat)


async def test_saved_room_survives_new_template(tmp_path: Path) -> None:
    for template in ("mention_only", "general_assist", "mention_only"):
        async with asyncio.timeout(scaled(60)), aclosing(DataStore(tmp_path)) as store:
            chat = session(build_assistant(AssistantConfig(template=template)), store)
            assert await finished(chat.handle(Message("@genie 1+1", "alice"))) == "1+1 = 2"
            assert (await decision(chat.handle(Message("hm", "alice")))).reason
            await close(chat)


async def test_mention_only_never_calls_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    async def forbidden(*_: object) -> None:
        raise AssertionError("a reasoner was asked")

    monkeypatch.setattr(OfflineReasoner, "run", forbidden)
    chat = session(build_assistant(AssistantConfig(template="mention_only")))
    ignored = await decision(chat.handle(Message("what is 12*7?", "alice")))
    assert ignored.reason == "only answers when addressed with @genie"
    await close(chat)


def test_build_leaves_no_heavy_import(tmp_path: Path) -> None:
    servers = tmp_path / "mcp.json"
    servers.write_text('{"mcpServers": {"far": {"url": "http://127.0.0.1:9/mcp"}}}')
    code = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from genie_core.assistant.build import build_assistant\n"
        "from genie_core.assistant.config import AgentSpec, AssistantConfig\n"
        "assert 'pydantic_ai' not in sys.modules\n"
        "coder = AgentSpec('coder', 'Codes.', servers=('far',))\n"
        "config = AssistantConfig(agents=(coder,), servers_file=Path(sys.argv[1]))\n"
        "assistant = build_assistant(config)\n"
        "def make_all():\n"
        "    before = set(sys.modules)\n"
        "    assistant.reasoner_factory.create_group_reasoner('alice')\n"
        "    assistant.agent_factory.create_system_agent('alice', {'run_subagent': print})\n"
        "    assistant.agent_factory.create_agent('coder', 'alice')\n"
        "    return len(set(sys.modules) - before)\n"
        "assert make_all() <= 5\n"
        "asyncio.run(assistant.controls.use_model('openai:small'))\n"
        "assert make_all() <= 5\n"
    )
    env = {**os.environ, "OPENAI_API_KEY": "sk-none"}
    done = subprocess.run([sys.executable, "-c", code, servers], check=False, env=env)
    assert done.returncode == 0


def test_template_without_model_is_noted() -> None:
    assistant = build_assistant(AssistantConfig(template="fact_check"))
    (notice,) = assistant.notices
    assert "fact_check" in notice


def test_model_is_built_without_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-a-key")
    assistant = build_assistant(AssistantConfig(model="anthropic:claude-sonnet-4-5"))
    assert assistant.label == "anthropic:claude-sonnet-4-5"
    assert not assistant.offline
    assistant.reasoner_factory.create_group_reasoner("alice")
    assistant.agent_factory.create_system_agent("alice", {})


def test_ollama_is_looked_for_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OLLAMA_BASE_URL", raising=False)
    assert build_assistant(AssistantConfig(model="ollama:qwen3")).label == "ollama:qwen3"


def test_wrong_settings_are_found_while_building(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(MissingVariable, match="OPENAI_API_KEY"):
        build_assistant(AssistantConfig(model="openai:gpt-5"))
    with pytest.raises(UnknownTemplate, match="general_assist"):
        build_assistant(AssistantConfig(template="general"))
    with pytest.raises(WorkspaceError):
        build_assistant(AssistantConfig(workspace=tmp_path / "missing"))


def test_a_provider_that_refuses_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    with pytest.raises(ModelUnavailable, match="codex login") as refused:
        build_assistant(AssistantConfig(model="openai-codex:gpt-5"))
    assert "\n" not in str(refused.value)


async def test_offline_helper_needs_tools() -> None:
    chat = session(build_assistant(AssistantConfig(tools=("current_time",))))
    assert await finished(chat.handle(Message("what is 12*7?", "alice"))) is None
    await close(chat)


def test_a_key_for_commands_is_noticed() -> None:
    config = AssistantConfig(sandbox=Sandbox(env=("PATH", "OPENAI_API_KEY")))
    (notice,) = build_assistant(config).notices
    assert notice.startswith("OPENAI_API_KEY in [sandbox] env has no effect")


@pytest.mark.timeout(100)
@pytest.mark.parametrize("runtime", ["pydantic-ai", "openai-agents"])
@pytest.mark.parametrize(
    ("limits", "turn", "question"),
    [
        ({"max_turns": 1}, Call("current_time", {}), "@genie hi"),
        ({"timeout": 0.3}, Stall(), "@genie hi"),
        ({"reasoner_timeout": 0.3}, Stall(), "hi"),
    ],
)
async def test_setting_limits_the_model(
    monkeypatch: pytest.MonkeyPatch,
    runtime: Library,
    limits: dict[str, Any],
    turn: Turn,
    question: str,
) -> None:
    async with FakeOpenAI(choose=lambda _request: turn) as server:
        monkeypatch.setenv("FAKE_KEY", server.api_key)
        chosen: dict[str, Any] = {
            "base_url": server.base_url,
            "key_name": "FAKE_KEY",
            "runtime": runtime,
        }
        chat = session(build_assistant(AssistantConfig("m", **chosen, **limits)))
        async with asyncio.timeout(scaled(60)):
            events = [each async for each in approved(chat.handle(Message(question, "ann")))]
        assert isinstance(events[-1], Failed)
        assert str(next(iter(limits))) in events[-1].error
        await close(chat)


@pytest.mark.timeout(100)
@pytest.mark.parametrize("runtime", ["pydantic-ai", "openai-agents"])
async def test_every_answer_is_checked_for_its_end(
    monkeypatch: pytest.MonkeyPatch, runtime: Library
) -> None:
    choice = {"index": 0, "delta": {"content": "Half an"}, "finish_reason": None}
    cut = Raw({"id": "c", "object": "chat.completion.chunk", "created": 1, "choices": [choice]})
    async with FakeOpenAI(*[cut] * 3) as server:
        monkeypatch.setenv("FAKE_KEY", server.api_key)
        chosen: dict[str, Any] = {"base_url": server.base_url, "key_name": "FAKE_KEY"}
        config = AssistantConfig("m", template="mention_only", runtime=runtime, **chosen)
        chat = session(build_assistant(config))
        for _ in range(3):
            async with asyncio.timeout(scaled(60)):
                events = [each async for each in chat.handle(Message("@genie hi", "ann")).events()]
            assert isinstance(events[-1], Failed)
            assert events[-1].text == "Half an"
        await close(chat)
