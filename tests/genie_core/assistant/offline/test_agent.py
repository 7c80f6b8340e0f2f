"""The offline helper as an agent, and what a model that is chosen later is shown of it."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import ModelMessagesTypeAdapter
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo as ModelInfo
from pydantic_ai.models.function import FunctionModel

from genie_core.agent import AgentInput, Verdict
from genie_core.agent.provider.pydantic_ai import DefaultAgent
from genie_core.assistant.offline.agent import OfflineAgent
from genie_core.assistant.tools.catalog import build_tools
from genie_core.assistant.tools.files.workspace import Workspace
from genie_core.errors import AttachmentError
from genie_core.message import Attachment, Message
from genie_core.runtime.tasks import start_task
from genie_core.text.query import compose_query


async def said() -> str:
    return json.dumps([{"content": "the invoice is due", "sender": "bob"}])


def agent(folder: Path | None = None) -> OfflineAgent:
    return OfflineAgent(build_tools(said, Workspace.at(folder) if folder else None))


async def allow(_name: str, _arguments: dict[str, Any]) -> bool:
    return True


async def deny(_name: str, _arguments: dict[str, Any]) -> Any:
    return Verdict(approved=False, reason="not on a Sunday")


async def ask(helper: OfflineAgent, query: str) -> str:
    return await helper.run(AgentInput(query), allow)


def messages(helper: OfflineAgent) -> list[ModelMessage]:
    state = json.dumps(helper.get_serialized()["messages"])
    return ModelMessagesTypeAdapter.validate_json(state)


def calls(helper: OfflineAgent) -> list[str]:
    parts = [part for message in messages(helper) for part in message.parts]
    return [part.tool_name for part in parts if isinstance(part, ToolCallPart)]


async def test_question_is_answered_by_tool() -> None:
    helper = agent()
    assert await ask(helper, "what is 12*7?") == "12*7 = 84"
    assert calls(helper) == ["calculate"]


async def test_context_does_not_confuse_the_question() -> None:
    context = [Message("what time is it in Oslo?", "bob"), Message("list the files", "carol")]
    answer = await ask(agent(), compose_query("alice", "search for invoice", context))
    assert answer == '1 message with "invoice":\n- #1 bob: the invoice is due'


async def test_each_turn_is_answered_by_itself() -> None:
    helper = agent()
    await ask(helper, "what is 1+1?")
    assert await ask(helper, "what is 2+2?") == "2+2 = 4"
    assert calls(helper) == ["calculate", "calculate"]


async def test_other_message_lists_abilities() -> None:
    helper = agent()
    assert "offline helper" in await ask(helper, "write me a poem about the sea")
    assert calls(helper) == []


async def test_files_without_a_workspace_are_declined() -> None:
    assert "no workspace folder is set" in await ask(agent(), "list the files")


async def test_files_of_the_workspace_are_read(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("buy tea\n", encoding="utf-8")
    assert "buy tea" in await ask(agent(tmp_path), "read notes.md")


async def test_a_file_is_written_once(tmp_path: Path) -> None:
    helper = agent(tmp_path)
    first = await ask(helper, compose_query("alice", "write buy milk to notes.md"))
    assert first == "Wrote the new file notes.md (1 line, 9 bytes)."
    assert "'notes.md' already exists" in await ask(helper, "write buy tea to notes.md")
    assert (tmp_path / "notes.md").read_text("utf-8") == "buy milk\n"


async def test_what_a_program_prints_is_in_a_fence(tmp_path: Path) -> None:
    result = await ask(agent(tmp_path), "run echo buy milk")
    assert "exit code 0" in result
    assert result.endswith("```\nbuy milk\n```")
    assert "'|' is a shell operator" in await ask(agent(tmp_path), "run ls | wc")


async def test_denial_is_reported_in_answer() -> None:
    helper = agent()
    result = await helper.run(AgentInput("fetch https://example.org"), deny)
    assert result.startswith("I did not use `fetch_url`.")
    assert "not on a Sunday" in result
    assert calls(helper) == ["fetch_url"]


async def test_an_answer_is_streamed_in_pieces() -> None:
    pieces: list[str] = []
    helper = agent()
    answer = await helper.run_streaming(AgentInput("what can you do?"), allow, pieces.append)
    assert len(pieces) > 10
    assert "".join(pieces) == answer == await ask(helper, "what can you do?")


async def test_missing_file_is_named(tmp_path: Path) -> None:
    helper = agent()
    gone = Attachment(str(tmp_path / "gone.png"), "the holiday", "image/png")
    with pytest.raises(AttachmentError, match="the holiday"):
        await helper.run(AgentInput("what is 1+1?", [gone]), allow)
    assert helper.get_new_messages() == []


async def test_model_reads_helper_conversation(
    tmp_path: Path,
) -> None:
    note = tmp_path / "note.json"
    note.write_text("{}", encoding="utf-8")
    helper = agent()
    attached = Attachment(str(note), "note.json", "application/json")
    await helper.run(AgentInput("what is 1+1?", [attached]), allow)
    asked, called, returned, answered = messages(helper)
    assert isinstance(asked, ModelRequest)
    assert isinstance(called, ModelResponse)
    assert isinstance(asked.parts[0], UserPromptPart)
    content = asked.parts[0].content
    assert not isinstance(content, str)
    query, described, file = content
    assert query == "what is 1+1?"
    assert str(note) in str(described)
    assert isinstance(file, BinaryContent)
    assert (file.data, file.media_type) == (b"{}", "text/plain")
    (call,), (result,), (text,) = called.parts, returned.parts, answered.parts
    assert isinstance(call, ToolCallPart)
    assert isinstance(result, ToolReturnPart)
    assert isinstance(text, TextPart)
    assert call.args == {"expression": "1+1"}
    assert (result.content, result.outcome) == ("1+1 = 2", "success")
    assert result.tool_call_id == call.tool_call_id
    assert text.content == "1+1 = 2"
    assert called.model_name == "offline-helper"


async def test_later_model_continues() -> None:
    helper = agent()
    await ask(helper, "what is 1+1?")
    seen: list[list[ModelMessage]] = []

    def respond(shown: list[ModelMessage], _info: ModelInfo) -> ModelResponse:
        seen.append(shown)
        return ModelResponse(parts=[TextPart("Two, as I said.")])

    later = DefaultAgent("You help.", FunctionModel(respond))
    later.set_serialized(helper.get_serialized())
    async with later.mcp():
        await later.run(AgentInput("what was it?"), allow)
    shown = [
        part.content for message in seen[0] for part in message.parts if hasattr(part, "content")
    ]
    assert shown == ["what is 1+1?", "1+1 = 2", "1+1 = 2", "what was it?"]

    back = agent()
    back.set_serialized(later.get_serialized())
    assert await ask(back, "what is 2+2?") == "2+2 = 4"
    assert len(messages(back)) == 4 + 2 + 4


async def test_journal_restores_state() -> None:
    helper = agent()
    lines: list[Any] = []
    for query in ("what is 1+1?", "what can you do?", "what is 2+2?"):
        await ask(helper, query)
        lines += helper.get_new_messages()
    assert helper.get_new_messages() == []
    for other in (agent(), DefaultAgent("", FunctionModel(lambda *_: ModelResponse(parts=[])))):
        other.set_serialized(json.loads(json.dumps(lines)))
        assert other.get_new_messages() == []
        restored = ModelMessagesTypeAdapter.validate_python(other.get_serialized()["messages"])
        assert restored == messages(helper)


@pytest.mark.parametrize("state", [{"turns": []}, [3], "text"])
def test_another_state_is_refused(state: Any) -> None:
    with pytest.raises(ValueError, match="not the history of an agent"):
        agent().set_serialized(state)


async def test_cancelled_call_gets_result() -> None:
    asked = asyncio.Event()

    async def wait(_name: str, _arguments: dict[str, Any]) -> bool:
        asked.set()
        return await asyncio.Future()

    helper = agent()
    run = start_task(helper.run(AgentInput("what is 1+1?"), wait))
    await asked.wait()
    run.cancel()
    await asyncio.wait([run])
    assert run.cancelled()
    assert await ask(helper, "what is 2+2?") == "2+2 = 4"
    parts = [part for message in messages(helper) for part in message.parts]
    made = [part.tool_call_id for part in parts if isinstance(part, ToolCallPart)]
    results = [part.tool_call_id for part in parts if isinstance(part, ToolReturnPart)]
    assert made == results
    assert len(made) == 2
