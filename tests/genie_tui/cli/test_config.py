import io
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from genie_core.errors import GenieError
from genie_core.settings.load import SettingsSource
from genie_core.settings.locations import Locations
from genie_core.settings.model import Settings
from genie_tui.cli.commands import parser
from genie_tui.cli.config import print_keys, run_config
from genie_tui.commands.key_file import read_keymap


class Shell:
    """Runs `genie-tui config …` in this process, on files of its own."""

    def __init__(self, folder: Path) -> None:
        self.locations = Locations(folder / "config", folder / "data", folder / "log")
        self.file = self.locations.settings_file
        self.file.parent.mkdir()
        self.env: dict[str, str] = {}
        self.out = ""

    def run(self, *arguments: str) -> int:
        options = parser().parse_args(["config", *arguments])
        given = {field: getattr(options, field, None) for field in Settings.__struct_fields__}
        source = SettingsSource(self.file, self.env, given)
        out = io.StringIO()
        code = run_config(options, source, self.locations, out)
        self.out = out.getvalue()
        return code

    def refuse(self, *arguments: str) -> str:
        before = self.file.read_text() if self.file.exists() else None
        with pytest.raises(GenieError) as caught:
            self.run(*arguments)
        assert (self.file.read_text() if self.file.exists() else None) == before
        return str(caught.value)

    def editor(self, code: str) -> None:
        """Let the editor be a program that does this with its `file`."""
        script = self.file.parent / "editor.py"
        script.write_text(f"import sys, pathlib\nfile = pathlib.Path(sys.argv[-1])\n{code}\n")
        self.env["EDITOR"] = f"'{sys.executable}' {script}"


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_show_names_source_of_each_value(shell: Shell) -> None:
    shell.file.write_text(
        'model = "ollama:q"\nbase_url = "http://me:secret@here/v1"\n'
        '[[rules]]\neffect = "deny"\narguments = { "a b" = "x\\u202e" }\n'
        '[agents.coder]\ndescription = "x"\n'
    )
    shell.env["GENIE_BUDGET_MONEY"] = "2"
    assert shell.run("show", "--theme", "genie-light") == 0
    values = tomllib.loads(shell.out)
    assert values["model"] == "ollama:q"
    assert values["budget"] == {"money": 2.0, "tokens": 0}
    assert values["agents"] == {"coder": {"description": "x"}}
    assert values["rules"][0]["effect"] == "deny"
    for line in (
        'model = "ollama:q"                           # settings.toml:1',
        "budget.money = 2.0                           # environment GENIE_BUDGET_MONEY",
        'theme = "genie-light"                        # command line',
        'notify = "mine"                              # default',
    ):
        assert line in shell.out.splitlines()
    assert "# settings.toml:3" in shell.out
    assert "secret" not in shell.out
    assert "\u202e" not in shell.out
    for field in Settings.__struct_fields__:
        assert field in shell.out


def test_no_part_shows_missing_file(shell: Shell) -> None:
    assert shell.run() == 0
    assert "(not there)" in shell.out
    assert shell.run("path") == 0
    assert shell.out == f"{shell.file}\n"


def test_set_and_unset_keep_all_else_of_the_file(shell: Shell) -> None:
    shell.file.write_text("# mine\nport = 3 # chosen\n")
    assert shell.run("set", "budget.money", "5") == 0
    assert shell.run("set", "tools", "calculate, read_file") == 0
    assert shell.run("set", "local", "true") == 0
    assert shell.run("set", "servers", "[]") == 0
    assert tomllib.loads(shell.file.read_text()) == {
        "port": 3,
        "tools": ["calculate", "read_file"],
        "local": True,
        "servers": [],
        "budget": {"money": 5.0},
    }
    assert shell.run("unset", "budget.money") == 0
    assert "budget" not in shell.file.read_text()
    assert shell.file.read_text().startswith("# mine\nport = 3 # chosen\n")


