"""The table of all commands in a room, for every surface.

An entry says how a command is typed, its help, its arguments and its effect on the joined room. A
command without an effect belongs to one surface, such as a dialog of the screen, which acts itself.
To add a command, add an entry, and a function in the module of its subject.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Flag, IntEnum, auto
from functools import cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

from genie_core.room.commands import arguments as read
from genie_core.room.commands import engine, files, hosting, messages, people
from genie_core.room.commands.arguments import InvalidArguments, MessageLine, PromptLine
from genie_core.room.commands.outcome import Outcome
from genie_core.room.protocol.events import Measure

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom

T = TypeVar("T")
Effect: TypeAlias = "Callable[[JoinedRoom, T], Outcome | Awaitable[Outcome]]"

Completed: TypeAlias = Literal[
    "person", "role", "path", "file", "attachment", "caller", "model", "mode"
]
"""The kind of values that complete an argument."""

UNSEEN: Final = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f"
SLASHES: Final = ("\uff0f", "\u2044", "\u2215", "\u29f8", "\u2571")
"""Characters that look like a slash; a private text behind one must not go to all."""

LATER_COMMAND: Final = (
    "a line begins with {command}, which is a command only at the beginning of a text. "
    "Send it alone, or indent the line to send it as text."
)
LISTED: Final = "/help lists all commands."

_COMMAND: Final = re.compile(rf"[{UNSEEN}]*/[A-Za-z][A-Za-z-]*(?!\S)")


class Group(IntEnum):
    """The subject of a command; help and completion list the groups in this order."""

    GENERAL = 1
    MESSAGE = 2
    ENGINE = 3
    TOOLS = 4
    HOST = 5
    APP = 6


class Surface(Flag):
    """A place where commands are typed."""

    SCREEN = auto()
    LINES = auto()
    BROWSER = auto()
    """The text box of the page for guests."""
    TERMINAL = SCREEN | LINES
    NUMBERED = LINES | BROWSER
    """Messages are named by their numbers."""
    ALL = TERMINAL | BROWSER


@dataclass(frozen=True, slots=True)
class Spec:
    """A command as it is typed."""

    usage: str
    """The slash, the name, and the arguments."""
    group: Group
    help: str
    read: Callable[[str], Any] | None = None
    """Parses the arguments; a command without it takes none."""
    effect: "Effect[Any] | None" = None
    """Acts on the joined room; without it, the surface acts."""
    completes: tuple[Completed, ...] = ()
    """The kind of values for each argument."""
    at_once: bool = True
    """Whether completion begins before the first character of an argument."""
    replaces: bool = False
    """Whether it cancels the same command if that still runs."""
    surfaces: Surface = Surface.TERMINAL

    @property
    def name(self) -> str:
        return self.usage.split()[0].removeprefix("/")


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command that was typed, with its parsed arguments."""

    spec: Spec
    arguments: Any = None


@dataclass(frozen=True, slots=True)
class InvalidLine:
    """Input that is neither a message nor a command; `text` is the error."""

    text: str


Line: TypeAlias = MessageLine | CommandLine | PromptLine | InvalidLine


@cache
def commands(surface: Surface) -> Mapping[str, Spec]:
    """Return the commands of one surface by name, in the order in which they are listed."""
    listed = [(each.group, each.name, each) for each in COMMANDS if each.surfaces & surface]
    return MappingProxyType({name: spec for _, name, spec in sorted(listed, key=lambda e: e[0])})


def help_lines(surface: Surface) -> list[str]:
    """Return a line about each command of one surface."""
    return [f"{spec.usage}: {spec.help}" for spec in commands(surface).values()]


def later_command(text: str) -> str:
    """Return a command that begins a line after the first, outside of code; "" if there is none.

    Such a text was meant as several inputs, and a private one would go where the first goes.
    """
    in_code = False
    for number, line in enumerate(text.strip().split("\n")):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif number and not in_code and (found := _COMMAND.match(line)):
            return found[0]
    return ""


