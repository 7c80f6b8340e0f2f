"""Who may host a room after whom.

Each change of host is a link of a chain that begins with the founder: the closing host names the
next, or a rule applies that a host set before. All entries that say who hosts are signed, so that a
member can check the chain from any host's challenge, before it learns anything. Of two hosts at
once, each program finds the same one to be right, from these entries alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
from msgspec.structs import replace

from genie_core.room.protocol.codec import size_of
from genie_core.room.protocol.events import (
    LONGEST_AFTER,
    MOST_HEIRS,
    AnyBody,
    Event,
    HeirsChanged,
    HostConfirmed,
    HostStarted,
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

MOST_CONFIRMED: Final = 32
"""How many confirmations of each member are kept."""

LINK_BODIES: Final = (HostStarted, RoomSuspended, HeirsChanged, HostConfirmed)

BY_HANDOVER, BY_RULE, BY_LATE_WORD, BY_RETURN = range(4)
"""How a host came to host: each comes before those after it."""


def is_fit(body: AnyBody) -> bool:
    """Whether the body of a link keeps to what an unchanged program writes."""
    if isinstance(body, HeirsChanged):
        is_usual = len(body.heirs) <= MOST_HEIRS and 0 <= body.after <= LONGEST_AFTER
    else:
        is_usual = True
    return is_usual and size_of(body) <= LINK_SIZE


class Succession(msgspec.Struct, frozen=True):
    """Who may host next, after some entry.

    `host` is the present host's key, `rule` that of the latest host who set one, and `closed` the
    entry by which the host closed the room, if so. `last_at` is the latest time of an entry.
    """

    host: str = ""
    rule: HeirsChanged = HeirsChanged(anyone=True)
    closed: RoomSuspended | None = None
    last_at: float = 0.0

    def wait_of(self, name: str, key: str) -> float | None:
        """Return how many seconds after `last_at` a person may begin to host; None if never.

        Each heir waits once more for each one before them.
        """
        if self.is_given_to(key):
            return 0.0
        place = self._place_of(name)
        if place is None:
            return None
        turns = place if self.closed is not None and not self.closed.heir else place + 1
        return turns * self.rule.after

    def is_given_to(self, key: str) -> bool:
        """Whether a key is that of the host, or of the one whom the host named on closing."""
        return key == self.host or self._is_named(key)

    def after(self, event: Event) -> "Succession":
        """Return the situation after an entry that counts."""
        at = max(self.last_at, event.at)
        match event.body:
            case HostStarted(key=key):
                return Succession(key, self.rule, None, at)
            case RoomSuspended() as closed:
                return Succession(self.host, self.rule, closed, at)
            case HeirsChanged() as rule:
                return Succession(self.host, rule, self.closed, at)
        return replace(self, last_at=at)

    def rank_of(self, event: Event, started: HostStarted) -> tuple[int, int, float, str]:
        """Return the order of one who hosts next among others who do; the lowest is right."""
        if self._is_named(started.key):
            how = BY_HANDOVER
        else:
            how = BY_RETURN if started.key == self.host else BY_RULE
        return how, self._place_of(started.host) or 0, event.at, started.key

    def _is_named(self, key: str) -> bool:
        closed = self.closed
        return closed is not None and closed.deed is not None and key == closed.deed.key

    def _place_of(self, name: str) -> int | None:
        if self.rule.anyone:
            return 0
        heirs = [fold_name(each) for each in self.rule.heirs]
        return heirs.index(fold_name(name)) if fold_name(name) in heirs else None


class Link(msgspec.Struct, frozen=True):
    """An entry that says who hosts, the digest of it, and the situation before it."""

    event: Event
    link: bytes
    before: Succession

    @classmethod
    def of(cls, event: Event, before: Succession) -> "Link":
        return cls(event, link_of(event), before)

    @property
    def after(self) -> Succession:
        return self.before.after(self.event)


@dataclass(frozen=True, slots=True)
class ChainView:
    """One log's latest links, and the people who may host as it knows them.

    `key` is that of a person who may take back their own claim to host; empty for none. `now` is the
    time, and `since` and `met` are when this program has been connected to the present host without
    a long break; in seconds since the epoch, `met` is None if it was not. `last_at` is the latest
    time of an entry of this log.
    """

    room: str
    links: Sequence[Link]
    members: Members
    key: str = ""
    now: float = 0.0
    since: float = 0.0
    met: float | None = None
    last_at: float = 0.0

    def follows(self, shown: Sequence[Event], key: str) -> bool:
        """Whether the owner of a proven key hosts the room by the links that they show.

        Links that this log has, too, are known; those after them are checked one by one. If this log
        goes on in another way, the one whose first host comes first is right.
        """
        parted = self._part(shown)
        if parted is None:  # the host that is known here may have begun too often to show it
            return bool(self.links) and key == self.links[-1].after.host
        before, mine, beyond = parted
        theirs = self._proven(before, beyond)
        if theirs is None:
            return False
        first = _first_change(theirs)
        if first is not None and _first_change(mine) is None and self._knows_better(first, mine):
            return False  # the host is not away, as far as can be seen here
        host = theirs[-1].after.host if theirs else before.host
        return host == key and self._goes_first(theirs, mine)

    def contest(self, shown: Sequence[Event]) -> bytes:
        """Return the link of one who claims that the host was away, if this program knows better.

        Empty if there is no such claim.
        """
        parted = self._part(shown)
        if parted is None:
            return b""
        before, mine, beyond = parted
        theirs = self._proven(before, beyond) or []
        first = _first_change(theirs)
        if first is None or _first_change(mine) is not None or not self._knows_better(first, mine):
            return b""
        return first.link if _how(first) == BY_RULE else b""

    def _part(
        self, shown: Sequence[Event]
    ) -> tuple[Succession, Sequence[Link], Sequence[Event]] | None:
        """Find the last link in both logs: what holds after it, and the later links of each."""
        if len(shown) > MOST_SHOWN:
            return None
        known = {link.link: place for place, link in enumerate(self.links)}
        for n in range(len(shown), 0, -1):
            place = known.get(link_of(shown[n - 1]))
            if place is not None:
                return self.links[place].after, self.links[place + 1 :], shown[n:]
        return None

    def _knows_better(self, started: Link, mine: Sequence[Link]) -> bool:
        """Whether the present host was not away when this one claims so, as far as is known here.

        This program is with the host, which has not begun anew since, and was then or has entries of
        the time after.
        """
        at = started.event.at
        if self.met is None or self.now - self.met >= _wait(started):
            return False
        began_since = any(
            isinstance(each.event.body, HostStarted) and each.event.at > at for each in mine
        )
        return not began_since and (self.since <= at or self.last_at > at)

    def _proven(self, before: Succession, shown: Sequence[Event]) -> list[Link] | None:
        """Return the links if each is signed by who may; None otherwise."""
        links: list[Link] = []
        for event in shown:
            if not self._counts(before, event):
                return None
            links.append(Link.of(event, before))
            before = links[-1].after
        return links

    def _counts(self, before: Succession, event: Event) -> bool:
        if not is_fit(event.body):
            return False
        match event.body:
            case HostStarted() as started:
                return self._may_host(before, event, started)
            case RoomSuspended() | HeirsChanged() as body:
                return is_signed(before.host, self.room, body, event.parent)
            case HostConfirmed() as confirmed:
                key = self.members.keys.get(fold_name(event.by), "")
                return not key or is_signed(key, self.room, confirmed, "")
        return False

    def _may_host(self, before: Succession, event: Event, started: HostStarted) -> bool:
        wait = before.wait_of(started.host, started.key)
        if wait is None or started.room not in ("", self.room) or started.founding is not None:
            return False
        if self.members.keys.get(fold_name(started.host), started.key) != started.key:
            return False  # the name belongs to another key
        if before.rank_of(event, started)[0] == BY_RULE:
            owner = self.members.entitled(started.key)
            if owner is None or fold_name(owner) != fold_name(started.host):
                return False
        is_in_time = event.at >= before.last_at + wait
        return is_in_time and is_signed(started.key, self.room, started, event.parent)

    def _goes_first(self, theirs: Sequence[Link], mine: Sequence[Link]) -> bool:
        first, own = _first_change(theirs), _first_change(mine)
        if self._is_own(own) and first is None:
            return True
        if own is not None and self._is_refuted(own, theirs):
            return True
        if first is None or own is None:
            return own is None and (first is None or not self._is_refuted(first, mine))
        if _how(first) == _how(own) == BY_HANDOVER:
            by_both = _closes(theirs, first), _closes(mine, own)
            if any(by_both):  # a former host can name any number of others, at any time
                return by_both == (False, True)
        if self._is_refuted(first, mine):
            return False
        return _rank_beside(theirs, first) < _rank_beside(mine, own)

    def own_claim(self, shown: Sequence[Event]) -> bytes:
        """Return the link by which this person claimed to host; empty if the shown links have it."""
        parted = self._part(shown)
        own = _first_change(parted[1]) if parted is not None else None
        return own.link if own is not None and self._is_own(own) else b""

    def _is_own(self, started: Link | None) -> bool:
        """Whether this person's own claim by the rule is all that speaks against another host."""
        return (
            started is not None
            and bool(self.key)
            and started.after.host == self.key
            and _how(started) == BY_RULE
        )

    def _is_refuted(self, started: Link, other: Sequence[Link]) -> bool:
        """Whether a member was with the host all the while, by the other log's links."""
        if _how(started) != BY_RULE:
            return False
        claimant = started.after.host
        for link in other:
            body = link.event.body
            if isinstance(body, HostStarted) and link.event.at > started.event.at:
                break  # the former host began anew, and so was away
            if isinstance(body, HostConfirmed) and body.link == started.link:
                key = self.members.keys.get(fold_name(link.event.by), "")
                is_taken_back = key == claimant
                is_known = self.members.owner_of(key) is not None and key != started.before.host
                if is_taken_back or is_known:
                    return True
        return False


