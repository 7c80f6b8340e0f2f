from pathlib import Path

import pytest

from genie_core.assistant.check import check_config
from genie_core.assistant.config import AssistantConfig
from genie_core.assistant.errors import MissingVariable, UnknownTemplate, WorkspaceError


def test_the_defaults_are_fine() -> None:
    check_config(AssistantConfig(), {})


def test_each_wrong_setting_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingVariable, match="OPENAI_API_KEY"):
        check_config(AssistantConfig(model="openai:gpt-5"), {})
    with pytest.raises(UnknownTemplate, match="mention_only"):
        check_config(AssistantConfig(template="mention-only"), {})
    with pytest.raises(WorkspaceError, match="missing"):
        check_config(AssistantConfig(workspace=tmp_path / "missing"), {})


def test_good_settings_pass(tmp_path: Path) -> None:
    config = AssistantConfig("openai:gpt-5", "fact_check", tmp_path, tmp_path / "no-prompts")
    check_config(config, {"OPENAI_API_KEY": "key"})
