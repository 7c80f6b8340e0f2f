from functools import partial
from pathlib import Path

import pytest

from genie_core.assistant.config import (
    AgentSpec,
    AssistantConfig,
    Budget,
    ModelChoice,
    ModelOptions,
    Rule,
    Sandbox,
    ToolLimits,
)
from genie_core.assistant.errors import UnknownAgent
from genie_core.settings.edit import put
from genie_core.settings.load import (
    SettingsError,
    SettingsSource,
    load_settings,
    problems,
    read_settings,
)
from genie_core.settings.locations import Locations, NoSuchPlace
from genie_core.settings.model import Settings, assistant_config, default_name


def write(folder: Path, text: str) -> Path:
    file = folder / "settings.toml"
    file.write_text(text, "utf-8")
    return file


def test_missing_file_gives_defaults(tmp_path: Path) -> None:
    assert load_settings(tmp_path / "absent.toml", {}) == Settings()


def test_command_line_beats_env_beats_file(tmp_path: Path) -> None:
    file = write(tmp_path, 'name = "file"\nmodel = "file:m"\nport = 1000\n')
    env = {"GENIE_MODEL": "env:m", "GENIE_PORT": "2000"}
    settings = load_settings(file, env, {"port": 3000, "model": None})
    assert (settings.name, settings.model, settings.port) == ("file", "env:m", 3000)
    file.write_text("[budget]\nmoney = 1\ntokens = 7\n[tool_limits]\nshell = true\n")
    env = {"GENIE_BUDGET_MONEY": "2", "GENIE_TOOL_LIMITS_FETCH_SECONDS": "5"}
    settings = load_settings(file, env, {"budget.money": 3.0})
    assert (settings.budget.money, settings.budget.tokens) == (3.0, 7)
    assert (settings.tool_limits.shell, settings.tool_limits.fetch_seconds) == (True, 5.0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('name = "ann"\nmodle = "x:y"\n', ["line 2", "'modle'", "'model'"]),
        ("\nport = 'many'\n", ["line 2", "port", "many"]),
        ("port = 70000\n", ["line 1", "port can't be 70000", "<= 65535"]),
        ("temperature = 2.1\n", ["line 1", "temperature can't be 2.1", "<= 2.0"]),
        ("effort = 'huge'\n", ["line 1", "effort can't be 'huge'", "'minimal', 'low'"]),
        ("reasoner_max_tokens = -1\n", ["reasoner_max_tokens can't be -1", ">= 0"]),
        ("port = -1\n", ["line 1", "port can't be -1", ">= 0"]),
        ("name = \n", ["line 1"]),
        (f"name = {'[' * 5000}\n", ["settings.toml"]),
        ("[limits]\n\nmembrs = 3\n", ["line 3", "'membrs'", "did you mean 'members'?"]),
        ("[limits]\nmembers = 0\n", ["line 2", "members can't be 0", ">= 1"]),
        ("limits = 3\n", ["line 1", "limits can't be 3"]),
        ("zzz = 1\n", ["line 1", "'zzz'", "known settings: name, agent, model"]),
        ("[budget]\nmony = 3\n", ["line 2", "'mony' in budget", "did you mean 'money'?"]),
        ("[budget]\nmoney = nan\n", ["line 2", "budget.money can't be nan"]),
        ("notify = 'mien'\n", ["line 1", "notify can't be 'mien'", "'mine', 'all' or 'none'"]),
        ("runtime = 'openai'\n", ["'pydantic-ai' or 'openai-agents'"]),
        ("[tool_limits]\nshell = 'yes'\n", ["line 2", "tool_limits.shell", "true or false"]),
        ("[sandbox]\nmode = 'on'\n", ["line 2", "sandbox.mode", "'auto', 'off' or 'required'"]),
        ('tools = [\n "a", 3 ]\n', ["line 1", "tools can't be ['a', 3]", "a list of texts"]),
        ('model = """\nport = 1\n"""\nport = "x"\n', ["line 4", "port can't be 'x'"]),
    ],
)
def test_mistake_names_file_line_and_remedy(tmp_path: Path, text: str, expected: list[str]) -> None:
    file = write(tmp_path, text)
    with pytest.raises(SettingsError) as caught:
        load_settings(file, {})
    for part in [str(file), *expected]:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[agents]\nx = 1\n", ["line 2", "agents.x can't be 1", "it is a table"]),
        (
            '[[rules]]\neffect = "deny"\n[[rules]]\ntool = "a"\n',
            ["line 3", "rules[2] needs 'effect'"],
        ),
        ('[[rules]]\neffect = "deny"\nrsik = "read"\n', ["line 3", "in rules[1]", "'risk'"]),
        ('[[rules]]\neffect = "deny"\n[rules.arguments]\nn = 3\n', ["rules[1].arguments"]),
        ('[agents.coder]\nprompt = "x"\n', ["line 1", "agents.coder needs 'description'"]),
        (
            '[agents.a]\ndescription = "x"\n\n[agents.b]\ndescription = "y"\nmodl = "z"\n',
            ["line 6", "'modl' in agents.b", "did you mean 'model'?"],
        ),
        ('[agents."a b"]\ndescription = "x"\n', ["line 1", "'a b'", "letters, digits"]),
        ('[agents.system]\ndescription = "x"\n', ["line 1", "that name is taken"]),
        ("agents = [1]\n", ["line 1", "agents can't be [1]"]),
        ("rules = 3\n", ["line 1", "rules can't be 3"]),
        ('[rules]\neffect = "deny"\n', ["line 1", "rules can't be"]),
        ('rules = ["deny"]\n', ["line 1", "rules[1] can't be 'deny': it is a table"]),
    ],
)
def test_broken_entry_is_left_out_and_named(tmp_path: Path, text: str, expected: list[str]) -> None:
    file = write(tmp_path, f'name = "ann"\n{text}')
    settings = load_settings(file, {})
    (entry,) = settings.broken
    assert settings.name == "ann"
    assert "; it is not used" in entry.problems[0]
    file = write(tmp_path, text)
    (entry,) = load_settings(file, {}).broken
    for part in [str(file), *expected]:
        assert part in entry.problems[0]


