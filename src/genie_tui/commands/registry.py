"""The commands of the app and of a room, in one table.

An entry says how a command is typed, which keys run it, and what footer, palette, completion and
help show of it. To add a command, add an entry and a function in `genie_tui.commands.handlers`.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from enum import IntEnum
from functools import partial
from typing import Any, ClassVar, Final, Literal, Self, TypeAlias, TypeVar

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from genie_tui.commands import parse
from genie_tui.commands.context import RoomContext
from genie_tui.commands.handlers import engine, files, host, message, room
from genie_tui.commands.keymap import Keymap, keymap_of
from genie_tui.commands.keys import Action, Scope, actions
from genie_tui.commands.parse import InvalidArguments, MessageLine, PromptLine
from genie_tui.screens import room_focus

T = TypeVar("T")

UNSEEN: Final = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f"
_COMMAND: Final = re.compile(rf"[{UNSEEN}]*/[A-Za-z][A-Za-z-]*(?!\S)")
SLASHES: Final = ("\uff0f", "\u2044", "\u2215", "\u29f8", "\u2571")
"""Characters that look like a slash; what was meant for one person must not go to all."""

Handler: TypeAlias = Callable[[RoomContext], object]

Completed: TypeAlias = Literal[
    "person", "role", "path", "file", "attachment", "caller", "model", "mode"
]
"""The kind of values that complete an argument."""


class Group(IntEnum):
    """The subject of a slash command; help and completion list the groups in this order."""

    GENERAL = 1
    MESSAGE = 2
    ENGINE = 3
    TOOLS = 4
    HOST = 5
    APP = 6


@dataclass(frozen=True, slots=True)
class Slash:
    """The typed form of a command.

    `usage` begins with the slash and the name. A command with arguments has `read`, which parses
    them, and `run`, which gets the result. `help` replaces that of the command. `completes` names
    the kind of values for each argument; `at_once` offers them before the first character.
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
        return self.usage.split()[0].removeprefix("/")

    @classmethod
    def taking(
        cls,
        usage: str,
        group: Group,
        read: Callable[[str], T],
        run: Callable[[RoomContext, T], object],
        *completes: Completed,
        at_once: bool = True,
        help: str = "",  # noqa: A002 - as the field is called
    ) -> Self:
        """A slash command with arguments; `run` takes what `read` returns."""
        return cls(usage, group, help, read, run, completes, at_once)


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the app or of a room.

    `run` is a function, or a Textual action of the app. Keys, the palette and a slash command
    without arguments call it; a command without `run` can only be typed. The palette lists
    commands that are `offered`, the footer those that are `shown`, both by their `label` if there
    is one, since a name never changes.
    """

    name: str
    help: str
    run: Handler | str | None = None
    slash: Slash | None = None
    scope: Scope = Scope.ROOM
    keys: tuple[str, ...] = ()
    shown: bool = False
    offered: bool = True
    priority: bool = True
    label: str = ""

    @property
    def action(self) -> Action:
        """The command as an action with keys."""
        run = self.run if isinstance(self.run, str) else f"screen.command('{self.name}')"
        return Action(
            self.keys,
            self.label or self.name,
            self.help,
            run,
            shown=self.shown,
            priority=self.priority,
            scope=self.scope,
            name=self.name.replace(" ", "-"),
            slash=f"/{self.slash.name}" if self.slash is not None else "",
        )


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A slash command that was typed, with its parsed arguments."""

    command: Command
    arguments: Any = None


@dataclass(frozen=True, slots=True)
class InvalidLine:
    """Input that is neither a message nor a command; `text` is the error."""

    text: str


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


def parse_line(text: str) -> MessageLine | CommandLine | PromptLine | InvalidLine:
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
        return parse.read_prompt(name, rest)
    command = slash_commands().get(name.lower())
    if command is None or command.slash is None:
        return InvalidLine(_unknown(name))
    slash, rest = command.slash, rest.strip()
    if slash.name == "me":
        return MessageLine(rest, emote=True) if rest else InvalidLine("Say what you do: /me waves")
    if slash.read is None:
        if rest:
            return InvalidLine(
                f"/{slash.name} takes nothing after it. To send text starting with /, type //."
            )
        return CommandLine(command)
    try:
        return CommandLine(command, slash.read(rest))
    except InvalidArguments as error:
        return InvalidLine(f"{slash.usage}: {error}")


