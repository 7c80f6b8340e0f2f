"""Errors of administering a service.

AdminError
├── NotUnderstood      a request or an answer that is none, or is too large
├── AdminRefused       the service did not do what was asked
├── NoService          no service answers here, or at an address
├── ServiceRunning     a service runs that has to be stopped first
├── UnknownRoom        a text that names no room of the service
├── NotConfirmed       a room is to be deleted, and its title was not repeated
├── UnknownRemote      a name that stands for no service elsewhere
├── InvalidRemote      a service elsewhere that can't be added, or a damaged list of them
└── SocketPathTooLong  the system takes no socket with so long a path
"""

from collections.abc import Sequence
from pathlib import Path

from genie_core.errors import GenieError


class AdminError(GenieError):
    """Root of the errors of administering a service."""


class NotUnderstood(AdminError):
    """A request or an answer that is none, or is too large."""

    template = "{what} was not understood: {why}"
    what: str
    why: str


class AdminRefused(AdminError):
    """The service refused the request; the text is the service's."""


class NoService(AdminError):
    """No service answers."""

    template = "no service answers {where}: {why}"
    where: str
    why: str


class ServiceRunning(AdminError):
    """A service runs, and has to be stopped first."""

    template = (
        "a service runs here already, in {process}, with its rooms in {folder}; stop it first: "
        "genie-tui admin stop"
    )
    folder: Path
    process: str


class UnknownRoom(AdminError):
    """A text names no room, or several."""

    def __init__(self, wanted: str, matches: Sequence[str] = (), *, whole: bool = False) -> None:
        super().__init__(wanted, tuple(matches))
        self.wanted = wanted
        self.matches = tuple(matches)
        self.whole = whole

    def __str__(self) -> str:
        which = ", ".join(self.matches[:5])
        if self.whole and self.matches:
            return f"give the whole id of the room to delete, not {self.wanted!r}; did you mean {which}?"
        if self.matches:
            return f"{self.wanted!r} names {len(self.matches)} rooms; which one: {which}?"
        return f"there is no room {self.wanted!r}; the rooms are listed by: genie-tui admin rooms"


class NotConfirmed(AdminError):
    """The title that was repeated is not that of the room to delete."""

    template = "{room} is not deleted: its title is {title!r}, and the title given is another one"
    room: str
    title: str


class UnknownRemote(AdminError):
    """A name that stands for no service elsewhere."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        added = f"those added are {', '.join(known)}" if known else "none was added yet"
        super().__init__(
            f"no service is called {name!r} here; {added}; "
            "add one: genie-tui admin remote add NAME HOST:PORT PIN"
        )
        self.name = name


class InvalidRemote(AdminError):
    """A service elsewhere can't be added, or the list of them is damaged."""


class SocketPathTooLong(AdminError):
    """The path of a socket is longer than the system takes."""

    template = (
        "the path {path} has more than the {most} bytes that the system takes for a socket; "
        "set GENIE_HOME to a folder with a shorter path"
    )
    path: str
    most: int
