"""What docs/agents.md says of an agent as a member is so."""

import json
import re
import tomllib
from pathlib import Path

from tests.docs.pages import DOCS, one_line, rows

from genie_bridges.mcp.member import LONGEST_WAIT, MOST_LINES, SEARCHED, AgentMember
from genie_bridges.mcp.messages import MOST_CHARS
from genie_bridges.mcp.server import INSTRUCTIONS, build_server
from genie_core.room.open.opener import agent_opener
from genie_core.room.protocol.limits import AGENT_BURST, AGENT_PER_MINUTE, AGENT_TURNS
from genie_core.settings.locations import Locations
from genie_tui.cli.commands import parse

_, _, REST = (DOCS / "agents.md").read_text().partition("\n## An agent as a member of the room\n")
PAGE = REST.partition("\n## ")[0]


async def test_every_tool_and_resource_is_described(tmp_path: Path) -> None:
    opener = agent_opener("bot", Locations(tmp_path, tmp_path, tmp_path))
    server = build_server(AgentMember(":7654", opener, tmp_path))
    named = {tool.strip("`") for tool, _ in rows(PAGE, "tool")}
    assert named == {tool.name for tool in await server.list_tools()}
    for resource in await server.list_resources():
        assert f"`{resource.uri}`" in PAGE
    for template in await server.list_resource_templates():
        assert f"`{template.uri_template}`" in PAGE


def test_the_numbers_are_those_of_the_code() -> None:
    text = one_line(PAGE)
    for words in (
        f"at most {MOST_LINES}, and {MOST_CHARS:,} characters",
        f"among the last {SEARCHED:,} entries",
        f"at most {LONGEST_WAIT:.0f} seconds",
        f"{AGENT_BURST} messages at once and {AGENT_PER_MINUTE} a minute",
        f"all agents together {AGENT_TURNS} until a person writes",
    ):
        assert words in text
    assert f"after {AGENT_TURNS} messages by agents" in INSTRUCTIONS


def test_the_recipes_can_be_understood() -> None:
    recipes = dict(re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL))
    assert recipes.keys() == {"sh", "json", "toml"}
    _, _, command = recipes["sh"].partition(" -- genie-tui ")
    commands = [command.split()]
    for server in (
        json.loads(recipes["json"])["mcpServers"]["room"],
        tomllib.loads(recipes["toml"])["mcp_servers"]["room"],
    ):
        assert server["command"] == "genie-tui"
        commands.append(server["args"])
        assert server.get("tool_timeout_sec", 1e9) > LONGEST_WAIT
    for arguments in commands:
        options = parse(arguments)
        assert (options.command, options.way, options.name) == ("mcp", ["genie1-…"], "bot")
