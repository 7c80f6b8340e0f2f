"""The order of the hosts of a room: by signatures alone, never by a time.

Each change of host is a link of a chain that begins with the founder. The host at the head of the
order is the *principal*: the founder, or the member that got the room from the principal before.
Each host signs a list of heirs, so the principal, the principal's heirs, and theirs make one order.
An heir may host at any time; of two hosts together, the earlier one in the order is right. All
links are signed, so a member can check the chain from a host's challenge, before that host learns
anything.

Turned down: any member after a time without the host, since that time is the claimant's word; a
quorum, since of three or four people most may be away, and votes need a host to record them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from genie_core.room.protocol.codec import size_of
from genie_core.room.protocol.events import (
    MOST_HEIRS,
    AnyBody,
    Event,
    HeirsChanged,
    HostStarted,
    RecoveredEvent,
    RoomSuspended,
)
from genie_core.room.protocol.names import fold_name
from genie_core.room.security.chain import link_of
from genie_core.room.security.signing import is_signed
from genie_core.room.state.members import Members

KEPT_LINKS: Final = 32
"""Latest links that a state remembers and a host shows."""

MOST_SHOWN: Final = 256
"""Most links of a host that are looked at."""

LINK_SIZE: Final = 16_384
"""Most bytes of the body of a link, which all who connect are shown."""

MOST_LISTS: Final = 64
"""Lists of heirs that are kept: of more, those of the first in the order."""

LINK_BODIES: Final = (HostStarted, RoomSuspended, HeirsChanged)


def is_link(event: Event) -> bool:
    """Whether an entry says who may host; a list or hand-over of another log says so, too."""
    original = event.original.body
    if original is event.body:
        return isinstance(original, LINK_BODIES)
    return isinstance(original, HeirsChanged) or (
        isinstance(original, RoomSuspended) and original.host_record is not None
    )


def is_fit(body: AnyBody) -> bool:
    """Whether the body of a link keeps to the form of an unchanged program."""
    is_usual = True
    if isinstance(body, HeirsChanged):
        has_keys = not body.issue or len(body.keys) == len(body.heirs)
        is_usual = has_keys and len(body.heirs) <= MOST_HEIRS and body.issue >= 0
    return is_usual and size_of(body) <= LINK_SIZE


class Heirs(msgspec.Struct, frozen=True):
    """A host's list of heirs, by their keys; see `HeirsChanged`."""

    issue: int = 0
    keys: tuple[str, ...] = ()
    automatic: bool = True


