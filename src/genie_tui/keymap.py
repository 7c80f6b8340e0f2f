"""Every action of the app with its keys, in one table.

Bindings, footer, command palette and help screen are made from it, so that they can't disagree.
"""

from collections.abc import Iterator
from typing import Final

from textual.binding import Binding, BindingType

from genie_tui.action import Action, Scope
from genie_tui.archive_actions import ARCHIVE_ACTIONS

ACTIONS: Final = (
    Action(
        Scope.APP,
        ("f1",),
        "help",
        "Show keys and commands",
        "app.help",
        shown=True,
        offered=True,
        priority=True,
    ),
    Action(
        Scope.APP,
        ("ctrl+q",),
        "quit",
        "Suspend the room, or leave it, and end",
        "app.quit",
        shown=True,
        offered=True,
        priority=True,
    ),
    Action(
        Scope.APP,
        ("ctrl+t",),
        "theme",
        "Switch between dark and light",
        "app.toggle_theme",
        offered=True,
        priority=True,
    ),
    Action(
        Scope.APP,
        ("f12",),
        "settings",
        "Change what you have set: models, template, approvals, bell and theme",
        "app.settings",
        offered=True,
        priority=True,
    ),
    Action(
        Scope.APP, (), "choose theme", "Pick one of all themes", "app.change_theme", offered=True
    ),
    Action(Scope.APP, ("ctrl+p",), "palette", "Find an action by name", "app.command_palette"),
    Action(
        Scope.ROOM,
        ("ctrl+g",),
        "approvals",
        "Go to the oldest tool call that waits for you, and back to where you were",
        "screen.approvals",
        shown=True,
        offered=True,
        priority=True,
    ),
    Action(
        Scope.ROOM,
        ("f2",),
        "activity",
        "Go to what was decided and why, and back to where you were",
        "screen.activity",
        shown=True,
        offered=True,
        priority=True,
    ),
    Action(
        Scope.ROOM,
        ("f3",),
        "panel",
        "Show or hide the side panel",
        "screen.panel",
        offered=True,
        priority=True,
    ),
    Action(
        Scope.ROOM,
        ("f4",),
        "reasons",
        "Show or hide below each message why an agent stayed silent",
        "screen.reasons",
        offered=True,
        priority=True,
    ),
    Action(
        Scope.ROOM,
        ("f5",),
        "read back",
        "Go to the conversation, and back to where you were",
        "screen.read",
        offered=True,
        priority=True,
    ),
    Action(
        Scope.ROOM,
        ("f6",),
        "invite",
        "Host: show what others join with, copied at once",
        "screen.invite",
        offered=True,
        priority=True,
    ),
    Action(
        Scope.ROOM,
        ("f7",),
        "door",
        "Go to who wants in or asks you to host, and back to where you were",
        "screen.door",
        offered=True,
        priority=True,
    ),
    Action(
        Scope.ROOM,
        ("f8",),
        "host",
        "Host the room from your own copy while its host is away",
        "screen.take_over",
        offered=True,
        priority=True,
    ),
    Action(Scope.ROOM, (), "who", "Say who is in the room", "screen.who", offered=True),
    Action(
        Scope.ROOM, (), "models", "Say which models work for you", "screen.models", offered=True
    ),
    Action(
        Scope.ROOM,
        ("f9",),
        "tools",
        "Show what your agents may do, and how the tool servers are",
        "screen.tools",
        offered=True,
        priority=True,
    ),
    Action(
        Scope.ROOM,
        (),
        "grants",
        "Show what you allowed beyond single calls, and take it back",
        "screen.grants",
        offered=True,
    ),
    Action(Scope.ROOM, (), "stop", "Stop the agents that run for you", "screen.stop", offered=True),
    Action(Scope.COMPOSER, ("enter",), "send", "Send the message"),
    Action(Scope.COMPOSER, ("shift+enter", "ctrl+j", "alt+enter"), "new line", "Begin a new line"),
    Action(
        Scope.COMPOSER,
        ("up", "down"),
        "history",
        "On the first and last line: earlier messages; the draft is kept",
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
        "stop agent",
        "Stop the selected message's agent or all yours; or go back",
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
    Action(
        Scope.CARD,
        ("e",),
        "edit",
        "Change what it is called with, and then allow it",
        "edit",
    ),
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
    Action(
        Scope.CARD,
        ("v",),
        "full view",
        "Show everything, scrollable",
        "full_view",
    ),
    Action(
        Scope.CARD,
        ("n",),
        "next",
        "Show the next one",
        "next_card",
    ),
    Action(
        Scope.CARD,
        ("p",),
        "previous",
        "Show the previous one",
        "previous_card",
    ),
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
    Action(Scope.DOOR, ("a",), "yes", "Let them in, or host the room from now on", "allow"),
    Action(Scope.DOOR, ("d",), "no", "Turn them away, or leave the room to its host", "deny"),
    Action(Scope.DOOR, ("n",), "next", "Show the next one", "next"),
    Action(Scope.DOOR, ("escape",), "later", "Let them wait and go back", "later"),
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
        Scope.TOOLS,
        ("up", "down", "pageup", "pagedown"),
        "scroll",
        "Read all of it",
        display="↑ ↓",
    ),
    Action(Scope.TOOLS, ("escape", "q", "f9"), "back", "Back to the room", "close"),
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
    Action(Scope.ACTIVITY, ("escape",), "back", "Back to writing", "back", shown=True),
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
    *ARCHIVE_ACTIONS,
)


GUARDED: Final = frozenset({Scope.CARD, Scope.DOOR, Scope.CONFIRM})
"""Where keys count only once the keyboard has rested: the widget takes them itself."""


def actions(scope: Scope) -> Iterator[Action]:
    """The actions of one scope, in the table's order."""
    return (action for action in ACTIONS if action.scope is scope)


def bindings(scope: Scope) -> list[BindingType]:
    """What a class with this scope sets as its `BINDINGS`."""
    return [
        Binding(
            ",".join(action.keys),
            f"through_on_key('{action.run}')" if scope in GUARDED else action.run,
            action.label,
            show=action.shown,
            key_display=action.short_keys,
            priority=action.priority,
            tooltip=action.help,
        )
        for action in actions(scope)
        if action.run and action.keys
    ]


def by_key(scope: Scope) -> dict[str, Action]:
    """The actions of one scope that the app runs, by each of their keys."""
    return {key: action for action in actions(scope) if action.run for key in action.keys}
