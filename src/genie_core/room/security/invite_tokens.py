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
from genie_core.room.security.invite import SECRET_BYTES

MAX_OPEN: Final = 64
"""Most tokens that are valid at once; another one voids the oldest."""

_ID_BYTES: Final = 5


@dataclass(frozen=True, slots=True)
class InviteToken:
    """One secret. It ends at `expires`, in seconds since the epoch, or after `uses` more joins."""

    id: str
    secret: bytes = field(repr=False)
    expires: float | None = None
    uses: int | None = None

    def is_open(self, now: float) -> bool:
        """Whether it still admits members."""
        return (self.expires is None or now < self.expires) and (self.uses is None or self.uses > 0)


class InviteTokens:
    """The tokens of one room, for any thread. The caller passes the time, and saves.

    A join calls `check` first and `consume` at the end, after everything else has been decided.
    """

    def __init__(self, passes: Iterable[InviteToken] = ()) -> None:
        self._passes = {each.id: each for each in passes}
        self._decoy: Final = secrets.token_bytes(SECRET_BYTES)
        self._lock: Final = threading.RLock()

    def issue(
        self, now: float, *, uses: int | None = None, lifetime: float | None = None
    ) -> InviteToken:
        """Add a token; `lifetime` is in seconds."""
        expires = None if lifetime is None else now + lifetime
        with self._lock:
            self._drop_ended(now)
            made = InviteToken(self._new_id(), secrets.token_bytes(SECRET_BYTES), expires, uses)
            self._passes[made.id] = made
        return made

    def renew(
        self, now: float, *, uses: int | None = None, lifetime: float | None = None
    ) -> InviteToken:
        """Add a token and void all others."""
        with self._lock:
            self._passes.clear()
            return self.issue(now, uses=uses, lifetime=lifetime)

    def void(self) -> None:
        """Void all tokens."""
        with self._lock:
            self._passes.clear()

    def newest(self, now: float) -> InviteToken | None:
        """The latest open token, to invite people with.

        Unlimited tokens come before those for particular people.
        """
        still = [each for each in reversed(self._passes.values()) if each.is_open(now)]
        standing = [each for each in still if each.uses is None and each.expires is None]
        return next(iter(standing or still), None)

    def check(self, pass_id: str, proof: bytes, meeting: bytes, now: float) -> bool:
        """Whether a proof shows knowledge of an open token's secret.

        The proof is the HMAC-SHA256 of the handshake's bytes. Refusing an unknown or ended token
        takes as long as refusing a wrong proof.
        """
        known = self._passes.get(pass_id)
        secret = known.secret if known else self._decoy
        is_right = hmac.compare_digest(hmac.digest(secret, meeting, hashlib.sha256), proof)
        return known is not None and known.is_open(now) and is_right

    def consume(self, pass_id: str, now: float) -> bool:
        """Count a join; False if the token ended after it was checked."""
        with self._lock:
            known = self._passes.get(pass_id)
            if known is None or not known.is_open(now):
                return False
            if known.uses is not None:
                self._passes[pass_id] = replace(known, uses=known.uses - 1)
            return True

    def __len__(self) -> int:
        return len(self._passes)

    def encode(self) -> bytes:
        """Encode everything, secrets included, for a private file."""
        return msgspec.json.encode(list(self._passes.values()))

    @classmethod
    def decode(cls, content: bytes) -> Self:
        """Decode saved tokens.

        Raises:
            InvalidInviteTokens: they can't be decoded.
        """
        try:
            passes = msgspec.json.decode(content, type=list[InviteToken])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InvalidInviteTokens from error
        if any(len(each.secret) != SECRET_BYTES for each in passes):
            raise InvalidInviteTokens
        return cls(passes)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self._passes.values())!r})"

    def _drop_ended(self, now: float) -> None:
        """Drop ended tokens, and make room for one more."""
        still = [each for each in self._passes.values() if each.is_open(now)]
        self._passes = {each.id: each for each in still[-(MAX_OPEN - 1) :]}

    def _new_id(self) -> str:
        while (made := urlsafe_b64encode(secrets.token_bytes(_ID_BYTES)).decode().rstrip("=")) in (
            self._passes
        ):
            pass
        return made
