"""The settings of an agent program, and the commands that it knows.

The program's runtime fills an `AgentOptions` in; the room shows it and lets its owner choose.
"""

from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Final

MODE: Final = "mode"
MODEL: Final = "model"
"""Categories of options that have a command of their own."""

owner_command: ContextVar[str] = ContextVar("owner_command", default="")
"""The owner's words behind the agent's name in the message that is answered, if it began with `/`.
Other people's messages are never commands to a program.
"""


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of an option, and its name in the program."""

    value: str
    name: str

    def is_named(self, text: str) -> bool:
        return text.casefold() in (self.value.casefold(), self.name.casefold())


@dataclass(frozen=True, slots=True)
class AgentOption:
    """An option of an agent program. All texts are the program's.

    `asking` are the values with which it is known to ask before it acts.
    """

    id: str
    name: str
    category: str
    value: str
    choices: tuple[Choice, ...]
    asking: tuple[str, ...] = ()

    def choice(self, text: str) -> Choice | None:
        """Return the choice with this value or name, regardless of case."""
        return next((each for each in self.choices if each.is_named(text)), None)

    def is_named(self, text: str) -> bool:
        return text.casefold() in (self.id.casefold(), self.name.casefold())


@dataclass(frozen=True, slots=True)
class AgentCommand:
    """A command of an agent program, without its `/`."""

    name: str
    about: str


@dataclass(slots=True)
class AgentOptions:
    """The options of one agent, for all its sessions: those reported last, and the owner's choices.

    Empty until the program has opened a session. `version` changes with each choice.
    """

    known: tuple[AgentOption, ...] = ()
    commands: tuple[AgentCommand, ...] = ()
    chosen: dict[str, str] = field(default_factory=dict)
    version: int = 0

    @property
    def options(self) -> tuple[AgentOption, ...]:
        """The options as they will be for the next request."""
        return tuple(
            replace(each, value=self.chosen.get(each.id, each.value)) for each in self.known
        )

    def choose(self, option: str, value: str) -> None:
        """Choose a value from the next request on."""
        self.chosen[option] = value
        self.version += 1

    def is_command(self, text: str) -> bool:
        """Whether a text begins with a command that the program knows."""
        name = text[1:].split(maxsplit=1)[0] if text[1:].strip() else ""
        return text.startswith("/") and name in {each.name for each in self.commands}


def of_category(options: Iterable[AgentOption], category: str) -> AgentOption | None:
    """Return the first option of a category."""
    return next((each for each in options if each.category == category), None)
