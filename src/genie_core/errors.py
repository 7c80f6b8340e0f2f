"""Errors of the engine, one class per cause.

GenieError
├── InvalidMessage (ValueError)          a message that the session refuses
├── InvalidSetting (ValueError)          a constructor argument outside its range
├── InvalidFactory (TypeError)           a factory function of an unknown shape
├── UnknownAgent (ValueError)            no agent is registered under a name
├── AttachmentError (ValueError)         a file that cannot be handed to an agent
├── FileNotSaved                         a received file that cannot be saved elsewhere
├── ModelFailed                          a model's provider that refused, failed or did not answer
├── ToolExited                           a tool that tried to end the program
├── StateError                           saved state that cannot be written or understood
│   └── MissingKey (KeyError)            nothing is stored under a key
├── SessionStopped                       the session accepts no more messages
├── SessionLocked                        another session of this id has the store open
├── NotUnfinished                        an execution that was taken up before
├── ActorStopped (RuntimeError)          a worker ended before it served a request
├── EventsMissed (LookupError)           events of a session that are no longer kept
├── MissingExtra (ModuleNotFoundError)   a package of an extra is not installed
├── NotOnEventLoop (RuntimeError)        a call from outside the event loop
├── StageFailed                          one stage of handling a message raised
└── ExecutionFailed                      a delegated message that will get no answer
"""

from collections.abc import Sequence
from math import ceil
from typing import ClassVar, Final, Literal, TypeAlias, dataclass_transform

from genie_core.foreign_errors import in_our_words, meaning_of
from genie_core.privacy.redaction import hide_addresses, hide_secrets

Stage: TypeAlias = Literal[
    "reasoner", "secrets", "factory", "preferences", "tools", "state", "agent"
]
"""The stages of handling a message."""

ModelTrouble: TypeAlias = Literal[
    "key",
    "limit",
    "quota",
    "model",
    "length",
    "refused",
    "tools",
    "server",
    "timeout",
    "connection",
    "cut",
    "answer",
    "filter",
    "output",
    "thoughts",
    "call",
]
"""The outcomes to which a request to a model can lead instead of an answer."""

_TROUBLE: Final[dict[ModelTrouble, tuple[str, str]]] = {  # the event, its remedy
    "key": ("does not accept the {key}", "use a valid key that may use this model"),
    "limit": ("takes no more requests for now", "try again {when}"),
    "quota": (
        "is out of reach: the account's quota or credit is used up",
        "raise it with the provider",
    ),
    "model": ("does not exist there", "check the model's name and the address"),
    "length": (
        "was sent more than it can read at once",
        "send less or begin a new session, or use a model that reads more",
    ),
    "refused": ("refused the request", "change the request or the model's settings"),
    "tools": ("cannot use tools", "choose another model, one that can call tools"),
    "server": ("failed on the provider's side", "try again {when}"),
    "timeout": (
        "did not answer in time",
        "try again, or allow more by 'timeout', for decisions 'reasoner_timeout', in the settings",
    ),
    "connection": ("cannot be reached", "check the address and the network"),
    "cut": ("broke off in the middle of an answer", "try again"),
    "answer": ("gave an answer that cannot be used", "try again or use another model"),
    "filter": ("was stopped by the provider's content filter", "change the request"),
    "output": (
        "reached the limit of its output before it had answered",
        "raise the setting 'max_tokens', or 'reasoner_max_tokens' for decisions",
    ),
    "thoughts": ("gave thoughts but no answer", "ask again or use another model"),
    "call": (
        "wrote a tool call as text, so the call was not made",
        "let its server parse tool calls, or use another model",
    ),
}

_PUBLIC_TROUBLE: Final[dict[ModelTrouble, str]] = {
    "key": "the model's provider refused the key",
    "limit": "the model's provider takes no more requests for now",
    "quota": "the quota or credit at the model's provider is used up",
    "model": "the model's provider does not have the model",
    "length": "the model was sent more than it can read at once",
    "refused": "the model's provider refused the request",
    "tools": "the model cannot use tools",
    "server": "the model's provider failed",
    "timeout": "the model did not answer in time",
    "connection": "the model's provider cannot be reached",
    "cut": "the connection to the model broke off in the middle of an answer",
    "answer": "the model gave an answer that cannot be used",
    "filter": "the content filter of the model's provider stopped the answer",
    "output": "the model reached the limit of its output before it had answered",
    "thoughts": "the model gave thoughts but no answer",
    "call": "the model wrote a tool call as text, so the call was not made",
}
"""The same, in words that reveal nothing of the owner's key, account and addresses."""

_KEYLESS: Final = (
    "asks for a key, and none is sent to this address",
    "name the secret to send there: api_key_env in the settings, or --api-key-env NAME",
)
"""Explanation and advice for a "key" that was not sent."""