GOOD_RULE = '[[rules]]\neffect = "allow"\ntool = "{}"\n'
BROKEN_RULES = [
    '[[rules]]\neffect = "dney"\npath = "*.env"\n',
    '[[rules]]\neffect = "deny"\npath = 3\n',
    '[[rules]]\neffect = "deny"\npath = "*.env"\nwhen = "now"\n',
    '[[rules]]\npath = "*.env"\n',
    '[[rules]]\neffect = "ask"\nrisk = "danger"\n',
    '[[rules]]\neffect = "deny"\narguments = "x"\n',
]


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("broken", BROKEN_RULES)
def test_other_rules_keep_their_numbers(tmp_path: Path, broken: str, place: int) -> None:
    rules = [GOOD_RULE.format("a"), GOOD_RULE.format("b")]
    rules.insert(place, broken)
    settings = load_settings(write(tmp_path, "".join(rules)), {})
    config = assistant_config(settings, Locations(tmp_path, tmp_path, tmp_path))
    assert [each.tool for each in config.rules if not each.broken] == ["a", "b"]
    assert config.rules[place].broken
    assert config.rules[place].effect == ("ask" if "ask" in broken else "deny")
    assert config.problems == settings.broken[0].problems
    assert f"rules[{place + 1}]" in config.problems[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (BROKEN_RULES[0], Rule("deny", path="*.env", broken=True)),
        (BROKEN_RULES[1], Rule("deny", broken=True)),
        (BROKEN_RULES[2], Rule("deny", path="*.env", broken=True)),
        ('[[rules]]\neffect = "deny"\npth = "*.env"\n', Rule("deny", broken=True)),
        ('[[rules]]\neffect = "allow"\npth = "x"\n', Rule("allow", tool="", broken=True)),
        ("rules = [3]\n", Rule("deny", broken=True)),
        ("rules = 3\n", Rule("deny", broken=True)),
        ('[rules]\neffect = "deny"\ntool = "x"\n', Rule("deny", tool="x", broken=True)),
    ],
)
def test_broken_rule_keeps_valid_conditions(tmp_path: Path, text: str, expected: Rule) -> None:
    settings = load_settings(write(tmp_path, text), {})
    config = assistant_config(settings, Locations(tmp_path, tmp_path, tmp_path))
    assert config.rules == (expected,)


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize(
    "broken", ["[agents.x]\nmodl = 1\n", "[agents.system]\ndescription = 'x'\n"]
)
def test_other_agents_are_kept(tmp_path: Path, broken: str, place: int) -> None:
    agents = [f"[agents.{name}]\ndescription = 'does it'\n" for name in "ab"]
    agents.insert(place, broken)
    settings = load_settings(write(tmp_path, "".join(agents)), {})
    assert [*settings.agents] == ["a", "b"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_editor_encodings_are_read(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "settings.toml"
    file.write_bytes('name = "änn"\r\nport = 1000\r\n'.encode(encoding))
    assert load_settings(file, {}) == Settings(name="änn", port=1000)


def test_settings_that_are_no_text_name_the_line(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_bytes(b'port = 1\nname = "\xe4nn"\n')
    with pytest.raises(SettingsError, match="not UTF-8 text at line 2; save it as UTF-8"):
        load_settings(file, {})


def test_broken_entry_allows_changes(tmp_path: Path) -> None:
    file = write(tmp_path, BROKEN_RULES[0])
    SettingsSource(file).change([partial(put, key=("port",), value=1000)])
    assert "port = 1000" in file.read_text()
    assert BROKEN_RULES[0] in file.read_text()
    with pytest.raises(SettingsError, match="nothing was changed"):
        SettingsSource(file).change([partial(put, key=("agents", "a", "modl"), value="x")])


@pytest.mark.parametrize("port", ["soon", "99999", "-1"])
def test_env_mistake_names_variable(tmp_path: Path, port: str) -> None:
    with pytest.raises(SettingsError, match=f"GENIE_PORT can't be '{port}'"):
        load_settings(tmp_path / "absent.toml", {"GENIE_PORT": port})


@pytest.mark.parametrize("workspace", ["~nosuchuser/x", "a\0b"])
def test_impossible_workspace_is_refused(tmp_path: Path, workspace: str) -> None:
    with pytest.raises(NoSuchPlace, match="names no folder"):
        assistant_config(Settings(workspace=workspace), below(tmp_path))


def test_impossible_sandbox_path_is_refused(tmp_path: Path) -> None:
    settings = load_settings(
        write(tmp_path, "[sandbox]\nreadable = ['~nosuchuser/x']\n"), {"GENIE_SANDBOX_MODE": "off"}
    )
    assert settings.sandbox.mode == "off"
    with pytest.raises(NoSuchPlace, match="names no folder"):
        assistant_config(settings, below(tmp_path))


def test_a_workspace_may_begin_with_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    places = below(tmp_path)
    assert assistant_config(Settings(workspace="~/notes"), places).workspace == tmp_path / "notes"
    assert assistant_config(Settings(), places).workspace is None


def below(folder: Path) -> Locations:
    return Locations(folder / "config", folder / "data", folder / "log")


WHOLE = """
model = "openai:gpt-5"
base_url = "http://127.0.0.1:1/v1"
api_key_env = "ONE"
runtime = "openai-agents"
reasoner_model = "small"
reasoner_base_url = "http://127.0.0.1:2/v1"
reasoner_api_key_env = "TWO"
fallback_model = "spare"
fallback_base_url = "http://127.0.0.1:4/v1"
fallback_api_key_env = "FOUR"
summary_model = "short"
summary_base_url = "http://127.0.0.1:5/v1"
summary_api_key_env = "FIVE"
temperature = 0.5
effort = "high"
max_tokens = 900
reasoner_temperature = 0
reasoner_effort = "none"
reasoner_max_tokens = 90
template = "fact_check"
tools = ["calculate"]
servers = []
mcp = "servers.json"
budget.money = 2
[tool_limits]
private_addresses = true
fetch_bytes = 10
[sandbox]
mode = "required"
network = true
writable = ["~/cache"]
readable = ["/data", "~/.gitconfig"]
env = ["PATH"]
[[rules]]
effect = "deny"
tool = "write_*"
arguments = { path = "*.lock" }
[[rules]]
effect = "allow"
agent = "coder"
risk = "execute"
[agents.coder]
description = "writes code"
prompt = "code"
model = "local"
base_url = "http://127.0.0.1:3/v1"
api_key_env = "THREE"
runtime = "pydantic-ai"
tools = ["read_file"]
servers = ["git"]
idle_timeout = 30
emoji = "🛠"
temperature = 2
effort = "max"
max_tokens = 9
[agents.writer]
description = "writes"
"""


def test_the_whole_of_it_reaches_the_assistant(tmp_path: Path) -> None:
    settings = load_settings(write(tmp_path, WHOLE), {"GENIE_BUDGET_TOKENS": "9"})
    places = below(tmp_path)
    assert assistant_config(settings, places) == AssistantConfig(
        model="openai:gpt-5",
        template="fact_check",
        prompts_dir=places.prompts,
        runtime="openai-agents",
        base_url="http://127.0.0.1:1/v1",
        key_name="ONE",
        reasoner=ModelChoice("small", "http://127.0.0.1:2/v1", "TWO"),
        agents=(
            AgentSpec(
                "coder",
                "writes code",
                "code",
                ModelChoice("local", "http://127.0.0.1:3/v1", "THREE"),
                "pydantic-ai",
                ("read_file",),
                ("git",),
                30.0,
                "🛠",
                ModelOptions(2.0, "max", 9),
            ),
            AgentSpec("writer", "writes"),
        ),
        tools=("calculate",),
        servers=(),
        servers_file=places.config / "servers.json",
        rules=(
            Rule("deny", "write_*", arguments={"path": "*.lock"}),
            Rule("allow", agent="coder", risk="execute"),
        ),
        limits=ToolLimits(private_addresses=True, fetch_bytes=10),
        sandbox=Sandbox(
            "required",
            network=True,
            writable=(Path.home() / "cache",),
            readable=(Path("/data"), Path.home() / ".gitconfig"),
            env=("PATH",),
            hidden=(places.config, places.data, places.log),
        ),
        budget=Budget(2.0, 9),
        rooms=places.sessions,
        own_texts=places.config,
        options=ModelOptions(0.5, "high", 900),
        reasoner_options=ModelOptions(0.0, "none", 90),
        summary=ModelChoice("short", "http://127.0.0.1:5/v1", "FIVE"),
        fallback=ModelChoice("spare", "http://127.0.0.1:4/v1", "FOUR"),
    )


def test_the_defaults_are_those_of_the_assistant(tmp_path: Path) -> None:
    places = below(tmp_path)
    assert assistant_config(Settings(), places) == AssistantConfig(
        prompts_dir=places.prompts,
        rooms=places.sessions,
        own_texts=places.config,
        sandbox=Sandbox(hidden=(places.config, places.data, places.log)),
    )


def test_servers_file_is_beside_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    places = below(tmp_path)
    places.config.mkdir()
    assert assistant_config(Settings(), places).servers_file is None
    places.servers_file.write_text("{}")
    assert assistant_config(Settings(), places).servers_file == places.config / "mcp.json"
    for mcp, file in {"/a/b": "/a/b", "~/b": "/home/ann/b", "b": f"{places.config}/b"}.items():
        assert assistant_config(Settings(mcp=mcp), places).servers_file == Path(file)


def test_mistakes_are_listed_file_first(tmp_path: Path) -> None:
    written = read_settings(write(tmp_path, "modle = 'x'\nport = -1\n[budget]\ntokens = 'x'\n"))
    env = {"GENIE_LOCAL": "perhaps", "GENIE_TOOL_LIMITS_SHELL": "1", "GENIE_NOTIFY": "x"}
    found = list(problems(written, env))
    for text, part in zip(
        found,
        ["'modle'", "port can't be -1", "budget.tokens", "GENIE_NOTIFY can't be", "GENIE_LOCAL"],
        strict=True,
    ):
        assert part in text
    assert "true or false" in found[-1]


def test_mistake_shows_no_api_key(tmp_path: Path) -> None:
    key = "sk-" + "a1b2c3d4" * 4
    with pytest.raises(SettingsError) as caught:
        load_settings(write(tmp_path, f"port = '{key}'\n"), {})
    assert key not in str(caught.value)
    assert "port can't be" in str(caught.value)


def test_an_unreadable_file_is_a_clear_error(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.mkdir()
    with pytest.raises(SettingsError, match="can't read the settings"):
        load_settings(file, {})


def test_there_is_always_a_name_to_propose(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise OSError("no such user")

    monkeypatch.setattr("getpass.getuser", nobody)
    assert default_name() == "guest"


def test_limits_are_a_table_of_their_own(tmp_path: Path) -> None:
    file = write(tmp_path, "ask = true\n[limits]\nmembers = 3\nburst = 7\n")
    settings = load_settings(file, {"GENIE_LIMITS_BURST": "9", "GENIE_ANNOUNCE": "false"})
    assert (settings.limits.members, settings.limits.burst) == (3, 9)
    assert (settings.ask, settings.announce, settings.local) == (True, False, False)
    with pytest.raises(SettingsError, match="GENIE_LIMITS_BURST can't be 'many'"):
        load_settings(file, {"GENIE_LIMITS_BURST": "many"})


def test_api_key_stays_with_its_address(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(
        'model = "m"\nbase_url = "http://mine/v1"\napi_key_env = "MINE"\n'
        'reasoner_base_url = "http://mine/v1"\nreasoner_api_key_env = "MINE"\n'
    )
    other = "http://other/v1"
    assert load_settings(file, {}).api_key_env == "MINE"
    assert load_settings(file, {}, {"base_url": "http://mine/v1"}).api_key_env == "MINE"
    assert load_settings(file, {}, {"base_url": other}).api_key_env == ""
    assert load_settings(file, {"GENIE_BASE_URL": other}).api_key_env == ""
    assert load_settings(file, {"GENIE_REASONER_BASE_URL": other}).reasoner_api_key_env == ""
    both = {"base_url": other, "api_key_env": "OTHER"}
    assert load_settings(file, {}, both).api_key_env == "OTHER"
    env = {"GENIE_BASE_URL": other, "GENIE_API_KEY_ENV": "OTHER"}
    assert load_settings(file, env).api_key_env == "OTHER"
    assert load_settings(file, env, {"base_url": "http://third/v1"}).api_key_env == ""


PROGRAM = """\
agent = "mine"
[agents.mine]
command = ["my-agent", "--acp"]
env = { KEY = "${MY_KEY}" }
[agents.coder]
description = "Codes."
"""


def test_command_agent_answers_by_name(tmp_path: Path) -> None:
    places = Locations(tmp_path, tmp_path, tmp_path)
    file = write(tmp_path, PROGRAM)
    config = assistant_config(load_settings(file, {}), places)
    assert config.program is not None
    assert config.program.command == ("my-agent", "--acp")
    assert config.program.env == {"KEY": "${MY_KEY}"}
    assert [each.name for each in config.agents] == ["coder"]
    config = assistant_config(load_settings(file, {"GENIE_AGENT": "codex"}), places)
    assert config.program is not None
    assert config.program.command == ("codex-acp",)
    assert [each.name for each in config.agents] == ["mine", "coder"]
    settings = load_settings(file, {"GENIE_AGENT": "codex"}, {"agent": "nothing"})
    with pytest.raises(UnknownAgent, match="in the settings: mine"):
        assistant_config(settings, places)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[agents.a]\nprompt = 'b'\n", "agents.a needs 'description'"),
        ("[agents.a]\ndescription = 'b'\nenv = {}\n", "agents.a needs 'command'"),
        ("[agents.a]\ncommand = 'b'\n", "it is a list of texts"),
        ("[agents.a]\ncommand = ['b']\nenv = 'c'\n", 'as in { NAME = "value" }'),
    ],
)
def test_what_a_program_needs_is_said(tmp_path: Path, text: str, expected: str) -> None:
    (entry,) = load_settings(write(tmp_path, text), {}).broken
    assert expected in entry.problems[0]
