"""Where the keyboard goes from a room's composer, and how it comes back.

A command that moves the focus moves it back when it is run again there. However many of them are
run in between, the way back leads to where the first one was run.
"""

from genie_tui.commands.context import RoomContext
from genie_tui.widgets.activity.panel import ActivityPanel
from genie_tui.widgets.side_panel import Tab


def back(context: RoomContext) -> None:
    """Go back to where the keyboard was, or to the composer."""
    target, context.came_from = context.came_from or context.composer, None
    context.panel.uncover()
    target.focus()


def to_approvals(context: RoomContext) -> None:
    """Go to the oldest approval, or back."""
    if context.approvals.has_focus_within:
        back(context)
    elif not context.approvals.waiting:
        context.screen.notify("No tool call waits for you.")
    else:
        _remember(context)
        context.panel.open(Tab.APPROVALS)
        context.approvals.jump_to_oldest()


def to_activity(context: RoomContext) -> None:
    """Go to the ledger, or back."""
    activity = context.screen.query_one(ActivityPanel)
    if activity.has_focus_within:
        back(context)
    else:
        _remember(context)
        context.panel.open(Tab.ACTIVITY)
        activity.ledger.focus()


def to_join_requests(context: RoomContext) -> None:
    """Go to the requests to join or to host, or back."""
    if context.door.has_focus:
        back(context)
    elif not context.door.callers:
        context.screen.notify("There are no requests to join or to host.")
    else:
        _remember(context)
        context.door.focus()


def to_conversation(context: RoomContext) -> None:
    """Go to the conversation, or back."""
    if context.timeline.has_focus:
        back(context)
    else:
        _remember(context)
        context.panel.uncover()
        context.timeline.focus()


def to_message(context: RoomContext, seq: int) -> None:
    """Go to a message in the conversation, and select it."""
    _remember(context)
    context.panel.uncover()
    context.timeline.show_message(seq)
    context.timeline.focus()


def toggle_panel(context: RoomContext) -> None:
    """Show or hide the panel; go back if the keyboard is in what is hidden now."""
    is_there = context.panel.has_focus_within
    if not context.panel.toggle() and is_there:
        back(context)


def leave_join_requests(context: RoomContext) -> None:
    """Go back if the keyboard is at the requests to join, one of which has an answer."""
    if context.door.has_focus:
        back(context)


def leave_approvals(context: RoomContext) -> None:
    """Go back if the keyboard is in the approvals: one has an answer, or none waits."""
    if context.approvals.has_focus_within or context.screen.focused is None:
        back(context)


def _remember(context: RoomContext) -> None:
    if context.came_from is None:
        context.came_from = context.screen.focused