def _unknown(name: str) -> str:
    near = get_close_matches(name.lower(), slash_commands(), n=1, cutoff=0.5)
    hint = f"did you mean /{near[0]}?" if near else "/help lists all commands."
    return f"There is no command /{name}; {hint} To send text starting with /, type //."


def command_named(name: str) -> Command:
    return {command.name: command for command in COMMANDS}[name]


def slash_commands() -> dict[str, Command]:
    """The commands that can be typed, by name, in the order in which they are listed."""
    typed = [(each.slash.group, each.slash.name, each) for each in COMMANDS if each.slash]
    return {name: command for _, name, command in sorted(typed, key=lambda each: each[0])}


def slash_help() -> list[tuple[str, str]]:
    typed = [(each.slash, each.help) for each in slash_commands().values() if each.slash]
    return [(slash.usage, slash.help or text) for slash, text in typed]


def runnable(scope: Scope) -> list[Action]:
    """The actions of one scope that can have keys: commands, then those of widgets."""
    listed = [each for each in COMMANDS if each.scope is scope and each.run is not None]
    return [*(each.action for each in listed), *actions(scope)]


def all_actions(scope: Scope, keymap: Keymap | None = None) -> list[Action]:
    """The actions of one scope to list: those with keys or in the palette."""
    offered = {each.action.id for each in COMMANDS if each.offered}
    listed = (keymap or Keymap(runnable)).actions(scope)
    return [each for each in listed if each.keys or each.id in offered]


class CommandProvider(Provider):
    """Offers the commands of one scope in the palette."""

    scope: ClassVar[Scope]

    async def discover(self) -> Hits:
        for action in self._offered():
            yield DiscoveryHit(_title(action), partial(self._run, action), help=action.help)

    async def search(self, query: str) -> Hits:
        """List what matches, by the letters of its name or by words of its help text."""
        matcher = self.matcher(query)
        for action in self._offered():
            in_name = matcher.match(action.label) > 0
            if in_name or _has_words(query, action.help):
                name = matcher.highlight(action.label.capitalize()) if in_name else None
                title = Content.assemble(name, _keys(action)) if name else _title(action)
                score = rank(query, action.label) if in_name else 0.1
                yield Hit(score, title, partial(self._run, action), help=action.help)

    def _offered(self) -> Iterator[Action]:
        keymap = keymap_of(self.screen)
        return (
            keymap.of(each.action)
            for each in COMMANDS
            if each.offered and each.run is not None and each.scope is self.scope
        )

    async def _run(self, action: Action) -> None:
        await self.app.run_action(action.run, default_namespace=self.screen)


class AppCommands(CommandProvider):
    """Offers the commands of every screen."""

    scope = Scope.APP


class RoomCommands(CommandProvider):
    """Offers the commands of a room."""

    scope = Scope.ROOM


def _title(action: Action) -> str:
    return f"{action.label.capitalize()}{_keys(action)}"


def _keys(action: Action) -> str:
    return f"  {action.key_text}" if action.key_text else ""


def rank(query: str, name: str) -> float:
    """Return how well a query matches a name that has its letters: where they stand together.

    Of two that match equally well, the shorter one is better.
    """
    query, name = query.casefold().strip(), name.casefold()
    starts, in_word = name.startswith(query), f" {query}" in name
    return 1 + starts + max(starts, in_word) + 1 / (len(name) + 1)


def _has_words(query: str, text: str) -> bool:
    """Whether each word of a query begins a word of a text."""
    words = re.findall(r"\w+", text.casefold())
    wanted = query.casefold().split()
    return bool(wanted) and all(any(w.startswith(each) for w in words) for each in wanted)


