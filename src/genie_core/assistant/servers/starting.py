"""What a server needs to be started, looked up only then."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from genie_core.assistant.servers.errors import ServerError
from genie_core.assistant.servers.file import ServerSpec
from genie_core.assistant.servers.placeholders import filled_in, private_values
from genie_core.redaction import know

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