def test_set_takes_two_words_or_equals(shell: Shell) -> None:
    assert shell.run("set", "local=true") == 0
    assert shell.run("set", "port=7655", "base_url", "http://here/v1", "model=ollama:q") == 0
    assert tomllib.loads(shell.file.read_text()) == {
        "local": True,
        "port": 7655,
        "base_url": "http://here/v1",
        "model": "ollama:q",
    }


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["set", "model"], ["no value for model"]),
        (["set", "modle", "x"], ["'modle'", "did you mean 'model'?"]),
        (["set", "budget.mony", "1"], ["'mony' in budget", "'money'"]),
        (["set", "budget", "1"], ["has several values", "config edit"]),
        (["set", "model.x", "1"], ["model has no parts"]),
        (["set", "port", "70000"], ["port can't be '70000'", "<= 65535"]),
        (["set", "notify", "mien"], ["'mine', 'all' or 'none'"]),
        (["set", "tools", "[1"], ["a list of texts"]),
        (["set", "agents.coder.model", "x:y"], ["agents.coder needs 'description'"]),
        (["set", "agents.system.description", "x"], ["that name is taken"]),
        (["set", "model", "5"], ["'5' has no provider", "nothing was changed"]),
        (["set", "model", "opnai:b"], ["'opnai:b' names an unknown provider"]),
        (["set", "reasoner_model", "5"], ["'5' has no provider"]),
        (["set", "base_url", "localhost:1234"], ["write it like"]),
        (["set", "base_url", "http://127.0.0.1:1/v1"], ["it needs a model"]),
        (["set", "template", "nonsense"], ["'nonsense'"]),
        (["set", "theme", "genie-ligth"], ["genie-light"]),
        (["set", "name", "two words"], ["contains a space"]),
        (["set", "workspace", "/no/such/folder"], ["/no/such/folder"]),
        (["set", "tools", "calculat"], ["'calculat'", "'calculate'"]),
        (["set", "servers", "git"], ["'git'"]),
        (["set", "mcp", "gone.json"], ["gone.json"]),
        (["set", "port", "7655", "model", "5"], ["'5' has no provider"]),
        (["set", "port", "7655", "model"], ["no value for model"]),
        (["unset", "model"], ["model is not set in"]),
    ],
)
def test_invalid_change_keeps_file(shell: Shell, arguments: list[str], parts: list[str]) -> None:
    shell.file.write_text("# mine\n")
    said = shell.refuse(*arguments)
    for part in parts:
        assert part in said


def test_what_go_together_can_be_set_together(shell: Shell) -> None:
    assert shell.run("set", "model", "qwen3", "base_url", "http://127.0.0.1:1234/v1") == 0
    assert tomllib.loads(shell.file.read_text()) == {
        "model": "qwen3",
        "base_url": "http://127.0.0.1:1234/v1",
    }
    assert "base_url is set in" in shell.out


def test_key_stays_with_its_address(shell: Shell) -> None:
    shell.env["MINE"] = "x"
    assert shell.run("set", "model", "m", "base_url", "http://a/v1", "api_key_env", "MINE") == 0
    said = shell.refuse("set", "base_url", "http://b/v1")
    assert "config set base_url ADDRESS api_key_env NAME" in said
    assert shell.run("set", "base_url", "http://b/v1", "api_key_env", "MINE") == 0
    assert shell.run("unset", "api_key_env") == 0
    assert shell.run("set", "base_url", "http://c/v1") == 0


def test_agent_key_stays_with_its_address(shell: Shell) -> None:
    shell.env["MINE"] = "x"
    shell.file.write_text(
        '[agents.coder]\ndescription = "d"\nmodel = "m"\n'
        'base_url = "http://a/v1"\napi_key_env = "MINE"\n'
    )
    key, name = "agents.coder.base_url", "agents.coder.api_key_env"
    said = shell.refuse("set", key, "http://b/v1")
    assert f"{name} names a key for the {key} that is set now" in said
    assert f"config set {key} ADDRESS {name} NAME" in said
    assert shell.run("set", "agents.coder.model", "n", key, "http://a/v1") == 0
    assert shell.run("set", key, "http://b/v1", name, "MINE") == 0


