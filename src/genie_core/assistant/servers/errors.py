"""Errors of tool servers.

AssistantError ├── ServersFileError the file of tool servers, or an entry in it, can't be used ├──
MissingValue a placeholder's value is neither a secret nor in the environment ├── LoginNeeded a
server wants a login ├── LoginFailed a login was not completed └── ServerError a server can't be
started, or refuses a request

`str()` of each is one line without the values of settings.
"""

from pathlib import Path

from genie_core.assistant.errors import AssistantError


class ServersFileError(AssistantError):
    """A server is left out, or with an empty `server` the file; `place` is where in the file."""

    file: Path
    place: str
    problem: str
    server: str = ""

    def __str__(self) -> str:
        place = f", {self.place}" if self.place else ""
        left_out = "; this server is left out" if self.server else ""
        return f"{self.file}{place}: {self.problem}{left_out}"


class MissingValue(AssistantError):
    """A placeholder has no value."""

    template = (
        "{key} of the {kind} {server!r} needs {name}: store it with "
        "'genie-tui secrets set {name}' or set it in the environment"
    )
    server: str
    key: str
    name: str
    kind: str = "tool server"


class LoginNeeded(AssistantError):
    """A server wants a login, or another one than is kept."""

    template = "it wants you to log in: genie-tui servers login {server}"
    server: str


class LoginFailed(AssistantError):
    """A person could not log in at a server."""

    template = "not logged in at the tool server {server!r}: {problem}"
    server: str
    problem: str


class ServerError(AssistantError):
    """A server can't be started."""

    template = "the tool server {server!r} {problem}"
    server: str
    problem: str
