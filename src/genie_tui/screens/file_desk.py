"""What is done with files that came with messages: keeping them, looking at them."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from textual.screen import Screen

from genie_core.errors import GenieError
from genie_core.room.protocol.events import FileRef
from genie_core.room.protocol.names import fold_name
from genie_core.room.state.thread import MessageThread
from genie_core.text.safe import visible_line
from genie_tui.order import Open, Save
from genie_tui.received import copy_to_show, save_to, show

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom


class FileDesk:
    """Saves and opens files; `chosen` returns the message that the person has selected."""

    def __init__(self, screen: Screen[None], chosen: Callable[[], MessageThread | None]) -> None:
        self._screen = screen
        self._chosen = chosen

    def carry_out(self, seat: "JoinedRoom", order: Save | Open) -> None:
        """Do it in the background, or say why not."""
        file = self.find(seat, order.file)
        if file is None:
            named = f"called {visible_line(order.file)}" if order.file else "here"
            self._complain(f"There is no file {named}.")
            return
        place = seat.files.path(file.digest)
        if place is None:
            self._complain(f"{visible_line(file.name)} has not arrived yet.")
        elif isinstance(order, Save):
            self._screen.run_worker(self._save(place, file.name, order.to), group="files")
        else:
            self._screen.run_worker(self._open(place, file.name), group="files")

    def find(self, seat: "JoinedRoom", wanted: str) -> FileRef | None:
        """A file by its number in a message, or by its name; the first of a message without either.

        The message is the selected one, if it has files, else the newest that has some. A name is
        looked for in all.
        """
        messages = list(self._messages(seat))
        if not messages:
            return None
        files = messages[0]
        if not wanted:
            return files[0]
        for each in files if wanted.isdecimal() else ():
            if str(files.index(each) + 1) == wanted:
                return each
        name = fold_name(wanted)
        return next((f for files in messages for f in files if fold_name(f.name) == name), None)

    def names(self, seat: "JoinedRoom") -> list[str]:
        """The names of all files, the likeliest to be meant first."""
        return list(dict.fromkeys(f.name for files in self._messages(seat) for f in files))

    def _messages(self, seat: "JoinedRoom") -> Iterator[tuple[FileRef, ...]]:
        chosen = self._chosen()
        if chosen is not None and chosen.said.files:
            yield chosen.said.files
        for exchange in reversed(seat.state.exchanges.values()):
            if exchange.said.files and exchange is not chosen:
                yield exchange.said.files

    async def _save(self, place: Path, name: str, to: str) -> None:
        try:
            saved = await asyncio.to_thread(save_to, place, name, to)
        except GenieError as error:
            self._complain(str(error))
        else:
            self._screen.notify(f"Saved as {saved}", timeout=8)

    async def _open(self, place: Path, name: str) -> None:
        try:
            await show(await asyncio.to_thread(copy_to_show, place, name))
        except GenieError as error:
            self._complain(str(error))

    def _complain(self, text: str) -> None:
        self._screen.notify(text, severity="warning")
