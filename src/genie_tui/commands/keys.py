"""The keys of widgets and dialogs, in one table. Bindings, key lines and the help are made from it.

Keys of commands that work on a whole screen are in `genie_tui.commands.registry`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
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
    LEDGER = "Activity, row by row"
    PREFERENCES = "Your preferences"
    LOBBY = "Lobby"
    SESSIONS = "All sessions"
    SESSION_LIST = "All sessions, row by row"
    ASK = "Answering a question"
    UNSAVED = "Unsaved messages"
    EXPORT = "Exporting a session"
    OFFERS = "Choosing a model in the lobby"
    REPLAY = "Watching a replay"
    WHATIF = "What-if reports"


@dataclass(frozen=True, slots=True)
class Action:
    """An action with the keys that run it.

    `run` is the Textual action, or in a guarded scope the name of the action that the widget runs
    itself. It is empty where a widget handles the key on its own; the entry then only serves the
    help. Keys with `priority` work wherever the focus is. `shown` puts the action into the footer.
    """

    scope: Scope
    keys: tuple[str, ...]
    label: str
    help: str
    run: str = ""
    display: str = ""
    shown: bool = False
    priority: bool = False

    @property
    def key_text(self) -> str:
        """The keys as a person would say them."""
        return self.display or "  ".join(_spell(key, ctrl="ctrl+") for key in self.keys)

    @property
    def short_keys(self) -> str:
        """The keys where space is short."""
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
    """Textual bindings for these actions."""
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


ACTIONS: Final = (
    Action(Scope.COMPOSER, ("enter",), "send", "Send the message"),
    Action(Scope.COMPOSER, ("shift+enter", "ctrl+j", "alt+enter"), "new line", "Begin a new line"),
    Action(
        Scope.COMPOSER,
        ("up", "down"),
        "history",
        "On the first and last line: earlier messages; the draft is kept",
    ),
    Action(
        Scope.COMPOSER,
        ("pageup", "pagedown"),
        "read",
        "Read back or on by a page; esc goes to the latest message",
        display="pgup pgdn",
    ),
    Action(Scope.COMPOSER, ("tab",), "complete", "Take the suggested name, command or path"),
    Action(Scope.TIMELINE, ("up", "k"), "up", "Select the message before", "select(-1)"),
    Action(Scope.TIMELINE, ("down", "j"), "down", "Select the message after", "select(1)"),
    Action(Scope.TIMELINE, ("pageup",), "page up", "Read back by a page", "page(-1)"),
    Action(Scope.TIMELINE, ("pagedown",), "page down", "Read on by a page", "page(1)"),
    Action(Scope.TIMELINE, ("home",), "first", "Read from the start", "home"),
    Action(Scope.TIMELINE, ("end",), "latest", "Go to the latest message and follow", "follow"),
    Action(Scope.TIMELINE, ("y",), "copy", "Copy the selected message", "copy"),
    Action(
        Scope.TIMELINE,
        ("exclamation_mark",),
        "wrong",
        "Mark the decision about the selected message as wrong, or no longer",
        "mark_wrong",
        display="!",
    ),
    Action(
        Scope.TIMELINE,
        ("enter",),
        "details",
        "Read all of the selected message, with what it quotes from other rooms",
        "details",
    ),
    Action(
        Scope.TIMELINE,
        ("escape",),
        "back",
        "Back; on a message that an agent works on, ask whether to stop it",
        "stop",
    ),
    Action(Scope.CARD, ("a",), "allow once", "Allow this one call", "allow_once", shown=True),
    Action(
        Scope.CARD,
        ("s",),
        "allow for session",
        "Allow this tool, with any arguments, to this agent until the session ends",
        "allow_session",
    ),
    Action(
        Scope.CARD,
        ("t",),
        "allow for a while",
        "Allow this tool for this agent so many times, or so many minutes",
        "allow_for",
    ),
    Action(Scope.CARD, ("e",), "edit", "Change what it is called with, and then allow it", "edit"),
    Action(Scope.CARD, ("d",), "deny", "Deny the call", "deny", shown=True),
    Action(
        Scope.CARD,
        ("r",),
        "deny with reason",
        "Deny the call and tell the agent why",
        "deny_because",
    ),
    Action(
        Scope.CARD,
        ("x",),
        "deny and stop",
        "Deny the call and stop the agent's work on this message",
        "deny_and_stop",
    ),
    Action(Scope.CARD, ("v",), "full view", "Show everything, scrollable", "full_view"),
    Action(Scope.CARD, ("n",), "next", "Show the next one", "next_card"),
    Action(Scope.CARD, ("p",), "previous", "Show the previous one", "previous_card"),
    Action(
        Scope.CARD,
        ("up", "down", "pageup", "pagedown"),
        "scroll",
        "Scroll the arguments",
        "scroll",
        display="↑ ↓",
    ),
    Action(
        Scope.CARD,
        ("escape",),
        "later",
        "Leave it pending and go back",
        "leave_pending",
        shown=True,
    ),
    Action(
        Scope.JOIN_REQUESTS, ("a",), "yes", "Let them in, or host the room from now on", "allow"
    ),
    Action(
        Scope.JOIN_REQUESTS, ("d",), "no", "Turn them away, or leave the room to its host", "deny"
    ),
    Action(Scope.JOIN_REQUESTS, ("n",), "next", "Show the next one", "next"),
    Action(Scope.JOIN_REQUESTS, ("escape",), "later", "Let them wait and go back", "later"),
    Action(Scope.LEDGER, ("up", "k"), "up", "Select the row before", "move(-1)"),
    Action(Scope.LEDGER, ("down", "j"), "down", "Select the row after", "move(1)"),
    Action(Scope.LEDGER, ("pageup",), "page up", "Go back by a page", "page(-1)"),
    Action(Scope.LEDGER, ("pagedown",), "page down", "Go on by a page", "page(1)"),
    Action(Scope.LEDGER, ("home",), "first", "Go to the first row", "go(0)"),
    Action(Scope.LEDGER, ("end",), "last", "Go to the last row", "go(-1)"),
    Action(
        Scope.LEDGER, ("enter",), "details", "Show or hide a row's details", "choose", shown=True
    ),
    Action(
        Scope.LEDGER,
        ("m",),
        "message",
        "Go to the row's message in the conversation",
        "show_message",
    ),
    Action(
        Scope.LEDGER,
        ("exclamation_mark",),
        "wrong",
        "Mark the row's decision as wrong, or no longer",
        "mark_wrong",
        display="!",
    ),
    Action(
        Scope.ACTIVITY,
        ("f",),
        "filter",
        "All, decisions, approvals, failures, mine",
        "cycle_filter",
        shown=True,
    ),
    Action(Scope.ACTIVITY, ("slash",), "find", "Show rows with a text only", "find", shown=True),
    Action(Scope.ACTIVITY, ("escape",), "back", "Back to where you were", "back", shown=True),
    Action(Scope.CONFIRM, ("enter",), "go on", "Do what is shown", "go_on"),
    Action(Scope.CONFIRM, ("escape",), "go back", "Do nothing; a draft is kept", "go_back"),
    Action(
        Scope.CONFIRM,
        ("up", "down", "pageup", "pagedown"),
        "scroll",
        "Read all of it",
        "scroll",
        display="↑ ↓",
    ),
    Action(Scope.UNSAVED, ("escape",), "stay in the room", "Stay", "choose('stay')"),
    Action(
        Scope.UNSAVED,
        ("w",),
        "write it to a file",
        "Write it to a new file elsewhere, and leave",
        "choose('write')",
    ),
    Action(
        Scope.UNSAVED,
        ("p",),
        "print it",
        "Leave, and print it on the terminal afterwards",
        "choose('print')",
    ),
    Action(
        Scope.UNSAVED, ("up",), "scroll", "Scroll what is not saved", "scroll(-1)", display="↑ ↓"
    ),
    Action(Scope.UNSAVED, ("down",), "scroll", "Scroll on what is not saved", "scroll(1)"),
    Action(
        Scope.PREFERENCES,
        ("ctrl+s",),
        "keep",
        "Keep what is written, and tell the room",
        "keep",
        priority=True,
    ),
    Action(Scope.PREFERENCES, ("escape",), "back", "Back to the room; twice with changes", "back"),
    Action(Scope.EDIT, ("ctrl+s",), "look at the changes", "See before and after", "review"),
    Action(Scope.EDIT, ("escape",), "back", "Back to the call, which stays open", "leave"),
    Action(Scope.GRANTS, ("up", "k"), "up", "Select the one before", "cursor_up"),
    Action(Scope.GRANTS, ("down", "j"), "down", "Select the one after", "cursor_down"),
    Action(Scope.GRANTS, ("d", "delete"), "take back", "Ask again from now on", "revoke"),
    Action(Scope.GRANTS, ("escape", "q"), "back", "Back to the room", "close"),
    Action(Scope.INVITE, ("c",), "copy again", "Copy the invite once more", "copy"),
    Action(
        Scope.INVITE,
        ("n",),
        "new",
        "Make a new invite; those given away stop working, members stay",
        "renew",
    ),
    Action(Scope.INVITE, ("escape", "q", "f6"), "back", "Back to the room", "close"),
    Action(
        Scope.SETTINGS,
        ("up", "down"),
        "field",
        "Go to the field before or after",
        display="↑ ↓",
        shown=True,
    ),
    Action(
        Scope.SETTINGS,
        ("left", "right"),
        "choose",
        "Pick another value, where there is a choice",
        display="← →",
        shown=True,
    ),
    Action(
        Scope.SETTINGS,
        ("ctrl+s",),
        "save",
        "Write what was changed into the settings file",
        "save",
        shown=True,
        priority=True,
    ),
    Action(
        Scope.SETTINGS,
        ("escape",),
        "back",
        "Go back; changes are dropped if it is pressed twice",
        "back",
        shown=True,
    ),
    Action(
        Scope.TOOLS, ("up", "down", "pageup", "pagedown"), "scroll", "Read all of it", display="↑ ↓"
    ),
    Action(Scope.TOOLS, ("escape", "q", "f9"), "back", "Back to the room", "close"),
    Action(Scope.LOBBY, ("enter",), "open", "Resume the selected room, open or join"),
    Action(Scope.LOBBY, ("n",), "new room", "Go to the new room's title", "new_room", shown=True),
    Action(Scope.LOBBY, ("j",), "join", "Go to the address to join", "join_room", shown=True),
    Action(Scope.LOBBY, ("escape",), "saved rooms", "Go to the saved rooms", "saved_rooms"),
    Action(
        Scope.LOBBY,
        ("f3",),
        "all sessions",
        "List, search and tidy up everything that was recorded",
        "app.sessions",
        shown=True,
    ),
    Action(Scope.LOBBY, ("f7",), "models", "Go to the models that are offered", "offers"),
    Action(Scope.OFFERS, ("enter",), "choose", "Write it into your settings"),
    Action(Scope.OFFERS, ("escape",), "not now", "Put them away until the next start", "not_now"),
    Action(
        Scope.SESSIONS,
        ("slash",),
        "find",
        "List what fits a text, and what was said like it in any session",
        "find",
        shown=True,
    ),
    Action(
        Scope.SESSIONS,
        ("r",),
        "replay",
        "Watch the session again, from its start or from what was found",
        "replay",
        shown=True,
    ),
    Action(Scope.SESSIONS, ("e",), "export", "Write it into a file", "export", shown=True),
    Action(Scope.SESSIONS, ("n",), "rename", "Call it otherwise", "rename", shown=True),
    Action(
        Scope.SESSIONS,
        ("d", "delete"),
        "delete",
        "Move it to the system's trash, after asking",
        "delete",
        display="d",
        shown=True,
    ),
    Action(Scope.SESSIONS, ("escape",), "back", "Clear the text, or go back", "back", shown=True),
    Action(
        Scope.SESSIONS, ("s",), "sort", "Sort by activity, title, size or news", "sort", shown=True
    ),
    Action(Scope.SESSIONS, ("t",), "tags", "Put tags on it, or take them off", "tags", shown=True),
    Action(
        Scope.SESSIONS,
        ("f",),
        "fork",
        "Begin a new session with what happened in it, up to what was found",
        "fork",
        shown=True,
    ),
    Action(Scope.SESSION_LIST, ("up", "k"), "up", "Select the one before", "move(-1)"),
    Action(Scope.SESSION_LIST, ("down", "j"), "down", "Select the one after", "move(1)"),
    Action(Scope.SESSION_LIST, ("pageup",), "page up", "Go back by a page", "page(-1)"),
    Action(Scope.SESSION_LIST, ("pagedown",), "page down", "Go on by a page", "page(1)"),
    Action(Scope.SESSION_LIST, ("home",), "first", "Go to the first one", "go(0)"),
    Action(Scope.SESSION_LIST, ("end",), "last", "Go to the last one", "go(-1)"),
    Action(
        Scope.SESSION_LIST,
        ("enter",),
        "open",
        "Resume or join again; of what was found, watch the replay there",
        "choose",
        shown=True,
    ),
    Action(Scope.ASK, ("enter",), "go on", "Do it like this"),
    Action(Scope.ASK, ("escape",), "back", "Change nothing", "back"),
    Action(Scope.EXPORT, ("enter",), "export", "Write it there", "go_on"),
    Action(Scope.EXPORT, ("escape",), "back", "Write nothing", "back"),
    Action(Scope.EXPORT, ("tab",), "files", "Go to whether files come along, and back"),
    Action(Scope.EXPORT, ("space",), "on or off", "Take attached files along, or not"),
    Action(Scope.REPLAY, ("space",), "play", "Play or pause", "play", shown=True),
    Action(
        Scope.REPLAY, ("right",), "next", "Show the next event", "step(1)", display="→", shown=True
    ),
    Action(
        Scope.REPLAY, ("left",), "back", "Go back by an event", "step(-1)", display="←", shown=True
    ),
    Action(
        Scope.REPLAY,
        ("n", "shift+right"),
        "message",
        "Go to the next message",
        "jump('message', 1)",
        display="n shift+→",
    ),
    Action(
        Scope.REPLAY,
        ("N", "shift+left"),
        "message before",
        "Go to the message before",
        "jump('message', -1)",
        display="N shift+←",
    ),
    Action(
        Scope.REPLAY,
        ("d",),
        "decision",
        "Go to the next decision",
        "jump('decision', 1)",
        shown=True,
    ),
    Action(
        Scope.REPLAY, ("D",), "decision before", "Go to the decision before", "jump('decision', -1)"
    ),
    Action(
        Scope.REPLAY,
        ("a",),
        "approval",
        "Go to the next approval",
        "jump('approval', 1)",
        shown=True,
    ),
    Action(
        Scope.REPLAY, ("A",), "approval before", "Go to the approval before", "jump('approval', -1)"
    ),
    Action(
        Scope.REPLAY, ("f",), "failure", "Go to the next failure", "jump('failure', 1)", shown=True
    ),
    Action(
        Scope.REPLAY, ("F",), "failure before", "Go to the failure before", "jump('failure', -1)"
    ),
    Action(
        Scope.REPLAY,
        ("p",),
        "person",
        "Go to where a person next answered a tool call",
        "jump('verdict', 1)",
    ),
    Action(
        Scope.REPLAY,
        ("P",),
        "person before",
        "Go to where a person answered a tool call before",
        "jump('verdict', -1)",
    ),
    Action(Scope.REPLAY, ("plus", "equals_sign"), "faster", "Play faster", "speed(1)", display="+"),
    Action(Scope.REPLAY, ("minus",), "slower", "Play slower", "speed(-1)", display="-"),
    Action(Scope.REPLAY, ("home",), "start", "Go to the start", "start"),
    Action(Scope.REPLAY, ("end",), "end", "Go to the end", "end"),
    Action(
        Scope.REPLAY,
        tuple("0123456789"),
        "part",
        "Go to so many tenths of the whole",
        display="0 … 9",
    ),
    Action(
        Scope.REPLAY, ("slash",), "search", "Go to where a text is said next", "search", shown=True
    ),
    Action(Scope.REPLAY, ("g",), "again", "Search for the same text further on", "again(1)"),
    Action(Scope.REPLAY, ("G",), "again back", "Search for the same text before", "again(-1)"),
    Action(Scope.REPLAY, ("up", "k"), "up", "Select the message before", "select(-1)"),
    Action(Scope.REPLAY, ("down", "j"), "down", "Select the message after", "select(1)"),
    Action(Scope.REPLAY, ("pageup",), "page up", "Read back by a page", "page(-1)"),
    Action(Scope.REPLAY, ("pagedown",), "page down", "Read on by a page", "page(1)"),
    Action(
        Scope.REPLAY,
        ("w",),
        "why silent",
        "Show why no agent answered the selected message, or each message",
        "why",
        shown=True,
    ),
    Action(
        Scope.REPLAY,
        ("exclamation_mark",),
        "wrong",
        "Mark the selected or latest decision as wrong, or no longer",
        "mark_wrong",
        display="!",
    ),
    Action(
        Scope.REPLAY, ("r",), "reports", "Show what other reasoners would have decided", "reports"
    ),
    Action(Scope.REPLAY, ("enter",), "details", "Read all of the selected message", "details"),
    Action(Scope.REPLAY, ("y",), "copy", "Copy the selected message", "copy"),
    Action(
        Scope.REPLAY,
        ("f2",),
        "activity",
        "Go to what was decided and why, and back",
        "activity",
        priority=True,
    ),
    Action(
        Scope.REPLAY,
        ("ctrl+g",),
        "approvals",
        "Show the tool calls that waited, or the activity again",
        "approvals",
        priority=True,
    ),
    Action(Scope.REPLAY, ("f3",), "panel", "Show or hide the side panel", "panel", priority=True),
    Action(Scope.REPLAY, ("escape", "q"), "leave", "Leave the replay", "leave", shown=True),
    Action(Scope.WHATIF, ("up", "k"), "up", "Select the decision before", "cursor_up"),
    Action(Scope.WHATIF, ("down", "j"), "down", "Select the decision after", "cursor_down"),
    Action(Scope.WHATIF, ("enter",), "go there", "Watch the message in the replay"),
    Action(Scope.WHATIF, ("right",), "older", "Show the report before", "turn(1)", display="→"),
    Action(Scope.WHATIF, ("left",), "newer", "Show the report after", "turn(-1)", display="←"),
    Action(Scope.WHATIF, ("escape", "q", "r"), "back", "Back to the replay", "close"),
)