def test_missing_requirement_is_only_noted(shell: Shell) -> None:
    assert shell.run("set", "model", "openai:gpt-5") == 0
    assert "note: model 'openai:gpt-5' needs OPENAI_API_KEY" in shell.out
    servers = shell.file.parent / "tools.json"
    servers.write_text('{"mcpServers": {"git": {"command": "no-such-program"}}}')
    assert shell.run("set", "mcp", "tools.json") == 0
    assert "note: " in shell.out
    assert "'no-such-program'" in shell.out


def test_overridden_value_is_still_checked(shell: Shell) -> None:
    shell.env["GENIE_MODEL"] = "ollama:a"
    assert "'5' has no provider" in shell.refuse("set", "model", "5")


def test_check_finds_broken_tool_servers(shell: Shell) -> None:
    servers = shell.file.parent / "mcp.json"
    servers.write_text(
        '{"mcpServers": {\n  "git": {"command": "no-such-program"},\n'
        '  "web": {"url": "https://host/mcp", "headers": {"Authorization": "Bearer ${T}"}}\n}}\n'
    )
    assert shell.run("check") == 1
    git, web = shell.out.splitlines()
    assert git.startswith(f"{servers}, line 2: the tool server 'git' can't be started")
    assert "the program 'no-such-program' is not on PATH" in git
    assert web.startswith(f"{servers}, line 3: headers.Authorization of the tool server 'web'")
    assert "secrets set T" in web
    shell.env["T"] = "x"
    shell.file.write_text('servers = ["web"]\n')
    assert shell.run("check") == 0


def test_set_says_what_overrides_it(shell: Shell) -> None:
    shell.file.write_text("template = 'nonsense'\n")
    shell.env["GENIE_MODEL"] = "ollama:a"
    assert shell.run("set", "model", "ollama:b") == 0
    assert "environment GENIE_MODEL" in shell.out
    assert "nonsense" not in shell.out  # that was so before


def test_check_knows_what_a_model_needs(shell: Shell) -> None:
    shell.file.write_text('model = "openai:gpt-5"\nname = "ann"\n')
    assert shell.run("check") == 1
    assert "OPENAI_API_KEY" in shell.out
    shell.env["OPENAI_API_KEY"] = "x"
    assert shell.run("check") == 0


def test_check_tells_everything_one_line_each(shell: Shell) -> None:
    assert shell.run("check") == 0
    assert "nothing is wrong" in shell.out
    shell.file.write_text("modle = 1\n[limits]\nmembers = 0\n")
    shell.env["GENIE_PORT"] = "x"
    assert shell.run("check") == 1
    lines = shell.out.splitlines()
    assert len(lines) == 3
    for line, part in zip(lines, ["line 1", "line 3", "GENIE_PORT"], strict=True):
        assert part in line
    shell.env.clear()
    shell.file.write_text(
        'model = "nobody:x"\ntheme = "genie-ligth"\nname = "a\\u0007"\nmcp = "gone.json"\n'
        '[[rules]]\neffect = "allow"\ntool = "[x"\n'
        '[agents.coder]\ndescription = "x"\nprompt = "general"\ntools = ["calculat"]\n'
    )
    assert shell.run("check") == 1
    for part in ("nobody", "genie-light", "name", "gone.json", "rule 1", "calculat"):
        assert part in shell.out
    assert len(shell.out.splitlines()) == 6
    assert "\x07" not in shell.out


def test_broken_file_is_checked_and_edited(shell: Shell) -> None:
    shell.file.write_text("model = \n")
    assert shell.run("path") == 0
    assert shell.run("check") == 1
    assert "line 1" in shell.out
    for part in (["set", "model", "x:y"], ["unset", "model"], ["show"]):
        assert "line 1" in shell.refuse(*part)
    shell.editor("file.write_text('model = \"ollama:q\"\\n')")
    assert shell.run("edit") == 0
    assert "nothing is wrong" in shell.out


