"""The agents that can be installed, and the choice of one."""

from pathlib import Path

import pytest

from genie_core.assistant.check import faults
from genie_core.assistant.config import AgentSpec, AssistantConfig
from genie_core.assistant.errors import MissingProgram, UnknownAgent
from genie_core.assistant.known_programs import (
    KNOWN_PROGRAMS,
    installed_programs,
    known_program,
    program_named,
    title_of,
    with_program,
)
from genie_core.assistant.servers.errors import MissingValue
from genie_core.assistant.usable import usable


def test_known_programs_have_instructions() -> None:
    assert {each.name for each in KNOWN_PROGRAMS} == {
        "claude",
        "codex",
        "gemini",
        "opencode",
        "goose",
    }
    for each in KNOWN_PROGRAMS:
        assert each.install.startswith("install ")
        assert each.login
        assert program_named(each.name.upper()) is each
        assert known_program(each.command) is each


def test_a_program_is_known_by_its_command() -> None:
    assert title_of(("/opt/bin/codex-acp", "-c", "model=x")) == "Codex"
    assert title_of(("npx", "-y", "claude-agent-acp")) == "Claude Code"
    assert known_program(("gemini",)) is None
    assert title_of(("/opt/my-agent", "acp")) == "my-agent"
    assert known_program(()) is None
    assert program_named("nothing") is None


def test_installed_programs_are_those_on_path(tmp_path: Path) -> None:
    (tmp_path / "goose").touch(0o700)
    (tmp_path / "codex-acp").touch(0o600)
    assert [each.name for each in installed_programs(str(tmp_path))] == ["goose"]


def test_missing_program_is_found_early() -> None:
    spec = AgentSpec("coder", "Codes.", command=("no-such-agent",))
    gone = AgentSpec("", "", command=("codex-acp-gone", ""))
    [found] = faults(AssistantConfig(program=gone), {})
    assert isinstance(found, MissingProgram)
    assert str(found).endswith("change the setting agent")
    [left_out] = usable(AssistantConfig(agents=(spec,)), {}).problems
    assert isinstance(left_out.__cause__, MissingProgram)
    assert "[agents.coder]" in str(left_out)
    [known] = faults(
        AssistantConfig(program=AgentSpec("", "", command=("/nowhere/codex-acp",))), {}
    )
    assert "npm install -g @agentclientprotocol/codex-acp" in str(known)
    [empty] = faults(AssistantConfig(program=AgentSpec("", "", command=("",))), {})
    assert "names no program" in str(empty)


MINE = AgentSpec("mine", "", command=("my-agent", "--acp"), env={"A": "${MY_KEY}"})
TEAM = (MINE, AgentSpec("coder", "Codes."), AgentSpec("other", "", command=("other-agent",)))


def test_answering_entry_is_not_directed() -> None:
    chosen = with_program(AssistantConfig(agents=TEAM), " mine ")
    assert chosen.program == MINE
    assert chosen.agents == TEAM[1:]
    assert with_program(chosen, "") is chosen


def test_own_entry_beats_known_program() -> None:
    known = with_program(AssistantConfig(agents=TEAM), "Codex")
    assert (known.program, known.agents) == (AgentSpec("", "", command=("codex-acp",)), TEAM)
    own = AgentSpec("codex", "", command=("/opt/codex-acp", "-c", "model=x"))
    assert with_program(AssistantConfig(agents=(own,)), "codex").program == own
    directed = AgentSpec("codex", "Codes.")
    assert with_program(AssistantConfig(agents=(directed,)), "codex").agents == (directed,)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        (
            "codx",
            ["did you mean 'codex'?", "known: claude, codex,", "in the settings: mine, other"],
        ),
        ("nothing", ["no agent has that name; known: claude", "[agents.NAME]"]),
        ("coder", ["[agents.coder] has no command", "in the settings: mine, other"]),
    ],
)
def test_unknown_name_lists_existing(name: str, parts: list[str]) -> None:
    with pytest.raises(UnknownAgent) as failure:
        with_program(AssistantConfig(agents=TEAM), name)
    for part in parts:
        assert part in str(failure.value)


def test_answering_entry_names_its_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    config = with_program(AssistantConfig(agents=(MINE,)), "mine")
    missing, value = faults(config, {})
    assert isinstance(missing, MissingProgram)
    assert "the setting command in [agents.mine]" in str(missing)
    assert isinstance(value, MissingValue)
    assert "env.A of the agent 'mine' needs MY_KEY" in str(value)
    (tmp_path / "my-agent").touch(0o700)
    assert list(faults(config, {"MY_KEY": "x"})) == []
