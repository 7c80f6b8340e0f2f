"""Find the sessions that exceed a person's limits. Nothing here removes any."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from genie_core.text.format import counted

if TYPE_CHECKING:
    from genie_core.sessions.catalog import Listing
DAY: Final = 86_400.0
MB: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class RetentionLimits:
    """Limits on the days since the last activity, and on the total size.

    0 is no limit.
    """

    max_age_days: int = 0
    max_total_mb: int = 0


@dataclass(frozen=True, slots=True)
class Due:
    """A session that exceeds a limit, and the limit in words."""

    listing: "Listing"
    why: str


def due(listings: "Iterable[Listing]", limits: RetentionLimits, now: float) -> list[Due]:
    """Return the sessions that exceed a limit, oldest activity first.

    A limit on the size needs measured listings. Unreadable sessions count towards the size but are
    never returned, as their content is unknown. A session that was active after `now`, by a clock
    that was set back, is not old.
    """
    every = list(listings)
    oldest = sorted((each for each in every if not each.note), key=lambda each: each.last_activity)
    old = [each for each in oldest if _is_old(each, limits, now)]
    why = f"no activity for {counted(limits.max_age_days, 'day')}"
    found = [Due(each, why) for each in old]
    kept = sum(each.size for each in every) - sum(each.size for each in old)
    if limits.max_total_mb:
        found += _too_much(oldest[len(old) :], kept, limits.max_total_mb)
    return found


def _is_old(listing: "Listing", limits: RetentionLimits, now: float) -> bool:
    return bool(limits.max_age_days) and now - listing.last_activity > limits.max_age_days * DAY


def _too_much(oldest: "Sequence[Listing]", total: int, most: int) -> list[Due]:
    found: list[Due] = []
    for listing in oldest:
        if total <= most * MB:
            break
        found.append(Due(listing, f"all sessions take more than {most:,} MB"))
        total -= listing.size
    return found