def parse_line(text: str, surface: Surface = Surface.SCREEN) -> Line:
    """Parse a submitted text. Never raises.

    A line that starts with a slash is a command; two slashes send the text with one. Characters
    that can't be seen before a slash don't count, and one that looks like a slash is an error.
    A command with a colon is a prompt of a tool server.
    """
    text = text.lstrip(f"{UNSEEN} \t\n")
    if text[:1] in SLASHES:
        return InvalidLine(f"{text[:1]} is no slash: type / for a command.")
    if text.startswith("//"):
        return MessageLine(text[1:])
    if not text.startswith("/"):
        return MessageLine(text)
    name, rest = (*text[1:].split(maxsplit=1), "", "")[:2]
    if ":" in name.strip(":"):
        return read.read_prompt(name, rest)
    spec = commands(surface).get(name.lower())
    return (
        InvalidLine(_unknown(name, surface)) if spec is None else _command_line(spec, rest.strip())
    )


def _command_line(spec: Spec, rest: str) -> Line:
    if spec.name == "me":
        return MessageLine(rest, emote=True) if rest else InvalidLine("Say what you do: /me waves")
    if spec.read is None:
        if rest:
            return InvalidLine(
                f"/{spec.name} takes nothing after it. To send text starting with /, type //."
            )
        return CommandLine(spec)
    try:
        arguments = spec.read(rest)
        return arguments if isinstance(arguments, MessageLine) else CommandLine(spec, arguments)
    except InvalidArguments as error:
        return InvalidLine(f"{spec.usage}: {error}")


def _unknown(name: str, surface: Surface) -> str:
    if surface is Surface.BROWSER and name.lower() in commands(Surface.TERMINAL):
        return f"/{name} needs the program genie-tui in a terminal; {LISTED}"
    near = get_close_matches(name.lower(), commands(surface), n=1, cutoff=0.5)
    hint = f"did you mean /{near[0]}?" if near else LISTED
    return f"There is no command /{name}; {hint} To send text starting with /, type //."


def _acting(
    reader: Callable[[str], T], effect: "Effect[T]"
) -> "tuple[Callable[[str], Any], Effect[Any]]":
    """Return a parser and an effect that takes its result; type checkers compare both."""
    return reader, effect


def _measures(measures: Iterable[tuple[Measure, str, str]]) -> Iterable[Spec]:
    """Return the commands that moderate a member; one whose usage has a reason takes it."""
    for measure, rest, help_ in measures:
        reader = read.read_reasoned if "[why]" in rest else read.read_measure
        yield Spec(
            f"/{measure} {rest}",
            Group.HOST,
            help_,
            *_acting(partial(reader, measure), hosting.moderate),
            ("person",),
        )


