"""The commands of the app and of a room, in one table.

An entry says how a command is typed, which keys run it, and what footer, palette, completion and
help show of it. To add a command, add an entry and a function in `genie_tui.commands.handlers`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from enum import IntEnum
from functools import partial
from typing import Any, ClassVar, Final, Literal, TypeAlias, TypeVar

from textual.command import DiscoveryHit, Hit, Hits, Provider

from genie_tui.commands import parse
from genie_tui.commands.context import RoomContext
from genie_tui.commands.handlers import engine, files, host, room
from genie_tui.commands.keys import Action, Scope, actions
from genie_tui.commands.parse import InvalidArguments, MessageLine
from genie_tui.screens import room_focus

T = TypeVar("T")

Handler: TypeAlias = Callable[[RoomContext], object]

Completed: TypeAlias = Literal["person", "role", "path", "file", "attachment", "caller"]
"""What an argument can be completed with."""


class Group(IntEnum):
    """What a slash command is about; help and completion list the groups in this order."""

    GENERAL = 1
    MESSAGE = 2
    ENGINE = 3
    TOOLS = 4
    HOST = 5
    APP = 6


@dataclass(frozen=True, slots=True)
class Slash:
    """How a command is typed.

    `usage` begins with the slash and the name. A command with arguments has `read`, which parses
    what follows the name, and `run`, which gets the result. `help` replaces that of the command.
    `completes` says for each argument what it can be completed with; `at_once` offers that before
    anything of the argument is typed.
    """

    usage: str
    group: Group
    help: str = ""
    read: Callable[[str], Any] | None = None
    run: Callable[[RoomContext, Any], object] | None = None
    completes: tuple[Completed, ...] = ()
    at_once: bool = True

    @property
    def name(self) -> str:
        """The name, without the slash."""
        return self.usage.split()[0].removeprefix("/")


def _slash(
    usage: str,
    group: Group,
    read: Callable[[str], T],
    run: Callable[[RoomContext, T], object],
    *,
    help: str = "",  # noqa: A002 - as the field is called
    completes: tuple[Completed, ...] = (),
    at_once: bool = True,
) -> Slash:
    """A slash command with arguments; `run` takes what `read` returns."""
    return Slash(usage, group, help, read, run, completes, at_once)


@dataclass(frozen=True, slots=True)
class Command:
    """What a person can do anywhere in the app, or in a room.

    `run` is a function, or the Textual action of the app. It is called for a key, from the palette
    and for a slash command without arguments. Footer and palette show the `name`, the footer if the
    command is `shown`, the palette if it is `offered`.
    """

    name: str
    help: str
    run: Handler | str | None = None
    slash: Slash | None = None
    scope: Scope = Scope.ROOM
    keys: tuple[str, ...] = ()
    shown: bool = False
    offered: bool = False
    priority: bool = True

    @property
    def action(self) -> Action:
        """The command as an action with keys."""
        run = self.run if isinstance(self.run, str) else f"screen.command('{self.name}')"
        return Action(
            self.scope,
            self.keys,
            self.name,
            self.help,
            run,
            shown=self.shown,
            priority=self.priority,
        )


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A slash command that was typed, with its parsed arguments."""

    command: Command
    arguments: Any = None


@dataclass(frozen=True, slots=True)
class InvalidLine:
    """Input that is neither a message nor a command; `text` says what is wrong with it."""

    text: str


def parse_line(text: str) -> MessageLine | CommandLine | InvalidLine:
    """Tell what a submitted text is. Never raises.

    A line that starts with a slash is a command; two slashes send the text with one.
    """
    if text.startswith("//"):
        return MessageLine(text[1:])
    if not text.startswith("/"):
        return MessageLine(text)
    name, rest = (*text[1:].split(maxsplit=1), "", "")[:2]
    command = slash_commands().get(name.lower())
    if command is None or command.slash is None:
        return InvalidLine(_unknown(name))
    slash, rest = command.slash, rest.strip()
    if slash.name == "me":
        return MessageLine(rest, emote=True) if rest else InvalidLine("Say what you do: /me waves")
    if slash.read is None:
        if rest:
            return InvalidLine(
                f"/{slash.name} takes nothing after it; // sends a text with a slash"
            )
        return CommandLine(command)
    try:
        return CommandLine(command, slash.read(rest))
    except InvalidArguments as error:
        return InvalidLine(f"{slash.usage}: {error}")


