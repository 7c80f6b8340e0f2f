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

    model: str


class UnknownProvider(ModelError):
    """The model's name does not begin with a known provider."""

    known: Sequence[str]

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

    variables: Sequence[str]

    def __str__(self) -> str:
        return (
            f"model {self.model!r} needs {' or '.join(self.variables)}: set it in the environment, "
            f"or store it with: genie-tui secrets set {self.variables[0]}"
        )


class MissingPackage(ModelError):
    """The provider's SDK is an optional package that is not installed."""

    template = (
        "model {model!r} needs a package that is not installed: "
        'pip install "pydantic-ai-slim[{extra}]"'
    )
    extra: str


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

    address: str
    reason: str

    def __str__(self) -> str:
        return f"base_url {hide_secrets(self.address)!r} can't be used: {self.reason}"


class WrongKeyName(ModelError):
    """The setting that names an address's key is invalid, or there is no address."""

    # without the setting's value, which may be a key
    template = "api_key_env of the model {model!r} can't be used: {reason}"
    reason: str


class RefusedOption(ModelError):
    """The model does not take an option; `reason` is a clause, `setting` the option in the settings."""

    template = "{setting} can't be set for model {model!r}: {reason}"
    setting: str
    reason: str


class ModelUnavailable(ModelError):
    """The provider's own setup failed."""

    reason: str

    def __str__(self) -> str:
        return f"model {self.model!r} cannot be set up: {' '.join(self.reason.split())}"


class UnknownTemplate(AssistantError):
    """No prompt of that kind has the name."""

    kind: str
    name: str
    known: Sequence[str]
    folder: Path | None

    def __str__(self) -> str:
        near = get_close_matches(self.name, self.known, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(self.known)}"
        place = f" (your own templates go into {self.folder})" if self.folder else ""
        return f"no {self.kind} template is called {self.name!r}; {hint}{place}"


class UnreadableTemplate(AssistantError):
    """A prompt's file can't be read or is not UTF-8 text."""

    template = "the template {file} can't be read: {reason}"
    file: Path
    reason: str


class UnknownPlaceholder(AssistantError):
    """A prompt has an unknown placeholder."""

    file: Path
    line: int
    name: str
    known: Sequence[str]

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

    template = "the workspace {folder} cannot be used: {reason}"
    folder: Path
    reason: str


class UnusableAgent(AssistantError):
    """An agent in the settings has an invalid name."""

    template = "an agent can't be called {name!r}: {why}"
    name: str
    why: str


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

    program: str
    setting: str
    install: str = ""

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

    agent: str
    kind: str
    name: str
    known: Sequence[str]

    def __str__(self) -> str:
        near = get_close_matches(self.name, self.known, n=1, cutoff=0.5)
        known = f"known: {', '.join(self.known)}" if self.known else "there are none"
        hint = f"did you mean {near[0]!r}?" if near else known
        return f"the {self.kind} {self.name!r} of {self.agent} does not exist; {hint}"


class SecretsError(AssistantError):
    """A secret can't be read, stored or deleted."""


class BadSecret(SecretsError):
    """A secret can't have this name or value; `str()` never repeats it."""

    template = "{why}"
    why: str


class SecretsUnreadable(SecretsError):
    """A file of secrets can't be used. It is left unchanged."""

    template = "the secrets in {file} can't be used: {reason}; repair the file or move it away"
    file: Path
    reason: str


class KeyringFailed(SecretsError):
    """The system keyring can't be reached, is locked, or refused."""

    template = (
        "the system keyring could not {action}: {reason}; unlock it, or to use none, "
        "set PYTHON_KEYRING_BACKEND=keyring.backends.fail.Keyring, delete the secret and set it again"
    )
    action: str
    reason: str
