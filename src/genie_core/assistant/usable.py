"""Leaving out the parts of a configuration that can't be used, so that the rest works.

The smallest part is left out: an agent, a name in a list, a rule. A rule that may deny or ask is not
simply left out: all that it may be about is asked about.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

from genie_core.assistant.agents import MENTION_ONLY, own_prompt_name, roles_of, text_folders
from genie_core.assistant.check import agent_checks, check_choice
from genie_core.assistant.config import AgentSpec, AssistantConfig, ModelChoice, Rule, Runtime
from genie_core.assistant.errors import AssistantError, LeftOut, UnknownPart
from genie_core.assistant.instructions.commands import find_commands, misplaced_commands
from genie_core.assistant.instructions.prompt import InstructionSources
from genie_core.assistant.policy.policy import broken_rule, rule_faults
from genie_core.assistant.prompts import Kind, load_or_shipped, load_prompt
from genie_core.assistant.servers.config_entries import fit_name
from genie_core.assistant.servers.config_file import ServersFile, load_servers
from genie_core.assistant.tools.catalog import TOOL_NAMES

ALONE: Final = "the assistant"

Problems: TypeAlias = list[AssistantError]


@dataclass(frozen=True, slots=True)
class Usable:
    """A configuration without its broken parts, and a problem for each of these."""

    config: AssistantConfig
    servers: ServersFile
    problems: tuple[AssistantError, ...]


def servers_of(config: AssistantConfig) -> ServersFile:
    """Read the file of tool servers, for the sandbox and the workspace of the assistant."""
    workspace, sandbox = config.workspace, config.sandbox
    if workspace is not None:
        sandbox = replace(sandbox, writable=(*sandbox.writable, workspace))
    return load_servers(config.servers_file, sandbox, workspace)


def usable(config: AssistantConfig, keys: Mapping[str, str]) -> Usable:
    """Return the configuration without the parts that can't be used. Reads files.

    `keys` are environment variables and stored secrets.
    """
    servers = servers_of(config)
    problems: Problems = [*map(LeftOut, config.problems), *servers.problems]
    if config.servers_file is not None and not config.servers_file.exists():
        problems.append(LeftOut(f"mcp: file not found: {config.servers_file}"))
    found = replace(
        config,
        template=_template(config, problems),
        fallback=_model(config.fallback, "fallback_model", keys, config.runtime, problems),
        summary=_model(config.summary, "summary_model", keys, "pydantic-ai", problems),
        tools=_tools(ALONE, config.tools, problems),
        servers=_servers(ALONE, config.servers, servers, problems),
        rules=tuple(_rules(config.rules, problems)),
        agents=tuple(_agents(config, servers, keys, problems)),
    )
    # The shipped prompt replaces a broken one of one's own for the answering agent.
    _is_fit("agent", own_prompt_name(found), found.prompts_dir, problems)
    return Usable(found, servers, tuple(problems))


def refused_texts(config: AssistantConfig) -> list[str]:
    """Return why texts for agents, skills and commands are left out. Blocks."""
    folders = text_folders(config)
    texts = InstructionSources("", folders).refusals()
    return [*texts, *find_commands(folders)[1], *misplaced_commands(folders)]


def _template(config: AssistantConfig, problems: Problems) -> str:
    """Return the reasoner's template; for a broken one, that for messages to the assistant."""
    if _is_fit("reasoner", config.template, config.prompts_dir, problems):
        return config.template
    problems.append(LeftOut("only messages to @genie are answered until the template is correct"))
    return MENTION_ONLY


def _model(
    choice: ModelChoice,
    setting: str,
    keys: Mapping[str, str],
    runtime: Runtime,
    problems: Problems,
) -> ModelChoice:
    try:
        check_choice(choice, keys, runtime)
    except AssistantError as error:
        problems.append(LeftOut(f"{setting} is not used: {error}", error))
        return ModelChoice()
    return choice


def _tools(who: str, names: tuple[str, ...] | None, problems: Problems) -> tuple[str, ...] | None:
    return _known(
        names, TOOL_NAMES, lambda name: UnknownPart(who, "tool", name, TOOL_NAMES), problems
    )


def _servers(
    who: str, names: tuple[str, ...] | None, file: ServersFile, problems: Problems
) -> tuple[str, ...] | None:
    """Return the names of servers that are there; a server that is off or broken is no mistake."""
    known = tuple(file.servers)
    fit = None if names is None else tuple(map(fit_name, names))
    found = _known(
        fit,
        {*file.names, *known},
        lambda name: UnknownPart(who, "tool server", name, known),
        problems,
    )
    return None if found is None else tuple(name for name in found if name in file.servers)


def _known(
    names: tuple[str, ...] | None,
    known: Sequence[str] | set[str],
    unknown: Callable[[str], AssistantError],
    problems: Problems,
) -> tuple[str, ...] | None:
    if names is None:
        return None
    problems += [unknown(name) for name in names if name not in known]
    return tuple(name for name in names if name in known)


def _rules(rules: Sequence[Rule], problems: Problems) -> Iterator[Rule]:
    for number, rule in enumerate(rules, 1):
        faults = [] if rule.broken else rule_faults(rule)
        asks = "" if rule.effect == "allow" else "; all that it may be about is asked about"
        problems += [LeftOut(f"rule {number} is not used: {fault}{asks}") for _, fault in faults]
        yield broken_rule(rule, [field for field, _ in faults]) if faults else rule


def _agents(
    config: AssistantConfig, file: ServersFile, keys: Mapping[str, str], problems: Problems
) -> Iterator[AgentSpec]:
    alone = replace(config, agents=(), program=None, tools=None, servers=None)
    taken: list[AgentSpec] = []
    for written in config.agents:
        who = f"the agent {written.name!r}"
        spec = replace(
            written,
            tools=_tools(who, written.tools, problems),
            servers=_servers(who, written.servers, file, problems) or (),
        )
        try:
            for check in agent_checks(config, spec, keys):
                check()
            roles_of(replace(alone, agents=(*taken, spec)), file.servers, "")
        except AssistantError as error:
            problems.append(LeftOut(f"{who} is left out: {error}", error))
        else:
            taken.append(spec)
            yield spec


def _is_fit(kind: Kind, name: str, folder: Path | None, problems: Problems) -> bool:
    """Whether there is a prompt, though it may be the shipped one instead of a broken one."""
    try:
        load_prompt(kind, name, folder)
    except AssistantError as error:
        problems.append(error)
    try:
        load_or_shipped(kind, name, folder)
    except AssistantError:
        return False
    return True
