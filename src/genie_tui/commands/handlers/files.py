"""Commands about files: attaching and quoting, saving and opening. Nothing here runs a file."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from genie_core.errors import GenieError
from genie_core.room.commands import files
from genie_core.room.commands.arguments import QuoteRequest, SaveRequest
from genie_core.room.protocol.events import FileRef
from genie_core.text.format import file_size
from genie_tui.commands.context import RoomContext
from genie_tui.commands.keymap import keymap_of
from genie_tui.screens.dialogs.pick import PickScreen, Row
from genie_tui.widgets.timeline.prose import links_in
from genie_tui.widgets.timeline.timeline import nothing_chosen

if TYPE_CHECKING:
    from genie_core.room.state.thread import MessageThread

NOTHING_TO_OPEN: Final = "The message has no link and no file."


def attach(context: RoomContext, text: str) -> None:
    context.attachments.attach(context.joined, text)


def detach(context: RoomContext, name: str) -> None:
    context.attachments.detach(name)


def thread(context: RoomContext, request: QuoteRequest) -> None:
    context.attachments.quote(context.joined, request)


def save(context: RoomContext, request: SaveRequest) -> None:
    """Save a file of the room in a folder."""
    context.attempt(partial(files.save, context.joined, request, context.timeline.chosen))


def open_file(context: RoomContext, wanted: str) -> None:
    """Open a file of the room with the system's program for it."""
    context.attempt(partial(files.show_stored, context.joined, wanted, context.timeline.chosen))


def open_selected(context: RoomContext) -> None:
    """Open a link or a file of the selected message or answer; let the person pick among several."""
    thread = context.timeline.chosen
    if thread is None:
        context.screen.notify(nothing_chosen(keymap_of(context.screen)))
        return
    links, attached = _to_open(context, thread)
    rows = [Row(each, each) for each in links]
    rows += [Row(str(n), file.name, file_size(file.size)) for n, file in enumerate(attached, 1)]

    def picked(wanted: str | None) -> None:
        if wanted in links:
            context.start(open_link(context, wanted), "files")
        elif wanted:
            open_file(context, wanted)

    if len(rows) > 1:
        _ = context.screen.app.push_screen(PickScreen("Open", rows), picked)
    elif rows:
        picked(rows[0].id)
    else:
        context.screen.notify(NOTHING_TO_OPEN)


def _to_open(context: RoomContext, thread: "MessageThread") -> tuple[list[str], Sequence[FileRef]]:
    """Return the links and files of the selected message or answer."""
    is_answer = context.timeline.is_answer_chosen and thread.answer is not None
    links = links_in(thread.answer.text if is_answer and thread.answer else thread.text)
    return links, () if is_answer else thread.said.files


async def open_link(context: RoomContext, address: str) -> None:
    """Open a link with the system's program for it; copy it if there is none."""
    try:
        await files.run_opener(address, address, files.COPIED)
    except GenieError as error:
        context.screen.app.copy_to_clipboard(address)
        context.warn(str(error))
