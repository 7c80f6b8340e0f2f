"""The slash commands of the composer: one table, and a parser that never raises.

A line that starts with a slash is a command; two slashes send the text with one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Final, Literal, TypeAlias

from genie_tui import ordering
from genie_tui.order import Order
from genie_tui.ordering import Misuse

Sort: TypeAlias = Literal["", "person", "role", "path", "file", "attachment", "caller"]
"""What can be completed after a command; `attachment` is what goes with the next message."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command a person can type.

    It is carried out as the `order` that is read from what follows it, or by running the room
    screen's `action`. `takes` says what the words after it are, in order; `offers_at_once` that
    they are offered before anything of them is typed.
    """

    name: str
    usage: str
    help: str
    action: str = ""
    order: Callable[[str], Order] | None = None
    takes: tuple[Sort, ...] = ()
    offers_at_once: bool = True


COMMANDS: Final = (
    Command("help", "/help", "Keys and commands", "app.help"),
    Command(
        "who",
        "/who [NAME]",
        "Who is in the room, and what their agents are doing; of one person the key's words",
        order=ordering.read_who,
        takes=("person",),
        offers_at_once=False,
    ),
    Command("me", "/me waves", "Say what you do, in the third person"),
    Command("stop", "/stop", "Stop the agents that run for you", "screen.stop"),
    Command(
        "attach",
        "/attach PATH",
        "Let a file go with your next message",
        order=ordering.read_attach,
        takes=("path",),
        offers_at_once=False,
    ),
    Command(
        "thread",
        "/thread ROOM-OR-ID [last N]",
        "Let messages of another saved room go with your next message",
        order=ordering.read_thread,
    ),
    Command(
        "detach",
        "/detach [NAME]",
        "Take a file or thread off your next message, or all of them",
        order=ordering.read_detach,
        takes=("attachment",),
        offers_at_once=False,
    ),
    Command(
        "save",
        "/save [N or NAME] [TO]",
        "Keep a file of the selected message, or the newest one, in ~/Downloads or a folder",
        order=ordering.read_save,
        takes=("file", "path"),
        offers_at_once=False,
    ),
    Command(
        "open",
        "/open [N or NAME]",
        "Look at a file of the selected message, or the newest one",
        order=ordering.read_open,
        takes=("file",),
        offers_at_once=False,
    ),
    Command(
        "prefs",
        "/prefs [NAME]",
        "How you like to be answered: tell agents, and the room; of somebody else, see it",
        order=ordering.read_prefs,
        takes=("person",),
        offers_at_once=False,
    ),
    Command(
        "model",
        "/model [NAME]",
        "Which models work for you; with a name, let another one answer",
        order=ordering.read_model,
    ),
    Command(
        "cost", "/cost", "What the agents here took, by person and agent", order=ordering.read_cost
    ),
    Command(
        "budget",
        "/budget [+5 or +100k]",
        "How much of your session's budget is used; with an amount, allow so many dollars or "
        "tokens more",
        order=ordering.read_budget,
    ),
    Command("activity", "/activity", "Show what was decided, and why", "screen.activity"),
    Command("approvals", "/approvals", "Show the tool calls that wait for you", "screen.approvals"),
    Command("tools", "/tools", "Your agents, their tools and the tool servers", "screen.tools"),
    Command(
        "grants", "/grants", "What you allowed beyond single calls; take it back", "screen.grants"
    ),
    Command(
        "auto",
        "/auto on|off",
        "Allow what your agents do for your own messages without a question, or no longer",
        order=ordering.read_auto,
    ),
    Command(
        "backlog",
        "/backlog all|latest|none",
        "Host: answer messages from before the room was resumed, or only each person's latest",
        order=ordering.read_backlog,
    ),
    Command("reasons", "/reasons", "Show or hide why an agent stayed silent", "screen.reasons"),
    Command(
        "invite",
        "/invite [--new] [--once] [--for 1h]",
        "Host: show what others join with; --once and --for make another one, --new voids all",
        order=ordering.read_invite,
    ),
    Command(
        "admit",
        "/admit NAME",
        "Host: let somebody in who waits for your word",
        order=partial(ordering.read_admission, allow=True),
        takes=("caller",),
    ),
    Command(
        "refuse",
        "/refuse NAME",
        "Host: turn somebody away who waits for your word",
        order=partial(ordering.read_admission, allow=False),
        takes=("caller",),
    ),
    Command(
        "kick",
        "/kick NAME [why]",
        "Host: put somebody out; they may come back",
        order=partial(ordering.read_moderation, "kick"),
        takes=("person",),
    ),
    Command(
        "ban",
        "/ban NAME [why]",
        "Host: put somebody out for good",
        order=partial(ordering.read_moderation, "ban"),
        takes=("person",),
    ),
    Command(
        "pardon",
        "/pardon NAME",
        "Host: let somebody come back who was banned",
        order=partial(ordering.read_measure, "pardon"),
        takes=("person",),
    ),
    Command(
        "mute",
        "/mute NAME",
        "Host: let somebody only read",
        order=partial(ordering.read_measure, "mute"),
        takes=("person",),
    ),
    Command(
        "unmute",
        "/unmute NAME",
        "Host: let somebody write again",
        order=partial(ordering.read_measure, "unmute"),
        takes=("person",),
    ),
    Command(
        "role",
        "/role NAME member|guest|observer",
        "Host: give somebody another role",
        order=ordering.read_role,
        takes=("person", "role"),
    ),
    Command(
        "share",
        "/share on|off",
        "Host: show guests what your tools are called with, or no longer",
        order=ordering.read_share,
    ),
    Command(
        "host",
        "/host [NAME]",
        "Host: ask somebody to host from now on. Others: host while the host is away",
        order=ordering.read_host,
        takes=("person",),
        offers_at_once=False,
    ),
    Command("settings", "/settings", "Change what you have set", "app.settings"),
    Command("theme", "/theme", "Switch between dark and light", "app.toggle_theme"),
    Command("suspend", "/suspend", "Suspend the room, or leave it, and end", "app.quit"),
    Command("quit", "/quit", "Suspend the room, or leave it, and end", "app.quit"),
)

BY_NAME: Final = {command.name: command for command in COMMANDS}


@dataclass(frozen=True, slots=True)
class Speech:
    """Something to say in the room."""

    text: str
    emote: bool = False


@dataclass(frozen=True, slots=True)
class Invocation:
    """A known command, with the order that it is; None if its action says all."""

    command: Command
    order: Order | None = None


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
    name, rest = (*text[1:].split(maxsplit=1), "", "")[:2]
    command = BY_NAME.get(name.lower())
    if command is None:
        return Mistake(_unknown(name))
    if command.name == "me":
        return Speech(rest, emote=True) if rest else Mistake("Say what you do: /me waves")
    if command.order is not None:
        return _ordered(command, command.order, rest.strip())
    if rest:
        return Mistake(f"/{command.name} takes nothing after it; // sends a text with a slash")
    return Invocation(command)


def typed(line: Speech) -> str:
    """The draft that reads so."""
    text = f"/me {line.text}" if line.emote else line.text
    return f"/{text}" if text.startswith("/") and not line.emote else text


def _ordered(command: Command, read: Callable[[str], Order], rest: str) -> Line:
    try:
        return Invocation(command, read(rest))
    except Misuse as error:
        return Mistake(f"{command.usage}: {error}")


def _unknown(name: str) -> str:
    near = get_close_matches(name.lower(), BY_NAME, n=1, cutoff=0.5)
    hint = f"did you mean /{near[0]}?" if near else "/help lists them."
    return f"There is no command /{name}; {hint} Two slashes send a text with one."
