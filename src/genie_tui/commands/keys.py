"""The keys of widgets and dialogs, in one table. Bindings, key lines and the help are made from it.

Keys of commands that work on a whole screen are in `genie_tui.commands.registry`; the keys that a
person chose instead are in `genie_tui.commands.keymap`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, Self

from textual.binding import Binding, BindingType
from textual.keys import key_to_character


class Scope(Enum):
    """Where a key works; the value is the heading in the help. Its table in a file is `context`."""

    APP = "Everywhere"
    ROOM = "In a room"
    COMPOSER = "Writing"
    TIMELINE = "Reading"
    CARD = "Answering a tool call"
    JOIN_REQUESTS = "Answering join requests"
    CONFIRM = "Confirming"
    EDIT = "Editing a tool call"
    GRANTS = "Grants"
    INVITE = "Invite"
    SETTINGS = "Settings"
    TOOLS = "Agents and tools"
    HELP = "Help"
    VIEW = "Full texts"
    COSTS = "Costs"
    ACTIVITY = "Activity"
    ACTIVITY_ROWS = "Activity, row by row"
    PREFERENCES = "Preferences"
    LOBBY = "Lobby"
    FIRST_START = "First start"
    SESSIONS = "All sessions"
    SESSION_LIST = "All sessions, row by row"
    ASK = "Entering a line"
    PICK = "Picking from a list"
    FIND = "Finding in the conversation"
    UNSAVED = "Unsaved messages"
    EXPORT = "Exporting a session"
    OFFERS = "Agents and models found"
    REPLAY = "Replay"
    WHATIF = "What-if reports"

    @property
    def context(self) -> str:
        return self.name.lower().replace("_", "-")


@dataclass(frozen=True, slots=True)
class Action:
    """An action with the keys that run it.

    `run` is the Textual action, or in a guarded scope the name of the action that the widget runs
    itself. It is empty where a widget handles the key on its own. Keys with `priority` work
    wherever the focus is. `shown` puts the action into the footer. With `ordered`, each key does
    something of its own, in the order of the keys. `name` is the action's name in a file of keys,
    if that is not the label with hyphens; a name never changes. `slash` is the command for it.
    `both` describes the action and the next one, which are listed as one.
    """

    keys: tuple[str, ...]
    label: str
    help: str
    run: str = ""
    display: str = ""
    shown: bool = False
    priority: bool = False
    scope: Scope = Scope.APP
    name: str = ""
    slash: str = ""
    ordered: bool = False
    both: str = ""

    @property
    def id(self) -> str:
        """The context and the name, which identify the action in bindings and files of keys."""
        return f"{self.scope.context}.{self.name or self.label.replace(' ', '-')}"

    def with_keys(self, keys: tuple[str, ...]) -> Self:
        """The action with other keys; of ordered ones, those for the first two are displayed."""
        shown = " ".join(spell(key) for key in keys[:2]) if self.ordered else ""
        return replace(self, keys=keys, display=shown)

    @property
    def key_text(self) -> str:
        return self.display or "  ".join(spell(key) for key in self.keys)

    @property
    def short_keys(self) -> str:
        return self.display or " ".join(spell(key, ctrl="^") for key in self.keys)


_NAMES: Final = {
    "escape": "esc",
    "slash": "/",
    "backslash": "\\",
    "underscore": "_",
    "at": "@",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "plus": "+",
    "minus": "-",
    "@": "space",
}


def spell(key: str, *, ctrl: str = "ctrl+") -> str:
    """Write a key of Textual as people do."""
    *modifiers, last = key.split("+")
    words = [ctrl if modifier == "ctrl" else f"{modifier}+" for modifier in modifiers]
    character = key_to_character(last) or ""
    is_shown = character.isprintable() and not character.isspace()
    return "".join(words) + (_NAMES.get(last) or (character if is_shown else "") or last)


GUARDED: Final = frozenset({Scope.CARD, Scope.JOIN_REQUESTS, Scope.CONFIRM})
"""Scopes whose widget handles keys itself, and only once the keyboard has rested."""


def actions(scope: Scope) -> Iterator[Action]:
    """The actions of one scope, in the table's order."""
    return (action for action in ACTIONS if action.scope is scope)


