"""Reading the `mcpServers` file that many programs share."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """A tool server: a program to start, or the address of one that runs.

    `env` and `headers` may name secrets as `${NAME}`.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


def load_servers(file: Path | None) -> dict[str, ServerSpec]:
    """Read the servers by name; none if there is no file."""
    if file is None or not file.exists():
        return {}
    raise NotImplementedError
