"""The keys of widgets and dialogs, in one table. Bindings, key lines and the help are made from it.

Keys of commands that work on a whole screen are in `genie_tui.commands.registry`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from textual.binding import Binding, BindingType


class Scope(Enum):
    """Where a key works; the value is the heading in the help."""

    APP = "Everywhere"
    ROOM = "In a room"
    COMPOSER = "Writing"
    TIMELINE = "Reading"
    CARD = "Answering a tool call"
    JOIN_REQUESTS = "Answering join requests"
    CONFIRM = "Before something goes out"
    EDIT = "Changing a tool call"
    GRANTS = "Grants"
    INVITE = "The invite"
    SETTINGS = "Settings"
    TOOLS = "Agents and tools"
    ACTIVITY = "Activity"
    ACTIVITY_ROWS = "Activity, row by row"
    PREFERENCES = "Your preferences"
    LOBBY = "Lobby"
    SESSIONS = "All sessions"
    SESSION_LIST = "All sessions, row by row"
    ASK = "Answering a question"
    PICK = "Picking from a list"
    FIND = "Finding in the conversation"
    UNSAVED = "Unsaved messages"
    EXPORT = "Exporting a session"
    OFFERS = "Choosing an agent or a model in the lobby"
    REPLAY = "Watching a replay"
    WHATIF = "What-if reports"


@dataclass(frozen=True, slots=True)
class Action:
    """An action with the keys that run it.

    `run` is the Textual action, or in a guarded scope the name of the action that the widget runs
    itself. It is empty where a widget handles the key on its own; the entry then only serves the
    help. Keys with `priority` work wherever the focus is. `shown` puts the action into the footer.
    """

    keys: tuple[str, ...]
    label: str
    help: str
    run: str = ""
    display: str = ""
    shown: bool = False
    priority: bool = False
    scope: Scope = Scope.APP

    @property
    def key_text(self) -> str:
        return self.display or "  ".join(_spell(key, ctrl="ctrl+") for key in self.keys)

    @property
    def short_keys(self) -> str:
        return self.display or " ".join(_spell(key, ctrl="^") for key in self.keys)


_NAMES: Final = {
    "escape": "esc",
    "slash": "/",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "up": "↑",
    "down": "↓",
}


def _spell(key: str, *, ctrl: str) -> str:
    *modifiers, last = key.split("+")
    words = [ctrl if modifier == "ctrl" else f"{modifier}+" for modifier in modifiers]
    return "".join(words) + _NAMES.get(last, last)


GUARDED: Final = frozenset({Scope.CARD, Scope.JOIN_REQUESTS, Scope.CONFIRM})
"""Scopes whose widget handles keys itself, and only once the keyboard has rested."""


def actions(scope: Scope) -> Iterator[Action]:
    """The actions of one scope, in the table's order."""
    return (action for action in ACTIONS if action.scope is scope)


def by_key(scope: Scope) -> dict[str, Action]:
    """The actions of one scope that are not for the help only, by each of their keys."""
    return {key: action for action in actions(scope) if action.run for key in action.keys}


