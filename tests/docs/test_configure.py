"""What the page about settings says is what the program does."""

import argparse
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.docs import pages
from tests.docs.pages import DOCS

from genie_core.assistant.agents import roles_of
from genie_core.assistant.errors import UnknownPart
from genie_core.assistant.policy.policy import check_tools, rule_faults
from genie_core.assistant.prompts import prompt_names
from genie_core.assistant.servers.config_file import load_servers
from genie_core.assistant.tools.catalog import TOOL_NAMES, known_tools
from genie_core.assistant.usable import usable
from genie_core.settings.load import load_settings
from genie_core.settings.locations import Locations
from genie_core.settings.model import (
    AgentTable,
    BudgetTable,
    RetentionTable,
    RuleTable,
    SandboxTable,
    Settings,
    ToolLimitsTable,
    assistant_config,
)
from genie_core.settings.setting_keys import ENV_PREFIX, single_keys, variable
from genie_tui.cli.commands import parser
from genie_tui.commands.keys import Scope
from genie_tui.commands.registry import all_actions, slash_commands

PAGE = (DOCS / "configure.md").read_text()
EXAMPLE = DOCS / "settings.example.toml"

TABLES: dict[str, msgspec.Struct] = {
    "setting": Settings(),
    "tool limit": ToolLimitsTable(),
    "sandbox": SandboxTable(),
    "rule": RuleTable("ask"),
    "agent": AgentTable("x"),
    "budget": BudgetTable(),
    "retention": RetentionTable(),
}
"""What each table of the page is about, with nothing set that need not be."""

CODE = re.compile(r"`([^`\n]+)`")


def rows(heading: str) -> dict[str, list[str]]:
    """Return the rows below this heading by the names in their first cells."""
    return {each[0].strip("`"): each for each in pages.rows(PAGE, heading)}


def fences(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("heading", TABLES)
def test_tables_name_exactly_all_settings(heading: str) -> None:
    assert sorted(rows(heading)) == sorted(TABLES[heading].__struct_fields__)


def literals() -> Iterator[tuple[str, str, Any, Any]]:
    """The defaults that the tables write as TOML, with those of the program."""
    for heading, blank in TABLES.items():
        for name, cells in rows(heading).items():
            if re.fullmatch(r'`(".*"|[\d._]+|true|false|\[\]|\{\})`', cells[1]):
                said = tomllib.loads(f"x = {cells[1].strip('`')}")["x"]
                yield heading, name, said, getattr(blank, name)


def test_the_defaults_are_those_of_the_program() -> None:
    found = list(literals())
    assert len(found) > 15
    wrong = [
        (heading, name, said, real)
        for heading, name, said, real in found
        if said != (list(real) if isinstance(real, tuple) else real)
    ]
    assert wrong == []


def test_what_has_to_be_there_is_said_to() -> None:
    for heading, blank in TABLES.items():
        required = {field.name for field in msgspec.structs.fields(blank) if field.required}
        said = {name for name, cells in rows(heading).items() if cells[1] == "required"}
        assert said == required


@pytest.mark.parametrize("place", range(len(fences("toml"))))
def test_every_piece_of_toml_is_one_that_loads(place: int, tmp_path: Path) -> None:
    check(fences("toml")[place], tmp_path)


def check(text: str, folder: Path) -> Settings:
    """Load it as the program would, and look at all that it names."""
    places = Locations(folder / "config", folder / "data", folder / "log")
    places.config.mkdir()
    places.settings_file.write_text(text)
    settings = load_settings(places.settings_file, {})
    config = assistant_config(settings, places)
    roles_of(config, {}, "ann")
    unknown = [each for each in usable(config, {}).problems if isinstance(each, UnknownPart)]
    assert unknown == []
    assert settings.broken == ()
    assert check_tools(config.rules, known_tools(), ["git"]) == []
    assert [each for rule in config.rules for each in rule_faults(rule)] == []
    return settings


def test_the_example_loads_and_has_every_setting(tmp_path: Path) -> None:
    text = EXAMPLE.read_text()
    check(text, tmp_path)
    values = tomllib.loads(text)
    assert set(values) == set(Settings.__struct_fields__)
    assert set(values["budget"]) == set(BudgetTable.__struct_fields__)
    assert set(values["retention"]) == set(RetentionTable.__struct_fields__)
    assert set(values["tool_limits"]) == set(ToolLimitsTable.__struct_fields__)
    assert set(values["sandbox"]) == set(SandboxTable.__struct_fields__)
    used = {key for rule in values["rules"] for key in rule}
    assert used == set(RuleTable.__struct_fields__)
    used = {key for agent in values["agents"].values() for key in agent}
    assert used == set(AgentTable.__struct_fields__)


def test_the_file_of_tool_servers_is_one(tmp_path: Path) -> None:
    (text,) = fences("json")
    file = tmp_path / "mcp.json"
    file.write_text(text)
    found = load_servers(file)
    assert found.problems == ()
    assert set(found.servers) == set(json.loads(text)["mcpServers"])


def test_the_mistakes_are_those_that_are_made(tmp_path: Path) -> None:
    shown = fences("text")[0].splitlines()
    for line, text in zip(
        shown, ["\n[budget]\nmony = 1\n", "\n" * 8 + "notify = 'mien'"], strict=True
    ):
        file = tmp_path / "settings.toml"
        file.write_text(text)
        with pytest.raises(Exception, match=re.escape(line)):
            load_settings(file, {})


def test_every_command_exists() -> None:
    """Those in tables and text, with the options and words that follow them."""
    known = parser()
    found = [code for code in CODE.findall(PAGE) if code.startswith("genie-tui ")]
    assert len(found) > 10
    assert [code for code in found if not is_understood(known, code.split()[1:])] == []


def is_understood(known: argparse.ArgumentParser, arguments: list[str]) -> bool:
    try:
        known.parse_args(arguments)
    except SystemExit as ended:
        return ended.code == 0  # --help ends, too
    return True


def test_every_slash_command_and_key_exists() -> None:
    found = [code[1:].split()[0] for code in CODE.findall(PAGE) if re.match(r"/[a-z]+", code)]
    assert found
    ours = [name for name in found if ":" not in name]  # with a colon it is a server's prompt
    assert [name for name in ours if name not in slash_commands()] == []
    (settings,) = (each for each in all_actions(Scope.APP) if each.label == "settings")
    assert f"`{settings.keys[0]}` or `/settings`" in PAGE


def test_every_variable_exists() -> None:
    known = {variable(key) for key, _ in single_keys(Settings)} | {"GENIE_HOME"}
    found = {code for code in CODE.findall(PAGE) if code.startswith(ENV_PREFIX)}
    assert found
    assert found <= known


def test_every_tool_and_prompt_is_told() -> None:
    codes = set(CODE.findall(PAGE))
    assert [name for name in TOOL_NAMES if name not in codes] == []
    for kind in ("reasoner", "agent"):
        assert [name for name in prompt_names(kind) if name not in codes] == []