COMMANDS: Final = (
    Command(
        "help",
        "Show keys and commands",
        "app.help",
        Slash("/help", Group.GENERAL),
        Scope.APP,
        ("f1",),
        shown=True,
    ),
    Command(
        "quit",
        "Suspend or leave all open rooms, and quit",
        "app.quit",
        Slash("/quit", Group.APP),
        Scope.APP,
        ("ctrl+q",),
        shown=True,
    ),
    Command(
        "suspend",
        "The same as /quit: suspend or leave all open rooms, and quit",
        "app.quit",
        Slash("/suspend", Group.APP),
        Scope.APP,
        offered=False,
    ),
    Command(
        "rooms",
        "Go to another open room, or to the lobby; this room stays open",
        "app.rooms",
        Slash("/rooms", Group.APP),
        Scope.APP,
        ("ctrl+o",),
        shown=True,
    ),
    Command(
        "theme",
        "Switch between dark and light",
        "app.toggle_theme",
        Slash("/theme", Group.APP),
        Scope.APP,
        ("ctrl+t",),
        label="dark or light theme",
    ),
    Command(
        "settings",
        "Change settings: name, models, approvals, alerts, theme",
        "app.settings",
        Slash("/settings", Group.APP),
        Scope.APP,
        ("f12",),
    ),
    Command(
        "background",
        "Put the program into the background; fg brings it back",
        "app.suspend_process",
        scope=Scope.APP,
        keys=("ctrl+z",),
    ),
    Command("redraw", "Draw the screen anew", "app.redraw", scope=Scope.APP, keys=("ctrl+l",)),
    Command("edit keys", "Change keys in your editor", "app.edit_keys", scope=Scope.APP),
    Command("choose theme", "Choose from all themes", "app.choose_theme", scope=Scope.APP),
    Command(
        "palette",
        "Find a command",
        "app.command_palette",
        scope=Scope.APP,
        keys=("ctrl+p",),
        shown=True,
        offered=False,
        priority=False,
        label="commands",
    ),
    Command(
        "leave",
        "Suspend or leave the room, and return to the lobby",
        "app.leave_room",
        Slash("/leave", Group.APP),
    ),
    Command(
        "earlier",
        "In a new room: open your earlier room with this title instead",
        "screen.resume_earlier",
        keys=("ctrl+y",),
    ),
    Command(
        "choose model",
        "Choose among the models and agents found on this machine",
        "app.choose_model",
        keys=("f10",),
    ),
    Command(
        "approvals",
        "Go to the oldest approval, and back",
        room_focus.to_approvals,
        Slash("/approvals", Group.TOOLS),
        keys=("ctrl+g",),
        shown=True,
    ),
    Command(
        "activity",
        "Go to the activity list, and back",
        room_focus.to_activity,
        Slash("/activity", Group.TOOLS),
        keys=("f2",),
        shown=True,
    ),
    Command("panel", "Show or hide the side panel", room_focus.toggle_panel, keys=("f3",)),
    Command(
        "reasons",
        "Show or hide why agents stayed silent",
        room.reasons,
        Slash("/reasons", Group.TOOLS),
        keys=("f4",),
    ),
    Command(
        "read back",
        "Go to the conversation, and back",
        room_focus.to_conversation,
        keys=("f5",),
        shown=True,
    ),
    Command(
        "find",
        "Find a text in the conversation",
        room_focus.to_find,
        Slash.taking(
            "/find [TEXT]", Group.GENERAL, parse.read_phrase, room_focus.to_find, at_once=False
        ),
        keys=("ctrl+f",),
        shown=True,
    ),
    Command(
        "search",
        "Search the room: by author, time, kind and words",
        room.search,
        Slash.taking("/search [TEXT]", Group.GENERAL, parse.read_text, room.search, at_once=False),
    ),
    Command(
        "mentions",
        "List the messages with your name, and go to one",
        room.mentions,
        Slash("/mentions", Group.GENERAL),
        keys=("ctrl+n",),
    ),
    Command(
        "invite",
        "Host: show and copy the invite",
        host.invite,
        Slash.taking(
            "/invite [--new] [--once] [--for 1h] [--as ROLE]",
            Group.HOST,
            parse.read_invite,
            host.invite,
            help="Host: show and copy the invite; --once and --for make a limited one, "
            "--as one that gives a role, --new voids all others",
        ),
        keys=("f6",),
    ),
    Command(
        "admit",
        "Host: admit a person who asks to join",
        slash=Slash.taking("/admit NAME", Group.HOST, parse.read_name, host.admit, "caller"),
    ),
    Command(
        "refuse",
        "Host: refuse a person who asks to join",
        slash=Slash.taking("/refuse NAME", Group.HOST, parse.read_name, host.refuse, "caller"),
    ),
    Command(
        "kick",
        "Host: remove a member; they may come back",
        slash=Slash.taking(
            "/kick NAME [why]",
            Group.HOST,
            partial(parse.read_reasoned, "kick"),
            host.moderate,
            "person",
        ),
    ),
    Command(
        "ban",
        "Host: remove a member for good",
        slash=Slash.taking(
            "/ban NAME [why]",
            Group.HOST,
            partial(parse.read_reasoned, "ban"),
            host.moderate,
            "person",
        ),
    ),
    Command(
        "pardon",
        "Host: lift a ban",
        slash=Slash.taking(
            "/pardon NAME",
            Group.HOST,
            partial(parse.read_measure, "pardon"),
            host.moderate,
            "person",
        ),
    ),
    Command(
        "mute",
        "Host: mute a member",
        slash=Slash.taking(
            "/mute NAME", Group.HOST, partial(parse.read_measure, "mute"), host.moderate, "person"
        ),
    ),
    Command(
        "unmute",
        "Host: unmute a member",
        slash=Slash.taking(
            "/unmute NAME",
            Group.HOST,
            partial(parse.read_measure, "unmute"),
            host.moderate,
            "person",
        ),
    ),
    Command(
        "free",
        "Host: free a name by which nobody wrote, for another person",
        slash=Slash.taking(
            "/free NAME", Group.HOST, partial(parse.read_measure, "free"), host.moderate, "person"
        ),
    ),
    Command(
        "role",
        "Host: change a member's role",
        slash=Slash.taking(
            "/role NAME host|member|guest|observer",
            Group.HOST,
            parse.read_role,
            host.moderate,
            "person",
            "role",
        ),
    ),
    Command(
        "share",
        "Host: show or hide the arguments of tool calls for guests",
        slash=Slash.taking("/share on|off", Group.HOST, parse.read_switch, host.share),
    ),
    Command(
        "heirs",
        "Show who may host while the host is away; host: choose them",
        slash=Slash.taking(
            "/heirs [NAME…|none|auto]", Group.HOST, parse.read_heirs, host.set_heirs
        ),
    ),
    Command(
        "join requests",
        "Go to join and hosting requests, and back",
        room_focus.to_join_requests,
        keys=("f7",),
    ),
    Command(
        "host",
        "Host the room from your copy while the host is away",
        host.take_over,
        Slash.taking(
            "/host [NAME]",
            Group.HOST,
            parse.read_optional_name,
            host.host,
            "person",
            help="Host: ask a member to host from now on. Others: host while the host is away",
            at_once=False,
        ),
        keys=("f8",),
    ),
    Command(
        "continue",
        "Continue in a new room while the host is away and you may not host this one",
        host.continue_room,
        Slash("/continue", Group.HOST),
    ),
    Command(
        "who",
        "Show who is here and what their agents do",
        room.who,
        Slash.taking(
            "/who [NAME]",
            Group.GENERAL,
            parse.read_optional_name,
            room.who,
            "person",
            help="Show who is here and what their agents do; with a name, that "
            "person's key in words",
            at_once=False,
        ),
    ),
    Command("me", "Say what you do, in the third person", slash=Slash("/me waves", Group.GENERAL)),
    Command(
        "message privately",
        "Send a message that only one member can read",
        slash=Slash.taking(
            "/msg NAME [TEXT]", Group.MESSAGE, parse.read_private, message.tell, "person"
        ),
    ),
    Command(
        "ask privately",
        "Ask your agent so that only you see the question and the answer",
        message.ask,
        Slash.taking("/ask [TEXT]", Group.MESSAGE, parse.read_text, message.ask),
    ),
    Command(
        "reply",
        "Reply to the selected message",
        message.reply,
        Slash("/reply", Group.MESSAGE),
        offered=False,
    ),
    Command(
        "edit",
        "Edit the selected message, or your latest one",
        message.edit,
        Slash("/edit", Group.MESSAGE),
    ),
    Command(
        "delete",
        "Delete the selected message, after asking",
        message.delete,
        Slash("/delete", Group.MESSAGE),
        offered=False,
    ),
    Command(
        "retry",
        "Send a message again whose work failed or was stopped",
        message.retry,
        Slash("/retry", Group.MESSAGE),
    ),
    Command(
        "react",
        "React to the selected message",
        message.react,
        Slash("/react", Group.MESSAGE),
        offered=False,
    ),
    Command(
        "copy code",
        "Copy the next block of code of the selected message",
        message.copy_code,
    ),
    Command(
        "editor",
        "Write the message in your editor: VISUAL, EDITOR, nano or vi",
        "app.editor",
        Slash.taking("/editor [TEXT]", Group.MESSAGE, str, message.write_in_editor, at_once=False),
        keys=("ctrl+r",),
        shown=True,
    ),
    Command(
        "attach",
        "Attach a file to your next message",
        slash=Slash.taking(
            "/attach PATH", Group.MESSAGE, parse.read_paths, files.attach, "path", at_once=False
        ),
    ),
    Command(
        "thread",
        "Quote messages of another saved room in your next message",
        slash=Slash.taking(
            "/thread ROOM-OR-ID [last N]", Group.MESSAGE, parse.read_quote, files.thread
        ),
    ),
    Command(
        "detach",
        "Remove an attachment from your next message, or all",
        slash=Slash.taking(
            "/detach [NAME]",
            Group.MESSAGE,
            parse.read_phrase,
            files.detach,
            "attachment",
            at_once=False,
        ),
    ),
    Command(
        "save",
        "Save a file of the selected message, or the newest one, in ~/Downloads or a folder",
        slash=Slash.taking(
            "/save [N or NAME] [TO]",
            Group.MESSAGE,
            parse.read_save,
            files.save,
            "file",
            "path",
            at_once=False,
        ),
    ),
    Command(
        "open",
        "Open a link or a file of the selected message",
        files.open_selected,
        Slash.taking(
            "/open [N or NAME]",
            Group.MESSAGE,
            parse.read_phrase,
            files.open_file,
            "file",
            at_once=False,
            help="Open a file of the selected message, or the newest one",
        ),
        offered=False,
    ),
    Command(
        "prefs",
        "Set how agents answer you; with a name, show that person's preferences",
        slash=Slash.taking(
            "/prefs [NAME]",
            Group.ENGINE,
            parse.read_optional_name,
            room.prefs,
            "person",
            at_once=False,
        ),
    ),
    Command(
        "models",
        "Show the models in use",
        engine.model,
        Slash.taking(
            "/model [NAME]",
            Group.ENGINE,
            parse.read_model,
            engine.model,
            "model",
            help="Show the models in use; with a name, switch to it",
        ),
    ),
    Command(
        "mode",
        "Show your installed agent's options; with a name, set its mode",
        slash=Slash.taking(
            "/mode [NAME or OPTION VALUE]", Group.ENGINE, parse.read_option, engine.mode, "mode"
        ),
    ),
    Command(
        "cost",
        "Show costs by person and agent",
        engine.cost,
        Slash("/cost", Group.ENGINE),
        offered=False,
    ),
    Command(
        "compact",
        "Summarise your agent's conversation before its next answer, to make it shorter",
        engine.compact,
        Slash("/compact", Group.ENGINE),
    ),
    Command(
        "budget",
        "Show the budget; with an amount, raise it by so many dollars or tokens",
        slash=Slash.taking("/budget [+5 or +100k]", Group.ENGINE, parse.read_budget, engine.budget),
    ),
    Command(
        "tools",
        "Show your agents, their tools and tool servers",
        engine.tools,
        Slash("/tools", Group.TOOLS),
        keys=("f9",),
    ),
    Command(
        "grants",
        "Show grants and revoke them",
        engine.grants,
        Slash("/grants", Group.TOOLS),
    ),
    Command(
        "auto",
        "Allow all tool calls for your own messages without asking",
        slash=Slash.taking("/auto on|off", Group.TOOLS, parse.read_switch, engine.auto),
    ),
    Command(
        "undo",
        "Undo the latest file change by your agents' tools",
        engine.undo,
        Slash.taking(
            "/undo [FILE]",
            Group.TOOLS,
            parse.read_phrase,
            engine.undo,
            help="Undo the latest file change by your agents' tools; with a "
            "name, that of this file",
        ),
    ),
    Command(
        "jobs",
        "Show the commands that your agents run in the background",
        engine.jobs,
        Slash.taking(
            "/jobs [stop N]",
            Group.TOOLS,
            parse.read_job,
            engine.jobs,
            help="Show the commands that your agents run in the background; stop one",
        ),
    ),
    Command(
        "backlog",
        "Host: answer messages from before the restart, or only the latest per person",
        slash=Slash.taking(
            "/backlog all|latest|none", Group.TOOLS, parse.read_backlog, engine.backlog
        ),
    ),
    Command(
        "stop",
        "Stop all your agents at once",
        engine.stop,
        Slash("/stop", Group.GENERAL),
    ),
    Command(
        "stop an agent",
        "Stop an agent, after asking",
        engine.ask_to_stop,
        keys=("ctrl+s",),
    ),
)
