"""Errors of a service.

ServeError
├── CannotServe       the service can't start
├── NoSuchRoom        it has no room of this id
├── NotSaved          the last events of a room are not on disk
├── RoomUnavailable   a room can't be opened, created, archived or deleted now
└── TooManyLinks      its page has as many links as it keeps
"""

from pathlib import Path

from genie_core.errors import GenieError


class ServeError(GenieError):
    """Something about a service that its operator can correct."""


class CannotServe(ServeError):
    """The service can't start; the text has the reason and a remedy."""


class NoSuchRoom(ServeError):
    """The service has no room of this id."""

    template = "this service has no room {room!r}"
    room: str


class RoomUnavailable(ServeError):
    """A room can't be opened, created, archived or deleted now; the text says why."""


class NotSaved(ServeError):
    """The last events of a room are not on disk."""

    template = "the last events could not be written to {log}"
    log: Path


class TooManyLinks(ServeError):
    """A page has as many links as it keeps."""

    template = "the page has {most:,} links that have not ended; let some end first"
    most: int