_LONGEST_CAUSE: Final = 400


@dataclass_transform(eq_default=False)
class GenieError(Exception):
    """Root of the errors that this package raises on purpose; the text is one line to act on.

    The annotations of a subclass are its fields and its constructor's parameters, `template` is
    its text with the names of fields between braces.
    """

    template: ClassVar[str] = ""
    _names: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        cls._names += tuple(cls.__annotations__)

    def __init__(self, *values: object, **named: object) -> None:
        # dataclass() would compile each constructor, at 0.4 ms a class
        given = {**dict(zip(self._names, values, strict=False)), **named}
        for name, value in given.items():
            setattr(self, name, value)
        surplus = (self._names and len(values) > len(self._names)) or given.keys() - {*self._names}
        if surplus or not all(hasattr(self, name) for name in self._names):
            raise TypeError(f"{type(self).__name__}({', '.join(self._names)}) was given {given}")
        super().__init__(*[getattr(self, name) for name in self._names] or values)

    def __str__(self) -> str:
        if not self.template:
            return super().__str__()
        return self.template.format_map(dict(zip(self._names, self.args, strict=False)))

    @property
    def public(self) -> str:
        """The text for all members of a room; `str()` is for the engine's owner.

        Override it where `str()` repeats a provider, an SDK or the system, or has an address, a
        path or part of a key in it.
        """
        return str(self)


class InvalidMessage(GenieError, ValueError):
    """A message that cannot be accepted, with the reason."""

    template = "message refused: {reason}"
    reason: str


class InvalidSetting(GenieError, ValueError):
    """An argument that makes no sense, such as a timeout of zero."""

    template = "{name} must be {expected}, not {value!r}"
    name: str
    value: object
    expected: str

    @property
    def public(self) -> str:
        return f"{self.name} must be {self.expected}"


class InvalidFactory(GenieError, TypeError):
    """A factory function whose parameters fit none of the documented signatures."""

    template = "factory {name!r} must be callable as {expected}"
    name: str
    expected: str


class UnknownAgent(GenieError, ValueError):
    """A name under which no agent is registered."""

    name: str
    known: Sequence[str] = ()

    def __str__(self) -> str:
        choices = ", ".join(self.known) or "none"
        return f"there is no agent named {self.name!r} (available: {choices})"


class AttachmentError(GenieError, ValueError):
    """A file that is missing, unreadable, too large or of a type that the agent cannot read."""

    template = "attachment {name!r}: {reason}"
    name: str
    reason: str

    @property
    def public(self) -> str:
        return "an attachment cannot be handed to the agent"


class FileNotSaved(GenieError):
    """A received file cannot be saved where a person wants it."""

    template = "{name!r} can't be saved in {folder}: {reason}; choose another place"
    name: str
    folder: str
    reason: str


class ModelFailed(GenieError):
    """A request to a model that got no usable answer, after the retries for its kind.

    `where` is the address or the provider's name, `detail` the provider's message, `key` identifies
    the key without revealing it (empty for none), and `retry_after` is in seconds.
    """

    kind: ModelTrouble
    model: str
    where: str
    detail: str = ""
    key: str = "key"
    retry_after: float | None = None

    def __str__(self) -> str:
        trouble = _KEYLESS if self.kind == "key" and not self.key else _TROUBLE[self.kind]
        what, remedy = (text.format(key=self.key, when=self._when) for text in trouble)
        detail = f": {self.detail.rstrip('.')}" if self.detail else ""
        return f"model {self.model!r} at {self.where} {what}{detail}; {remedy}"

    @property
    def public(self) -> str:
        return _PUBLIC_TROUBLE[self.kind]

    @property
    def _when(self) -> str:
        seconds = self.retry_after or 0
        return f"in {wait_in_words(seconds)}" if seconds >= 1 else "later"


class ToolExited(GenieError):
    """A tool that called `sys.exit` or raised `KeyboardInterrupt`: its run ends, not the program."""

    tool: str
    cause: BaseException

    def __str__(self) -> str:
        return f"{self.public} ({summary(self.cause)}), so its run was ended"

    @property
    def public(self) -> str:
        return f"tool {self.tool!r} tried to end the program"


class StateError(GenieError):
    """Saved state that could not be written, read back or understood."""

    template = "cannot {action} {what}: {reason}"
    action: str
    what: str
    reason: str

    @property
    def public(self) -> str:
        return f"cannot {self.action} saved state"


class MissingKey(StateError, KeyError):
    """Nothing is stored under the key."""

    def __init__(self, what: str) -> None:
        super().__init__("load", what, "nothing is stored there")