class Succession(msgspec.Struct, frozen=True):
    """Who may host next, after some entry.

    `host` is the key of the present host, `principal` that of the head of the order, `heirs` the
    latest list of each host who signed one. `is_open`: no host has signed a list yet by which this
    program would judge, as the log is an earlier program's; there each member could begin.
    """

    host: str = ""
    principal: str = ""
    heirs: dict[str, Heirs] = {}
    is_open: bool = True

    @property
    def order(self) -> tuple[str, ...]:
        """All who may host: the principal, then each heir followed by that heir's own heirs."""
        found: dict[str, None] = {}
        following = [self.principal]
        while following:
            key = following.pop()
            if key and key not in found:
                found[key] = None
                following += reversed(self.heirs.get(key, Heirs()).keys)
        return tuple(found)

    @property
    def is_automatic(self) -> bool:
        """Whether the present host's program keeps the list: unless the host, or the principal, did."""
        own = self.heirs.get(self.host) or self.heirs.get(self.principal, Heirs())
        return own.automatic

    @property
    def own(self) -> Heirs:
        """The present host's list."""
        return self.heirs.get(self.host, Heirs())

    def after(self, event: Event, keys: Mapping[str, str]) -> "Succession":
        """Return the situation after an entry that counts; `keys` has those of folded names."""
        match event.body:
            case HostStarted(key=key, founding=founding) if founding is not None:
                return Succession(key, key)
            case HostStarted(key=key):
                is_first = not self.principal or (self.is_open and key not in self.order)
                principal = key if is_first else self.principal
                return msgspec.structs.replace(self, host=key, principal=principal)
            case RoomSuspended(host_record=host_record, by_heir=False) if (
                host_record is not None and self.host == self.principal
            ):
                return self._handed_to(host_record.key)
            case HeirsChanged() as changed:
                return self._with_heirs(self.host, changed, keys)
            case RecoveredEvent():
                return self._after_recovered(event.original, keys)
        return self

    def _after_recovered(self, event: Event, keys: Mapping[str, str]) -> "Succession":
        match event.body:
            case RoomSuspended(host_record=host_record, by_heir=False) if host_record is not None:
                return self._handed_to(host_record.key)
            case HeirsChanged() as changed if key := keys.get(fold_name(event.by), ""):
                is_later = changed.issue > self.heirs.get(key, Heirs()).issue
                return self._with_heirs(key, changed, keys) if is_later else self
        return self

    def _handed_to(self, key: str) -> "Succession":
        """Put another key at the head; the order below stays until its owner signs another one.

        The list of the principal before is used up: as an heir, that host begins with none.
        """
        before = self.heirs.get(self.principal, Heirs())
        rest = tuple(each for each in before.keys if each != key)
        used = Heirs(before.issue, (), before.automatic)
        inherited = self.heirs.get(key, Heirs(0, rest, before.automatic))
        heirs = self.heirs | {self.principal: used, key: inherited}
        return msgspec.structs.replace(self, principal=key, heirs=heirs).bounded(key)

    def _with_heirs(
        self, host: str, changed: HeirsChanged, keys: Mapping[str, str]
    ) -> "Succession":
        if changed.issue < self.heirs.get(host, Heirs()).issue:
            return self
        named = changed.keys or (keys.get(fold_name(name), "") for name in changed.heirs)
        own = Heirs(changed.issue, tuple(filter(None, named)), changed.automatic or changed.anyone)
        is_open = self.is_open and changed.anyone and not changed.issue
        heirs = self.heirs | {host: own}
        return msgspec.structs.replace(self, heirs=heirs, is_open=is_open).bounded(host)

    def bounded(self, key: str) -> "Succession":
        """Forget lists if there are too many, but not that of `key`."""
        if len(self.heirs) <= MOST_LISTS:
            return self
        kept = [each for each in dict.fromkeys((key, *self.order)) if each in self.heirs]
        heirs = {each: self.heirs[each] for each in kept[:MOST_LISTS]}
        return msgspec.structs.replace(self, heirs=heirs)

    def joined_with(self, other: "Succession", principal: str) -> "Succession":
        """Return the order by this log and another one of the room, with the principal by both.

        Of each host the later list counts. In doubt, the signatures in this log go first: those here
        were received, the others are only claimed.
        """
        heirs = dict(self.heirs)
        for key, theirs in other.heirs.items():
            if key not in heirs or theirs.issue > heirs[key].issue:
                heirs[key] = theirs
        return Succession(self.host, principal, heirs, self.is_open and other.is_open)


class Link(msgspec.Struct, frozen=True):
    """An entry that says who hosts, the digest of it, and the situation before it."""

    event: Event
    link: bytes
    before: Succession

    @classmethod
    def of(cls, event: Event, before: Succession) -> "Link":
        return cls(event, link_of(event), before)

    @property
    def is_change(self) -> bool:
        """Whether another person hosts from here on, or comes first in the order."""
        body = self.event.original.body
        if isinstance(body, RoomSuspended):
            return body.host_record is not None
        return isinstance(body, HostStarted) and body.key != self.before.host