COMMANDS: Final[tuple[Spec, ...]] = (
    Spec("/help", Group.GENERAL, "Show keys and commands", surfaces=Surface.SCREEN),
    Spec("/help", Group.GENERAL, "List the commands", surfaces=Surface.NUMBERED),
    Spec(
        "/find [TEXT]",
        Group.GENERAL,
        "Find a text in the conversation",
        read.read_phrase,
        at_once=False,
        surfaces=Surface.SCREEN,
    ),
    Spec(
        "/search [TEXT]",
        Group.GENERAL,
        "Search the room: by author, time, kind and words",
        read.read_text,
        at_once=False,
        surfaces=Surface.SCREEN,
    ),
    Spec(
        "/mentions",
        Group.GENERAL,
        "List the messages with your name, and go to one",
        surfaces=Surface.SCREEN,
    ),
    Spec(
        "/who [NAME]",
        Group.GENERAL,
        "Show who is here and what their agents do; with a name, that person's key in words",
        *_acting(read.read_optional_name, people.who),
        ("person",),
        at_once=False,
        surfaces=Surface.ALL,
    ),
    Spec(
        "/me waves",
        Group.GENERAL,
        "Say what you do, in the third person",
        read.read_text,
        surfaces=Surface.ALL,
    ),
    Spec("/stop", Group.GENERAL, "Stop all your agents at once", None, engine.stop),
    Spec(
        "/show N",
        Group.GENERAL,
        "Print an entry again, with its answer and reactions, or a tool call that waits",
        read.read_text,
        surfaces=Surface.LINES,
    ),
    Spec(
        "/yes",
        Group.GENERAL,
        "Confirm the question just printed; any other line turns it down",
        surfaces=Surface.LINES,
    ),
    Spec(
        "/msg NAME [TEXT]",
        Group.MESSAGE,
        "Send a message that only one member can read",
        read.read_private,
        None,
        ("person",),
        surfaces=Surface.SCREEN,
    ),
    Spec(
        "/msg NAME TEXT",
        Group.MESSAGE,
        "Send a message that only one member can read",
        *_acting(read.read_private_text, messages.write_privately),
        surfaces=Surface.NUMBERED,
    ),
    Spec(
        "/ask [TEXT]",
        Group.MESSAGE,
        "Ask your agent so that only you see the question and the answer",
        read.read_text,
        surfaces=Surface.SCREEN,
    ),
    Spec(
        "/ask TEXT",
        Group.MESSAGE,
        "Ask your agent so that only you see the question and the answer",
        *_acting(read.read_needed_text, messages.ask_privately),
        surfaces=Surface.LINES,
    ),
    Spec(
        "/quiet TEXT",
        Group.MESSAGE,
        "Send a message that rings no bell and shows no notification",
        read.read_quiet,
        surfaces=Surface.ALL,
    ),
    Spec("/reply", Group.MESSAGE, "Reply to the selected message", surfaces=Surface.SCREEN),
    Spec(
        "/reply N TEXT",
        Group.MESSAGE,
        "Reply to message or answer N",
        *_acting(read.read_numbered_text, messages.reply),
        surfaces=Surface.NUMBERED,
    ),
    Spec(
        "/edit",
        Group.MESSAGE,
        "Edit the selected message, or your latest one",
        surfaces=Surface.SCREEN,
    ),
    Spec(
        "/edit N TEXT",
        Group.MESSAGE,
        "Give message N of yours another text",
        *_acting(read.read_numbered_text, messages.edit),
        surfaces=Surface.NUMBERED,
    ),
    Spec(
        "/delete",
        Group.MESSAGE,
        "Delete the selected message, after asking",
        surfaces=Surface.SCREEN,
    ),
    Spec(
        "/delete N",
        Group.MESSAGE,
        "Delete message N of yours",
        *_acting(read.read_number, messages.delete),
        surfaces=Surface.NUMBERED,
    ),
    Spec(
        "/retry",
        Group.MESSAGE,
        "Send a message again whose work failed or was stopped",
        surfaces=Surface.SCREEN,
    ),
    Spec(
        "/retry [N]",
        Group.MESSAGE,
        "Send a message again whose work failed or was stopped, by default the latest",
        *_acting(read.read_optional_number, messages.retry),
        surfaces=Surface.LINES,
    ),
    Spec("/react", Group.MESSAGE, "React to the selected message", surfaces=Surface.SCREEN),
    Spec(
        "/react N EMOJI",
        Group.MESSAGE,
        "React to message or answer N; the same reaction again takes it back",
        *_acting(read.read_numbered_text, messages.react),
        surfaces=Surface.NUMBERED,
    ),
    Spec(
        "/editor [TEXT]",
        Group.MESSAGE,
        "Write the message in your editor: VISUAL, EDITOR, nano or vi",
        read.read_text,
        at_once=False,
        surfaces=Surface.SCREEN,
    ),
    Spec(
        "/attach PATH",
        Group.MESSAGE,
        "Attach a file to your next message",
        read.read_paths,
        None,
        ("path",),
        at_once=False,
        surfaces=Surface.SCREEN,
    ),
    Spec(
        "/thread ROOM-OR-ID [last N]",
        Group.MESSAGE,
        "Quote messages of another saved room in your next message",
        read.read_quote,
        surfaces=Surface.SCREEN,
    ),
    Spec(
        "/detach [NAME]",
        Group.MESSAGE,
        "Remove an attachment from your next message, or all",
        read.read_phrase,
        None,
        ("attachment",),
        at_once=False,
        surfaces=Surface.SCREEN,
    ),
    Spec(
        "/save [N or NAME] [TO]",
        Group.MESSAGE,
        "Save a file of the selected message, or the newest one, in ~/Downloads or a folder",
        *_acting(read.read_save, files.save),
        ("file", "path"),
        at_once=False,
    ),
    Spec(
        "/open [N or NAME]",
        Group.MESSAGE,
        "Open a file of the selected message, or the newest one",
        read.read_phrase,
        None,
        ("file",),
        at_once=False,
        surfaces=Surface.SCREEN,
    ),
    Spec(
        "/prefs [NAME]",
        Group.ENGINE,
        "Set how agents answer you; with a name, show that person's preferences",
        read.read_optional_name,
        None,
        ("person",),
        at_once=False,
        surfaces=Surface.SCREEN,
    ),
    Spec(
        "/prefs [NAME]",
        Group.ENGINE,
        "Show how agents answer you, or a member",
        *_acting(read.read_optional_name, people.prefs),
        surfaces=Surface.LINES,
    ),
    Spec(
        "/model [NAME]",
        Group.ENGINE,
        "Show the models in use; with a name, switch to it",
        *_acting(read.read_model, engine.model),
        ("model",),
        replaces=True,
    ),
    Spec(
        "/mode [NAME or OPTION VALUE]",
        Group.ENGINE,
        "Show your installed agent's options; with a name, set its mode",
        *_acting(read.read_option, engine.mode),
        ("mode",),
    ),
    Spec("/cost", Group.ENGINE, "Show costs by person and agent", None, engine.cost),
    Spec(
        "/compact",
        Group.ENGINE,
        "Summarise your agent's conversation before its next answer, to make it shorter",
        None,
        engine.compact,
    ),
    Spec(
        "/budget [+5 or +100k]",
        Group.ENGINE,
        "Show the budget; with an amount, raise it by so many dollars or tokens",
        *_acting(read.read_budget, engine.budget),
    ),
    Spec("/approvals", Group.TOOLS, "Go to the oldest approval, and back", surfaces=Surface.SCREEN),
    Spec("/activity", Group.TOOLS, "Go to the activity list, and back", surfaces=Surface.SCREEN),
    Spec("/reasons", Group.TOOLS, "Show or hide why agents stayed silent", surfaces=Surface.SCREEN),
    Spec("/calls", Group.TOOLS, "Print the tool calls that wait for you", surfaces=Surface.LINES),
    Spec("/allow N", Group.TOOLS, "Allow tool call N", read.read_text, surfaces=Surface.LINES),
    Spec(
        "/deny N [why]",
        Group.TOOLS,
        "Deny tool call N",
        read.read_text,
        surfaces=Surface.LINES,
    ),
    Spec(
        "/tools",
        Group.TOOLS,
        "Show your agents, their tools and tool servers",
        surfaces=Surface.SCREEN,
    ),
    Spec("/grants", Group.TOOLS, "Show grants and revoke them", surfaces=Surface.SCREEN),
    Spec(
        "/auto on|off",
        Group.TOOLS,
        "Allow all tool calls for your own messages without asking",
        *_acting(read.read_switch, engine.auto),
    ),
    Spec(
        "/undo [FILE]",
        Group.TOOLS,
        "Undo the latest file change by your agents' tools; with a name, that of this file",
        *_acting(read.read_phrase, engine.undo),
    ),
    Spec(
        "/jobs [stop N]",
        Group.TOOLS,
        "Show the commands that your agents run in the background; stop one",
        *_acting(read.read_job, engine.jobs),
    ),
    Spec(
        "/backlog all|latest|none",
        Group.TOOLS,
        "Host: answer messages from before the restart, or only the latest per person",
        *_acting(read.read_backlog, engine.backlog),
    ),
    Spec(
        "/invite [--new] [--once] [--for 1h] [--as ROLE]",
        Group.HOST,
        "Host: show and copy the invite; --once and --for make a limited one, --as one that gives "
        "a role, --new voids all others",
        *_acting(read.read_invite, hosting.invite),
    ),
    Spec(
        "/admit NAME",
        Group.HOST,
        "Host: admit a person who asks to join",
        read.read_name,
        None,
        ("caller",),
        surfaces=Surface.SCREEN,
    ),
    Spec(
        "/refuse NAME",
        Group.HOST,
        "Host: refuse a person who asks to join",
        read.read_name,
        None,
        ("caller",),
        surfaces=Surface.SCREEN,
    ),
    Spec(
        "/admit N", Group.HOST, "Host: grant join request N", read.read_text, surfaces=Surface.LINES
    ),
    Spec(
        "/refuse N",
        Group.HOST,
        "Host: refuse join request N",
        read.read_text,
        surfaces=Surface.LINES,
    ),
    *_measures(
        [
            ("kick", "NAME [why]", "Host: remove a member; they may come back"),
            ("ban", "NAME [why]", "Host: remove a member for good"),
            ("pardon", "NAME", "Host: lift a ban"),
            ("mute", "NAME", "Host: mute a member"),
            ("unmute", "NAME", "Host: unmute a member"),
            ("free", "NAME", "Host: free a name by which nobody wrote, for another person"),
        ]
    ),
    Spec(
        "/role NAME host|member|guest|observer",
        Group.HOST,
        "Host: change a member's role",
        *_acting(read.read_role, hosting.moderate),
        ("person", "role"),
    ),
    Spec(
        "/share on|off",
        Group.HOST,
        "Host: show or hide the arguments of tool calls for guests",
        *_acting(read.read_switch, hosting.share),
    ),
    Spec(
        "/heirs [NAME…|none|auto]",
        Group.HOST,
        "Show who may host while the host is away; host: choose them",
        *_acting(read.read_heirs, hosting.set_heirs),
    ),
    Spec(
        "/host [NAME]",
        Group.HOST,
        "Host: ask a member to host from now on. Others: host while the host is away",
        read.read_optional_name,
        None,
        ("person",),
        at_once=False,
        surfaces=Surface.SCREEN,
    ),
    Spec(
        "/continue",
        Group.HOST,
        "Continue in a new room while the host is away and you may not host this one",
        surfaces=Surface.SCREEN,
    ),
    Spec(
        "/rooms",
        Group.APP,
        "Go to another open room, or to the lobby; this room stays open",
        surfaces=Surface.SCREEN,
    ),
    Spec("/theme", Group.APP, "Switch between dark and light", surfaces=Surface.SCREEN),
    Spec(
        "/settings",
        Group.APP,
        "Change settings: name, models, approvals, alerts, theme",
        surfaces=Surface.SCREEN,
    ),
    Spec(
        "/leave",
        Group.APP,
        "Suspend or leave the room, and return to the lobby",
        surfaces=Surface.SCREEN,
    ),
    Spec(
        "/suspend",
        Group.APP,
        "The same as /quit: suspend or leave all open rooms, and quit",
        surfaces=Surface.SCREEN,
    ),
    Spec(
        "/quit",
        Group.APP,
        "Suspend or leave all open rooms, and quit",
    ),
)
