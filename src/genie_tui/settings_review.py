"""Everything that is wrong with the settings, also what would only show in a room."""

from collections.abc import Iterator, Mapping

from genie_core.errors import GenieError
from genie_core.room.names import check_name
from genie_tui.credentials import names_at_hand
from genie_tui.locations import Locations
from genie_tui.settings import (
    Settings,
    SettingsError,
    assistant_config,
    default_name,
    problems,
)
from genie_tui.settings_file import Written, read_settings
from genie_tui.settings_source import SettingsSource


def review(source: SettingsSource, locations: Locations) -> list[str]:
    """Every problem in one line.

    Reads files, and loads what knows about tools and secrets, but asks nobody.
    """
    try:
        found = list(problems(read_settings(source.file), source.env))
    except SettingsError as error:
        return [str(error), *problems(Written(source.file), source.env)]
    if found:
        return found
    settings = source.read().settings
    return [*_in_person(settings), *_in_assistant(settings, locations, source.env)]


def _in_person(settings: Settings) -> Iterator[str]:
    if settings.name is not None:
        try:
            check_name(settings.name)
        except GenieError as error:
            yield f"name: {error}"
    if settings.theme:
        from genie_tui.themes import theme_problem

        problem = theme_problem(settings.theme)
        if problem:
            yield problem


def _in_assistant(
    settings: Settings, locations: Locations, env: Mapping[str, str]
) -> Iterator[str]:
    from genie_core.assistant.check import faults
    from genie_core.assistant.policy import check_rules
    from genie_core.assistant.roles import roles_of
    from genie_core.assistant.servers.file import load_servers

    try:
        config = assistant_config(settings, locations)
    except GenieError as error:
        yield str(error)
        return
    if settings.mcp and config.servers_file and not config.servers_file.exists():
        yield f"mcp: there is no file {config.servers_file}"
    tools: tuple[str, ...] = ()
    try:
        servers = load_servers(config.servers_file)
        roles = roles_of(config, servers, "")
    except GenieError as error:
        yield str(error)
    else:
        # What a server's tools are called is not known before it has started.
        tools = () if servers else tuple(name for role in roles for name in role.tool_names)
    yield from check_rules(config.rules, tools)
    try:
        keys = names_at_hand(settings.name or default_name(), locations, env)
    except GenieError as error:
        yield str(error)
    else:
        yield from faults(config, keys)
