"""Finding time zones by city, country, abbreviation or zone key."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from typing import Final
from unicodedata import combining, normalize
from zoneinfo import ZoneInfo, available_timezones


class UnknownPlace(ValueError):
    """No time zone, or more than one, has that name."""


@dataclass(frozen=True, slots=True)
class Zone:
    """A time zone and its display name."""

    label: str
    info: tzinfo


_ABBREVIATIONS: Final = {
    "utc": 0, "gmt": 0, "z": 0, "wet": 0, "west": 1, "cet": 1, "cest": 2, "eet": 2, "eest": 3,
    "msk": 3, "est": -5, "edt": -4, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7,
    "akst": -9, "akdt": -8, "hst": -10, "jst": 9, "kst": 9, "aest": 10, "aedt": 11, "awst": 8,
    "nzst": 12, "nzdt": 13, "hkt": 8, "sgt": 8, "brt": -3,
}  # fmt: skip
_AMBIGUOUS: Final = {
    "ist": "India, Israel and Ireland",
    "bst": "Britain and Bangladesh",
    "cst": "North America, China and Cuba",
    "ast": "the Atlantic coast and Arabia",
}
_ALIASES: Final = {
    "et": "America/New_York", "eastern": "America/New_York", "eastern time": "America/New_York",
    "ct": "America/Chicago", "central time": "America/Chicago",
    "mt": "America/Denver", "mountain time": "America/Denver",
    "pt": "America/Los_Angeles", "pacific": "America/Los_Angeles",
    "pacific time": "America/Los_Angeles",
    "nyc": "America/New_York", "washington": "America/New_York", "boston": "America/New_York",
    "miami": "America/New_York", "philadelphia": "America/New_York", "atlanta": "America/New_York",
    "la": "America/Los_Angeles", "san francisco": "America/Los_Angeles", "sf": "America/Los_Angeles",
    "seattle": "America/Los_Angeles", "las vegas": "America/Los_Angeles",
    "houston": "America/Chicago", "dallas": "America/Chicago", "austin": "America/Chicago",
    "montreal": "America/Toronto", "ottawa": "America/Toronto", "rio": "America/Sao_Paulo",
    "rio de janeiro": "America/Sao_Paulo", "brasilia": "America/Sao_Paulo",
    "munich": "Europe/Berlin", "hamburg": "Europe/Berlin", "cologne": "Europe/Berlin",
    "frankfurt": "Europe/Berlin", "germany": "Europe/Berlin", "austria": "Europe/Vienna",
    "switzerland": "Europe/Zurich", "geneva": "Europe/Zurich", "bern": "Europe/Zurich",
    "basel": "Europe/Zurich", "france": "Europe/Paris", "lyon": "Europe/Paris",
    "italy": "Europe/Rome", "milan": "Europe/Rome", "barcelona": "Europe/Madrid",
    "netherlands": "Europe/Amsterdam", "belgium": "Europe/Brussels", "norway": "Europe/Oslo",
    "sweden": "Europe/Stockholm", "denmark": "Europe/Copenhagen", "finland": "Europe/Helsinki",
    "ireland": "Europe/Dublin", "uk": "Europe/London", "england": "Europe/London",
    "scotland": "Europe/London", "edinburgh": "Europe/London", "manchester": "Europe/London",
    "greece": "Europe/Athens", "czechia": "Europe/Prague", "hungary": "Europe/Budapest",
    "ukraine": "Europe/Kyiv", "st petersburg": "Europe/Moscow",
    "india": "Asia/Kolkata", "mumbai": "Asia/Kolkata", "delhi": "Asia/Kolkata",
    "new delhi": "Asia/Kolkata", "bangalore": "Asia/Kolkata", "bengaluru": "Asia/Kolkata",
    "chennai": "Asia/Kolkata", "china": "Asia/Shanghai", "beijing": "Asia/Shanghai",
    "shenzhen": "Asia/Shanghai", "osaka": "Asia/Tokyo", "kyoto": "Asia/Tokyo",
    "south korea": "Asia/Seoul", "thailand": "Asia/Bangkok", "hanoi": "Asia/Bangkok",
    "abu dhabi": "Asia/Dubai", "tel aviv": "Asia/Jerusalem", "kenya": "Africa/Nairobi",
    "nigeria": "Africa/Lagos", "south africa": "Africa/Johannesburg",
    "cape town": "Africa/Johannesburg", "canberra": "Australia/Sydney",
    "new zealand": "Pacific/Auckland", "wellington": "Pacific/Auckland",
}  # fmt: skip
_CONTINENTS: Final = (
    "Africa", "America", "Antarctica", "Asia", "Atlantic", "Australia", "Europe", "Indian",
    "Pacific",
)  # fmt: skip


def find_zone(place: str) -> Zone:
    """Return the time zone of `place`; empty means local time.

    Abbreviations keep their fixed offset (CET is UTC+1 also in summer), and the label says so.
    Raises `UnknownPlace`.
    """
    words = _spoken(place).removeprefix("the ")
    if not words or words in ("here", "local", "local time"):
        return _local_zone()
    if words in _AMBIGUOUS:
        raise UnknownPlace(f"{place.strip().upper()} is used for {_AMBIGUOUS[words]}; name a city")
    if words in _ABBREVIATIONS:
        offset = timezone(timedelta(hours=_ABBREVIATIONS[words]))
        return Zone(words.upper(), offset)
    keys = [_ALIASES[words]] if words in _ALIASES else _index().get(words, [])
    if not keys:
        raise UnknownPlace(f"no time zone is known for {place.strip()!r}; try a larger city nearby")
    if len(keys) > 1 and len({_fingerprint(key) for key in keys}) > 1:
        raise UnknownPlace(f"{place.strip()!r} could be {' or '.join(keys)}; write one of these")
    return Zone(keys[0], ZoneInfo(keys[0]))


def _spoken(place: str) -> str:
    """Normalize a name: no accents, punctuation, case or repeated spaces."""
    plain = "".join(c for c in normalize("NFKD", place) if not combining(c))
    return " ".join(plain.replace("_", " ").replace(".", "").casefold().split())


@cache
def _index() -> dict[str, list[str]]:
    """Map the city, the full key and country-like keys to zone keys."""
    index: defaultdict[str, list[str]] = defaultdict(list)
    for key in sorted(available_timezones(), key=lambda key: (key.count("/"), key)):
        area, _, rest = key.partition("/")
        spoken = key.replace("_", " ").casefold()
        if area in _CONTINENTS and rest:
            index[spoken.rpartition("/")[2]].append(key)
            index[spoken].append(key)
        elif not rest and len(key) > 3 and key.isalpha() and key not in ("Factory", "localtime"):
            index[spoken].append(key)
    return dict(index)


def _fingerprint(key: str) -> tuple[timedelta | None, ...]:
    """Distinguish zones by their offsets in one winter and one summer."""
    zone = ZoneInfo(key)
    return tuple(zone.utcoffset(datetime(2025, month, 1)) for month in (1, 7))  # noqa: DTZ001 — an offset is asked of a zone for a local time


def _local_zone() -> Zone:
    local = datetime.now().astimezone()
    return Zone("local time", local.tzinfo or UTC)
