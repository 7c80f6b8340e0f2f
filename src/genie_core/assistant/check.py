"""Checking an assistant's configuration before anything is loaded."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Final
from urllib.parse import urlsplit

from genie_core.assistant.config import VARIABLE, AgentSpec, AssistantConfig, ModelChoice, Runtime
from genie_core.assistant.errors import (
    MissingPackage,
    MissingProgram,
    MissingVariable,
    UnknownPlaceholder,
    UnreadableTemplate,
    UnusableAgent,
    WrongAddress,
    WrongKeyName,
)
from genie_core.assistant.known_programs import check_program, check_values, setting_of
from genie_core.assistant.models.providers import check_compatible, check_model
from genie_core.assistant.prompts import load_prompt
from genie_core.assistant.servers.errors import MissingValue
from genie_core.assistant.tools.files.workspace import Workspace
from genie_core.errors import GenieError

LACKING: Final = (MissingVariable, MissingPackage, MissingProgram, MissingValue)
"""Errors of a valid configuration: a secret, package or program is missing on this machine."""


def check_config(config: AssistantConfig, keys: Mapping[str, str]) -> None:
    """Raise the `AssistantError` that building would raise, as far as it shows without the SDKs.

    `keys` are environment variables and stored secrets. Takes a few milliseconds, so a command can
    report errors before it opens a room.
    """
    check_essentials(config, keys)
    check_choice(config.fallback, keys, config.runtime)
    check_choice(config.summary, keys)
    for spec in config.agents:
        for check in agent_checks(config, spec, keys):
            check()


def check_essentials(config: AssistantConfig, keys: Mapping[str, str]) -> None:
    """Raise the first error without which nothing could answer; see `usable` for the others."""
    for check in _checks(config, keys):
        check()


def faults(config: AssistantConfig, keys: Mapping[str, str]) -> Iterator[GenieError]:
    """Yield every distinct error that `check_essentials` would raise."""
    seen: set[str] = set()
    for check in _checks(config, keys):
        try:
            check()
        except GenieError as error:
            if str(error) not in seen:
                seen.add(str(error))
                yield error


def _checks(config: AssistantConfig, keys: Mapping[str, str]) -> Iterator[Callable[[], object]]:
    if config.runtime == "acp" and config.program is None:
        yield partial(_needs_command, "system")
    yield partial(check_choice, config.main_model, keys, config.runtime)
    yield partial(check_choice, config.reasoner, keys)
    yield partial(_check_template, config)
    if (program := config.program) is not None:
        yield partial(check_program, program.command, program.env, setting_of(program.name))
        yield partial(check_values, program.name, program.env, keys)
    if config.workspace is not None:
        yield partial(Workspace.at, config.workspace)


def agent_checks(
    config: AssistantConfig, spec: AgentSpec, keys: Mapping[str, str]
) -> Iterator[Callable[[], object]]:
    """Yield the checks of one agent; each raises the problem with it."""
    if spec.command:
        yield partial(check_program, spec.command, spec.env, setting_of(spec.name))
        yield partial(check_values, spec.name, spec.env, keys)
        if spec.prompt:
            yield partial(load_prompt, "agent", spec.prompt, config.prompts_dir)
        return
    if spec.runtime == "acp":
        yield partial(_needs_command, spec.name)
    runtime = spec.runtime or config.runtime
    if spec.model.name:
        yield partial(check_choice, spec.model, keys, runtime)
    elif runtime != config.runtime:  # else it is checked already
        yield partial(check_choice, config.main_model, keys, runtime)
    yield partial(load_prompt, "agent", spec.prompt or spec.name, config.prompts_dir)


def _check_template(config: AssistantConfig) -> None:
    with suppress(UnreadableTemplate, UnknownPlaceholder):  # see `usable`
        load_prompt("reasoner", config.template, config.prompts_dir)


def _needs_command(agent: str) -> None:
    raise UnusableAgent(agent, "the runtime acp needs a command that starts a program")


def check_choice(
    choice: ModelChoice, keys: Mapping[str, str], runtime: Runtime = "pydantic-ai"
) -> None:
    """Raise the `ModelError` that setting up the model would raise; no model is valid."""
    if choice.base_url:
        _check_address(choice)
        _check_key(choice, keys)
    elif choice.key_name:
        raise WrongKeyName(choice.name, "it needs a base_url")
    elif choice.name:
        check_model(choice.name, keys)
        if runtime == "openai-agents":
            check_compatible(choice.name)


def _check_key(choice: ModelChoice, keys: Mapping[str, str]) -> None:
    name = choice.key_name
    if name and not VARIABLE.fullmatch(name):
        raise WrongKeyName(choice.name, "it is the name of a secret or variable, never a key")
    if name and not (keys.get(name) or os.environ.get(name)):
        raise MissingVariable(choice.name, (name,))


def _check_address(choice: ModelChoice) -> None:
    try:
        parts = urlsplit(choice.base_url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise WrongAddress(choice.name, choice.base_url, str(error)) from error
    reason = ""
    if parts.scheme not in ("http", "https") or not host:
        reason = "write it like http://127.0.0.1:1234/v1"
    elif not choice.base_url.isprintable() or " " in choice.base_url:
        reason = "it contains a character that is not allowed in an address"
    elif "@" in parts.netloc or parts.query or parts.fragment:
        address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        reason = "write it without user, password, ? and #; store a key as a secret"
        raise WrongAddress(choice.name, address, reason)
    elif not choice.name:
        reason = "it needs a model; set the name of one that this server has"
    if reason:
        raise WrongAddress(choice.name, choice.base_url, reason)
