"""Finding the sessions that are past the limits of a person. Nothing here removes any."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from genie_core.sessions.catalog import Listing
DAY: Final = 86_400.0
MB: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class RetentionLimits:
    """How long rooms are kept after the last activity, in days, and how much they may take together.

    0 is no limit.
    """

    max_age_days: int = 0
    max_total_mb: int = 0


@dataclass(frozen=True, slots=True)
class Due:
    """A room that is past a limit, and which one, in words."""

    listing: "Listing"
    why: str


def due(listings: "Iterable[Listing]", limits: RetentionLimits, now: float) -> list[Due]:
    """The rooms that are past a limit, those with the oldest activity first.

    The listings have to be measured if there is a limit for their size. Rooms that can't be opened
    count, but are never past a limit, as their content is unknown. A room that was
    active after `now`, by a clock that was set back since, is not old.
    """
    every = list(listings)
    oldest = sorted((each for each in every if not each.note), key=lambda each: each.last_activity)
    old = [each for each in oldest if _is_old(each, limits, now)]
    days = "1 day" if limits.max_age_days == 1 else f"{limits.max_age_days:,} days"
    found = [Due(each, f"no activity for {days}") for each in old]
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
