"""Errors in an assistant's configuration.

AssistantError
├── ModelError
│   ├── UnknownProvider     the model's name has no known provider
│   ├── MissingVariable     a required environment variable is not set
│   ├── MissingPackage      the provider's SDK is not installed
│   ├── OtherRuntimeNeeded  the OpenAI Agents SDK does not support the provider
│   ├── WrongAddress        a server's address is invalid, or its model is not named
│   ├── WrongKeyName        the setting that names a key is invalid
│   ├── RefusedOption       the model does not take an option such as a temperature
│   └── ModelUnavailable    the provider's own setup failed
├── UnknownTemplate         no prompt has that name
├── UnreadableTemplate      a prompt's file can't be read as text
├── UnknownPlaceholder      a prompt has an unknown placeholder
├── UnusableAgent           an agent's name or runtime is invalid
├── UnknownAgent            the answering agent is no known or configured program
├── MissingProgram          the program that is an agent is not installed
├── UnknownPart             an agent names a missing tool or tool server
├── LeftOut                 a part of the settings that is not used
├── WorkspaceError          the workspace is not a readable folder
└── SecretsError
    ├── BadSecret           a secret can't have this name or value
    ├── SecretsUnreadable   a file of secrets or of their names can't be used
    └── KeyringFailed       the system keyring is needed and failed

`str()` of each is one line that names a remedy.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from genie_core.errors import GenieError
from genie_core.privacy.redaction import hide_secrets


class AssistantError(GenieError):
    """The assistant can't be set up as configured."""

    @property
    def public(self) -> str:
        """The error without addresses, paths and messages of providers."""
        return "the assistant cannot be set up as its owner configured it"


class ModelError(AssistantError):
    """The configured model can't be used."""

    def __init__(self, model: str, reason: str = "") -> None:
        super().__init__(model)
        self.model = model
        self.reason = reason


class UnknownProvider(ModelError):
    """The model's name does not begin with a known provider."""

    def __init__(self, model: str, known: Sequence[str]) -> None:
        super().__init__(model)
        self.known = tuple(known)

    def __str__(self) -> str:
        provider, colon, _ = self.model.partition(":")
        if not colon:
            problem = f"model {self.model!r} has no provider: write it as provider:model"
        else:
            problem = f"model {self.model!r} names an unknown provider"
        near = get_close_matches(provider, self.known, n=2, cutoff=0.6)
        if near and colon and provider not in self.known:
            return f"{problem}; did you mean {' or '.join(near)}?"
        return f"{problem}; known providers: {', '.join(self.known)}"


class MissingVariable(ModelError):
    """A value that the provider needs is neither stored nor in the environment."""

    def __init__(self, model: str, variables: Sequence[str]) -> None:
        super().__init__(model)
        self.variables = tuple(variables)

    def __str__(self) -> str:
        return (
            f"model {self.model!r} needs {' or '.join(self.variables)}: set it in the environment, "
            f"or store it with: genie-tui secrets set {self.variables[0]}"
        )


class MissingPackage(ModelError):
    """The provider's SDK is an optional package that is not installed."""

    def __init__(self, model: str, extra: str) -> None:
        super().__init__(model)
        self.extra = extra

    def __str__(self) -> str:
        return (
            f"model {self.model!r} needs a package that is not installed: "
            f'pip install "pydantic-ai-slim[{self.extra}]"'
        )


class OtherRuntimeNeeded(ModelError):
    """The provider has no OpenAI-compatible interface, which this runtime requires."""

    def __str__(self) -> str:
        provider = self.model.partition(":")[0]
        return (
            f"model {self.model!r} can't be used with the runtime openai-agents, which does not "
            f"support the provider {provider}; set the runtime to pydantic-ai"
        )


class WrongAddress(ModelError):
    """A server's address is invalid, or its model is not named."""

    def __init__(self, model: str, address: str, reason: str) -> None:
        super().__init__(model, reason)
        self.address = address

    def __str__(self) -> str:
        return f"base_url {hide_secrets(self.address)!r} can't be used: {self.reason}"


class WrongKeyName(ModelError):
    """The setting that names an address's key is invalid, or there is no address."""

    def __str__(self) -> str:
        """Leave out the setting's value, which may be a key."""
        return f"api_key_env of the model {self.model!r} can't be used: {self.reason}"


class RefusedOption(ModelError):
    """The model does not take an option; `reason` is a clause, `setting` the option in the settings."""

    def __init__(self, model: str, setting: str, reason: str) -> None:
        super().__init__(model, reason)
        self.setting = setting

    def __str__(self) -> str:
        return f"{self.setting} can't be set for model {self.model!r}: {self.reason}"


class ModelUnavailable(ModelError):
    """The provider's own setup failed."""

    def __str__(self) -> str:
        return f"model {self.model!r} cannot be set up: {' '.join(self.reason.split())}"


class UnknownTemplate(AssistantError):
    """No prompt of that kind has the name."""

    def __init__(self, kind: str, name: str, known: Sequence[str], folder: Path | None) -> None:
        super().__init__(name)
        self.kind = kind
        self.name = name
        self.known = tuple(known)
        self.folder = folder

    def __str__(self) -> str:
        near = get_close_matches(self.name, self.known, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(self.known)}"
        place = f" (your own templates go into {self.folder})" if self.folder else ""
        return f"no {self.kind} template is called {self.name!r}; {hint}{place}"


