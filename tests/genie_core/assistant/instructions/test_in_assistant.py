"""Instructions of a workspace in a whole assistant: what the model reads, and what may then run."""

from pathlib import Path

import pytest
from tests.genie_core.assistant.test_build import close, finished, session

from genie_core.assistant.build import build_assistant
from genie_core.assistant.config import AssistantConfig, Library, Rule
from genie_core.message import Message
from genie_core.room.engine.approval_policy import ToolCall
from genie_core.room.engine.provenance import mixture, origins_of
from genie_core.room.state.reading import Reading
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Call, Say

FETCH = ToolCall("ann", "system", "fetch_url", {"url": "https://example.org/"})


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "garden"
    (root / ".agents" / "skills" / "release").mkdir(parents=True)
    (root / "AGENTS.md").write_text("Indent by tabs.")
    text = "---\ndescription: Makes a release.\n---\nTag it twice."
    (root / ".agents" / "skills" / "release" / "SKILL.md").write_text(text)
    return root


def config(server: FakeOpenAI, workspace: Path, runtime: Library, own: Path) -> AssistantConfig:
    return AssistantConfig(
        model="openai:scripted",
        base_url=server.base_url,
        key_name="KEY",
        runtime=runtime,
        workspace=workspace,
        own_texts=own,
        rules=(Rule("allow", "fetch_url"),),
    )


@pytest.mark.parametrize("runtime", ["pydantic-ai", "openai-agents"])
async def test_the_model_reads_instructions_and_skills(
    workspace: Path, runtime: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY", "sk-scripted-key")
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "AGENTS.md").write_text("Answer in German.")
    turns = Call("read_skill", {"name": "release"}), Say("Tagged.")
    async with FakeOpenAI(*turns) as server:
        made = config(server, workspace, runtime, tmp_path / "config")
        chat = session(build_assistant(made, owner="ann"))
        assert await finished(chat.handle(Message("@genie release it", "ann"))) == "Tagged."
        await close(chat)
        first, second = server.requests
    prompt = first.instructions
    for part in ("Today is ", "Indent by tabs.", "Answer in German.", "release: Makes a release."):
        assert part in prompt
    assert "read_skill" in first.tools
    assert "Tag it twice." not in prompt
    assert second.tool_results[-1].endswith("Tag it twice.")


async def test_workspace_words_count_as_others(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY", "sk-scripted-key")
    reading = Reading(owners={"ann": None})
    async with FakeOpenAI(Say("Hello.")) as server:
        assistant = build_assistant(config(server, workspace, "pydantic-ai", tmp_path), owner="ann")
        before = assistant.policy.evaluate(FETCH)
        assert (before.effect, mixture(reading, "ann", False, before)) == ("allow", "")
        chat = session(assistant)
        await finished(chat.handle(Message("@genie hello", "ann")))
        await close(chat)
    after = assistant.policy.evaluate(FETCH)
    assert origins_of(reading, "ann", after.sources) == (
        "the file AGENTS.md",
        "skills of the workspace",
    )
    assert "the file AGENTS.md and others may have prompted" in mixture(
        reading, "ann", False, after
    )
    skill = ToolCall("ann", "system", "read_skill", {"name": "release"})
    read = assistant.policy.evaluate(skill)
    assert (read.effect, read.effects.source) == ("allow", "the skill release of the workspace")


def test_refused_text_is_noted_not_offered(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").symlink_to("/etc/passwd")
    assistant = build_assistant(AssistantConfig(workspace=tmp_path), owner="ann")
    assert "read_skill" not in {each.name for each in assistant.controls.tools}
    assert assistant.notices == ("AGENTS.md is not used: it is a link, or in a folder that is one",)


async def test_controls_read_the_commands_anew(tmp_path: Path) -> None:
    controls = build_assistant(AssistantConfig(workspace=tmp_path), owner="ann").controls
    assert await controls.custom_commands() == []
    (tmp_path / ".agents" / "commands").mkdir(parents=True)
    (tmp_path / ".agents" / "commands" / "review.md").write_text("Review it.")
    assert [each.name for each in await controls.custom_commands()] == ["review"]
