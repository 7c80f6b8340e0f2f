"""How a member's engine is loaded and run."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from genie_core.message import Message
from genie_core.room.engine.controls import EngineControls
from genie_core.room.engine.policy import ApprovalPolicy, AskAlways
from genie_core.room.engine.private_arguments import PrivateArguments
from genie_core.session import GroupSession


@dataclass(frozen=True, slots=True)
class Engine:
    """A loaded engine: the session, what it remembers, and the label of its model.

    `aclose` ends what the session leaves to its owner, its data store above all. `notices` are
    lines to show the owner once. `policy` decides which tool calls a person is asked about.
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
"""Loads the engine without blocking the event loop; a `GenieError` says why it can't."""


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """How an engine is loaded and described; there is none without a `loader`.

    `label` is the model, `offline` means no language model, `where` the machine, for people.
    `reload` prepares loading the engine with another model after it failed. `withheld` keeps the
    arguments of guests' tool calls.
    """

    loader: EngineLoader | None = None
    label: str = ""
    offline: bool = False
    where: str = ""
    reload: Callable[[str], EngineLoader] | None = None
    withheld: PrivateArguments = field(default_factory=PrivateArguments)