def test_edit_keeps_text_and_reports_fault(shell: Shell) -> None:
    shell.editor("assert 'config show' in file.read_text(); file.write_text('ports = 3\\n')")
    assert shell.run("edit") == 1
    assert "did you mean 'port'?" in shell.out
    assert shell.file.read_text() == "ports = 3\n"


def test_failing_editor_leaves_file(shell: Shell) -> None:
    shell.env["EDITOR"] = "/no/such/editor"
    assert "can't start the editor" in shell.refuse("edit")
    shell.env["VISUAL"] = "'open"
    assert "VISUAL can't be used" in shell.refuse("edit")
    shell.env.clear()
    shell.env["PATH"] = "/nowhere"
    assert "set EDITOR" in shell.refuse("edit")
    shell.editor("sys.exit(3)")
    assert "ended with 3" in shell.refuse("edit")
    assert not shell.file.exists()


def test_the_command_loads_nothing_heavy() -> None:
    heavy = ("textual", "rich", "tomlkit", "pydantic", "genie_core.session", "websockets")
    code = f"import sys, genie_tui.cli.main; print([n for n in {heavy} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_parts_take_what_they_need() -> None:
    options = parser().parse_args(["config", "set", "budget.money", "3", "port", "7655"])
    assert (options.part, options.key, options.value) == ("set", "budget.money", "3")
    assert options.more == ["port", "7655"]


def test_agent_may_be_missing_not_unknown(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "did you mean 'codex'?" in shell.refuse("set", "agent", "codx")
    assert shell.run("set", "agent", "codex") == 0
    assert "note: the agent program 'codex-acp' is not installed" in shell.out
    assert shell.run("check") == 1
    assert "npm install -g @agentclientprotocol/codex-acp" in shell.out
    shell.file.write_text(
        'agent = "mine"\n[agents.mine]\ncommand = ["my-agent"]\nenv = { A = "${NO_SUCH_KEY}" }\n'
    )
    (tmp_path / "my-agent").touch(0o700)
    assert shell.run("check") == 1
    assert "env.A of the agent 'mine' needs NO_SUCH_KEY" in shell.out
    shell.env["NO_SUCH_KEY"] = "x"
    assert shell.run("check") == 0


def test_check_reports_keys(shell: Shell) -> None:
    shell.file.write_text('keymap = "vi"\n')
    shell.locations.keys_file.write_text('[timeline]\nreply = "i"\n[room]\nfind = "alt+f"\n')
    assert shell.run("check") == 1
    assert shell.out == "keys.toml, [timeline] reply: 'i' is the key of [timeline] write\n"
    shell.file.write_text("")
    assert shell.run("check") == 0


def test_check_reports_keys_and_settings(shell: Shell) -> None:
    shell.file.write_text("name = \n")
    shell.locations.keys_file.write_text('[room]\nfind = "x"\n')
    assert shell.run("check") == 1
    assert len(shell.out.splitlines()) == 2


# -- the keys


def printed(file: Path) -> str:
    out = io.StringIO()
    assert print_keys("default", file, out) == 0
    return out.getvalue()


def test_what_is_printed_starts_a_file_of_keys(tmp_path: Path) -> None:
    file = tmp_path / "keys.toml"
    text = printed(file)
    assert str(file) in text.splitlines()[0]
    assert not any(tomllib.loads(text).values())
    file.write_text(text.replace('# approvals = "ctrl+g"', 'approvals = "alt+a"', 1))
    keymap = read_keymap("default", file)
    assert (keymap.problems, keymap.changed) == ([], {"room.approvals": ("alt+a",)})
    assert '\napprovals = "alt+a"' in printed(file)


def test_a_file_with_mistakes_is_no_obstacle(tmp_path: Path) -> None:
    file = tmp_path / "keys.toml"
    file.write_text("[room\n")
    assert '# approvals = "ctrl+g"' in printed(file)
