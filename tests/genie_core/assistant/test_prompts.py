from pathlib import Path

import pytest

from genie_core.assistant.errors import (
    AssistantError,
    UnknownPlaceholder,
    UnknownTemplate,
    UnreadableTemplate,
)
from genie_core.assistant.prompts import for_owner, load_prompt, load_prompt_at, shipped_dir


def own(folder: Path, kind: str, name: str, text: str) -> None:
    (folder / kind).mkdir(parents=True, exist_ok=True)
    (folder / kind / f"{name}.md").write_text(text, encoding="utf-8")


def test_the_promised_templates_are_shipped() -> None:
    with pytest.raises(UnknownTemplate) as missing:
        load_prompt("reasoner", "")
    assert missing.value.known == ("fact_check", "general_assist", "mention_only")
    assert load_prompt("agent", "general")


@pytest.mark.parametrize("name", ["fact_check", "general_assist", "mention_only"])
def test_a_reasoner_prompt_names_its_owner(name: str) -> None:
    prompt = for_owner(load_prompt("reasoner", name), "alice")
    assert "alice" in prompt
    assert "{owner}" not in prompt


def test_an_own_prompt_overrides_and_adds(tmp_path: Path) -> None:
    own(tmp_path, "reasoner", "fact_check", "mine\n")
    own(tmp_path, "reasoner", "pirate", "arr {owner}")
    assert load_prompt("reasoner", "fact_check", tmp_path) == "mine"
    assert load_prompt("reasoner", "pirate", tmp_path) == "arr {owner}"
    with pytest.raises(UnknownTemplate):
        load_prompt("agent", "pirate", tmp_path)
    assert load_prompt("reasoner", "general_assist", tmp_path)


def test_braces_in_a_prompt_survive() -> None:
    assert for_owner('{owner}: {"a": {b}}', "alice") == 'alice: {"a": {b}}'


def test_unknown_template_suggests_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownTemplate, match="did you mean fact_check") as missing:
        load_prompt("reasoner", "factcheck", tmp_path)
    assert str(tmp_path / "reasoner") in str(missing.value)
    assert "\n" not in str(missing.value)


def test_binary_template_fails_in_one_line(tmp_path: Path) -> None:
    own(tmp_path, "reasoner", "fact_check", "")
    file = tmp_path / "reasoner" / "fact_check.md"
    file.write_bytes(b"ok\xff\xfe bad")
    with pytest.raises(UnreadableTemplate, match="not UTF-8 text at line 1; save it") as failure:
        load_prompt("reasoner", "fact_check", tmp_path)
    assert str(file) in str(failure.value)
    assert "\n" not in str(failure.value)


def test_folder_as_template_fails(tmp_path: Path) -> None:
    (tmp_path / "reasoner" / "pirate.md").mkdir(parents=True)
    with pytest.raises(AssistantError, match="Is a directory"):
        load_prompt("reasoner", "pirate", tmp_path)


@pytest.mark.parametrize("name", ["../agent/general", "/etc/passwd", "", "general_assist.md"])
def test_a_template_name_is_no_path(name: str) -> None:
    with pytest.raises(UnknownTemplate):
        load_prompt("reasoner", name)


def test_wheel_uses_packaged_prompts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genie_core.assistant.prompts._HERE", tmp_path)
    own(tmp_path / "prompts", "agent", "packaged", "text")
    assert shipped_dir() == tmp_path / "prompts"
    assert load_prompt("agent", "packaged") == "text"


def test_a_prompt_of_any_file_is_checked_alike(tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text(" for {owner}\n")
    assert load_prompt_at("reasoner", file) == "for {owner}"
    file.write_text("for {agents}")
    with pytest.raises(UnknownPlaceholder):
        load_prompt_at("reasoner", file)
    with pytest.raises(UnreadableTemplate):
        load_prompt_at("reasoner", tmp_path)