def _first_change(links: Sequence[Link]) -> Link | None:
    """Return the first link by which another person hosts."""
    return next((link for link in links if link.after.host != link.before.host), None)


def _closes(links: Sequence[Link], change: Link) -> bool:
    """Whether these links have the word by which a host closed the room before this change."""
    until = links[: links.index(change)]
    return any(isinstance(link.event.body, RoomSuspended) for link in until)


def _rank_beside(links: Sequence[Link], change: Link) -> tuple[int, int, float, str]:
    """Return the rank of a change of host that another log does not have.

    A hand-over that the other log has not heard of may have been signed at any later time, so it
    comes after a host who began by the rule.
    """
    how, place, at, key = _rank(change)
    is_late = how == BY_HANDOVER and _closes(links, change)
    return BY_LATE_WORD if is_late else how, place, at, key


def with_link(links: Sequence[Link], link: Link) -> list[Link]:
    """Return the latest links after one more; a host who comes back replaces their last return."""
    kept = list(links)
    own = [each for each in kept if _is_confirmed_by(each, link.event.by)]
    if isinstance(link.event.body, HostConfirmed) and len(own) >= MOST_CONFIRMED:
        return kept
    is_return = link.after.host == link.before.host and isinstance(link.event.body, HostStarted)
    while is_return and kept and _is_passed(kept[-1]):
        del kept[-1]
    kept.append(link)
    others = [each for each in kept if not isinstance(each.event.body, HostConfirmed)]
    return kept[kept.index(others[-KEPT_LINKS]) :] if len(others) > KEPT_LINKS else kept


def _is_confirmed_by(link: Link, name: str) -> bool:
    return isinstance(link.event.body, HostConfirmed) and link.event.by == name


def _is_passed(link: Link) -> bool:
    """Whether a link says nothing any more once its host has come back."""
    body = link.event.body
    is_return = isinstance(body, HostStarted) and link.after.host == link.before.host
    return is_return or (isinstance(body, RoomSuspended) and not body.heir)


def _wait(link: Link) -> float:
    """Return the seconds without a host that this one had to wait."""
    started = link.event.body
    assert isinstance(started, HostStarted)  # noqa: S101 - for the type checker
    return link.before.wait_of(started.host, started.key) or 0.0


def _how(link: Link) -> int:
    return _rank(link)[0]


def _rank(link: Link) -> tuple[int, int, float, str]:
    started = link.event.body
    assert isinstance(started, HostStarted)  # noqa: S101 - for the type checker
    return link.before.rank_of(link.event, started)
