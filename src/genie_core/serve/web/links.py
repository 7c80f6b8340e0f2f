"""Links to rooms for browsers, and the visits that began by them."""

import hashlib
import hmac
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from genie_core.room.security.challenge import InviteSecret
from genie_core.room.security.invite_tokens import InviteTokens
from genie_core.serve.web.visitor import Visitor, WebRole, WebRoom

LONGEST_VISIT: Final = 12 * 3600.0
"""Seconds after which a visitor needs a link again."""

MOST_VISITS: Final = 512
"""Visitors at a time; of those who have closed the page the oldest are forgotten first."""

_MEETING: Final = b"genie web link"


@dataclass(frozen=True, slots=True)
class WebLink:
    """What a link gives access to; its secret is known to `WebLinks` only.

    `ticket` is the invite by which the room lets its visitors in.
    """

    id: str
    room: WebRoom
    role: WebRole
    ticket: InviteSecret | None


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
        self._tokens: dict[WebRoom, InviteTokens] = {}
        self._decoy: Final = InviteTokens()

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
        """Make a link; returns its id and secret, for the fragment of an address."""
        tokens = self._tokens.setdefault(room, InviteTokens())
        made = tokens.issue(now, uses=uses, lifetime=lifetime)
        self._links[made.id] = WebLink(made.id, room, role, ticket)
        return f"{made.id}.{urlsafe_b64encode(made.secret).decode().rstrip('=')}"

    def check(self, id_: str, secret: str, now: float) -> WebLink | None:
        """Return an open link if the secret is its own; takes as long if there is none."""
        link = self._links.get(id_)
        tokens = self._decoy if link is None else self._tokens[link.room]
        try:
            given = urlsafe_b64decode(f"{secret}==")
        except ValueError:
            given = b""
        proof = hmac.digest(given, _MEETING, hashlib.sha256)
        return link if tokens.check(id_, proof, _MEETING, now) else None

    def consume(self, link: WebLink, now: float) -> bool:
        """Count a use; False if the link ended after it was checked."""
        return self._tokens[link.room].consume(link.id, now) is not None

    def forget(self, room: WebRoom) -> None:
        """Void all links to a room."""
        self._tokens.pop(room, None)
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