class SessionStopped(GenieError):
    """The session was told to stop and accepts nothing new."""

    template = "session {session_id!r} is stopped and takes no more messages"
    session_id: str


class SessionLocked(GenieError):
    """Another session of this id has the store open, here or in another process."""

    template = (
        "session {session_id!r} in {where} is open in {holder}; "
        "join that session first, or end its process"
    )
    session_id: str
    where: str
    holder: str

    @property
    def public(self) -> str:
        return f"session {self.session_id!r} is open already"


class NotUnfinished(GenieError):
    """An execution that was left unfinished is resumed, answered or closed already."""

    template = "execution {execution_id} was resumed, answered or closed before"
    execution_id: str


class ActorStopped(GenieError, RuntimeError):
    """A worker ended before it served the request, or while it did."""

    template = "{name} {reason}"
    name: str
    reason: str = "has stopped"


class EventsMissed(GenieError, LookupError):
    """A reader of a session's events is further behind than events are kept.

    `last` is the number of the latest event that is gone.
    """

    last: int

    def __str__(self) -> str:
        return (
            f"the session keeps its events only from number {self.last + 1} on; take what was said "
            f"from session.messages, and read on with events(after={self.last})"
        )


class MissingExtra(GenieError, ModuleNotFoundError):
    """A package that one of genie-core's extras brings is not installed."""

    def __init__(self, extra: str, module: str) -> None:
        super().__init__(extra, module)
        self.extra = extra
        self.name = module

    def __str__(self) -> str:
        return (
            f"module {self.name!r} is not installed; "
            f"install it with: pip install 'genie-core[{self.extra}]'"
        )


class NotOnEventLoop(GenieError, RuntimeError):
    """A call from another thread or event loop; it changed nothing."""

    template = (
        "{call} belongs to one event loop and was called outside it; from another "
        "thread, use loop.call_soon_threadsafe or asyncio.run_coroutine_threadsafe"
    )
    call: str


class StageFailed(GenieError):
    """One stage of handling a message raised.

    `stage` is the stage, `subject` the person or part concerned, and `cause` the original
    exception.
    """

    stage: Stage
    subject: str
    cause: BaseException | str

    def __str__(self) -> str:
        if isinstance(self.cause, str):
            return f"{self.subject}: {self.cause}"
        return f"{self.subject}: {summary(self.cause)}"

    @property
    def public(self) -> str:
        if isinstance(self.cause, str):
            return str(self)
        return f"{self.subject}: {public_summary(self.cause)}"


class ExecutionFailed(GenieError):
    """A delegated message that will get no answer.

    `stage` and `error` are those of the `Failed` event; the original exception is the cause.
    """

    stage: Stage
    error: str

    def __str__(self) -> str:
        return self.error

    @property
    def public(self) -> str:
        return f"failed in {self.stage}"


def wait_in_words(seconds: float) -> str:
    """Return how long to wait, rounded up from two minutes on."""
    return f"{seconds:.0f} s" if seconds < 2 * 60 else f"{ceil(seconds / 60)} min"


def public_summary(error: BaseException) -> str:
    """Describe an exception in one line for all members of a room.

    For a foreign exception this is only its class: its text may quote a request, with the address
    and parts of the key. Addresses and absolute paths are hidden in any case.
    """
    error = first_of(error)
    if not isinstance(error, GenieError):
        return meaning_of(error) or type(error).__name__
    return hide_addresses(hide_secrets(" ".join(error.public.split())))


def tool_failure(error: BaseException) -> str:
    """Describe a tool's exception to the model that called it, which may repeat it to the room.

    The tool's own words stay, since the model must act on them, but for addresses.
    """
    if isinstance(error, GenieError):
        return public_summary(error)
    return hide_addresses(_in_full(error))


def summary(error: BaseException) -> str:
    """Describe an exception in one line, with its class unless it is one of ours.

    The line is for the engine's owner, with secrets hidden; `public_summary` is for other members.
    A library's exception is described in our words, a group by its first exception.
    """
    error = first_of(error)
    try:
        described = in_our_words(error)
    except Exception:  # noqa: BLE001 - a foreign exception whose str() fails
        described = None
    return _in_full(error) if described is None else _shortened(hide_secrets(described))


def _in_full(error: BaseException) -> str:
    try:
        text = hide_secrets(" ".join(str(error).split()))
    except Exception:  # noqa: BLE001 - a foreign exception whose str() fails
        text = ""
    if isinstance(error, GenieError):
        return text
    name = type(error).__name__
    return f"{name}: {_shortened(text)}" if text else name


def first_of(error: BaseException) -> BaseException:
    """Return the first error inside exception groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_CAUSE else f"{text[:_LONGEST_CAUSE]}…"
