"""What can be wrong with an assistant's settings.

AssistantError
├── ModelError
│   ├── UnknownProvider     the part before the colon is no provider we know, or is missing
│   ├── MissingVariable     the provider needs an environment variable that is not set
│   ├── MissingPackage      the provider's SDK is not installed
│   ├── OtherRuntimeNeeded  the OpenAI Agents SDK cannot ask the model
│   ├── WrongAddress        the address of a model's server is none, or has no model
│   └── ModelUnavailable    the provider itself refused to be set up
├── UnknownTemplate         no prompt has that name
├── UnreadableTemplate      a prompt's file can't be read as text
├── UnknownPlaceholder      a prompt has a placeholder that nothing is put in for
├── UnusableAgent           an agent's name can't be that of an agent
├── UnknownPart             an agent is to have a tool or tool server that there is not
├── WorkspaceError          the workspace is not a folder that can be read
└── SecretsError
    ├── BadSecret           a name or a value that no secret can have
    ├── SecretsUnreadable   the file with secrets, or with their names, can't be used
    └── KeyringFailed       the system keyring is needed and does not do it

`str()` of each is one line that says what the person can do.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from genie_core.errors import GenieError
from genie_core.privacy.redaction import hide_secrets


class AssistantError(GenieError):
    """The assistant cannot be set up as configured."""

    @property
    def public(self) -> str:
        """Leave out addresses, paths and what providers said."""
        return "the assistant cannot be set up as its owner configured it"


class ModelError(AssistantError):
    """The model named in the settings cannot be used."""

    def __init__(self, model: str) -> None:
        super().__init__(model)
        self.model = model


class UnknownProvider(ModelError):
    """The model's name does not begin with a known provider."""

    def __init__(self, model: str, known: Sequence[str]) -> None:
        super().__init__(model)
        self.known = tuple(known)

    def __str__(self) -> str:
        """Name the nearest provider, or all of them when none is near."""
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
    """The provider asks for something by name that is neither stored nor in the environment."""

    def __init__(self, model: str, variables: Sequence[str]) -> None:
        super().__init__(model)
        self.variables = tuple(variables)

    def __str__(self) -> str:
        """Name the variable to set."""
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
        """Name the package to install."""
        return (
            f"model {self.model!r} needs a package that is not installed: "
            f'pip install "pydantic-ai-slim[{self.extra}]"'
        )


class OtherRuntimeNeeded(ModelError):
    """The provider is not asked in the way of OpenAI, which is the only one of that runtime."""

    def __str__(self) -> str:
        """Name the runtime that can."""
        provider = self.model.partition(":")[0]
        return (
            f"model {self.model!r} can't be used with the runtime openai-agents, which cannot ask "
            f"the provider {provider}; set the runtime to pydantic-ai"
        )


class WrongAddress(ModelError):
    """A server's address that cannot be one, or that comes without the name of a model there."""

    def __init__(self, model: str, address: str, reason: str) -> None:
        super().__init__(model)
        self.address = address
        self.reason = reason

    def __str__(self) -> str:
        """Say what is wrong with the address."""
        return f"base_url {hide_secrets(self.address)!r} can't be used: {self.reason}"


class WrongKeyName(ModelError):
    """The setting that names the key for an address does not name one, or there is no address."""

    def __init__(self, model: str, reason: str) -> None:
        super().__init__(model)
        self.reason = reason

    def __str__(self) -> str:
        """Say what is wrong with it; the text itself may be a key."""
        return f"api_key_env of the model {self.model!r} can't be used: {self.reason}"


class ModelUnavailable(ModelError):
    """Setting the model up failed in the provider's own code."""

    def __init__(self, model: str, reason: str) -> None:
        super().__init__(model)
        self.reason = reason

    def __str__(self) -> str:
        """Repeat the provider's reason on one line."""
        return f"model {self.model!r} cannot be set up: {' '.join(self.reason.split())}"


