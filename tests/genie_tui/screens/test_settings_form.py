from pathlib import Path

import pytest

from genie_core.settings.load import SettingsError, SettingsSource
from genie_core.settings.locations import Locations
from genie_core.settings.model import Settings
from genie_tui.screens.settings import (
    ASK_ALL,
    ASK_WRITES,
    FIELDS,
    SettingsForm,
    origin_of,
    value_of,
)

TEXT = """\
# mine
model = "ollama:a" # local
template = "fact_check"

[[rules]]
effect = "deny"
tool = "run_command" # never
"""


def form_at(folder: Path, **env: str) -> SettingsForm:
    places = Locations(folder / "config", folder / "data", folder / "log")
    places.config.mkdir(exist_ok=True)
    source = SettingsSource(places.settings_file, env)
    return SettingsForm(source, places, "ann", lambda _: None)


@pytest.fixture
def form(tmp_path: Path) -> SettingsForm:
    made = form_at(tmp_path)
    made.source.file.write_text(TEXT)
    return made


def test_every_field_has_setting_and_value() -> None:
    for field in FIELDS:
        assert field.key[0] in Settings.__struct_fields__
    shown = {field.name: value_of(field.name, Settings()) for field in FIELDS}
    assert shown == {
        "name": "",
        "agent": "",
        "model": "",
        "reasoner_model": "",
        "fallback_model": "",
        "effort": "",
        "temperature": "",
        "max_tokens": "",
        "template": "general_assist",
        "workspace": "",
        "approvals": ASK_WRITES,
        "notify": "mine",
        "bell": "true",
        "window_title": "true",
        "desktop": "none",
        "keymap": "default",
        "theme": "genie-dark",
    }


def test_saved_values_read_back(form: SettingsForm) -> None:
    wanted = {
        "model": "",
        "reasoner_model": "ollama:b",
        "fallback_model": "ollama:c",
        "effort": "none",
        "temperature": "0",
        "max_tokens": "500",
        "template": "mention_only",
        "approvals": ASK_ALL,
        "notify": "none",
    }
    settings = form.save(wanted).settings
    assert {name: value_of(name, settings) for name in wanted} == wanted
    assert form.read().settings == settings
    text = form.source.file.read_text()
    assert "# mine" in text
    assert "# never" in text
    assert "\nmodel =" not in text
    assert [rule.effect for rule in settings.rules] == ["deny", "ask"]
    form.save({"approvals": ASK_WRITES, "workspace": ""})
    assert [rule.effect for rule in form.read().settings.rules] == ["deny"]


def test_a_file_that_is_wrong_is_not_written(form: SettingsForm) -> None:
    form.source.file.write_text("modle = 'x'\n")
    with pytest.raises(SettingsError, match="line 1"):
        form.save({"model": "ollama:b"})
    assert form.source.file.read_text() == "modle = 'x'\n"


def test_own_templates_are_among_the_choices(form: SettingsForm) -> None:
    own = form.locations.prompts / "reasoner"
    own.mkdir(parents=True)
    (own / "ours.md").write_text("Decide for {owner}.")
    choices = form.choices(form.read())
    names = [value for value, _ in choices["template"]]
    assert "ours" in names
    assert "general_assist" in names
    assert [label for _, label in choices["approvals"]] == [
        "ask about everything but reading, and 1 of your rules hold",
        "ask about everything, and 1 of your rules hold",
    ]
    assert form.fault("template", "ours", Settings()) is None


@pytest.mark.parametrize(
    ("name", "value", "part", "grave"),
    [
        ("model", "nobody:x", "unknown provider", True),
        ("model", "gpt", "no provider", True),
        ("fallback_model", "gpt", "no provider", True),
        ("temperature", "warm", "temperature can't be 'warm': it is a number", True),
        ("temperature", "3", "<= 2", True),
        ("max_tokens", "1.5", "it is a whole number", True),
        ("model", "openai:gpt-5", "OPENAI_API_KEY", False),
        ("reasoner_model", "nobody:x", "unknown provider", True),
        ("template", "nonsense", "nonsense", True),
        ("workspace", "/no/such/folder", "/no/such/folder", True),
        ("workspace", "~nosuchuser/x", "names no folder", True),
    ],
)
def test_only_missing_key_is_not_grave(
    form: SettingsForm, name: str, value: str, part: str, grave: bool
) -> None:
    fault = form.fault(name, value, Settings(template="other nonsense", model="nobody:y"))
    assert fault is not None
    assert part in fault.text
    assert fault.grave is grave


@pytest.mark.parametrize(
    ("name", "value"),
    [("model", ""), ("model", "ollama:a"), ("workspace", "."), ("notify", "all"), ("theme", "x")],
)
def test_what_is_right_has_no_fault(form: SettingsForm, name: str, value: str) -> None:
    assert form.fault(name, value, Settings()) is None


def test_a_model_at_an_address_needs_no_provider(form: SettingsForm) -> None:
    local = Settings(base_url="http://127.0.0.1:1234/v1")
    assert form.fault("model", "qwen3", local) is None
    assert form.fault("reasoner_model", "qwen3", local) is not None


def test_what_the_environment_sets_is_known(tmp_path: Path) -> None:
    reading = form_at(tmp_path, GENIE_MODEL="ollama:a").read()
    origins = {field.name: origin_of(field, reading) for field in FIELDS}
    assert origins["model"].overrides
    assert origins["model"].text == "environment GENIE_MODEL"
    assert origins["approvals"].text == "default"


def test_choices_are_installed_or_own(tmp_path: Path) -> None:
    (tmp_path / "goose").touch(0o700)
    form = form_at(tmp_path, PATH=str(tmp_path))
    form.source.file.write_text(
        '[agents.mine]\ncommand = ["my-agent", "--acp"]\n[agents.coder]\ndescription = "Codes."\n'
    )
    reading = form.read()
    choices = form.choices(reading)["agent"]
    assert [name for name, _ in choices] == ["", "mine", "goose"]
    assert "[agents.mine]" in choices[1][1]
    missing = form.fault("agent", "mine", reading.settings)
    assert missing is not None
    assert not missing.grave  # it can be installed later
    assert "'my-agent' is not installed" in missing.text
    assert form.fault("agent", "", reading.settings) is None
    unknown = form.fault("agent", "nothing", reading.settings)
    assert unknown is not None
    assert unknown.grave
    assert "in the settings: mine" in unknown.text