def _unknown(name: str) -> str:
    near = get_close_matches(name.lower(), slash_commands(), n=1, cutoff=0.5)
    hint = f"did you mean /{near[0]}?" if near else "/help lists them."
    return f"There is no command /{name}; {hint} Two slashes send a text with one."


def command_named(name: str) -> Command:
    """The command with a name. Raises `KeyError` without one."""
    return {command.name: command for command in COMMANDS}[name]


def slash_commands() -> dict[str, Command]:
    """The commands that can be typed, by name, in the order in which they are listed."""
    typed = [(each.slash.group, each.slash.name, each) for each in COMMANDS if each.slash]
    return {name: command for _, name, command in sorted(typed, key=lambda each: each[0])}


def slash_help() -> list[tuple[str, str]]:
    """How each slash command is used, and what it does."""
    typed = [(each.slash, each.help) for each in slash_commands().values() if each.slash]
    return [(slash.usage, slash.help or text) for slash, text in typed]


def all_actions(scope: Scope) -> list[Action]:
    """The actions of one scope: commands with keys or in the palette, then keys of widgets."""
    listed = [each for each in COMMANDS if each.keys or each.offered]
    return [*(each.action for each in listed if each.scope is scope), *actions(scope)]


class CommandProvider(Provider):
    """Offers the commands of one scope in the palette."""

    scope: ClassVar[Scope]

    async def discover(self) -> Hits:
        """List everything, in the table's order."""
        for action in self._offered():
            yield DiscoveryHit(_title(action), partial(self._run, action), help=action.help)

    async def search(self, query: str) -> Hits:
        """List what matches, by name or by help text."""
        matcher = self.matcher(query)
        for action in self._offered():
            score = max(matcher.match(_title(action)), matcher.match(action.help) * 0.8)
            if score > 0:
                title = matcher.highlight(_title(action))
                yield Hit(score, title, partial(self._run, action), help=action.help)

    def _offered(self) -> Iterator[Action]:
        return (each.action for each in COMMANDS if each.offered and each.scope is self.scope)

    async def _run(self, action: Action) -> None:
        await self.app.run_action(action.run, default_namespace=self.screen)


class AppCommands(CommandProvider):
    """Offers what can be done on every screen."""

    scope = Scope.APP


class RoomCommands(CommandProvider):
    """Offers what can be done in a room."""

    scope = Scope.ROOM


def _title(action: Action) -> str:
    return f"{action.label.capitalize()}  {action.key_text}".rstrip()