class UnknownTemplate(AssistantError):
    """No prompt of that kind has the given name."""

    def __init__(self, kind: str, name: str, known: Sequence[str], folder: Path | None) -> None:
        super().__init__(name)
        self.kind = kind
        self.name = name
        self.known = tuple(known)
        self.folder = folder

    def __str__(self) -> str:
        """Name the nearest templates and where an own one would belong."""
        near = get_close_matches(self.name, self.known, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(self.known)}"
        place = f" (your own belong in {self.folder})" if self.folder else ""
        return f"no {self.kind} template is called {self.name!r}; {hint}{place}"


class UnreadableTemplate(AssistantError):
    """The file of a prompt can't be read, or is no UTF-8 text."""

    def __init__(self, file: Path, reason: str) -> None:
        super().__init__(file)
        self.file = file
        self.reason = reason

    def __str__(self) -> str:
        """Name the file and what is wrong with it."""
        return f"the template {self.file} can't be read: {self.reason}; save it as UTF-8 text"


class UnknownPlaceholder(AssistantError):
    """A prompt has a word in braces for which nothing is put in."""

    def __init__(self, file: Path, line: int, name: str, known: Sequence[str]) -> None:
        super().__init__(file)
        self.file = file
        self.line = line
        self.name = name
        self.known = tuple(known)

    def __str__(self) -> str:
        """Name the place and the placeholders there are."""
        near = get_close_matches(self.name, self.known, n=1, cutoff=0.6)
        hint = f"did you mean {{{near[0]}}}? " if near else ""
        known = " and ".join(f"{{{each}}}" for each in self.known)
        return (
            f"the template {self.file}, line {self.line}: nothing is known to put in for "
            f"{{{self.name}}}; {hint}known: {known}; put code between backticks"
        )


class WorkspaceError(AssistantError):
    """The workspace given to the file tools is not a readable folder."""

    def __init__(self, folder: Path, reason: str) -> None:
        super().__init__(folder)
        self.folder = folder
        self.reason = reason

    def __str__(self) -> str:
        """Name the folder and what is wrong with it."""
        return f"the workspace {self.folder} cannot be used: {self.reason}"


class UnusableAgent(AssistantError):
    """An agent in the settings can't be had under its name."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(name)
        self.name = name
        self.why = why

    def __str__(self) -> str:
        """Name the agent and what is wrong with its name."""
        return f"there can be no agent called {self.name!r}: {self.why}"


class UnknownPart(AssistantError):
    """An agent is to have something that there is not."""

    def __init__(self, agent: str, kind: str, name: str, known: Sequence[str]) -> None:
        super().__init__(name)
        self.agent = agent
        self.kind = kind
        self.name = name
        self.known = tuple(known)

    def __str__(self) -> str:
        """Name the nearest one, or all that there are."""
        near = get_close_matches(self.name, self.known, n=1, cutoff=0.5)
        known = f"known: {', '.join(self.known)}" if self.known else "there are none"
        hint = f"did you mean {near[0]!r}?" if near else known
        return (
            f"{self.agent} is to have the {self.kind} {self.name!r}, which does not exist; {hint}"
        )


class SecretsError(AssistantError):
    """A secret can't be read, kept or deleted."""


class BadSecret(SecretsError):
    """A name or a value that no secret can have; `str()` never repeats it."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class SecretsUnreadable(SecretsError):
    """A file of secrets can't be read or written, or holds something else. It stays as it is."""

    def __init__(self, file: Path, reason: str) -> None:
        super().__init__(file)
        self.file = file
        self.reason = reason

    def __str__(self) -> str:
        """Name the file and what is wrong with it."""
        return f"the secrets in {self.file} can't be used: {self.reason}; mend it or move it away"


class KeyringFailed(SecretsError):
    """The system keyring can't be reached, is locked, or refused."""

    def __init__(self, action: str, reason: str) -> None:
        super().__init__(action)
        self.action = action
        self.reason = reason

    def __str__(self) -> str:
        """Say what could not be done, and how to do without a keyring."""
        return (
            f"the system keyring could not {self.action}: {self.reason}; unlock it, or without one "
            "set PYTHON_KEYRING_BACKEND=keyring.backends.fail.Keyring, delete the secret and set it again"
        )
