"""The saved rooms as a list: what is told of each, as a table and as JSON."""

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TextIO

import msgspec

from genie_core.sessions.catalog import Catalog, Listing
from genie_core.sessions.lock import LockHolder
from genie_core.sessions.retention import Due, RetentionLimits, due
from genie_tui.amounts import file_size
from genie_tui.moments import ago
from genie_tui.output import json_text, safe_line
from genie_tui.sessions_table import Column, laid_out

SORTS: Final[Mapping[str, Callable[[Listing], Any]]] = {
    "activity": lambda listing: -listing.last_activity,
    "title": lambda listing: listing.title.casefold(),
    "size": lambda listing: -listing.size,
    "unread": lambda listing: -_number(listing, "unread"),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """A room in the list. `holder` is who has it open, `past` says which limit it is past."""

    listing: Listing
    holder: LockHolder | None = None
    past: str = ""


def entries(catalog: Catalog, limits: RetentionLimits, now: float) -> list[Entry]:
    """All saved rooms, the latest first, also as they were when their programs crashed. Blocks."""
    catalog.catch_up()
    listings = catalog.all(sized=True)
    past = {each.listing.id: each.why for each in due(listings, limits, now)}
    return [Entry(each, catalog.holder(each.id), past.get(each.id, "")) for each in listings]


def past_limits(found: Iterable[Entry]) -> list[Due]:
    """Those that are past a limit, and that nobody has open."""
    return [Due(each.listing, each.past) for each in found if each.past and not each.holder]


def chosen(found: Iterable[Entry], tags: Sequence[str], sort: str) -> list[Entry]:
    """Those that have all of the tags, in the order that is wanted."""
    wanted = {tag.removeprefix("#").casefold() for tag in tags}
    kept = [each for each in found if wanted <= {tag.casefold() for tag in _tags(each.listing)}]
    return sorted(kept, key=lambda each: SORTS[sort](each.listing))


def write_table(found: Sequence[Entry], now: float, out: TextIO) -> None:
    """Write the list for a person, as wide as their terminal, or as wide as need be in a pipe."""
    width = shutil.get_terminal_size().columns if out.isatty() else None
    listings = [each.listing for each in found]
    columns = [
        _column("ID", [each.id for each in listings]),
        _column("TITLE", [each.title for each in listings], least=12),
        _column("ACTIVE", [ago(now - each.last_activity) for each in listings], 2),
        _column("PEOPLE", [_shown(each, "people") for each in listings], 6, right=True),
        _column("MESSAGES", [_shown(each, "messages") for each in listings], 5, right=True),
        _column("SIZE", [file_size(each.size) for each in listings], 4, right=True),
        _column("STATE", [_state(each) for each in found], 1, least=12),
        _column("TAGS", [" ".join(f"#{tag}" for tag in _tags(each)) for each in listings], 3, 6),
        _column("LAST MESSAGE", [_preview(each) for each in listings], 7, least=16),
    ]
    out.writelines(f"{line}\n" for line in laid_out(columns, width))
    out.writelines(
        f"{safe_line(each.id)}: {safe_line(each.note)}\n" for each in listings if each.note
    )


def as_json(found: Iterable[Entry], base: Path) -> str:
    """The list as JSON, one object for each room in an array."""
    return json_text([as_object(each, base) for each in found])


def as_object(entry: Entry, base: Path) -> dict[str, Any]:
    """What JSON tells of a room."""
    listing, record = entry.listing, entry.listing.metadata
    told = {} if record is None else msgspec.to_builtins(record)
    for private in ("version", "pin", "address", "addresses"):
        told.pop(private, None)
    return {
        **told,
        "id": listing.id,
        "room": record.id if record else "",
        "title": listing.title,
        "last_activity": listing.last_activity,
        "size": listing.size,
        "holder": msgspec.to_builtins(entry.holder),
        "past": entry.past,
        "problem": listing.note,
        "folder": str(base / listing.id),
    }


def _column(
    heading: str, cells: Sequence[str], rank: int = 0, least: int = 0, *, right: bool = False
) -> Column:
    return Column(heading, tuple(cells), rank, least, right)


def _number(listing: Listing, name: str) -> int:
    return int(getattr(listing.metadata, name)) if listing.metadata else 0


def _shown(listing: Listing, name: str) -> str:
    return f"{_number(listing, name):,}" if listing.metadata else ""


def _tags(listing: Listing) -> tuple[str, ...]:
    return listing.metadata.tags if listing.metadata else ()


def _preview(listing: Listing) -> str:
    return listing.metadata.preview if listing.metadata else ""


def _state(entry: Entry) -> str:
    """What is special about a room now, in few words."""
    listing = entry.listing
    unread, parked = _number(listing, "unread"), _number(listing, "parked")
    parts = [
        "unreadable" if listing.note else "",
        f"open by {entry.holder.who}" if entry.holder else "",
        f"{parked:,} parked" if parked else "",
        f"{unread:,} unread" if unread and not entry.holder else "",
        "past limit" if entry.past and not entry.holder else "",
    ]
    return ", ".join(part for part in parts if part)
