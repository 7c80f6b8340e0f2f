"""Every action of the app with its keys, in one table.

Bindings, footer, command palette and help screen are made from it, so that they can't disagree.
"""

from collections.abc import Iterator
from typing import Final

from textual.binding import Binding, BindingType

from genie_tui.action import Action, Scope
from genie_tui.archive_actions import ARCHIVE_ACTIONS
from genie_tui.room_actions import ROOM_ACTIONS

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
    *ROOM_ACTIONS,
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
        Scope.TOOLS,
        ("up", "down", "pageup", "pagedown"),
        "scroll",
        "Read all of it",
        display="↑ ↓",
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
