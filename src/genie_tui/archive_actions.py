"""The part of the table of actions that is about recorded rooms."""

from typing import Final

from genie_tui.action import Action, Scope

ARCHIVE_ACTIONS: Final = (
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
        "Say why nobody answered the selected message, or each message",
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
        Scope.REPLAY,
        ("r",),
        "reports",
        "Show what other reasoners would have decided",
        "reports",
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
