"""Preparing a server to start: filling in placeholders and checking its program.

Placeholders refer to secrets and the environment: `${NAME}`, `${NAME:-default}` and `${env:NAME}`.
"""

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias

from genie_core.assistant.errors import AssistantError
from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.errors import MissingValue, ServerError
from genie_core.assistant.tools.shell import supervisor
from genie_core.assistant.tools.shell.run import SUPERVISOR
from genie_core.assistant.tools.shell.sandbox import SandboxUnavailable, sandbox_command
from genie_core.privacy.redaction import know

CALL_TIMEOUT: Final = 300.0
"""Seconds that one tool call may take."""


def ready_to_start(spec: ServerSpec, keys: Mapping[str, str]) -> ServerSpec:
    """Fill in placeholders from `keys`, then from the environment.

    Redacts secret values in this process from now on.

    Raises:
        MissingValue: a value is neither in `keys` nor in the environment.
        ServerError: the folder or the program does not exist, the address is invalid, or there is
            no sandbox.
    """

    def find(name: str) -> str | None:
        return keys.get(name) or os.environ.get(name)

    filled = filled_in(spec, find)
    know(private_values(spec, filled, find))
    if filled.url and not filled.url.startswith(("http://", "https://")):
        raise ServerError(spec.name, "has a url that does not begin with http:// or https://")
    if not filled.url and (problem := _program_fault(filled, os.environ)):
        raise ServerError(spec.name, problem)
    return _in_sandbox(replace(filled, command=os.path.expanduser(filled.command)))  # noqa: PTH111 - "~" alone, the rest stays as it is


def supervised(spec: ServerSpec) -> tuple[str, list[str]]:
    """Return the program and arguments that start a server and leave none of its processes behind."""
    script = [os.fspath(SUPERVISOR), supervisor.SERVER]
    return sys.executable, ["-I", "-S", *script, spec.command, *spec.args]


def _in_sandbox(spec: ServerSpec) -> ServerSpec:
    """Return a server that starts in its sandbox, if it has one. Raises `ServerError`."""
    if spec.sandbox is None:
        return spec
    folder = Path(spec.cwd) if spec.cwd else None
    shown = [folder] if folder else []
    if os.sep in spec.command:
        shown.append((folder or Path.cwd()) / spec.command)
    try:
        start, *words = sandbox_command(replace(spec.sandbox, mode="required"), folder, shown=shown)
    except SandboxUnavailable as error:
        raise ServerError(spec.name, f"can't be started in a sandbox: {error}") from error
    return replace(spec, command=start, args=(*words, spec.command, *spec.args))


def lacks(
    spec: ServerSpec, keys: Mapping[str, str], env: Mapping[str, str]
) -> Iterator[AssistantError]:
    """Yield errors that would keep the server from starting. Starts and sends nothing.

    `keys` has some value for each known name; `env` is the environment.
    """
    missing = list(missing_values(spec, keys.get))
    yield from missing
    if missing or spec.url:
        return
    if problem := _program_fault(filled_in(spec, keys.get), env):
        yield ServerError(spec.name, problem)


def _program_fault(spec: ServerSpec, env: Mapping[str, str]) -> str:
    """Say why the program of a server without placeholders can't be started; empty if it can."""
    if not Path(spec.cwd or ".").is_dir():
        return f"has a cwd that is not a folder: {spec.cwd}"
    command = os.path.expanduser(spec.command)  # noqa: PTH111 - as it is started
    if os.sep not in command:
        if shutil.which(command, path=spec.env.get("PATH", env.get("PATH"))) is None:
            return f"can't be started: the program {command!r} is not on PATH; install it"
        return ""
    program = Path(spec.cwd or ".") / command
    if not program.is_file():
        return f"can't be started: the program {command!r} does not exist"
    return "" if os.access(program, os.X_OK) else f"can't be started: {command!r} is not executable"


_PLACEHOLDER: Final = re.compile(r"\$\{(?:env:)?(?P<name>[^}]*?)(?::-(?P<default>[^}]*))?\}")


_PRIVATE: Final = re.compile(r"(?i)key|token|secret|passw|pwd|auth|credential|cookie|session")

Find: TypeAlias = Callable[[str], str | None]
"""Returns the value of a name, or None."""


def filled_in(spec: ServerSpec, find: Find) -> ServerSpec:
    """Replace placeholders by values. Raises `MissingValue` for one without value and default."""
    for missing in missing_values(spec, find):
        raise missing

    def fill(text: str) -> str:
        return _PLACEHOLDER.sub(lambda each: find(each["name"]) or each["default"], text)

    return replace(
        spec,
        command=fill(spec.command),
        cwd=fill(spec.cwd),
        args=tuple(map(fill, spec.args)),
        env={name: fill(each) for name, each in spec.env.items()},
        url=fill(spec.url),
        headers={name: fill(each) for name, each in spec.headers.items()},
    )


def missing_values(spec: ServerSpec, find: Find) -> Iterator[MissingValue]:
    """Yield an error for each placeholder without value and default."""
    texts = [("command", spec.command), ("cwd", spec.cwd), ("url", spec.url)]
    texts += [("args", each) for each in spec.args]
    texts += [(f"env.{name}", each) for name, each in spec.env.items()]
    texts += [(f"headers.{name}", each) for name, each in spec.headers.items()]
    for key, text in texts:
        for match in _PLACEHOLDER.finditer(text):
            if match["default"] is None and not find(match["name"]):
                yield MissingValue(spec.name, key, match["name"])


def private_values(spec: ServerSpec, filled: ServerSpec, find: Find) -> set[str]:
    """Return the values to redact: those whose names look secret.

    Other values, such as a folder or "production", are ordinary words.
    """
    written = {**filled.env, **filled.headers}
    values = {
        value.split()[-1]
        for name, value in written.items()
        if _looks_secret(name) and value.strip()
    }
    texts = (*spec.args, *spec.env.values(), spec.url, *spec.headers.values())
    names = {match["name"] for text in texts for match in _PLACEHOLDER.finditer(text)}
    return values | {value for name in names if _looks_secret(name) and (value := find(name))}


def _looks_secret(name: str) -> bool:
    return _PRIVATE.search(name) is not None
