"""`genie-tui doctor`: check the needs of a room, or with `--model` the models."""

import argparse
import asyncio
import logging
import os
import shutil
import socket
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from genie_core.assistant.check import check_essentials
from genie_core.assistant.config import AgentSpec
from genie_core.assistant.known_programs import (
    KNOWN_PROGRAMS,
    installed_programs,
    known_program,
    place_of,
    title_of,
)
from genie_core.assistant.secrets import OwnSecrets
from genie_core.errors import GenieError
from genie_core.room.protocol.address import DEFAULT_PORT, PORTS_TO_TRY
from genie_core.room.protocol.names import check_name
from genie_core.settings.credentials import names_at_hand
from genie_core.settings.locations import Locations
from genie_core.settings.model import Settings, assistant_config, default_name
from genie_tui.cli.options import CommandParser, add_settings, port_number
from genie_tui.cli.output import safe_line
from genie_tui.plugins import CommandCall
from genie_tui.screen_size import terminal_problem

if TYPE_CHECKING:
    from genie_core.assistant.models.probe import ProbeResult, Subject

PROBE_BYTES: Final = 64 * 1024
"""Written to each folder, because a full disk still takes empty files."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One thing that was looked at; a part that is only absent is no problem."""

    what: str
    text: str
    ok: bool = True
    is_absent: bool = False

    @property
    def mark(self) -> str:
        return "–  " if self.is_absent else "ok " if self.ok else "BAD"


def check_system(
    settings: Settings, locations: Locations, env: Mapping[str, str], out: TextIO
) -> int:
    """Print the findings; returns 1 if one would keep a room from opening, or keys from working."""
    findings = [
        _terminal(),
        *_folders(locations),
        _settings(locations),
        *_keys(settings, locations),
        _name(settings),
        _key(settings, locations),
        _certificate(locations),
        _network(),
        _assistant(settings, locations, env),
        *_agents(settings, env),
        *_servers(settings, locations, env),
        _commands(settings, locations),
        _port(settings),
    ]
    out.writelines(
        f"{finding.mark}  {finding.what:<10} {safe_line(finding.text)}\n" for finding in findings
    )
    return 0 if all(finding.ok for finding in findings) else 1


def _terminal() -> CheckResult:
    problem = terminal_problem()
    if problem:
        return CheckResult("terminal", problem, ok=False)
    columns, rows = shutil.get_terminal_size()
    colours = (
        "truecolor" if os.environ.get("COLORTERM") in {"truecolor", "24bit"} else "256 or less"
    )
    kind = os.environ.get("TERM", "unknown")
    return CheckResult("terminal", f"{columns}×{rows}, {kind}, colours: {colours}")


def _folders(locations: Locations) -> Iterator[CheckResult]:
    for what, folder in (
        ("config", locations.config),
        ("rooms", locations.sessions),
        ("log", locations.log),
    ):
        problem = _unwritable(folder)
        yield CheckResult(what, f"{folder}{f': {problem}' if problem else ''}", ok=problem is None)


