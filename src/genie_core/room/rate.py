"""How fast somebody may do something."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class TokenBucket:
    """Allows `burst` at once and `per_second` in the long run.

    Source: the token bucket as traffic policer, e.g. RFC 2697. `now` is in seconds from any clock;
    when it jumps back, nothing is gained and nothing is lost.
    """

    burst: float
    per_second: float
    _level: float = field(init=False)
    _at: float | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._level = self.burst

    def take(self, now: float) -> bool:
        """Use one token up; False if there is none."""
        self._refill(now)
        if self._level < 1:
            return False
        self._level -= 1
        return True

    def wait(self, now: float) -> float:
        """How many seconds to go until there is a token."""
        self._refill(now)
        return max(0.0, (1 - self._level) / self.per_second)

    def is_full(self, now: float) -> bool:
        """Whether it is as good as new."""
        self._refill(now)
        return self._level >= self.burst

    def empty(self) -> None:
        """Take everything out, for somebody who was told to slow down."""
        self._level = 0.0

    def _refill(self, now: float) -> None:
        elapsed = 0.0 if self._at is None else max(0.0, now - self._at)
        self._level = min(self.burst, self._level + elapsed * self.per_second)
        self._at = now
