"""The outcome of messages and tool calls: the last change of each."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from msgspec.structs import replace

from genie_core.room.protocol.events import (
    ApprovalRequested,
    ApprovalResolved,
    Event,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
    RecoveredEvent,
)

Target: TypeAlias = tuple[int | str, str]
"""A message's number or a tool call's id, and the author's name."""


class Changes:
    """The last change of each message, and the outcome of each tool call.

    `recovered` returns the numbers of recovered messages by their former ones; see `RoomState`.
    """

    def __init__(self, recovered: Callable[[], Mapping[int, int]] = lambda: _NOTHING) -> None:
        self._recovered = recovered
        self._last: dict[Target, Event] = {}

    def note_earlier(self, events: Iterable[Event]) -> None:
        """Take in events that precede all others."""
        earlier: dict[Target, Event] = {}
        for event in events:
            target = target_of(event, self._recovered)
            if target is not None and not _deletes(earlier.get(target)):
                earlier[target] = event
        for target, event in earlier.items():
            if target not in self._last or _deletes(event):
                self._last[target] = event

    def take(self, event: Event) -> Event | None:
        """Return the change of an event, if there is one, and forget it."""
        if not isinstance(event.body, _CHANGEABLE):
            return None
        return self._last.pop(_identity(event), None)


def target_of(event: Event, recovered: Callable[[], Mapping[int, int]]) -> Target | None:
    """Return the change of an event, if it has one; `recovered` as in `Changes`."""
    if not isinstance(event.body, _CHANGING):
        return None
    original = event.original
    match original.body:
        case MessageEdited(message=number) | MessageDeleted(message=number):
            if original is not event:
                number = recovered().get(number, number)
            return number, original.by
        case ApprovalResolved(approval=approval):
            return approval, original.by
        case _:
            return None


_CHANGING: Final = (ApprovalResolved, MessageEdited, MessageDeleted, RecoveredEvent)
_CHANGEABLE: Final = (MessagePosted, ApprovalRequested, RecoveredEvent)
"""Bodies of changes, and of their originals."""

_NOTHING: Final[Mapping[int, int]] = MappingProxyType({})


def _identity(event: Event) -> Target:
    original = event.original
    if isinstance(original.body, ApprovalRequested):
        return original.body.approval, original.by
    return event.seq, original.by


def _deletes(event: Event | None) -> bool:
    return event is not None and isinstance(event.original.body, MessageDeleted)


class LatestTexts:
    """Returns messages of a log as their authors left them.

    Call `of` with the parts of a log, the last part first: changes come after their messages.
    `recovered` has the numbers of recovered messages by their former ones, and `is_proven` says
    whether an event counts; see `RoomState`.
    """

    def __init__(
        self,
        recovered: Mapping[int, int] = _NOTHING,
        is_proven: Callable[[int], bool] = lambda _seq: True,
    ) -> None:
        self._changes = Changes(lambda: recovered)
        self._is_proven = is_proven

    def of(self, events: Iterable[Event]) -> list[Event]:
        """Return the events, without deleted messages and with the last texts of edited ones."""
        part = list(events)
        self._changes.note_earlier(event for event in part if self._is_proven(event.seq))
        return [shown for event in part if (shown := self._shown(event)) is not None]

    def _shown(self, event: Event) -> Event | None:
        change, told, posted = self._changes.take(event), event.original, event.posted
        edit = change.original.body if change is not None else None
        if posted is None or not isinstance(edit, MessageEdited | MessageDeleted):
            return event
        if isinstance(edit, MessageDeleted):
            return None
        return Event(event.seq, told.at, told.by, replace(posted, text=edit.text))