def _unwritable(folder: Path) -> str | None:
    nearest = folder
    try:
        while not nearest.exists() and nearest != nearest.parent:
            nearest = nearest.parent
        with tempfile.TemporaryFile(dir=nearest) as file:
            file.write(bytes(PROBE_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return f"can't be written to ({error.strerror})"
    return None


def _settings(locations: Locations) -> CheckResult:
    file = locations.settings_file
    return CheckResult("settings", f"{file}" if file.exists() else f"{file} (not there; defaults)")


def _keys(settings: Settings, locations: Locations) -> Iterator[CheckResult]:
    file = locations.keys_file
    if not file.exists():
        yield CheckResult("keys", f"{settings.keymap}; change them in {file}")
        return
    from genie_tui.commands.key_file import read_keymap

    problems = read_keymap(settings.keymap, file).problems
    for problem in problems:
        yield CheckResult("keys", problem, ok=False)
    if not problems:
        yield CheckResult("keys", f"{settings.keymap}, with those of {file}")


def _name(settings: Settings) -> CheckResult:
    try:
        return CheckResult("name", check_name(settings.name or default_name()))
    except GenieError as error:
        return CheckResult("name", str(error), ok=False)


def _key(settings: Settings, locations: Locations) -> CheckResult:
    from genie_core.room.open.identities import identity_of_person
    from genie_core.room.security.identity import words

    try:
        key = identity_of_person(settings.name or default_name(), locations).key
    except GenieError as error:
        return CheckResult("key", str(error), ok=False)
    return CheckResult("key", words(key))


def _certificate(locations: Locations) -> CheckResult:
    from genie_core.room.security.certificate import load_certificate

    try:
        pin = load_certificate(locations.certificate, datetime.now(UTC)).pin
    except GenieError as error:
        return CheckResult("TLS", str(error), ok=False)
    return CheckResult("TLS", f"others know this host by the fingerprint {pin}")


def _network() -> CheckResult:
    from genie_core.room.discovery.interfaces import reachable_hosts

    hosts = reachable_hosts()
    if not hosts:
        return CheckResult("network", "none: rooms are for people on this machine")
    return CheckResult("network", f"others can reach this machine at {', '.join(hosts)}")


def _assistant(settings: Settings, locations: Locations, env: Mapping[str, str]) -> CheckResult:
    from genie_core.assistant.programs import check_sandbox

    try:
        config = assistant_config(settings, locations)
        check_essentials(config, names_at_hand(settings.name or default_name(), locations, env))
    except GenieError as error:
        return CheckResult("assistant", str(error), ok=False)
    if config.program is not None:
        model = _program(config.program, config.model, env)
    elif config.model is None:
        model = "no model: the offline helper answers (set one with --model)"
    else:
        model = f"{config.model}, what it needs is set"
    try:
        for each in (config.program, *config.agents):
            if each is not None and each.sandbox:
                check_sandbox(each.name)
    except GenieError as error:
        return CheckResult("assistant", str(error), ok=False)
    workspace = f", workspace {config.workspace}" if config.workspace else ", no workspace"
    return CheckResult("assistant", f"{model}, template {config.template}{workspace}")


def _program(program: AgentSpec, model: str | None, env: Mapping[str, str]) -> str:
    """Describe the program that answers; it is not started, so its login is unknown."""
    where = place_of(program.command, program.env.get("PATH") or env.get("PATH", ""))
    known = known_program(program.command)
    login = f"; if it asks you to, {known.login}" if known else ""
    decides = f"{model} decides when" if model else "to what is addressed to it"
    return f"{title_of(program.command)} answers, {decides} ({where or program.command[0]}{login})"


def _agents(settings: Settings, env: Mapping[str, str]) -> Iterator[CheckResult]:
    """Report the known agent programs; which ones are missing is no fault."""
    path = env.get("PATH", "")
    found = installed_programs(path)
    chosen = settings.agent.strip().lower()
    for each in found:
        where = place_of(each.command, path)
        use = (
            "" if each.name == chosen else f"; use it with: genie-tui config set agent {each.name}"
        )
        yield CheckResult("agent", f"{each.title} is at {where}{use}")
    for each in KNOWN_PROGRAMS:
        if each not in found:
            text = f"{each.title} is not installed ({each.name}); {each.install}"
            yield CheckResult("agent", text, is_absent=True)


def _servers(
    settings: Settings, locations: Locations, env: Mapping[str, str]
) -> Iterator[CheckResult]:
    """Check the omissions of the assistant, and the servers in use; none is started or asked."""
    from genie_core.assistant.agents import roles_of
    from genie_core.assistant.servers.errors import ServersFileError
    from genie_core.assistant.servers.launch import lacks
    from genie_core.assistant.usable import refused_texts, usable

    try:
        config = assistant_config(settings, locations)
        keys = names_at_hand(settings.name or default_name(), locations, env)
        found = usable(config, keys)
        roles = roles_of(found.config, found.servers.servers, "")
    except GenieError as error:
        yield CheckResult("servers", str(error), ok=False)
        return
    for problem in (*found.problems, *refused_texts(found.config)):
        of_servers = isinstance(problem, ServersFileError)
        yield CheckResult("servers" if of_servers else "settings", str(problem), ok=False)
    for spec in {each.name: each for role in roles for each in role.servers}.values():
        problems = [
            f"{config.servers_file}, line {spec.line}: {each}" for each in lacks(spec, keys, env)
        ]
        yield from (CheckResult("servers", each, ok=False) for each in problems)
        if not problems:
            how = "has all that its address needs" if spec.url else f"starts {spec.command}"
            yield CheckResult("servers", f"{spec.name} {how}; it was not asked")


def _commands(settings: Settings, locations: Locations) -> CheckResult:
    from genie_core.assistant.tools.shell.sandbox import describe_sandbox, find_backend

    try:
        sandbox = settings.sandbox.sandbox(locations)
    except GenieError as error:
        return CheckResult("commands", str(error), ok=False)
    name = find_backend().name if sandbox.mode != "off" else ""
    return CheckResult(
        "commands",
        f"run {describe_sandbox(sandbox)}{f' ({name})' if name else ''}",
        ok=bool(name) or sandbox.mode != "required",
    )


def _port(settings: Settings) -> CheckResult:
    if settings.port:
        free = port_is_free(settings.port)
        state = "free" if free else "taken by another program"
        return CheckResult("port", f"{settings.port} is {state}", ok=free)
    candidates = range(DEFAULT_PORT, DEFAULT_PORT + PORTS_TO_TRY)
    first = next((port for port in candidates if port_is_free(port)), None)
    if first is None:
        last = DEFAULT_PORT + PORTS_TO_TRY - 1
        return CheckResult("port", f"all from {DEFAULT_PORT} to {last} are taken", ok=False)
    return CheckResult("port", f"{first} is free")


def port_is_free(port: int) -> bool:
    """Whether a port on loopback is free right now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


# With --model


def check_models(
    settings: Settings, locations: Locations, env: Mapping[str, str], out: TextIO
) -> int:
    """Ask each configured model and print the findings; returns 1 if one can't do its work.

    Uses the person's stored secrets, and `env` for the others.
    """
    try:
        person = settings.name or default_name()
        keys = {**env, **OwnSecrets(person, locations.secrets, env=env).get_secrets(person)}
        config = assistant_config(settings, locations)
        check_essentials(config, keys)
    except GenieError as error:
        _say(out, "BAD", "assistant", str(error))
        return 1
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")
    from genie_core.assistant.models.probe import load_libraries, subjects_of

    subjects = subjects_of(config)
    if not subjects:
        answers = title_of(config.program.command) if config.program else "the offline helper"
        _say(out, "ok ", "model", f"none is set: {answers} answers, and nothing was asked")
        return 0
    names = " and ".join(dict.fromkeys(subject.choice.name for subject in subjects))
    began = time.monotonic()
    load_libraries(subjects)
    seconds = time.monotonic() - began
    _say(
        out,
        "...",
        "model",
        f"asking {names}, with a few small requests each; loading the libraries took {seconds:.1f} s, "
        "which is not in the times below",
    )
    out.flush()
    logging.getLogger().addHandler(logging.NullHandler())  # SDKs raise their logs, too
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the same goes for their warnings
        findings = asyncio.run(_examine(subjects, keys))
    for finding in findings:
        said = finding.trouble or _abilities(finding)
        _say(out, "BAD" if finding.trouble else "ok ", "model", f"{_who(finding.subject)}: {said}")
        _say(out, "   ", "", _key_used(finding.subject, keys, env))
    return 1 if any(finding.trouble for finding in findings) else 0


async def _examine(subjects: list["Subject"], keys: Mapping[str, str]) -> list["ProbeResult"]:
    from genie_core.assistant.models.probe import examine

    return list(await asyncio.gather(*(examine(subject, keys) for subject in subjects)))


def _who(subject: "Subject") -> str:
    runtime = f", by {subject.runtime}" if subject.runtime != "pydantic-ai" else ""
    return f"{subject.choice.name} ({', '.join(subject.users)}{runtime})"


def _abilities(finding: "ProbeResult") -> str:
    said = []
    if finding.latency is not None:
        said.append(f"answered in {finding.latency:.1f} s")
    if finding.tools:
        said.append("calls tools")
    if finding.structured is not None:
        said.append(f"gives decisions {finding.structured}")
    return ", ".join(said)


def _key_used(subject: "Subject", keys: Mapping[str, str], env: Mapping[str, str]) -> str:
    """Say which key is used and where it comes from, but not the key."""
    from genie_core.assistant.models.credentials import key_of

    at = f", at {subject.choice.base_url}" if subject.choice.base_url else ""
    name = key_of(subject.choice, keys)
    if not name:
        named = "; api_key_env names one to send there" if at else ""
        return f"without a key{at}{named}"
    origin = "the environment" if env.get(name) == keys[name] else "the stored secrets"
    return f"with the key {name} from {origin}{at}"


def _say(out: TextIO, mark: str, what: str, text: str) -> None:
    out.write(f"{mark}  {what:<10} {safe_line(text)}\n")


_USED: Final = frozenset(
    {
        "name", "agent", "model", "base_url", "api_key_env", "runtime", "reasoner_model",
        "reasoner_base_url", "reasoner_api_key_env",
        "template", "workspace", "port", "keymap", "mcp", "servers", "tools", "agents", "sandbox",
    }
)  # fmt: skip
"""Settings that the command checks, by their first part."""


class _AskModel(argparse.Action):
    """Takes a model's name that may be missing."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        """Record that models are to be tested, and which one."""
        namespace.ask_model = True
        if values:
            namespace.model = values


def add_doctor(command: CommandParser) -> None:
    command.used = _USED
    add_settings(command, leave_out=("model",))  # it has a meaning of its own here
    command.add_argument("--port", type=port_number, help="the port to check")
    command.add_argument(
        "--model",
        default=argparse.SUPPRESS,
        metavar="PROVIDER:MODEL",
        nargs="?",
        action=_AskModel,
        help="check the models instead, by a few small requests to those that are set, or to this "
        "one in place of the main one",
    )
    command.set_defaults(run=_run, ask_model=False)


def _run(call: CommandCall) -> int:
    check = check_models if call.options.ask_model else check_system
    return check(call.settings, call.locations, call.env, call.stdout)
