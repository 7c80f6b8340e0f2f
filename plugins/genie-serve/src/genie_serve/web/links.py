"""Links to rooms for browsers, and the visits that began by them."""

import hashlib
import hmac
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from genie_core.room.security.challenge import InviteSecret
from genie_serve.errors import TooManyLinks
from genie_serve.web.visitor import Visitor, WebRole, WebRoom

LONGEST_VISIT: Final = 12 * 3600.0
"""Seconds after which a visitor needs a link again."""

MOST_VISITS: Final = 512
"""Visitors at a time; of those who have closed the page the oldest are forgotten first."""

MOST_LINKS: Final = 1_024
"""Open links of a gateway."""

_ID_BYTES: Final = 6
_SECRET_BYTES: Final = 16


@dataclass(slots=True, eq=False)
class WebLink:
    """The room and role of a link, until `expires` and for so many `uses` more.

    `ticket` is the invite by which the room lets its visitors in. `entering` counts the people who
    have taken a use and may give it back.
    """

    id: str
    room: WebRoom
    role: WebRole
    ticket: InviteSecret | None
    secret: str = field(default="", repr=False)
    expires: float | None = None
    uses: int | None = None
    entering: int = 0

    def is_open(self, now: float) -> bool:
        """Whether it lets people in, or may do so again."""
        is_timely = self.expires is None or now < self.expires
        return is_timely and (self.uses is None or self.uses + self.entering > 0)


@dataclass(frozen=True, slots=True)
class Visit:
    """A visitor who came by a link, until `ends`."""

    link: WebLink
    visitor: Visitor
    ends: float


class WebLinks:
    """The open links of a gateway. The caller passes the time, in seconds since the epoch."""

    def __init__(self) -> None:
        self._links: dict[str, WebLink] = {}
        self._decoy: Final = secrets.token_urlsafe(_SECRET_BYTES)

    def issue(
        self,
        room: WebRoom,
        role: WebRole,
        now: float,
        *,
        ticket: InviteSecret | None,
        lifetime: float | None = None,
        uses: int | None = None,
    ) -> str:
        """Make a link; returns its id and secret, for the fragment of an address.

        Raises:
            TooManyLinks: there are `MOST_LINKS` that have not ended.
        """
        self._links = {id_: each for id_, each in self._links.items() if each.is_open(now)}
        if len(self._links) >= MOST_LINKS:
            raise TooManyLinks(MOST_LINKS)
        id_, secret = secrets.token_urlsafe(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
        expires = None if lifetime is None else now + lifetime
        self._links[id_] = WebLink(id_, room, role, ticket, secret, expires, uses)
        return f"{id_}.{secret}"

    def check(self, id_: str, secret: str, now: float) -> WebLink | None:
        """Return an open link if the secret is its own; takes as long if there is none."""
        link = self._links.get(id_)
        right = self._decoy if link is None else link.secret
        is_right = hmac.compare_digest(_digest(right), _digest(secret))
        return link if link is not None and link.is_open(now) and is_right else None

    def take(self, link: WebLink, now: float) -> bool:
        """Take a use for one who enters; False if none is left. `keep` or `give_back` follows."""
        if link.id not in self._links or not link.is_open(now) or link.uses == 0:
            return False
        if link.uses is not None:
            link.uses -= 1
        link.entering += 1
        return True

    def keep(self, link: WebLink) -> bool:
        """Count a use, as the person is in; False if the link was voided meanwhile."""
        link.entering -= 1
        return link.id in self._links

    def give_back(self, link: WebLink) -> None:
        """Give a use back, as the person was not let in."""
        link.entering -= 1
        if link.uses is not None:
            link.uses += 1

    def forget(self, room: WebRoom) -> None:
        """Void all links to a room."""
        self._links = {id_: link for id_, link in self._links.items() if link.room is not room}


class Visits:
    """The visits of a gateway, each found by a secret that only its browser has."""

    def __init__(self) -> None:
        self._visits: dict[bytes, Visit] = {}

    def __iter__(self) -> Iterator[Visit]:
        return iter(self._visits.values())

    def begin(self, link: WebLink, visitor: Visitor, now: float) -> str:
        """Add a visit; returns its secret."""
        secret = secrets.token_urlsafe(32)
        self._visits[_digest(secret)] = Visit(link, visitor, now + LONGEST_VISIT)
        return secret

    def find(self, link: str, secret: str, now: float) -> Visit | None:
        """Return the visit with this secret that began by this link, if it has not ended."""
        visit = self._visits.get(_digest(secret))
        if visit is None or visit.link.id != link or now >= visit.ends:
            return None
        return visit

    def end(self, secret: str) -> None:
        """Forget a visit."""
        self._visits.pop(_digest(secret), None)

    def end_all(self, room: WebRoom) -> list[Visit]:
        """Remove and return the visits to a room."""
        ended = {key: each for key, each in self._visits.items() if each.link.room is room}
        for key in ended:
            del self._visits[key]
        return list(ended.values())

    def has_space(self, now: float) -> bool:
        """Whether there may be one more, after forgetting those that ended or are away."""
        for key, visit in list(self._visits.items()):
            is_over = now >= visit.ends or len(self._visits) >= MOST_VISITS
            if is_over and not visit.visitor.tabs and not visit.visitor.is_here:
                del self._visits[key]
        return len(self._visits) < MOST_VISITS


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode(errors="replace")).digest()