COMMANDS: Final = (
    Command(
        "help",
        "Show keys and commands",
        "app.help",
        Slash("/help", Group.GENERAL),
        Scope.APP,
        ("f1",),
        shown=True,
        offered=True,
    ),
    Command(
        "quit",
        "Suspend the room, or leave it, and end",
        "app.quit",
        Slash("/quit", Group.APP),
        Scope.APP,
        ("ctrl+q",),
        shown=True,
        offered=True,
    ),
    Command(
        "suspend",
        "Suspend the room, or leave it, and end",
        "app.quit",
        Slash("/suspend", Group.APP),
        Scope.APP,
    ),
    Command(
        "theme",
        "Switch between dark and light",
        "app.toggle_theme",
        Slash("/theme", Group.APP),
        Scope.APP,
        ("ctrl+t",),
        offered=True,
    ),
    Command(
        "settings",
        "Change what you have set: models, template, approvals, bell and theme",
        "app.settings",
        Slash("/settings", Group.APP),
        Scope.APP,
        ("f12",),
        offered=True,
    ),
    Command(
        "choose theme",
        "Pick one of all themes",
        "app.change_theme",
        scope=Scope.APP,
        offered=True,
    ),
    Command(
        "palette",
        "Find an action by name",
        "app.command_palette",
        scope=Scope.APP,
        keys=("ctrl+p",),
        priority=False,
    ),
    Command(
        "approvals",
        "Go to the oldest tool call that waits for you, and back to where you were",
        room_focus.to_approvals,
        Slash("/approvals", Group.TOOLS),
        keys=("ctrl+g",),
        shown=True,
        offered=True,
    ),
    Command(
        "activity",
        "Go to what was decided and why, and back to where you were",
        room_focus.to_activity,
        Slash("/activity", Group.TOOLS),
        keys=("f2",),
        shown=True,
        offered=True,
    ),
    Command(
        "panel",
        "Show or hide the side panel",
        room_focus.toggle_panel,
        keys=("f3",),
        offered=True,
    ),
    Command(
        "reasons",
        "Show or hide below each message why an agent stayed silent",
        room.reasons,
        Slash("/reasons", Group.TOOLS),
        keys=("f4",),
        offered=True,
    ),
    Command(
        "read back",
        "Go to the conversation, and back to where you were",
        room_focus.to_conversation,
        keys=("f5",),
        offered=True,
    ),
    Command(
        "invite",
        "Host: show what others join with, copied at once",
        host.invite,
        _slash(
            "/invite [--new] [--once] [--for 1h]",
            Group.HOST,
            parse.read_invite,
            host.invite,
            help="Host: show what others join with; --once and --for make another one, "
            "--new voids all",
        ),
        keys=("f6",),
        offered=True,
    ),
    Command(
        "admit",
        "Host: let somebody in who waits for your word",
        slash=_slash("/admit NAME", Group.HOST, parse.read_name, host.admit, completes=("caller",)),
    ),
    Command(
        "refuse",
        "Host: turn somebody away who waits for your word",
        slash=_slash(
            "/refuse NAME", Group.HOST, parse.read_name, host.refuse, completes=("caller",)
        ),
    ),
    Command(
        "kick",
        "Host: put somebody out; they may come back",
        slash=_slash(
            "/kick NAME [why]",
            Group.HOST,
            partial(parse.read_reasoned, "kick"),
            host.moderate,
            completes=("person",),
        ),
    ),
    Command(
        "ban",
        "Host: put somebody out for good",
        slash=_slash(
            "/ban NAME [why]",
            Group.HOST,
            partial(parse.read_reasoned, "ban"),
            host.moderate,
            completes=("person",),
        ),
    ),
    Command(
        "pardon",
        "Host: let somebody come back who was banned",
        slash=_slash(
            "/pardon NAME",
            Group.HOST,
            partial(parse.read_measure, "pardon"),
            host.moderate,
            completes=("person",),
        ),
    ),
    Command(
        "mute",
        "Host: let somebody only read",
        slash=_slash(
            "/mute NAME",
            Group.HOST,
            partial(parse.read_measure, "mute"),
            host.moderate,
            completes=("person",),
        ),
    ),
    Command(
        "unmute",
        "Host: let somebody write again",
        slash=_slash(
            "/unmute NAME",
            Group.HOST,
            partial(parse.read_measure, "unmute"),
            host.moderate,
            completes=("person",),
        ),
    ),
    Command(
        "role",
        "Host: give somebody another role",
        slash=_slash(
            "/role NAME member|guest|observer",
            Group.HOST,
            parse.read_role,
            host.moderate,
            completes=("person", "role"),
        ),
    ),
    Command(
        "share",
        "Host: show guests what your tools are called with, or no longer",
        slash=_slash("/share on|off", Group.HOST, parse.read_switch, host.share),
    ),
    Command(
        "door",
        "Go to who wants in or asks you to host, and back to where you were",
        room_focus.to_door,
        keys=("f7",),
        offered=True,
    ),
    Command(
        "host",
        "Host the room from your own copy while its host is away",
        host.take_over,
        _slash(
            "/host [NAME]",
            Group.HOST,
            parse.read_optional_name,
            host.host,
            help="Host: ask somebody to host from now on. Others: host while the host is away",
            completes=("person",),
            at_once=False,
        ),
        keys=("f8",),
        offered=True,
    ),
    Command(
        "who",
        "Say who is in the room",
        room.who,
        _slash(
            "/who [NAME]",
            Group.GENERAL,
            parse.read_optional_name,
            room.who,
            help="Who is in the room, and what their agents are doing; of one person the key's "
            "words",
            completes=("person",),
            at_once=False,
        ),
        offered=True,
    ),
    Command("me", "Say what you do, in the third person", slash=Slash("/me waves", Group.GENERAL)),
    Command(
        "attach",
        "Let a file go with your next message",
        slash=_slash(
            "/attach PATH",
            Group.MESSAGE,
            parse.read_paths,
            files.attach,
            completes=("path",),
            at_once=False,
        ),
    ),
    Command(
        "thread",
        "Let messages of another saved room go with your next message",
        slash=_slash("/thread ROOM-OR-ID [last N]", Group.MESSAGE, parse.read_quote, files.thread),
    ),
    Command(
        "detach",
        "Take a file or thread off your next message, or all of them",
        slash=_slash(
            "/detach [NAME]",
            Group.MESSAGE,
            parse.read_phrase,
            files.detach,
            completes=("attachment",),
            at_once=False,
        ),
    ),
    Command(
        "save",
        "Keep a file of the selected message, or the newest one, in ~/Downloads or a folder",
        slash=_slash(
            "/save [N or NAME] [TO]",
            Group.MESSAGE,
            parse.read_save,
            files.save,
            completes=("file", "path"),
            at_once=False,
        ),
    ),
    Command(
        "open",
        "Look at a file of the selected message, or the newest one",
        slash=_slash(
            "/open [N or NAME]",
            Group.MESSAGE,
            parse.read_phrase,
            files.open_file,
            completes=("file",),
            at_once=False,
        ),
    ),
    Command(
        "prefs",
        "How you like to be answered: tell agents, and the room; of somebody else, see it",
        slash=_slash(
            "/prefs [NAME]",
            Group.ENGINE,
            parse.read_optional_name,
            room.prefs,
            completes=("person",),
            at_once=False,
        ),
    ),
    Command(
        "models",
        "Say which models work for you",
        engine.model,
        _slash(
            "/model [NAME]",
            Group.ENGINE,
            parse.read_model,
            engine.model,
            help="Which models work for you; with a name, let another one answer",
        ),
        offered=True,
    ),
    Command(
        "cost",
        "What the agents here took, by person and agent",
        engine.cost,
        Slash("/cost", Group.ENGINE),
    ),
    Command(
        "budget",
        "How much of your session's budget is used; with an amount, allow so many dollars or "
        "tokens more",
        slash=_slash("/budget [+5 or +100k]", Group.ENGINE, parse.read_budget, engine.budget),
    ),
    Command(
        "tools",
        "Show what your agents may do, and how the tool servers are",
        engine.tools,
        Slash("/tools", Group.TOOLS),
        keys=("f9",),
        offered=True,
    ),
    Command(
        "grants",
        "Show what you allowed beyond single calls, and take it back",
        engine.grants,
        Slash("/grants", Group.TOOLS),
        offered=True,
    ),
    Command(
        "auto",
        "Allow what your agents do for your own messages without a question, or no longer",
        slash=_slash("/auto on|off", Group.TOOLS, parse.read_switch, engine.auto),
    ),
    Command(
        "backlog",
        "Host: answer messages from before the room was resumed, or only each person's latest",
        slash=_slash("/backlog all|latest|none", Group.TOOLS, parse.read_backlog, engine.backlog),
    ),
    Command(
        "stop",
        "Stop the agents that run for you",
        engine.stop,
        Slash("/stop", Group.GENERAL),
        offered=True,
    ),
)
