"""What docs/agents.md says of installed agents is so."""

import re
import tomllib
from pathlib import Path

import pytest
from tests.docs.pages import DOCS, one_line, rows

from genie_core.agent.provider.acp.errors import AgentProgramFailed
from genie_core.agent.provider.acp.process import START_SECONDS
from genie_core.assistant.errors import MissingProgram
from genie_core.assistant.known_programs import KNOWN_PROGRAMS
from genie_core.settings.load import load_settings
from genie_core.settings.locations import Locations
from genie_core.settings.model import assistant_config

_, _, REST = (DOCS / "agents.md").read_text().partition("\n## An installed agent answers for you\n")
PAGE = REST.partition("\n## ")[0]
TOML = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


def test_every_known_program_has_its_recipe() -> None:
    recipes = rows(PAGE, "`agent`")
    assert [(name, command) for name, command, _, _ in recipes] == [
        (f"`{each.name}`", f"`{' '.join(each.command)}`") for each in KNOWN_PROGRAMS
    ]
    for each, (_, _, install, login) in zip(KNOWN_PROGRAMS, recipes, strict=True):
        told = [*re.findall(r"`([^`]+)`", install), *re.findall(r"\((https[^)]+)\)", install)]
        assert each.install.endswith(told[0])
        (command,) = re.findall(r"`([^`]+)`", login)
        assert command in each.login
        recipe = PAGE.partition(f'`agent = "{each.name}"`')[2].partition("\n\n")[0]
        for mode in each.modes:
            assert f"`{mode}`" in recipe


@pytest.mark.parametrize("place", range(len(TOML)))
def test_the_settings_load(place: int, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(TOML[place])
    config = assistant_config(load_settings(file, {}), Locations(tmp_path, tmp_path, tmp_path))
    values = tomllib.loads(TOML[place])
    assert config.program is not None
    assert config.program.command == tuple(values["agents"][values["agent"]]["command"])


def test_the_errors_are_those_of_the_program() -> None:
    seen = [symptom for symptom, _ in rows(PAGE, "symptom")]
    told = [each.strip("*") for each in seen if each.startswith("*")]
    errors = [
        str(AgentProgramFailed(kind, "x"))
        for kind in ("missing", "login", "hang", "version", "ended")
    ]
    assert str(MissingProgram("x", "agent")).find(told[0]) > 0
    for words, error in zip(told, errors, strict=False):
        assert words in error
    assert f"{START_SECONDS:.0f} seconds" in one_line(PAGE)