def listed(several: Iterable[Action]) -> Iterator[Action]:
    """The actions as they are listed: those that have `both` are one with the next."""
    first = None
    for action in several:
        if first is not None:
            keys = first.keys[:1] + action.keys[:1]
            shown = " ".join(spell(key) for key in keys)
            yield replace(first, keys=keys, help=first.both, display=shown)
            first = None
        elif action.both:
            first = action
        else:
            yield action


def bindings(scope: Scope) -> list[BindingType]:
    """The bindings that a class with this scope sets as its `BINDINGS`."""
    return bindings_of(actions(scope))


def bindings_of(listed: Iterable[Action]) -> list[BindingType]:
    return [
        Binding(
            ",".join(action.keys),
            f"through_on_key('{action.run}')" if action.scope in GUARDED else action.run,
            action.label,
            show=action.shown,
            key_display=action.short_keys,
            priority=action.priority,
            tooltip=action.help,
            id=action.id,
        )
        for action in listed
        if action.run and action.keys
    ]


_TABLE: Final[dict[Scope, tuple[Action, ...]]] = {
    Scope.COMPOSER: (
        Action(("enter",), "send", "Send the message"),
        Action(("shift+enter", "ctrl+j", "alt+enter"), "new line", "Begin a new line"),
        Action(
            ("up", "down"),
            "history",
            "On the first and last line: messages you sent; the draft is kept",
            ordered=True,
        ),
        Action(
            ("pageup", "pagedown"),
            "read",
            "Scroll by a page",
            display="pgup pgdn",
            ordered=True,
        ),
        Action(("tab",), "complete", "Complete a name, file, command, path or emoji"),
        Action(
            ("escape",),
            "cancel",
            "Cancel an edit or a reply; otherwise go to the latest message",
        ),
        Action((), "leave", "Cancel an edit or a reply; otherwise go to the conversation"),
    ),
    Scope.TIMELINE: (
        Action(("up", "k"), "up", "Previous message", "select(-1)"),
        Action(("down", "j"), "down", "Next message", "select(1)"),
        Action(("pageup",), "page up", "Scroll up by a page", "page(-1)"),
        Action(("pagedown",), "page down", "Scroll down by a page", "page(1)"),
        Action(("home",), "first", "Go to the first message", "home"),
        Action(("end",), "latest", "Go to the latest message and stay there", "follow"),
        Action(
            ("enter",),
            "full view",
            "Show the selected message in full, with its quotes",
            "details",
            shown=True,
            name="details",
        ),
        Action(
            ("r",), "reply", "Reply to the selected message", "screen.command('reply')", shown=True
        ),
        Action(("g",), "replied to", "Go to what the selected message replies to", "go_to_reply"),
        Action(("G",), "back to the reply", "Go back to the reply that you came from", "go_back"),
        Action(
            ("o",),
            "open",
            "Open a link or a file of the selected message",
            "screen.command('open')",
            shown=True,
        ),
        Action(
            ("e",),
            "edit",
            "Edit the selected message if it is yours",
            "screen.command('edit')",
            shown=True,
        ),
        Action(
            ("d",),
            "delete",
            "Delete the selected message if it is yours",
            "screen.command('delete')",
            shown=True,
        ),
        Action(
            ("plus",),
            "react",
            "React to the selected message",
            "screen.command('react')",
            shown=True,
        ),
        Action(
            ("R",),
            "retry",
            "Send the selected message again after a failure",
            "screen.command('retry')",
            shown=True,
        ),
        Action(
            ("slash",), "find", "Find in the conversation", "screen.command('find')", shown=True
        ),
        Action(
            ("n",), "match after", "While finding: go to the match after", "step(1)", shown=True
        ),
        Action(
            ("N",), "match before", "While finding: go to the match before", "step(-1)", shown=True
        ),
        Action(("y",), "copy", "Copy the selected message", "copy", shown=True),
        Action(
            ("c",),
            "copy code",
            "Copy the next block of code of the selected message",
            "copy_code",
            shown=True,
        ),
        Action(
            ("exclamation_mark",),
            "wrong",
            "Mark or unmark the decision about the selected message as wrong",
            "mark_wrong",
        ),
        Action(
            ("escape",),
            "back",
            "Go back to writing",
            "leave",
            shown=True,
        ),
        Action((), "write", "Go back to writing", "write"),
    ),
    Scope.CARD: (
        Action(("a",), "allow once", "Allow this one call", "allow_once", shown=True),
        Action(
            ("s",),
            "allow same call",
            "Allow this exact call until the session ends",
            "allow_again",
        ),
        Action(
            ("l",),
            "allow pattern",
            "Allow what a pattern of commands, files or hosts covers; edit it first",
            "allow_like",
        ),
        Action(
            ("w",),
            "allow tool",
            "Allow this agent any call of this tool until the session ends",
            "allow_tool",
        ),
        Action(
            ("t",),
            "allow for a while",
            "Allow this exact call a number of times, or for some minutes",
            "allow_for",
        ),
        Action(
            ("A",),
            "allow alike",
            "Allow each waiting call of this tool, after listing their effects",
            "allow_alike",
        ),
        Action(("e",), "edit", "Edit the arguments before allowing it", "edit"),
        Action(("d",), "deny", "Deny the call", "deny", shown=True),
        Action(("r",), "deny with reason", "Deny the call and tell the agent why", "deny_because"),
        Action(
            ("x",),
            "deny and stop",
            "Deny the call and stop the agent's work on this message",
            "deny_and_stop",
        ),
        Action(("v",), "full view", "Show all details", "full_view"),
        Action(("n",), "next", "Show the next one", "next_card"),
        Action(("p",), "previous", "Show the previous one", "previous_card"),
        Action(
            ("up", "down", "pageup", "pagedown"),
            "scroll",
            "Scroll the arguments",
            "scroll",
            display="↑ ↓",
            ordered=True,
        ),
        Action(("escape",), "later", "Leave it waiting and go back", "leave_pending", shown=True),
    ),
    Scope.JOIN_REQUESTS: (
        Action(("a",), "yes", "Admit the person, or accept to host", "allow"),
        Action(("d",), "no", "Refuse the person, or decline to host", "deny"),
        Action(("n",), "next", "Show the next one", "next"),
        Action(("escape",), "later", "Decide later", "later"),
    ),
    Scope.ACTIVITY_ROWS: (
        Action(("up", "k"), "up", "Previous row", "move(-1)"),
        Action(("down", "j"), "down", "Next row", "move(1)"),
        Action(("pageup",), "page up", "Go back by a page", "page(-1)"),
        Action(("pagedown",), "page down", "Go on by a page", "page(1)"),
        Action(("home",), "first", "Go to the first row", "go(0)"),
        Action(("end",), "last", "Go to the last row", "go(-1)"),
        Action(("enter",), "details", "Show or hide a row's details", "choose", shown=True),
        Action(("m",), "message", "Go to the row's message in the conversation", "show_message"),
        Action(
            ("exclamation_mark",),
            "wrong",
            "Mark or unmark the row's decision as wrong",
            "mark_wrong",
        ),
        Action(("u",), "undo", "Undo the file change that the row's call made", "undo"),
    ),
    Scope.ACTIVITY: (
        Action(
            ("f",),
            "filter",
            "All, decisions, approvals, failures, mine",
            "cycle_filter",
            shown=True,
        ),
        Action(("slash",), "find", "Show only rows with a text", "find", shown=True),
        Action(("escape",), "back", "Back to where you were", "back", shown=True),
    ),
    Scope.CONFIRM: (
        Action(("enter",), "continue", "Confirm", "go_on", shown=True),
        Action(("escape",), "go back", "Cancel; a draft is kept", "go_back", shown=True),
        Action(
            ("up", "down", "pageup", "pagedown"),
            "scroll",
            "Scroll",
            "scroll",
            display="↑ ↓",
            ordered=True,
        ),
    ),
    Scope.UNSAVED: (
        Action(("escape",), "stay in the room", "Stay", "choose('stay')", name="stay"),
        Action(
            ("w",),
            "write it to a file",
            "Write it to a file, and leave",
            "choose('write')",
            name="write",
        ),
        Action(
            ("p",),
            "print it",
            "Leave, and print it on the terminal",
            "choose('print')",
            name="print",
        ),
        Action(("up",), "scroll", "Scroll up", "scroll(-1)", name="scroll-up", both="Scroll"),
        Action(("down",), "scroll", "Scroll down", "scroll(1)", name="scroll-down"),
    ),
    Scope.PREFERENCES: (
        Action(("ctrl+s",), "save", "Save and send to the room", "keep", priority=True),
        Action(("escape",), "back", "Back; press twice to discard changes", "back"),
    ),
    Scope.EDIT: (
        Action(("ctrl+s",), "review", "Compare before and after", "review"),
        Action(("escape",), "back", "Back to the call, which keeps waiting", "leave"),
    ),
    Scope.GRANTS: (
        Action(("up", "k"), "move", "Previous", "cursor_up", name="up", both="Previous or next"),
        Action(("down", "j"), "move", "Next", "cursor_down", name="down"),
        Action(("d", "delete"), "revoke", "Revoke: ask again from now on", "revoke"),
        Action(("r",), "make a rule", "Save it as a rule in the settings", "make_rule"),
        Action(("escape", "q"), "back", "Back to the room", "close"),
    ),
    Scope.INVITE: (
        Action(("c",), "copy again", "Copy the invite again", "copy"),
        Action(("n",), "new", "Replace the invite; old ones stop working, members stay", "renew"),
        Action(("escape", "q", "f6"), "back", "Back to the room", "close"),
    ),
    Scope.SETTINGS: (
        Action(
            ("up", "down"),
            "field",
            "Previous or next field; enter goes to the next, or lists the choices if there are many",
            display="↑ ↓",
            shown=True,
            ordered=True,
        ),
        Action(
            ("home", "end"),
            "first or last",
            "Go to the first or the last field, while a choice has the focus",
            ordered=True,
        ),
        Action(
            ("left", "right"),
            "choose",
            "Change the value of a choice",
            display="← →",
            shown=True,
            ordered=True,
        ),
        Action(
            ("ctrl+s",),
            "save",
            "Save the changes",
            "save",
            shown=True,
            priority=True,
        ),
        Action(
            ("escape",),
            "back",
            "Back; press twice to discard changes",
            "back",
            shown=True,
        ),
    ),
    Scope.TOOLS: (
        Action(
            ("up", "down", "pageup", "pagedown"), "scroll", "Scroll", display="↑ ↓", ordered=True
        ),
        Action(("escape", "q", "f9"), "back", "Back to the room", "close"),
    ),
    Scope.HELP: (
        Action(
            ("enter",), "run", "Run the highlighted row if it can be run, or show other screens"
        ),
        Action(
            ("up", "down", "pageup", "pagedown"),
            "move",
            "Previous or next row",
            display="↑ ↓",
            ordered=True,
            name="scroll",
        ),
        Action(("escape",), "back", "Back", "dismiss"),
    ),
    Scope.VIEW: (
        Action(
            ("up", "down", "pageup", "pagedown"), "scroll", "Scroll", display="↑ ↓", ordered=True
        ),
        Action(
            ("shift+up", "shift+down", "shift+left", "shift+right"),
            "select",
            "Select a part of the text",
            display="shift+arrows",
            ordered=True,
        ),
        Action(("y", "ctrl+c"), "copy", "Copy the selected part, or all of it", "copy"),
        Action(("escape", "q", "v"), "back", "Back", "dismiss"),
    ),
    Scope.COSTS: (
        Action(
            ("up", "down", "pageup", "pagedown"), "scroll", "Scroll", display="↑ ↓", ordered=True
        ),
        Action(("escape", "q"), "back", "Back", "dismiss"),
    ),
    Scope.LOBBY: (
        Action(("enter",), "open", "Open the selected room, or create or join one"),
        Action(
            ("up", "down"),
            "field",
            "Previous or next row or field",
            display="↑ ↓",
            ordered=True,
            name="move",
        ),
        Action(("n",), "new room", "Create a room", "new_room", shown=True),
        Action(("j",), "join", "Join a room by invite", "join_room", shown=True),
        Action(("escape",), "saved rooms", "Go to the saved rooms", "saved_rooms"),
        Action(
            ("f3",),
            "all sessions",
            "List, search and manage all sessions",
            "app.sessions",
            shown=True,
        ),
        Action(("f7",), "offers", "Choose an agent or a model", "offers"),
    ),
    Scope.FIRST_START: (
        Action(("enter",), "next", "Next field; after the last, save and go to the lobby", "go_on"),
        Action(
            ("ctrl+s",),
            "save and start",
            "Save, and go to the lobby",
            "save",
            priority=True,
            name="save",
        ),
        Action(
            ("up",),
            "field",
            "Previous field",
            "field(-1)",
            name="field-up",
            both="Previous or next field",
        ),
        Action(("down",), "field", "Next field", "field(1)", name="field-down"),
        Action(
            ("left", "right"),
            "choose",
            "Change the value of a choice",
            display="← →",
            ordered=True,
        ),
        Action(("escape",), "skip", "Go to the lobby; it is not asked again", "skip"),
        Action(("f1",), "help", "Show keys and commands", "help"),
        Action(("ctrl+q", "ctrl+c"), "quit", "Quit; nothing is saved", "quit", priority=True),
    ),
    Scope.OFFERS: (
        Action(("enter",), "choose", "Use it and save it in the settings"),
        Action(("up", "down"), "move", "Previous or next one", ordered=True),
        Action(("escape",), "not now", "Hide until the next start", "not_now"),
    ),
    Scope.SESSIONS: (
        Action(
            ("slash",),
            "find",
            "Filter sessions and search their messages",
            "find",
            shown=True,
        ),
        Action(
            ("r",),
            "replay",
            "Replay the session, from the match if there is one",
            "replay",
            shown=True,
        ),
        Action(("e",), "export", "Export to a file", "export", shown=True),
        Action(("n",), "rename", "Rename", "rename", shown=True),
        Action(
            ("d", "delete"),
            "delete",
            "Move to the trash, after asking",
            "delete",
            display="d",
            shown=True,
        ),
        Action(("escape",), "back", "Clear the filter, or go back", "back", shown=True),
        Action(("s",), "sort", "Sort by activity, title, size or unread", "sort", shown=True),
        Action(("t",), "tags", "Edit tags", "tags", shown=True),
        Action(
            ("f",),
            "fork",
            "Copy it as a new session, up to the match if there is one",
            "fork",
            shown=True,
        ),
    ),
    Scope.SESSION_LIST: (
        Action(("up", "k"), "up", "Previous", "move(-1)"),
        Action(("down", "j"), "down", "Next", "move(1)"),
        Action(("pageup",), "page up", "Go back by a page", "page(-1)"),
        Action(("pagedown",), "page down", "Go on by a page", "page(1)"),
        Action(("home",), "first", "Go to the first one", "go(0)"),
        Action(("end",), "last", "Go to the last one", "go(-1)"),
        Action(
            ("enter",),
            "open",
            "Open it, or replay it from the match",
            "choose",
            shown=True,
        ),
    ),
    Scope.PICK: (
        Action(("enter",), "choose", "Take the highlighted row"),
        Action(
            ("up",),
            "move",
            "Highlight the row before",
            "move(-1)",
            name="up",
            both="Previous or next row",
        ),
        Action(("down",), "move", "Highlight the row after", "move(1)", name="down"),
        Action(("escape",), "back", "Cancel", "back"),
    ),
    Scope.FIND: (
        Action(("enter", "down"), "next", "Go to the match after", "step(1)", name="later"),
        Action(
            ("up", "shift+enter", "alt+enter"),
            "previous",
            "Go to the match before",
            "step(-1)",
            name="earlier",
        ),
        Action(
            ("escape",),
            "read here",
            "Read on from the match that is shown; close if there is none",
            "close",
            name="close",
        ),
    ),
    Scope.ASK: (
        Action(("enter",), "continue", "Confirm"),
        Action(("escape",), "back", "Cancel", "back"),
    ),
    Scope.EXPORT: (
        Action(("enter",), "export", "Export", "go_on"),
        Action(("escape",), "back", "Cancel", "back"),
        Action(("tab",), "files", "Next field"),
        Action(("space",), "on or off", "Include attached files or not"),
    ),
    Scope.REPLAY: (
        Action(("space",), "play", "Play or pause", "play", shown=True),
        Action(("right",), "next", "Show the next event", "step(1)", shown=True),
        Action(("left",), "back", "Show the event before", "step(-1)", shown=True),
        Action(
            ("m", "shift+right"),
            "message",
            "Go to the next message",
            "jump('message', 1)",
        ),
        Action(
            ("M", "shift+left"),
            "message before",
            "Go to the message before",
            "jump('message', -1)",
        ),
        Action(("d",), "decision", "Go to the next decision", "jump('decision', 1)", shown=True),
        Action(("D",), "decision before", "Go to the decision before", "jump('decision', -1)"),
        Action(("a",), "approval", "Go to the next approval", "jump('approval', 1)", shown=True),
        Action(("A",), "approval before", "Go to the approval before", "jump('approval', -1)"),
        Action(("f",), "failure", "Go to the next failure", "jump('failure', 1)", shown=True),
        Action(("F",), "failure before", "Go to the failure before", "jump('failure', -1)"),
        Action(
            ("p",),
            "person",
            "Go to the next answer of a person to a tool call",
            "jump('verdict', 1)",
        ),
        Action(
            ("P",),
            "person before",
            "Go to the answer before",
            "jump('verdict', -1)",
        ),
        Action(("plus", "equals_sign"), "faster", "Play faster", "speed(1)", display="+"),
        Action(("minus",), "slower", "Play slower", "speed(-1)"),
        Action(("home",), "start", "Go to the start", "start"),
        Action(("end",), "end", "Go to the end", "end"),
        Action(
            tuple("0123456789"),
            "part",
            "Jump to a tenth of the recording",
            display="0 … 9",
            ordered=True,
        ),
        Action(("slash",), "search", "Find a text", "search", shown=True),
        Action(("n",), "again", "Find next", "again(1)"),
        Action(("N",), "again back", "Find previous", "again(-1)"),
        Action(("up", "k"), "up", "Previous message", "select(-1)"),
        Action(("down", "j"), "down", "Next message", "select(1)"),
        Action(("pageup",), "page up", "Scroll up by a page", "page(-1)"),
        Action(("pagedown",), "page down", "Scroll down by a page", "page(1)"),
        Action(
            ("w",),
            "why silent",
            "Show why agents stayed silent",
            "why",
            shown=True,
        ),
        Action(
            ("exclamation_mark",),
            "wrong",
            "Mark or unmark the selected or latest decision as wrong",
            "mark_wrong",
        ),
        Action(("r",), "reports", "Show what-if reports of other reasoners", "reports"),
        Action(("enter",), "details", "Show the selected message in full", "details"),
        Action(("y",), "copy", "Copy the selected message", "copy"),
        Action(
            ("c",),
            "copy code",
            "Copy the next block of code of the selected message",
            "copy_code",
        ),
        Action(
            ("f2",),
            "activity",
            "Go to the activity list, and back",
            "activity",
            priority=True,
        ),
        Action(
            ("ctrl+g",),
            "approvals",
            "Switch between approvals and activity",
            "approvals",
            priority=True,
        ),
        Action(("f3",), "panel", "Show or hide the side panel", "panel", priority=True),
        Action(("escape", "q"), "leave", "Leave the replay", "leave", shown=True),
    ),
    Scope.WHATIF: (
        Action(
            ("up", "k"),
            "move",
            "Previous decision",
            "cursor_up",
            name="up",
            both="Previous or next decision",
        ),
        Action(("down", "j"), "move", "Next decision", "cursor_down", name="down"),
        Action(("enter",), "go there", "Show the message in the replay"),
        Action(("left",), "older", "Show the report before", "turn(1)"),
        Action(("right",), "newer", "Show the report after", "turn(-1)"),
        Action(
            ("c",), "compare", "Compare it with the report before, or stop comparing", "compare"
        ),
        Action(("escape", "q", "r"), "back", "Back to the replay", "close"),
    ),
}

TYPED: Final[Mapping[Scope, Mapping[str, str]]] = {
    Scope.COMPOSER: {
        "@  /  :": "Offer names and files, commands, emoji",
        "@src/app.py": "Name a file of your workspace for agents; not attached",
    }
}
"""Typed input rather than keys, with its effect; the help lists it."""

ACTIONS: Final = tuple(
    replace(action, scope=scope) for scope, listed in _TABLE.items() for action in listed
)
