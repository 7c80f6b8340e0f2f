"""What can be completed in a room's composer."""

import asyncio
import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from textual.screen import Screen

from genie_core.text.safe import visible_line
from genie_tui.commands import BY_NAME, COMMANDS, Sort
from genie_tui.screens.file_desk import FileDesk
from genie_tui.widgets.composer.attachments import Attachments
from genie_tui.widgets.composer.completion import Completions, Words
from genie_tui.widgets.composer.composer import Composer
from genie_tui.widgets.composer.path_completion import PathCompletion, names_in
from genie_tui.widgets.join_requests import JoinRequests

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom

AGENTS: Final = ("genie", "system")
"""Names that address the agents, completed after an `@` like a person's."""

_ROLES: Final = (
    ("member", "reads, writes, with an own agent"),
    ("guest", "is answered by the host's agent"),
    ("observer", "only reads"),
)


class Candidates:
    """Offers people, commands, and for each command what it takes; folders are read meanwhile."""

    def __init__(
        self,
        screen: Screen[None],
        composer: Composer,
        seat: "Callable[[], JoinedRoom | None]",
        files: FileDesk,
        attachments: Attachments,
        door: JoinRequests,
    ) -> None:
        self._screen = screen
        self._composer = composer
        self._seat = seat
        self._files = files
        self._attachments = attachments
        self._door = door
        self._folders = PathCompletion(self._want)
        composer.candidates = self.all

    def all(self) -> Completions:
        """Everything there is to offer now."""
        seat = self._seat()
        people = seat.state.present() if seat is not None else []
        names = (*AGENTS, *(person.name for person in people))
        commands = [(command.name, command.help) for command in COMMANDS]
        return Completions(names, commands, self._argument)

    def forget_folders(self) -> None:
        """Read folders anew from the next draft on."""
        self._folders.clear()

    def _argument(self, command: str, rest: str) -> tuple[str, Words] | None:
        """The word that is being typed after a command, and what it may become."""
        known = BY_NAME.get(command.lower())
        if known is None or not known.takes:
            return None
        if known.takes[0] == "path":
            place, typed = 0, rest
        else:
            *before, typed = rest.split(" ")
            place = len([word for word in before if word])
        if place >= len(known.takes) or not (typed or place or known.offers_at_once):
            return None
        return typed, self._words(known.takes[place], typed)

    def _words(self, sort: Sort, typed: str) -> Words:
        seat = self._seat()
        match sort:
            case "path":
                return self._folders.choices(typed)
            case "role":
                return _ROLES
            case "caller":
                names: Sequence[str] = [
                    each.name for each in self._door.callers if hasattr(each, "name")
                ]
            case "person":
                names = [*seat.state.people] if seat is not None else []
            case "file":
                names = [shlex.quote(name) for name in self._files.names(seat)] if seat else []
            case "attachment":
                names = [shlex.quote(name) for name in self._attachments.names()]
            case _:
                names = []
        return [(visible_line(name), "") for name in names]

    def _want(self, folder: str) -> None:
        self._screen.run_worker(self._read(folder), group="folders")

    async def _read(self, folder: str) -> None:
        self._folders.set_names(folder, await asyncio.to_thread(names_in, folder))
        if self._screen.is_running:  # else the list is gone already
            self._composer.offer_again()
