from pathlib import Path

import pytest

from genie_core.assistant.errors import UnknownTemplate
from genie_core.assistant.prompts import for_owner, load_prompt, shipped_dir, template_names


def own(folder: Path, kind: str, name: str, text: str) -> None:
    (folder / kind).mkdir(parents=True, exist_ok=True)
    (folder / kind / f"{name}.md").write_text(text, encoding="utf-8")


def test_the_promised_templates_are_shipped() -> None:
    assert template_names("reasoner") == ["fact_check", "general_assist", "mention_only"]
    assert "general" in template_names("agent")


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
    assert "pirate" in template_names("reasoner", tmp_path)
    assert "pirate" not in template_names("agent", tmp_path)
    assert load_prompt("reasoner", "general_assist", tmp_path)


def test_braces_in_a_prompt_survive() -> None:
    assert for_owner('{owner}: {"a": {b}}', "alice") == 'alice: {"a": {b}}'


def test_an_unknown_template_suggests_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownTemplate, match="did you mean fact_check") as missing:
        load_prompt("reasoner", "factcheck", tmp_path)
    assert str(tmp_path / "reasoner") in str(missing.value)
    assert "\n" not in str(missing.value)


@pytest.mark.parametrize("name", ["../agent/general", "/etc/passwd", "", "general_assist.md"])
def test_a_template_name_is_no_path(name: str) -> None:
    with pytest.raises(UnknownTemplate):
        load_prompt("reasoner", name)


def test_prompts_next_to_the_module_are_used_in_a_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("genie_core.assistant.prompts._HERE", tmp_path)
    own(tmp_path / "prompts", "agent", "packaged", "text")
    assert shipped_dir() == tmp_path / "prompts"
    assert template_names("agent") == ["packaged"]