def bindings(scope: Scope) -> list[BindingType]:
    """What a class with this scope sets as its `BINDINGS`."""
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
            "On the first and last line: earlier messages; the draft is kept",
        ),
        Action(
            ("pageup", "pagedown"),
            "read",
            "Read back or on by a page; esc goes to the latest message",
            display="pgup pgdn",
        ),
        Action(("tab",), "complete", "Take the suggested name, command or path"),
    ),
    Scope.TIMELINE: (
        Action(("up", "k"), "up", "Select the message before", "select(-1)"),
        Action(("down", "j"), "down", "Select the message after", "select(1)"),
        Action(("pageup",), "page up", "Read back by a page", "page(-1)"),
        Action(("pagedown",), "page down", "Read on by a page", "page(1)"),
        Action(("home",), "first", "Read from the start", "home"),
        Action(("end",), "latest", "Go to the latest message and follow", "follow"),
        Action(("slash",), "find", "Find in the conversation", "screen.command('find')"),
        Action(("n",), "match before", "While finding: go to the match before", "step(-1)"),
        Action(("N",), "match after", "While finding: go to the match after", "step(1)"),
        Action(("y",), "copy", "Copy the selected message", "copy"),
        Action(
            ("exclamation_mark",),
            "wrong",
            "Mark the decision about the selected message as wrong, or no longer",
            "mark_wrong",
            display="!",
        ),
        Action(
            ("enter",),
            "details",
            "Read all of the selected message, with what it quotes from other rooms",
            "details",
        ),
        Action(
            ("escape",),
            "back",
            "Unselect the message, or go back to writing",
            "leave",
        ),
    ),
    Scope.CARD: (
        Action(("a",), "allow once", "Allow this one call", "allow_once", shown=True),
        Action(
            ("s",),
            "allow same call",
            "Allow this very call, with these arguments, until the session ends",
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
            "Allow this tool, with any arguments, to this agent until the session ends",
            "allow_tool",
        ),
        Action(
            ("t",),
            "allow for a while",
            "Allow this very call so many times, or for so many minutes",
            "allow_for",
        ),
        Action(("e",), "edit", "Change what it is called with, and then allow it", "edit"),
        Action(("d",), "deny", "Deny the call", "deny", shown=True),
        Action(("r",), "deny with reason", "Deny the call and tell the agent why", "deny_because"),
        Action(
            ("x",),
            "deny and stop",
            "Deny the call and stop the agent's work on this message",
            "deny_and_stop",
        ),
        Action(("v",), "full view", "Show everything, scrollable", "full_view"),
        Action(("n",), "next", "Show the next one", "next_card"),
        Action(("p",), "previous", "Show the previous one", "previous_card"),
        Action(
            ("up", "down", "pageup", "pagedown"),
            "scroll",
            "Scroll the arguments",
            "scroll",
            display="↑ ↓",
        ),
        Action(("escape",), "later", "Leave it pending and go back", "leave_pending", shown=True),
    ),
    Scope.JOIN_REQUESTS: (
        Action(("a",), "yes", "Admit them, or host the room from now on", "allow"),
        Action(("d",), "no", "Refuse them, or leave the room to its host", "deny"),
        Action(("n",), "next", "Show the next one", "next"),
        Action(("escape",), "later", "Let them wait and go back", "later"),
    ),
    Scope.ACTIVITY_ROWS: (
        Action(("up", "k"), "up", "Select the row before", "move(-1)"),
        Action(("down", "j"), "down", "Select the row after", "move(1)"),
        Action(("pageup",), "page up", "Go back by a page", "page(-1)"),
        Action(("pagedown",), "page down", "Go on by a page", "page(1)"),
        Action(("home",), "first", "Go to the first row", "go(0)"),
        Action(("end",), "last", "Go to the last row", "go(-1)"),
        Action(("enter",), "details", "Show or hide a row's details", "choose", shown=True),
        Action(("m",), "message", "Go to the row's message in the conversation", "show_message"),
        Action(
            ("exclamation_mark",),
            "wrong",
            "Mark the row's decision as wrong, or no longer",
            "mark_wrong",
            display="!",
        ),
        Action(("u",), "undo", "Undo the change of a file that the row's call made", "undo"),
    ),
    Scope.ACTIVITY: (
        Action(
            ("f",),
            "filter",
            "All, decisions, approvals, failures, mine",
            "cycle_filter",
            shown=True,
        ),
        Action(("slash",), "find", "Show rows with a text only", "find", shown=True),
        Action(("escape",), "back", "Back to where you were", "back", shown=True),
    ),
    Scope.CONFIRM: (
        Action(("enter",), "go on", "Do what is shown", "go_on"),
        Action(("escape",), "go back", "Do nothing; a draft is kept", "go_back"),
        Action(
            ("up", "down", "pageup", "pagedown"),
            "scroll",
            "Read all of it",
            "scroll",
            display="↑ ↓",
        ),
    ),
    Scope.UNSAVED: (
        Action(("escape",), "stay in the room", "Stay", "choose('stay')"),
        Action(
            ("w",),
            "write it to a file",
            "Write it to a new file elsewhere, and leave",
            "choose('write')",
        ),
        Action(
            ("p",), "print it", "Leave, and print it on the terminal afterwards", "choose('print')"
        ),
        Action(("up",), "scroll", "Scroll what is not saved", "scroll(-1)", display="↑ ↓"),
        Action(("down",), "scroll", "Scroll on what is not saved", "scroll(1)"),
    ),
    Scope.PREFERENCES: (
        Action(
            ("ctrl+s",), "keep", "Keep what is written, and tell the room", "keep", priority=True
        ),
        Action(("escape",), "back", "Back to the room; twice with changes", "back"),
    ),
    Scope.EDIT: (
        Action(("ctrl+s",), "look at the changes", "See before and after", "review"),
        Action(("escape",), "back", "Back to the call, which stays open", "leave"),
    ),
    Scope.GRANTS: (
        Action(("up", "k"), "up", "Select the one before", "cursor_up"),
        Action(("down", "j"), "down", "Select the one after", "cursor_down"),
        Action(("d", "delete"), "revoke", "Ask again from now on", "revoke"),
        Action(("r",), "make a rule", "Write it into the settings, after showing it", "make_rule"),
        Action(("escape", "q"), "back", "Back to the room", "close"),
    ),
    Scope.INVITE: (
        Action(("c",), "copy again", "Copy the invite once more", "copy"),
        Action(
            ("n",), "new", "Make a new invite; those given away stop working, members stay", "renew"
        ),
        Action(("escape", "q", "f6"), "back", "Back to the room", "close"),
    ),
    Scope.SETTINGS: (
        Action(
            ("up", "down"), "field", "Go to the field before or after", display="↑ ↓", shown=True
        ),
        Action(
            ("left", "right"),
            "choose",
            "Pick another value, where there is a choice",
            display="← →",
            shown=True,
        ),
        Action(
            ("ctrl+s",),
            "save",
            "Write what was changed into the settings file",
            "save",
            shown=True,
            priority=True,
        ),
        Action(
            ("escape",),
            "back",
            "Go back; changes are dropped if it is pressed twice",
            "back",
            shown=True,
        ),
    ),
    Scope.TOOLS: (
        Action(("up", "down", "pageup", "pagedown"), "scroll", "Read all of it", display="↑ ↓"),
        Action(("escape", "q", "f9"), "back", "Back to the room", "close"),
    ),
    Scope.LOBBY: (
        Action(("enter",), "open", "Resume the selected room, open or join"),
        Action(("n",), "new room", "Go to the new room's title", "new_room", shown=True),
        Action(("j",), "join", "Go to the address to join", "join_room", shown=True),
        Action(("escape",), "saved rooms", "Go to the saved rooms", "saved_rooms"),
        Action(
            ("f3",),
            "all sessions",
            "List, search and tidy up everything that was recorded",
            "app.sessions",
            shown=True,
        ),
        Action(("f7",), "offers", "Go to the agents and models that are offered", "offers"),
    ),
    Scope.OFFERS: (
        Action(("enter",), "choose", "Write it into your settings"),
        Action(("escape",), "not now", "Put them away until the next start", "not_now"),
    ),
    Scope.SESSIONS: (
        Action(
            ("slash",),
            "find",
            "List what fits a text, and what was said like it in any session",
            "find",
            shown=True,
        ),
        Action(
            ("r",),
            "replay",
            "Watch the session again, from its start or from what was found",
            "replay",
            shown=True,
        ),
        Action(("e",), "export", "Write it into a file", "export", shown=True),
        Action(("n",), "rename", "Call it otherwise", "rename", shown=True),
        Action(
            ("d", "delete"),
            "delete",
            "Move it to the system's trash, after asking",
            "delete",
            display="d",
            shown=True,
        ),
        Action(("escape",), "back", "Clear the text, or go back", "back", shown=True),
        Action(("s",), "sort", "Sort by activity, title, size or news", "sort", shown=True),
        Action(("t",), "tags", "Put tags on it, or take them off", "tags", shown=True),
        Action(
            ("f",),
            "fork",
            "Begin a new session with what happened in it, up to what was found",
            "fork",
            shown=True,
        ),
    ),
    Scope.SESSION_LIST: (
        Action(("up", "k"), "up", "Select the one before", "move(-1)"),
        Action(("down", "j"), "down", "Select the one after", "move(1)"),
        Action(("pageup",), "page up", "Go back by a page", "page(-1)"),
        Action(("pagedown",), "page down", "Go on by a page", "page(1)"),
        Action(("home",), "first", "Go to the first one", "go(0)"),
        Action(("end",), "last", "Go to the last one", "go(-1)"),
        Action(
            ("enter",),
            "open",
            "Resume or join again; of what was found, watch the replay there",
            "choose",
            shown=True,
        ),
    ),
    Scope.PICK: (
        Action(("enter",), "choose", "Take the highlighted row"),
        Action(("up",), "up", "Highlight the row before", "move(-1)", display="↑ ↓"),
        Action(("down",), "down", "Highlight the row after", "move(1)"),
        Action(("escape",), "back", "Change nothing", "back"),
    ),
    Scope.FIND: (
        Action(("enter",), "read", "Read on from the match that is shown"),
        Action(("up",), "earlier", "Go to the match before", "step(-1)"),
        Action(("down",), "later", "Go to the match after", "step(1)"),
        Action(("escape",), "close", "Close, and return to where you were", "close"),
    ),
    Scope.ASK: (
        Action(("enter",), "go on", "Do it like this"),
        Action(("escape",), "back", "Change nothing", "back"),
    ),
    Scope.EXPORT: (
        Action(("enter",), "export", "Write it there", "go_on"),
        Action(("escape",), "back", "Write nothing", "back"),
        Action(("tab",), "files", "Go to whether files come along, and back"),
        Action(("space",), "on or off", "Take attached files along, or not"),
    ),
    Scope.REPLAY: (
        Action(("space",), "play", "Play or pause", "play", shown=True),
        Action(("right",), "next", "Show the next event", "step(1)", display="→", shown=True),
        Action(("left",), "back", "Go back by an event", "step(-1)", display="←", shown=True),
        Action(
            ("n", "shift+right"),
            "message",
            "Go to the next message",
            "jump('message', 1)",
            display="n shift+→",
        ),
        Action(
            ("N", "shift+left"),
            "message before",
            "Go to the message before",
            "jump('message', -1)",
            display="N shift+←",
        ),
        Action(("d",), "decision", "Go to the next decision", "jump('decision', 1)", shown=True),
        Action(("D",), "decision before", "Go to the decision before", "jump('decision', -1)"),
        Action(("a",), "approval", "Go to the next approval", "jump('approval', 1)", shown=True),
        Action(("A",), "approval before", "Go to the approval before", "jump('approval', -1)"),
        Action(("f",), "failure", "Go to the next failure", "jump('failure', 1)", shown=True),
        Action(("F",), "failure before", "Go to the failure before", "jump('failure', -1)"),
        Action(
            ("p",), "person", "Go to where a person next answered a tool call", "jump('verdict', 1)"
        ),
        Action(
            ("P",),
            "person before",
            "Go to where a person answered a tool call before",
            "jump('verdict', -1)",
        ),
        Action(("plus", "equals_sign"), "faster", "Play faster", "speed(1)", display="+"),
        Action(("minus",), "slower", "Play slower", "speed(-1)", display="-"),
        Action(("home",), "start", "Go to the start", "start"),
        Action(("end",), "end", "Go to the end", "end"),
        Action(tuple("0123456789"), "part", "Go to so many tenths of the whole", display="0 … 9"),
        Action(("slash",), "search", "Go to where a text is said next", "search", shown=True),
        Action(("g",), "again", "Search for the same text further on", "again(1)"),
        Action(("G",), "again back", "Search for the same text before", "again(-1)"),
        Action(("up", "k"), "up", "Select the message before", "select(-1)"),
        Action(("down", "j"), "down", "Select the message after", "select(1)"),
        Action(("pageup",), "page up", "Read back by a page", "page(-1)"),
        Action(("pagedown",), "page down", "Read on by a page", "page(1)"),
        Action(
            ("w",),
            "why silent",
            "Show why no agent answered the selected message, or each message",
            "why",
            shown=True,
        ),
        Action(
            ("exclamation_mark",),
            "wrong",
            "Mark the selected or latest decision as wrong, or no longer",
            "mark_wrong",
            display="!",
        ),
        Action(("r",), "reports", "Show what other reasoners would have decided", "reports"),
        Action(("enter",), "details", "Read all of the selected message", "details"),
        Action(("y",), "copy", "Copy the selected message", "copy"),
        Action(
            ("f2",),
            "activity",
            "Go to what was decided and why, and back",
            "activity",
            priority=True,
        ),
        Action(
            ("ctrl+g",),
            "approvals",
            "Show the tool calls that waited, or the activity again",
            "approvals",
            priority=True,
        ),
        Action(("f3",), "panel", "Show or hide the side panel", "panel", priority=True),
        Action(("escape", "q"), "leave", "Leave the replay", "leave", shown=True),
    ),
    Scope.WHATIF: (
        Action(("up", "k"), "up", "Select the decision before", "cursor_up"),
        Action(("down", "j"), "down", "Select the decision after", "cursor_down"),
        Action(("enter",), "go there", "Watch the message in the replay"),
        Action(("right",), "older", "Show the report before", "turn(1)", display="→"),
        Action(("left",), "newer", "Show the report after", "turn(-1)", display="←"),
        Action(("escape", "q", "r"), "back", "Back to the replay", "close"),
    ),
}

ACTIONS: Final = tuple(
    replace(action, scope=scope) for scope, listed in _TABLE.items() for action in listed
)
