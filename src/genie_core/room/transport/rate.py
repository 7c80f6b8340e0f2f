"""Rate limits."""

from copy import copy
from dataclasses import dataclass, field
from typing import Final


@dataclass(slots=True)
class TokenBucket:
    """Allows `burst` in one go and `per_second` in the long run.

    Source: the token bucket as a traffic policer, e.g. RFC 2697. `now` is in seconds of any clock;
    a jump back neither adds nor removes tokens.
    """

    burst: float
    per_second: float
    _level: float = field(init=False)
    _at: float | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._level = self.burst

    def take(self, now: float, amount: float = 1.0) -> bool:
        """Take tokens; False if there is not even one.

        While there is one, more can be taken than there are: the rest is a debt. So a client with
        small requests can't starve one with large requests.
        """
        self._refill(now)
        if self._level < 1:
            return False
        self._level -= amount
        return True

    def charge(self, now: float, amount: float) -> None:
        """Take tokens for something that has happened, even if there are too few."""
        self._refill(now)
        self._level -= amount

    def wait(self, now: float) -> float:
        """Seconds until there is a token."""
        self._refill(now)
        return max(0.0, (1 - self._level) / self.per_second)

    def is_full(self, now: float) -> bool:
        self._refill(now)
        return self._level >= self.burst

    def empty(self) -> None:
        """Remove all tokens, for a client that was told to slow down."""
        self._level = 0.0

    def _refill(self, now: float) -> None:
        elapsed = 0.0 if self._at is None else max(0.0, now - self._at)
        self._level = min(self.burst, self._level + elapsed * self.per_second)
        self._at = now


MOST_KEYS: Final = 4096


class Rates:
    """One token bucket per key; full ones take no memory after `tidy`.

    Above `MOST_KEYS` the oldest key is dropped.
    """

    def __init__(self, burst: float, per_second: float) -> None:
        self._burst = burst
        self._per_second = per_second
        self._buckets: dict[str, TokenBucket] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._buckets

    def take(self, key: str, now: float, amount: float = 1.0) -> bool:
        """Take tokens from a key's bucket."""
        return self._bucket(key).take(now, amount)

    def charge(self, key: str, now: float, amount: float) -> None:
        """Take tokens from a key's bucket, even if there are too few."""
        self._bucket(key).charge(now, amount)

    def wait(self, key: str, now: float) -> float:
        """Seconds until a key's bucket has a token."""
        bucket = self._buckets.get(key)
        return 0.0 if bucket is None else bucket.wait(now)

    def hand_over(self, old: str, new: str) -> None:
        """Start a new key's bucket with the rest of the old key."""
        bucket = self._buckets.get(old)
        if bucket is not None:
            self._add(new, copy(bucket))

    def _bucket(self, key: str) -> TokenBucket:
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = TokenBucket(self._burst, self._per_second)
            self._add(key, bucket)
        return bucket

    def _add(self, key: str, bucket: TokenBucket) -> None:
        self._buckets[key] = bucket
        if len(self._buckets) > MOST_KEYS:
            del self._buckets[next(iter(self._buckets))]

    def tidy(self, now: float) -> None:
        """Drop full buckets."""
        for key in [key for key, bucket in self._buckets.items() if bucket.is_full(now)]:
            del self._buckets[key]
