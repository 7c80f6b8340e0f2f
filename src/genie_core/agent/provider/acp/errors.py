"""Failures of agent programs.

GenieError └── AgentProgramFailed   a program that did not start, ended, or gave no usable answer
"""

from typing import Final, Literal, TypeAlias

from genie_core.agent.provider.failures import without_secrets
from genie_core.errors import GenieError

ProgramTrouble: TypeAlias = Literal[
    "missing", "sandbox", "start", "hang", "version", "ended", "flood", "login", "request", "answer",
    "refused", "stopped", "silent",
]  # fmt: skip
"""The failures to which starting or asking an agent program can lead to instead of an answer."""

_TROUBLE: Final[dict[ProgramTrouble, tuple[str, str]]] = {  # the event, its remedy
    "missing": ("is not installed", "{install}; its command is in the settings, {setting}"),
    "sandbox": (
        "must run in a sandbox, and there is none",
        "install one, or let it run without by sandbox = false",
    ),
    "start": ("can't be started", "check its command in the settings, {setting}"),
    "hang": (
        "did not get ready to work in time",
        "run the command by itself to see whether it asks for something",
    ),
    "version": (
        "speaks another version of the protocol",
        "update it or genie-tui",
    ),
    "ended": ("ended while it was needed", "the next request starts it again"),
    "flood": ("sent too much", "the next request starts it again"),
    "login": ("asks its owner to log in", "{login}"),
    "request": ("could not do what it was asked", "try again, or run the program by itself"),
    "answer": ("sent something that the protocol does not allow", "update it"),
    "refused": ("refused the request", "change the request"),
    "stopped": ("stopped without an answer", "ask again"),
    "silent": ("gave an empty answer", "ask again"),
}

_PUBLIC: Final[dict[ProgramTrouble, str]] = {
    "missing": "the agent program is not installed on its owner's machine",
    "sandbox": "the agent program must run in a sandbox, and its owner's machine has none",
    "start": "the agent program can't be started",
    "hang": "the agent program did not get ready in time",
    "version": "the agent program speaks another version of the protocol",
    "ended": "the agent program ended unexpectedly; the next request starts it again",
    "flood": "the agent program sent too much",
    "login": "the agent program asks its owner to log in",
    "request": "the agent program could not do what it was asked",
    "answer": "the agent program sent an answer that cannot be used",
    "refused": "the agent program refused the request",
    "stopped": "the agent program stopped without an answer",
    "silent": "the agent program gave an empty answer",
}
"""The same, in words that reveal nothing of the owner's machine and accounts."""


class AgentProgramFailed(GenieError):
    """A run of an agent program that got no usable answer.

    `command` is the started one; `detail` says more, such as the exit code and the last line of
    standard error. `install`, `login` and `setting` name the owner's remedies.
    """

    def __init__(
        self,
        kind: ProgramTrouble,
        command: str,
        detail: str = "",
        *,
        install: str = "",
        login: str = "",
        setting: str = "",
    ) -> None:
        super().__init__(kind, command, detail)
        self.kind: ProgramTrouble = kind
        self.command = command
        self.detail = without_secrets(detail)
        self.install = install or "install it so that it is found on PATH"
        self.login = login or "run the program by itself and log in there"
        self.setting = setting or "command"

    def __str__(self) -> str:
        what, remedy = _TROUBLE[self.kind]
        advice = remedy.format(install=self.install, login=self.login, setting=self.setting)
        detail = f": {self.detail.rstrip('.')}" if self.detail else ""
        return f"the agent program {self.command!r} {what}{detail}; {advice}"

    @property
    def public(self) -> str:
        return _PUBLIC[self.kind]
