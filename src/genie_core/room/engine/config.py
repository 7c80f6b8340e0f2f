"""How a member's engine is loaded and run."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from genie_core.message import Message
from genie_core.room.client.signer import Signer
from genie_core.room.engine.approval_policy import ApprovalPolicy, AskAlways
from genie_core.room.engine.context import Place
from genie_core.room.engine.controls import EngineControls
from genie_core.room.engine.private_arguments import PrivateArguments
from genie_core.session import GroupSession


@dataclass(frozen=True, slots=True)
class Engine:
    """A loaded engine: the session, its saved messages, and the label of its model.

    `aclose` closes resources that the session does not own, such as its data store. `notices` are
    lines to show the owner once. `policy` decides which tool calls a person has to approve.
    """

    session: GroupSession
    remembered: list[Message]
    label: str
    offline: bool
    aclose: Callable[[], Awaitable[None]]
    notices: tuple[str, ...] = ()
    policy: ApprovalPolicy = field(default_factory=AskAlways)
    controls: EngineControls | None = None


EngineLoader: TypeAlias = Callable[[], Awaitable[Engine]]
"""Loads the engine without blocking the event loop. Raises a `GenieError` with the reason."""


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """How to load and describe an engine; without a `loader` there is none.

    `label` is the model and `where` the machine, for people; `offline` means no language model.
    `reload` returns a loader for another model, for use after a failure. `private` holds the
    arguments of guests' tool calls.
    """

    loader: EngineLoader | None = None
    label: str = ""
    offline: bool = False
    where: str = ""
    reload: Callable[[str], EngineLoader] | None = None
    private: PrivateArguments = field(default_factory=PrivateArguments)


@dataclass(frozen=True, slots=True)
class EngineSite:
    """The terminal where an engine works."""

    device: str = ""
    place: Place | None = None
    """Finds the files of messages on this machine."""
    author: Signer | None = None
    """Verifies the owner's entries."""
    serves: bool = False
    """Whether the owner is the host, whose engine works for others, too."""