class UnreadableTemplate(AssistantError):
    """A prompt's file can't be read or is not UTF-8 text."""

    def __init__(self, file: Path, reason: str) -> None:
        super().__init__(file)
        self.file = file
        self.reason = reason

    def __str__(self) -> str:
        return f"the template {self.file} can't be read: {self.reason}"


class UnknownPlaceholder(AssistantError):
    """A prompt has an unknown placeholder."""

    def __init__(self, file: Path, line: int, name: str, known: Sequence[str]) -> None:
        super().__init__(file)
        self.file = file
        self.line = line
        self.name = name
        self.known = tuple(known)

    def __str__(self) -> str:
        near = get_close_matches(self.name, self.known, n=1, cutoff=0.6)
        hint = f"did you mean {{{near[0]}}}? " if near else ""
        known = " and ".join(f"{{{each}}}" for each in self.known)
        return (
            f"the template {self.file}, line {self.line}: unknown placeholder "
            f"{{{self.name}}}; {hint}known: {known}; put code between backticks"
        )


class WorkspaceError(AssistantError):
    """The workspace is not a readable folder."""

    def __init__(self, folder: Path, reason: str) -> None:
        super().__init__(folder)
        self.folder = folder
        self.reason = reason

    def __str__(self) -> str:
        return f"the workspace {self.folder} cannot be used: {self.reason}"


class UnusableAgent(AssistantError):
    """An agent in the settings has an invalid name."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(name)
        self.name = name
        self.why = why

    def __str__(self) -> str:
        return f"an agent can't be called {self.name!r}: {self.why}"


class UnknownAgent(AssistantError):
    """The name of the answering agent belongs to no known program and no configured one.

    `configured` are entries with a command; an entry without one is `directed`.
    """

    def __init__(
        self, name: str, known: Sequence[str], configured: Sequence[str], *, directed: bool = False
    ) -> None:
        super().__init__(name)
        self.name = name
        self.known = tuple(known)
        self.configured = tuple(configured)
        self.directed = directed

    def __str__(self) -> str:
        listed = f"known: {', '.join(self.known)}"
        if self.configured:
            listed += f"; in the settings: {', '.join(self.configured)}"
        if self.directed:
            return f"agent can't be {self.name!r}: [agents.{self.name}] has no command; {listed}"
        near = get_close_matches(self.name.lower(), [*self.known, *self.configured], 1, 0.6)
        hint = f"did you mean {near[0]!r}? {listed}" if near else listed
        return (
            f"agent can't be {hide_secrets(self.name)!r}: no agent has that name; {hint}; "
            "others need a command in [agents.NAME]"
        )


class MissingProgram(AssistantError):
    """The program that is an agent is not found."""

    def __init__(self, program: str, setting: str, install: str = "") -> None:
        super().__init__(program, setting)
        self.program = program
        self.setting = setting
        self.install = install

    def __str__(self) -> str:
        if not self.program.strip():
            return f"the setting {self.setting} names no program"
        advice = self.install or "install it so that it is found on PATH"
        return f"the agent program {self.program!r} is not installed: {advice}; or change the setting {self.setting}"


class LeftOut(AssistantError):
    """A part of the settings is not used; the rest is. The cause, if there is one, says more."""

    def __init__(self, text: str, cause: AssistantError | None = None) -> None:
        super().__init__(text)
        self.__cause__ = cause

    @property
    def public(self) -> str:
        return "a part of the settings is not used"


class UnknownPart(AssistantError):
    """An agent names a tool or tool server that does not exist."""

    def __init__(self, agent: str, kind: str, name: str, known: Sequence[str]) -> None:
        super().__init__(name)
        self.agent = agent
        self.kind = kind
        self.name = name
        self.known = tuple(known)

    def __str__(self) -> str:
        near = get_close_matches(self.name, self.known, n=1, cutoff=0.5)
        known = f"known: {', '.join(self.known)}" if self.known else "there are none"
        hint = f"did you mean {near[0]!r}?" if near else known
        return f"the {self.kind} {self.name!r} of {self.agent} does not exist; {hint}"


class SecretsError(AssistantError):
    """A secret can't be read, stored or deleted."""


class BadSecret(SecretsError):
    """A secret can't have this name or value; `str()` never repeats it."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class SecretsUnreadable(SecretsError):
    """A file of secrets can't be used. It is left unchanged."""

    def __init__(self, file: Path, reason: str) -> None:
        super().__init__(file)
        self.file = file
        self.reason = reason

    def __str__(self) -> str:
        return f"the secrets in {self.file} can't be used: {self.reason}; repair the file or move it away"


class KeyringFailed(SecretsError):
    """The system keyring can't be reached, is locked, or refused."""

    def __init__(self, action: str, reason: str) -> None:
        super().__init__(action)
        self.action = action
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"the system keyring could not {self.action}: {self.reason}; unlock it, or to use none, "
            "set PYTHON_KEYRING_BACKEND=keyring.backends.fail.Keyring, delete the secret and set it again"
        )
