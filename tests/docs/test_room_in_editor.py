"""What docs/agents.md says of a room in an editor is so."""

import json
import re
import shlex

from tests.docs.pages import DOCS, one_line

from genie_bridges.acp.agent import HISTORY
from genie_bridges.acp.prompts import QUOTED
from genie_bridges.acp.updates import ALWAYS, options_for
from genie_core.room.engine.tool_effects import ToolEffects
from genie_core.room.open.session import LEAVING
from genie_tui.cli.commands import parse

_, _, REST = (DOCS / "agents.md").read_text().partition("\n## A room in your editor\n")
PAGE = REST.partition("\n## ")[0]


def test_page_numbers_and_names_match_code() -> None:
    text = one_line(PAGE)
    options = options_for(ToolEffects(), is_open=True)
    always = next(each.name for each in options if each.option_id == ALWAYS)
    for words in (
        f"the latest {HISTORY} messages",
        f"longer than {QUOTED:,} characters",
        f"gets {LEAVING:.0f} seconds",
        f"*{always}*",
    ):
        assert words in text


def test_the_recipes_can_be_understood() -> None:
    recipes = dict(re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL))
    assert recipes.keys() == {"json", "sh"}
    zed = json.loads(recipes["json"])["agent_servers"]["Standup"]
    toad = shlex.split(shlex.split(recipes["sh"])[2])
    for command, *arguments in ([zed["command"], *zed["args"]], toad):
        options = parse(arguments)
        assert (command, options.command, options.way) == ("genie-tui", "acp", ["genie1-…"])
        assert options.workspace == "/home/me/project"
