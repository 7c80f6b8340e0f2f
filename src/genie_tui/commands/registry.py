"""The commands of the app and of a room on the screen: their keys, palette, footer and handlers.

`genie_core.room.commands.table` says how commands are typed and has the effects of most. An entry
here adds a key or a place in the palette, or acts with a dialog or another widget. Its function is
in `genie_tui.commands.handlers`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final, TypeAlias

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from genie_core.room.commands import table
from genie_core.room.commands.table import Spec, Surface
from genie_tui.commands.context import RoomContext
from genie_tui.commands.handlers import engine, files, host, message, room
from genie_tui.commands.keymap import Keymap, keymap_of
from genie_tui.commands.keys import Action, Scope, actions
from genie_tui.screens import room_focus

Handler: TypeAlias = Callable[[RoomContext], object]


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the app or of a room.

    The palette lists commands that are `offered`, the footer those that are `shown`, both by their
    `label` if there is one, since a name never changes.
    """

    name: str
    about: str = ""
    """Help of the key and the palette, if it is not that of the slash command."""
    run: Handler | str | None = None
    """A function or a Textual action for keys, the palette and the command without arguments."""
    slash: str = ""
    """The name of the slash command."""
    typed: Callable[[RoomContext, Any], object] | None = None
    """Takes the parsed arguments, in place of the effect in the table."""
    scope: Scope = Scope.ROOM
    keys: tuple[str, ...] = ()
    shown: bool = False
    offered: bool = True
    priority: bool = True
    label: str = ""

    @property
    def help(self) -> str:
        return self.about or slash_commands()[self.slash].help

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
            slash=f"/{self.slash}" if self.slash else "",
        )


def command_named(name: str) -> Command:
    return {command.name: command for command in COMMANDS}[name]


def command_typed(spec: Spec) -> Command | None:
    """Return the entry of a slash command; None if the table alone has it."""
    return next((each for each in COMMANDS if each.slash == spec.name), None)


def slash_commands() -> Mapping[str, Spec]:
    """The commands that can be typed, by name, in the order in which they are listed."""
    return table.commands(Surface.SCREEN)


def slash_help() -> list[tuple[str, str]]:
    return [(spec.usage, spec.help) for spec in slash_commands().values()]


def run_effect(context: RoomContext, spec: Spec, arguments: Any = None) -> None:
    """Run the effect of a command in the table. Raises `RoomNotOpen`."""
    joined = context.joined
    if spec.effect is not None:
        act = partial(spec.effect, joined, arguments)
        context.attempt(act, spec.name, exclusive=spec.replaces)


def _effect(name: str) -> Handler:
    """Return a handler that runs the effect of a command without arguments."""

    def run(context: RoomContext) -> None:
        spec = slash_commands()[name]
        run_effect(context, spec, spec.read("") if spec.read is not None else None)

    return run


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
        """List the matches, by the letters of its name or by words of its help text."""
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
    Command("help", run="app.help", slash="help", scope=Scope.APP, keys=("f1",), shown=True),
    Command("quit", run="app.quit", slash="quit", scope=Scope.APP, keys=("ctrl+q",), shown=True),
    Command("suspend", run="app.quit", slash="suspend", scope=Scope.APP, offered=False),
    Command("rooms", run="app.rooms", slash="rooms", scope=Scope.APP, keys=("ctrl+o",), shown=True),
    Command(
        "theme",
        run="app.toggle_theme",
        slash="theme",
        scope=Scope.APP,
        keys=("ctrl+t",),
        label="dark or light theme",
    ),
    Command("settings", run="app.settings", slash="settings", scope=Scope.APP, keys=("f12",)),
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
    Command("leave", run="app.leave_room", slash="leave"),
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
        "approvals", run=room_focus.to_approvals, slash="approvals", keys=("ctrl+g",), shown=True
    ),
    Command("activity", run=room_focus.to_activity, slash="activity", keys=("f2",), shown=True),
    Command("panel", "Show or hide the side panel", room_focus.toggle_panel, keys=("f3",)),
    Command("reasons", run=room.reasons, slash="reasons", keys=("f4",)),
    Command(
        "read back",
        "Go to the conversation, and back",
        room_focus.to_conversation,
        keys=("f5",),
        shown=True,
    ),
    Command(
        "find",
        run=room_focus.to_find,
        slash="find",
        typed=room_focus.to_find,
        keys=("ctrl+f",),
        shown=True,
    ),
    Command("search", run=room.search, slash="search", typed=room.search),
    Command("mentions", run=room.mentions, slash="mentions", keys=("ctrl+n",)),
    Command(
        "invite",
        "Host: show and copy the invite",
        host.invite,
        "invite",
        host.invite,
        keys=("f6",),
    ),
    Command("admit", slash="admit", typed=host.admit),
    Command("refuse", slash="refuse", typed=host.refuse),
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
        "host",
        host.host,
        keys=("f8",),
    ),
    Command("continue", run=host.continue_room, slash="continue"),
    Command(
        "who", "Show who is here and what their agents do", room.who, slash="who", typed=room.who
    ),
    Command("message privately", slash="msg", typed=message.tell),
    Command("ask privately", run=message.ask, slash="ask", typed=message.ask),
    Command("reply", run=message.reply, slash="reply", offered=False),
    Command("edit", run=message.edit, slash="edit"),
    Command("delete", run=message.delete, slash="delete", offered=False),
    Command("retry", run=message.retry, slash="retry"),
    Command("react", run=message.react, slash="react", offered=False),
    Command("copy code", "Copy the next block of code of the selected message", message.copy_code),
    Command(
        "editor",
        run="app.editor",
        slash="editor",
        typed=message.write_in_editor,
        keys=("ctrl+r",),
        shown=True,
    ),
    Command("attach", slash="attach", typed=files.attach),
    Command("thread", slash="thread", typed=files.thread),
    Command("detach", slash="detach", typed=files.detach),
    Command("save", slash="save", typed=files.save),
    Command(
        "open",
        "Open a link or a file of the selected message",
        files.open_selected,
        "open",
        files.open_file,
        offered=False,
    ),
    Command("prefs", slash="prefs", typed=room.prefs),
    Command("models", "Show the models in use", _effect("model"), "model"),
    Command("cost", run=engine.cost, slash="cost", offered=False),
    Command("compact", run=_effect("compact"), slash="compact"),
    Command("tools", run=engine.tools, slash="tools", keys=("f9",)),
    Command("grants", run=engine.grants, slash="grants"),
    Command("undo", "Undo the latest file change by your agents' tools", _effect("undo"), "undo"),
    Command(
        "jobs",
        "Show the commands that your agents run in the background",
        _effect("jobs"),
        "jobs",
    ),
    Command("stop", run=engine.stop, slash="stop"),
    Command("stop an agent", "Stop an agent, after asking", engine.ask_to_stop, keys=("ctrl+s",)),
)
