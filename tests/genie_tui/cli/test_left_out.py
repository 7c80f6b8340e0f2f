"""One broken entry of each kind at each place: named everywhere, and alone in not working."""

import json
from pathlib import Path

import pytest
from keyring.backends import fail

from genie_core.assistant.build import Assistant, build_assistant
from genie_core.assistant.config import AssistantConfig
from genie_core.settings.load import load_settings
from genie_core.settings.locations import find_locations
from genie_core.settings.model import assistant_config
from genie_tui.cli.main import main


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the settings in a home of its own, without a keyring."""
    monkeypatch.setenv("GENIE_HOME", str(tmp_path))
    monkeypatch.setattr("keyring.get_keyring", fail.Keyring)
    (tmp_path / "config").mkdir()
    return tmp_path / "config"


def loaded(config: Path) -> tuple[AssistantConfig, Assistant]:
    places = find_locations({"GENIE_HOME": str(config.parent)})
    found = assistant_config(load_settings(places.settings_file, {}), places)
    return found, build_assistant(found)


def check_named(config: Path, *parts: str, capsys: pytest.CaptureFixture[str]) -> Assistant:
    """Check that each place names the entry; return the assistant that works without it."""
    _, assistant = loaded(config)
    shown = {"room": "\n".join(assistant.notices), "tools": "\n".join(assistant.controls.problems)}
    for command in (["config", "check"], ["doctor"]):
        assert main(command) == 1
        shown[command[0]] = capsys.readouterr().out
    for place, text in shown.items():
        found = [line for line in text.splitlines() if all(part in line for part in parts)]
        assert len(found) == 1, (place, text)
    return assistant


SERVERS = [
    ('{"comand": "x"}', "'comand'"),
    ('{"type": "ws", "url": "ws://h"}', "'type'"),
    ('{"command": "x", "sandbox": "yes"}', "'sandbox'"),
    ('{"command": "x", "env": {"A": []}}', "'env.A'"),
    ('"x"', "it must be an object"),
]


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize(("entry", "part"), SERVERS)
def test_broken_server(
    config: Path, capsys: pytest.CaptureFixture[str], entry: str, part: str, place: int
) -> None:
    entries = [f'"{name}": {{"command": "python3"}}' for name in ("one", "two")]
    entries.insert(place, f'"bad": {entry}')
    listed = ", // more\n".join(entries)
    (config / "mcp.json").write_text(f'\ufeff{{"mcpServers": {{\n{listed},\n}}}}')
    line = f"mcp.json, line {place + 2}, server 'bad'"
    assistant = check_named(config, line, part, capsys=capsys)
    states = {each.name: each.state for each in assistant.controls.servers}
    assert states == {"one": "idle", "two": "idle", "bad": "left out"}
    assert main(["servers"]) == 0
    assert line in capsys.readouterr().out


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize(
    ("rule", "part"),
    [
        ('effect = "dney"\npath = "*.env"', "'allow', 'ask' or 'deny'"),
        ('effect = "deny"\npth = "*.env"', "did you mean 'path'?"),
        ('effect = "deny"\npath = 3', "a text in quotes"),
    ],
)
def test_broken_rule(
    config: Path, capsys: pytest.CaptureFixture[str], rule: str, part: str, place: int
) -> None:
    rules = [f'effect = "ask"\ntool = "{name}"' for name in ("read_file", "git_*")]
    rules.insert(place, rule)
    (config / "settings.toml").write_text("".join(f"[[rules]]\n{each}\n" for each in rules))
    (config / "mcp.json").write_text(json.dumps({"mcpServers": {"git": {"command": "python3"}}}))
    where = f"settings.toml, line {place * 3 + (3 if 'pth' in rule or '3' in rule else 2)}"
    check_named(config, where, part, "all that it may be about is asked about", capsys=capsys)
    found, _ = loaded(config)
    assert [each.tool for each in found.rules if not each.broken] == ["read_file", "git_*"]


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize(
    ("agent", "part"),
    [
        ('description = "x"\nmodl = "y"', "did you mean 'model'?"),
        ('description = "x"\nprompt = "broken"', "broken.md can't be read: it is not UTF-8 text"),
        ('description = "x"\nmodel = "nobody:x"\nprompt = "general"', "nobody"),
        ('command = ["no-such-agent"]', "no-such-agent"),
    ],
)
def test_broken_agent(
    config: Path, capsys: pytest.CaptureFixture[str], agent: str, part: str, place: int
) -> None:
    (config / "prompts" / "agent").mkdir(parents=True)
    (config / "prompts" / "agent" / "broken.md").write_bytes(b"\xe4")
    agents = [f'[agents.{name}]\ndescription = "x"\nprompt = "general"' for name in ("one", "two")]
    agents.insert(place, f"[agents.bad]\n{agent}")
    (config / "settings.toml").write_text("\n".join(agents))
    assistant = check_named(config, "bad", part, capsys=capsys)
    assert {"one", "two"} <= {each.name for each in assistant.controls.agents}
    assert "bad" not in {each.name for each in assistant.controls.agents}


@pytest.mark.parametrize(
    ("file", "content", "part"),
    [
        ("skills/plan/SKILL.md", b"Plan.", "it has no description"),
        ("skills/plan/skill.md", b"---\ndescription: x\n---\n", "rename it to SKILL.md"),
        (
            "skills/a/plan/SKILL.md",
            b"---\ndescription: x\n---\n",
            "move it to skills/plan/SKILL.md",
        ),
        ("skills/a plan/SKILL.md", b"---\ndescription: x\n---\n", "rename the folder 'a plan'"),
        ("skills/plan/SKILL.md", b"---\ndescription: [x\n\xff---\n", "not UTF-8 text at line 3"),
        ("commands/plan.md", b"", "it is empty"),
        ("commands/Plan.md", b"x", "rename it"),
        ("commands/a/plan.md", b"x", "move it to commands"),
        ("AGENTS.md", b"\xff", "not UTF-8 text"),
    ],
)
async def test_broken_text(
    config: Path, capsys: pytest.CaptureFixture[str], file: str, content: bytes, part: str
) -> None:
    for good, text in (
        ("skills/good/SKILL.md", b"\n---\r\ndescription: x: y\r\n---\r\n"),
        ("commands/good.md", "\ufeffx".encode("utf-16-le")),
        (file, content),
    ):
        (config / good).parent.mkdir(parents=True, exist_ok=True)
        (config / good).write_bytes(text)
    assistant = check_named(config, f"{file} is not used", part, capsys=capsys)
    assert [each.name for each in await assistant.controls.custom_commands()] == ["good"]
    assert "read_skill" in {each.name for each in assistant.controls.tools}
