"""The secrets that admit to a room, with their lifetimes and uses."""

import hashlib
import hmac
import secrets
import threading
from base64 import urlsafe_b64encode
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final, Self

import msgspec

from genie_core.room.protocol.errors import InvalidInviteTokens
from genie_core.room.protocol.events import Role
from genie_core.room.security.invite import SECRET_BYTES

MAX_OPEN: Final = 64
"""Most tokens that are valid together; another one voids the oldest."""

_ID_BYTES: Final = 5


@dataclass(frozen=True, slots=True)
class InviteToken:
    """One secret. It ends at `expires`, in seconds since the epoch, or after `uses` more joins.

    A new member who joins by it gets its `role`, if any. `by` is the member with the host's role who
    issued it; empty for the host. `names` are those of newcomers by it who had not written yet.
    """

    id: str
    secret: bytes = field(repr=False)
    expires: float | None = None
    uses: int | None = None
    role: Role | None = None
    by: str = ""
    names: tuple[str, ...] = ()

    def is_open(self, now: float) -> bool:
        """Whether it still admits members."""
        return (self.expires is None or now < self.expires) and (self.uses is None or self.uses > 0)


class InviteTokens:
    """The tokens of one room, for any thread. The caller passes the time, and saves.

    A join calls `check` first and `consume` at the end, after everything else has been decided.
    """

    def __init__(self, tokens: Iterable[InviteToken] = ()) -> None:
        self._tokens = {each.id: each for each in tokens}
        self._decoy: Final = secrets.token_bytes(SECRET_BYTES)
        self._lock: Final = threading.RLock()

    def issue(
        self,
        now: float,
        *,
        uses: int | None = None,
        lifetime: float | None = None,
        role: Role | None = None,
        by: str = "",
    ) -> InviteToken:
        """Add a token; `lifetime` is in seconds. One that gives a role is for a single use by default."""
        expires = None if lifetime is None else now + lifetime
        uses = 1 if uses is None and role is not None else uses
        secret = secrets.token_bytes(SECRET_BYTES)
        with self._lock:
            self._drop_ended(now)
            made = InviteToken(self._new_id(), secret, expires, uses, role, by)
            self._tokens[made.id] = made
        return made

    def renew(
        self,
        now: float,
        *,
        uses: int | None = None,
        lifetime: float | None = None,
        role: Role | None = None,
    ) -> InviteToken:
        """Add a token and void all others."""
        with self._lock:
            self._tokens.clear()
            return self.issue(now, uses=uses, lifetime=lifetime, role=role)

    def void(self) -> None:
        """Void all tokens."""
        with self._lock:
            self._tokens.clear()

    def void_of(self, by: str) -> bool:
        """Void the tokens that a member issued; False if there are none."""
        with self._lock:
            kept = {each.id: each for each in self._tokens.values() if not by or each.by != by}
            is_less = len(kept) < len(self._tokens)
            self._tokens = kept
        return is_less

    def newest(self, now: float, by: str = "") -> InviteToken | None:
        """The latest open token of the host, or of a member, to invite people with.

        Unlimited tokens come before those for particular people; none gives a role.
        """
        known = [each for each in self._tokens.values() if each.by == by and each.role is None]
        still = [each for each in reversed(known) if each.is_open(now)]
        standing = [each for each in still if each.uses is None and each.expires is None]
        return next(iter(standing or still), None)

    def check(self, pass_id: str, proof: bytes, meeting: bytes, now: float) -> bool:
        """Whether a proof shows knowledge of an open token's secret.

        The proof is the HMAC-SHA256 of the handshake's bytes. Refusing an unknown or ended token
        takes as long as refusing a wrong proof.
        """
        known = self._tokens.get(pass_id)
        secret = known.secret if known else self._decoy
        is_right = hmac.compare_digest(hmac.digest(secret, meeting, hashlib.sha256), proof)
        return known is not None and known.is_open(now) and is_right

    def get(self, pass_id: str) -> InviteToken | None:
        """Return a token, which may have ended; None if it is not known any more."""
        return self._tokens.get(pass_id)

    def consume(self, pass_id: str, now: float) -> InviteToken | None:
        """Count a join by a token; None if it ended after it was checked."""
        with self._lock:
            known = self._tokens.get(pass_id)
            if known is None or not known.is_open(now):
                return None
            if known.uses is not None:
                self._tokens[pass_id] = replace(known, uses=known.uses - 1)
            return known

    def note_names(self, pass_id: str, names: Iterable[str]) -> None:
        """Record who came by a token and has not written yet."""
        with self._lock:
            if (known := self._tokens.get(pass_id)) is not None:
                self._tokens[pass_id] = replace(known, names=tuple(names))

    def __len__(self) -> int:
        return len(self._tokens)

    def encode(self) -> bytes:
        """Encode everything, secrets included, for a private file."""
        return msgspec.json.encode(list(self._tokens.values()))

    @classmethod
    def decode(cls, content: bytes) -> Self:
        """Decode saved tokens.

        Raises:
            InvalidInviteTokens: they can't be decoded.
        """
        try:
            tokens = msgspec.json.decode(content, type=list[InviteToken])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InvalidInviteTokens from error
        if any(len(each.secret) != SECRET_BYTES for each in tokens):
            raise InvalidInviteTokens
        return cls(tokens)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self._tokens.values())!r})"

    def _drop_ended(self, now: float) -> None:
        """Drop ended tokens, and make room for one more."""
        still = [each for each in self._tokens.values() if each.is_open(now)]
        self._tokens = {each.id: each for each in still[-(MAX_OPEN - 1) :]}

    def _new_id(self) -> str:
        while (made := urlsafe_b64encode(secrets.token_bytes(_ID_BYTES)).decode().rstrip("=")) in (
            self._tokens
        ):
            pass
        return made