@dataclass(frozen=True, slots=True)
class ChainView:
    """One log's latest links, the situation after them, and the people as that log knows them.

    `has` tells whether the log has an entry, wherever it stands.
    """

    room: str
    links: Sequence[Link]
    current: Succession
    members: Members
    has: Callable[[Event], bool]

    def order_with(self, shown: Sequence[Event], key: str) -> tuple[str, ...]:
        """Return the order by this log and the shown links; empty if their host is not `key`.

        Links that this log has, too, are known; those after them are checked one by one.
        """
        parted = self._part(shown)
        if parted is None:  # the host that is known here may have begun too often to show it
            is_known = bool(self.links) and key == self.current.host
            return self.current.order if is_known else ()
        before, beyond = parted
        steps = self._proven(before, beyond)
        if steps is None or steps[-1].host != key:
            return ()
        return self.current.joined_with(steps[-1], self._principal(beyond, steps)).order

    def _principal(self, shown: Sequence[Event], steps: Sequence[Succession]) -> str:
        """Return the principal by both logs: this log's, and after hand-overs that it lacks another.

        Those that it has led to its own principal already, however often they are shown.
        """
        principal = self.current.principal
        for event, before, after in zip(shown, steps, steps[1:], strict=False):
            if principal in ("", before.principal) and not self.has(event):
                principal = after.principal
        return principal

    def follows(self, shown: Sequence[Event], key: str) -> bool:
        """Whether the owner of a proven key may host the room, by the links that they show."""
        order = self.order_with(shown, key)
        return key in order or (bool(order) and key == self.current.host)

    def outranks(self, shown: Sequence[Event], key: str) -> bool:
        """Whether the owner of a proven key hosts the room, and not the host of this log."""
        return key in above(self.order_with(shown, key), self.current.host)

    def _part(self, shown: Sequence[Event]) -> tuple[Succession, Sequence[Event]] | None:
        """Find the last link in both logs: the valid order after it, and their later links."""
        if len(shown) > MOST_SHOWN:
            return None
        known = {link.link: place for place, link in enumerate(self.links)}
        for n in range(len(shown), 0, -1):
            place = known.get(link_of(shown[n - 1]))
            if place is not None:
                is_last = place + 1 == len(self.links)
                after = self.current if is_last else self.links[place + 1].before
                return after, shown[n:]
        return None

    def _proven(self, before: Succession, shown: Sequence[Event]) -> list[Succession] | None:
        """Return the situation at first and after each link, if all are signed by who may."""
        steps = [before]
        for event in shown:
            if not self._counts(steps[-1], event):
                return None
            steps.append(steps[-1].after(event, self.members.keys))
        return steps

    def _counts(self, before: Succession, event: Event) -> bool:
        if not is_fit(event.body):
            return False
        match event.body:
            case HostStarted() as started:
                is_here = started.room in ("", self.room) and started.founding is None
                is_signed_here = is_signed(started.key, self.room, started, event.parent)
                return is_here and is_signed_here and may_begin(before, started, self.members)
            case RoomSuspended() | HeirsChanged() as body:
                return is_signed(before.host, self.room, body, event.parent)
        return is_recovered(before, event, self.room, self.members.keys)


def is_recovered(before: Succession, event: Event, room: str, keys: Mapping[str, str]) -> bool:
    """Whether an entry has a list, or a hand-over, that its host signed in another log of the room.

    Only the principal hands the order over. A list by an unknown person says nothing.
    """
    original = event.original
    match original.body:
        case RoomSuspended(host_record=host_record, by_heir=False) as body if (
            host_record and original is not event
        ):
            return is_signed(before.principal, room, body, original.parent)
        case HeirsChanged() as body if original is not event and is_fit(body):
            key = keys.get(fold_name(original.by), "")
            return not key or is_signed(key, room, body, original.parent)
    return False


def rank_in(order: Sequence[str], key: str) -> int:
    """Return the place of a key in the order; the end, if it is not there."""
    return order.index(key) if key in order else len(order)


def above(order: Sequence[str], key: str) -> Sequence[str]:
    """Return the keys before one in the order: all of them, if it is not there."""
    return order[: rank_in(order, key)]


def may_begin(before: Succession, started: HostStarted, members: Members) -> bool:
    """Whether a host may begin: the present one, the principal, or an heir who may speak.

    The key of an heir counts, also where the log doesn't know the person yet; a name that belongs to
    another key doesn't.
    """
    if members.keys.get(fold_name(started.host), started.key) != started.key:
        return False
    if started.key in (before.host, before.principal):
        return True
    if started.key not in before.order:
        return False
    owner = members.owner_of(started.key)
    return owner is None or _is_entitled(members, started)


def could_begin(before: Succession, started: HostStarted, members: Members) -> bool:
    """Whether a host may have begun in a log that earlier programs wrote: each member could."""
    return before.is_open and _is_entitled(members, started)


def _is_entitled(members: Members, started: HostStarted) -> bool:
    return fold_name(members.entitled(started.key) or "") == fold_name(started.host)


def with_link(links: Sequence[Link], link: Link) -> list[Link]:
    """Return the latest links after one more, without those of the same host that it replaces.

    A return replaces the host's returns and closings before it, a list of heirs the one before it.
    """
    kept = list(links)
    begin = max((n for n, each in enumerate(kept) if each.is_change), default=0)
    if not link.is_change:
        rest = [each for each in kept[begin + 1 :] if not _replaces(link, each)]
        kept[begin + 1 :] = rest
    return [*kept, link][-KEPT_LINKS:]


def _replaces(link: Link, earlier: Link) -> bool:
    body, old = link.event.body, earlier.event.body
    if isinstance(body, HeirsChanged):
        return isinstance(old, HeirsChanged)
    is_passed = isinstance(old, HostStarted) or (isinstance(old, RoomSuspended) and not old.heir)
    return isinstance(body, HostStarted) and is_passed
