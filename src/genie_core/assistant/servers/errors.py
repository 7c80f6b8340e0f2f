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

    def __init__(self, file: Path, place: str, problem: str, server: str = "") -> None:
        super().__init__(file, place, problem)
        self.file = file
        self.place = place
        self.problem = problem
        self.server = server

    def __str__(self) -> str:
        place = f", {self.place}" if self.place else ""
        left_out = "; this server is left out" if self.server else ""
        return f"{self.file}{place}: {self.problem}{left_out}"


class MissingValue(AssistantError):
    """A placeholder has no value."""

    def __init__(self, server: str, key: str, name: str, kind: str = "tool server") -> None:
        super().__init__(server, key, name)
        self.kind = kind
        self.server = server
        self.key = key
        self.name = name

    def __str__(self) -> str:
        return (
            f"{self.key} of the {self.kind} {self.server!r} needs {self.name}: store it with "
            f"'genie-tui secrets set {self.name}' or set it in the environment"
        )


class LoginNeeded(AssistantError):
    """A server wants a login, or another one than is kept."""

    def __init__(self, server: str) -> None:
        super().__init__(server)
        self.server = server

    def __str__(self) -> str:
        return f"it wants you to log in: genie-tui servers login {self.server}"


class LoginFailed(AssistantError):
    """A person could not log in at a server."""

    def __init__(self, server: str, problem: str) -> None:
        super().__init__(server, problem)
        self.server = server
        self.problem = problem

    def __str__(self) -> str:
        return f"not logged in at the tool server {self.server!r}: {self.problem}"


class ServerError(AssistantError):
    """A server can't be started."""

    def __init__(self, server: str, problem: str) -> None:
        super().__init__(server, problem)
        self.server = server
        self.problem = problem

    def __str__(self) -> str:
        return f"the tool server {self.server!r} {self.problem}"
