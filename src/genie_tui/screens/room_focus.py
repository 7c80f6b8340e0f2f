"""Move the focus from a room's composer and back.

A command that moves the focus returns it when run again there. After several such commands, it
returns to where the first one was run.
"""

from genie_tui.commands.context import RoomContext
from genie_tui.widgets.activity.panel import ActivityPanel
from genie_tui.widgets.find_bar import FindBar
from genie_tui.widgets.side_panel import Tab


def back(context: RoomContext) -> None:
    """Return the focus to its previous place, or to the composer."""
    target, context.came_from = context.came_from or context.composer, None
    context.panel.uncover()
    context.panel.restore()
    target.focus()


def to_approvals(context: RoomContext) -> None:
    """Focus the oldest approval, or return."""
    if context.approvals.has_focus_within:
        back(context)
    elif not context.approvals.waiting:
        context.screen.notify("No tool call is waiting for you.")
    else:
        remember(context)
        context.panel.open_for_now(Tab.APPROVALS)
        context.approvals.jump_to_oldest()


def to_activity(context: RoomContext) -> None:
    """Focus the activity list, or return."""
    activity = context.screen.query_one(ActivityPanel)
    if activity.has_focus_within:
        back(context)
    else:
        remember(context)
        context.panel.open(Tab.ACTIVITY)
        activity.activity_list.focus()


def to_join_requests(context: RoomContext) -> None:
    """Focus the join requests, or return."""
    if context.join_requests.has_focus:
        back(context)
    elif not context.join_requests.callers:
        context.screen.notify("No one is asking to join or to host.")
    else:
        remember(context)
        context.join_requests.focus()


def to_conversation(context: RoomContext) -> None:
    """Focus the timeline and select the last message in view, or return."""
    if context.timeline.has_focus:
        back(context)
    else:
        remember(context)
        context.panel.uncover()
        context.timeline.focus()
        if context.timeline.chosen is None:
            context.timeline.action_select(-1)


def to_find(context: RoomContext, text: str = "") -> None:
    """Open the line for finding, with a text to find if one is given."""
    remember(context)
    context.panel.uncover()
    context.screen.query_one(FindBar).open(text)


def to_message(context: RoomContext, seq: int) -> None:
    """Focus a message in the timeline and select it."""
    remember(context)
    context.panel.uncover()
    context.timeline.show_message(seq)
    context.timeline.focus()


def toggle_panel(context: RoomContext) -> None:
    """Toggle the panel; return the focus from a hidden one."""
    is_there = context.panel.has_focus_within
    if not context.panel.toggle() and is_there:
        back(context)


def leave_approvals(context: RoomContext) -> None:
    """Return the focus from the approvals after an answer, or if none waits."""
    context.panel.restore()
    if context.approvals.has_focus_within or context.screen.focused is None:
        back(context)


def remember(context: RoomContext) -> None:
    """Note where the focus is, unless a command has moved it there."""
    if context.came_from is None:
        context.came_from = context.screen.focused
