from pathlib import Path

import pytest

from genie_core.assistant.offline.answer import (
    asks_for_help,
    found_here,
    from_result,
    introduction,
    not_understood,
    unavailable,
)
from genie_core.assistant.offline.calls import CallResult
from genie_core.assistant.offline.requests import PlannedCall
from genie_core.assistant.tools.catalog import TOOL_NAMES, available


def test_a_result_is_the_answer() -> None:
    assert from_result(CallResult("calculate", "2+2 = 4")) == "2+2 = 4"


def test_denial_is_answered_with_reason() -> None:
    denied = CallResult("read_file", "It was not allowed: not that one", "denied")
    assert from_result(denied) == "I did not use `read_file`. It was not allowed: not that one"


def test_a_failure_is_no_result() -> None:
    failed = CallResult("read_file", "disk on fire", "failed")
    assert from_result(failed) == "`read_file` failed: disk on fire"


def test_introduction_lists_only_available() -> None:
    everything, without_files = introduction(TOOL_NAMES), introduction(available(None))
    assert "list the files" in everything
    assert "list the files" not in without_files
    assert "@genie run git status" in everything
    assert "run git status" not in without_files
    assert "fetch https://" in without_files
    for said in (everything, without_files):
        assert "no language model is configured" in said
        assert "`/model`" in said
        assert "`--model`" in said
        assert "`GENIE_MODEL`" in said


@pytest.mark.parametrize("asked", ["help", "@genie help!", "what can you do?", "Genie: HELP"])
def test_help_asks_for_the_introduction(asked: str) -> None:
    assert asks_for_help(asked)


@pytest.mark.parametrize("asked", ["help me with my taxes", "write a poem", ""])
def test_other_requests_do_not(asked: str) -> None:
    assert not asks_for_help(asked)


def test_unclear_request_points_to_model() -> None:
    said = [line for line in not_understood().split("\n") if line]
    assert len(said) == 2
    assert "`/settings`" in said[1]
    assert "`/model NAME`" in said[1]


def test_unavailable_request_names_lack() -> None:
    assert "--workspace" in unavailable(PlannedCall("list_files"))
    assert "run programs" in unavailable(PlannedCall("run_command"))
    assert "messages" in unavailable(PlannedCall("search_chat"))
    assert "`calculate`" in unavailable(PlannedCall("calculate"))


def test_present_key_or_agent_gets_line(tmp_path: Path) -> None:
    (tmp_path / "goose").write_text("#!/bin/sh\n")
    (tmp_path / "goose").chmod(0o700)
    key = {"ANTHROPIC_API_KEY": "sk-ant-0123456789"}
    by_key = found_here(key, str(tmp_path))
    assert by_key.startswith("There is a key for anthropic here: `/model anthropic:claude")
    assert "0123456789" not in by_key
    by_program = found_here({}, str(tmp_path))
    assert by_program == "goose is installed here: `/settings` lets it answer."
    assert found_here({}, "") == ""
    for line in (by_key, by_program):
        assert not_understood(line).endswith(f"\n\n{line}")
        assert introduction((), line).endswith(f"\n\n{line}")
        assert "\n" not in line
