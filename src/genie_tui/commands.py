"""The slash commands of the composer: one table, and a parser that never raises.

A line that starts with a slash is a command; two slashes send the text with one.
"""

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, TypeAlias


@dataclass(frozen=True, slots=True)
class Command:
    """A command a person can type. `action` is what the room screen runs for it."""

    name: str
    usage: str
    help: str
    action: str


COMMANDS: Final = (
    Command("help", "/help", "Keys and commands", "app.help"),
    Command("who", "/who", "Who is in the room, and what their agents are doing", "screen.who"),
    Command("me", "/me waves", "Say what you do, in the third person", ""),
    Command("stop", "/stop", "Stop the agents that run for you", "screen.stop"),
    Command("activity", "/activity", "Show what was decided, and why", "screen.activity"),
    Command("approvals", "/approvals", "Show the tool calls that wait for you", "screen.approvals"),
    Command("reasons", "/reasons", "Show or hide why an agent stayed silent", "screen.reasons"),
    Command("theme", "/theme", "Switch between dark and light", "app.toggle_theme"),
    Command("quit", "/quit", "Suspend the room, or leave it, and end", "app.quit"),
)

_BY_NAME: Final = {command.name: command for command in COMMANDS}


@dataclass(frozen=True, slots=True)
class Speech:
    """Something to say in the room."""

    text: str
    emote: bool = False


@dataclass(frozen=True, slots=True)
class Invocation:
    """A known command, with the rest of its line."""

    command: Command
    argument: str


@dataclass(frozen=True, slots=True)
class Mistake:
    """A line that is neither; `text` says what is wrong and what would be right."""

    text: str


Line: TypeAlias = Speech | Invocation | Mistake


def parse(text: str) -> Line:
    """Tell what a submitted text is."""
    if text.startswith("//"):
        return Speech(text[1:])
    if not text.startswith("/"):
        return Speech(text)
    name, argument = (*text[1:].split(maxsplit=1), "", "")[:2]
    command = _BY_NAME.get(name.lower())
    if command is None:
        return Mistake(_unknown(name))
    if command.name == "me":
        return Speech(argument, emote=True) if argument else Mistake("Say what you do: /me waves")
    if argument:
        return Mistake(f"/{command.name} takes nothing after it; // sends a text with a slash")
    return Invocation(command, argument)


def _unknown(name: str) -> str:
    near = get_close_matches(name.lower(), _BY_NAME, n=1, cutoff=0.5)
    hint = f"did you mean /{near[0]}?" if near else "/help lists them."
    return f"There is no command /{name}; {hint} Two slashes send a text with one."
