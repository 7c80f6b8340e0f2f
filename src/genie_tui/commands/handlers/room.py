"""Commands about the people in a room, their preferences, and the parts of the screen."""

import asyncio
from typing import TYPE_CHECKING

from genie_core.errors import GenieError
from genie_core.room.commands.people import never_here, no_preferences
from genie_core.room.protocol.names import fold_name
from genie_core.text.format import clock_time
from genie_core.text.safe import visible, visible_line
from genie_tui.commands.context import RoomContext
from genie_tui.notifications import mentions as is_mentioned
from genie_tui.screens import room_focus
from genie_tui.screens.dialogs.full_view import FullViewScreen
from genie_tui.screens.dialogs.pick import PickScreen, Row
from genie_tui.screens.dialogs.preferences import PreferencesScreen
from genie_tui.screens.dialogs.search import SearchScreen

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom


def who(context: RoomContext, name: str = "") -> None:
    """Tell who is here, or who one person is."""
    if not name:
        here = context.roster.as_text() or "No one yet."
        context.screen.notify(here, title="Who is here", timeout=10)
    elif about := context.roster.about(name):
        context.screen.notify(about, title=f"About {visible_line(name)}", timeout=12)
    else:
        context.warn(never_here(name))


def mentions(context: RoomContext) -> None:
    """List the messages that name this person, the latest first, and go to the picked one."""
    joined = context.joined
    rows = [
        Row(str(each.seq), visible_line(each.text), f"{each.author} {clock_time(each.at)}")
        for each in reversed(joined.state.threads.values())
        if not each.is_deleted
        and each.author != joined.name
        and (each.said.to == joined.name or is_mentioned(each.text, joined.name))
    ]
    none = f"No recent message has @{visible_line(joined.name)} in it."

    def go(picked: str | None) -> None:
        if picked:
            room_focus.to_message(context, int(picked))

    _ = context.screen.app.push_screen(PickScreen("Messages with your name", rows, none), go)


def search(context: RoomContext, text: str = "") -> None:
    """Search the room, and go to the hit that the person chooses."""

    def go(chosen: int | None) -> None:
        if chosen is not None:
            room_focus.to_message(context, chosen)

    _ = context.screen.app.push_screen(SearchScreen(context.joined, text), go)


def prefs(context: RoomContext, name: str) -> None:
    """Edit the own preferences, or show those of another person."""
    joined = context.joined
    if not name:
        context.start(_edit_preferences(context, joined), "preferences", exclusive=True)
    elif text := joined.state.preferences.get(fold_name(name), ""):
        title = f"Preferences of {visible_line(name)}"
        _ = context.screen.app.push_screen(FullViewScreen(title, visible(text)))
    else:
        context.screen.notify(no_preferences(name))


def reasons(context: RoomContext) -> None:
    context.timeline.show_reasons(not context.timeline.reasons)


async def _edit_preferences(context: RoomContext, joined: "JoinedRoom") -> None:
    before = ""
    try:
        before = await asyncio.to_thread(context.service.preferences, joined.name)
    except GenieError as error:
        _complain(context, error)
    text = await context.screen.app.push_screen_wait(PreferencesScreen(before))
    if text is None:
        return
    try:
        await asyncio.to_thread(context.service.keep_preferences, joined.name, text)
    except GenieError as error:
        _complain(context, error)
    if joined.prefer(text):
        context.screen.notify("Preferences saved and sent to the room.")
    else:
        context.screen.notify("Preferences saved. The room gets them when you reconnect.")


def _complain(context: RoomContext, error: GenieError) -> None:
    context.screen.notify(visible_line(str(error)), severity="warning", timeout=12)
