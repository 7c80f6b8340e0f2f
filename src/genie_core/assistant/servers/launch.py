"""What a server needs to be started, looked up only then."""

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from genie_core.assistant.errors import AssistantError
from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.errors import ServerError
from genie_core.assistant.servers.placeholders import filled_in, missing_values, private_values
from genie_core.privacy.redaction import know

CALL_TIMEOUT: Final = 300.0
"""Seconds that one call of a server's tool may take."""


def ready_to_start(spec: ServerSpec, keys: Mapping[str, str]) -> ServerSpec:
    """Fill in what the file leaves open, from `keys` and else the environment.

    What is a key from now on is hidden wherever this process writes.

    Raises:
        MissingValue: something is nowhere to be found.
        ServerError: the folder is not there, or the address is none.

    """

    def find(name: str) -> str | None:
        return keys.get(name) or os.environ.get(name)

    filled = filled_in(spec, find)
    know(private_values(spec, filled, find))
    if filled.url and not filled.url.startswith(("http://", "https://")):
        raise ServerError(spec.name, "has a url that does not begin with http:// or https://")
    if filled.cwd and not Path(filled.cwd).is_dir():
        raise ServerError(spec.name, f"has a cwd that is no folder: {filled.cwd}")
    return replace(filled, command=os.path.expanduser(filled.command))  # noqa: PTH111 - "~" alone, the rest stays as it is


def lacks(
    spec: ServerSpec, keys: Mapping[str, str], env: Mapping[str, str]
) -> Iterator[AssistantError]:
    """Yield what would keep the server from being started here. Nothing is started or sent.

    `keys` has a value, whichever, for each name that is known; `env` is the environment.
    """
    missing = list(missing_values(spec, keys.get))
    yield from missing
    if missing or spec.url:
        return
    filled = filled_in(spec, keys.get)
    folder = Path(spec.cwd or ".")
    if not folder.is_dir():
        yield ServerError(spec.name, f"has a cwd that is no folder: {spec.cwd}")
        return
    command = os.path.expanduser(spec.command)  # noqa: PTH111 - as it is started
    where = filled.env.get("PATH", env.get("PATH"))
    if os.sep in command:
        program = folder / command
        if not program.is_file():
            yield ServerError(spec.name, f"can't be started: there is no program {command!r}")
        elif not os.access(program, os.X_OK):
            yield ServerError(spec.name, f"can't be started: {command!r} is not executable")
    elif shutil.which(command, path=where) is None:
        problem = f"can't be started: there is no program {command!r} on PATH; install it"
        yield ServerError(spec.name, problem)
