"""Finding all problems in the settings, including those that would appear only in a room."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from genie_core.errors import GenieError
from genie_core.room.protocol.names import check_name
from genie_core.settings.credentials import names_at_hand
from genie_core.settings.load import (
    SettingsError,
    SettingsFile,
    SettingsSource,
    combine,
    problems,
    read_settings,
)
from genie_core.settings.locations import Locations
from genie_core.settings.model import Settings, assistant_config, default_name

ThemeProblem: TypeAlias = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem in one line.

    `lacking` marks a valid setting whose secret, package or program is missing on this machine.
    """

    text: str
    lacking: bool = False


def review(
    source: SettingsSource, locations: Locations, theme_problem: ThemeProblem
) -> list[Problem]:
    """Return all problems. `theme_problem` returns the mistake in a theme's name.

    Reads files and loads the tables of tools and secrets, but asks no server and no keyring.
    """
    try:
        written = read_settings(source.file)
        found = list(problems(written, source.env))
    except SettingsError as error:
        return [Problem(str(error)), *map(Problem, problems(SettingsFile(source.file), source.env))]
    try:
        settings = combine(written, source.env, source.overrides)
    except SettingsError:
        return [Problem(each) for each in found]
    return _in_values(settings, locations, source.env, theme_problem)


def review_file(
    written: SettingsFile, locations: Locations, env: Mapping[str, str], theme_problem: ThemeProblem
) -> list[Problem]:
    """Return all problems in a file, without environment and command line.

    Raises:
        SettingsError: as in `combine`.
    """
    return _in_values(combine(written, {}, {}), locations, env, theme_problem)


def _in_values(
    settings: Settings, locations: Locations, env: Mapping[str, str], theme_problem: ThemeProblem
) -> list[Problem]:
    return [
        *map(Problem, _in_person(settings, theme_problem)),
        *_in_assistant(settings, locations, env),
    ]


def _in_person(settings: Settings, theme_problem: ThemeProblem) -> Iterator[str]:
    if settings.name is not None:
        try:
            check_name(settings.name)
        except GenieError as error:
            yield f"name: {error}"
    if settings.theme and (problem := theme_problem(settings.theme)):
        yield problem


def _in_assistant(
    settings: Settings, locations: Locations, env: Mapping[str, str]
) -> Iterator[Problem]:
    from genie_core.assistant.agents import roles_of
    from genie_core.assistant.check import LACKING, faults
    from genie_core.assistant.policy.policy import check_tools
    from genie_core.assistant.servers.launch import lacks
    from genie_core.assistant.tools.catalog import known_tools
    from genie_core.assistant.usable import refused_texts, usable

    try:
        written = assistant_config(settings, locations)
        keys = names_at_hand(settings.name or default_name(), locations, env)
    except GenieError as error:
        yield Problem(str(error))
        return
    found = usable(written, keys)
    config, servers = found.config, found.servers
    for each in found.problems:
        yield Problem(str(each), lacking=isinstance(each.__cause__, LACKING))
    yield from map(Problem, check_tools(config.rules, known_tools(), servers.names))
    for fault in faults(config, keys):
        yield Problem(str(fault), lacking=isinstance(fault, LACKING))
    yield from map(Problem, refused_texts(config))
    used = {
        spec.name: spec for role in roles_of(config, servers.servers, "") for spec in role.servers
    }
    for spec in used.values():
        for lack in lacks(spec, keys, env):
            yield Problem(f"{config.servers_file}, line {spec.line}: {lack}", lacking=True)
