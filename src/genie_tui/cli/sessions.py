"""`genie-tui sessions`: list, show, search, change and tidy up saved rooms."""

import argparse
import logging
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO, TypeAlias

import msgspec

from genie_core.errors import GenieError
from genie_core.room.state.room_state import RoomState
from genie_core.room.view.agents import agent_path
from genie_core.sessions.catalog import Catalog, Listing, extent
from genie_core.sessions.check import Checkup, check
from genie_core.sessions.excerpts import last_spoken
from genie_core.sessions.fork import fork
from genie_core.sessions.listing import past_line
from genie_core.sessions.lock import LockHolder, SessionInUse, holder
from genie_core.sessions.metadata import one_line
from genie_core.sessions.repair import repair
from genie_core.sessions.retention import Due, RetentionLimits, due
from genie_core.sessions.search.documents import SearchHit
from genie_core.sessions.search.index import IndexBusy, SearchIndex, search_sessions
from genie_core.sessions.search.query import FIELDS
from genie_core.sessions.session import SavedSession
from genie_core.sessions.trash import trash
from genie_core.settings.locations import folder_at, short_path
from genie_core.settings.model import default_name
from genie_core.storage.errors import StorageError
from genie_core.text.format import ago, counted, file_size, local_time
from genie_tui.cli.export import add_export, add_import, export_sessions, import_session
from genie_tui.cli.options import (
    SESSION_HELP,
    AddPart,
    CommandParser,
    add_settings,
    parts_of,
    whole_number,
)
from genie_tui.cli.output import json_text, safe_line
from genie_tui.cli.table import TableColumn, laid_out
from genie_tui.plugins import CommandCall

if TYPE_CHECKING:
    from genie_core.sessions.salvage import Salvaged

MOST_RANGES: Final = 20
"""How many ranges of missing events are listed."""


_FIELD: Final = re.compile(r"(?:^|\s)-?([a-z]+):(?!//)", re.IGNORECASE)
"""A word that looks like a field of a query."""


class NotConfirmed(GenieError):
    """A confirmation was refused or can't be given."""


class NothingFound(GenieError):
    """A search found nothing."""

    def __init__(self, text: str) -> None:
        super().__init__(f"nothing is found for {text!r}; {_more_found(text)}")
        self.text = text


def _more_found(text: str) -> str:
    """Return how another search may find more."""
    if not any(letter.isalnum() for letter in text):
        return "name a word that was said"
    unknown = _FIELD.search(text)
    if unknown is not None and unknown[1].lower() not in FIELDS:
        return f"{unknown[1]}: is no field; there are {', '.join(f'{each}:' for each in FIELDS)}"
    return "fewer words find more" if len(text.split()) > 1 else "a part of a word finds more"


class NoTitle(GenieError):
    """An empty title for a room that is hosted here."""

    template = "{room} needs a title that can be seen"
    room: str


class Sessions:
    """The saved rooms, and input and output for the parts of the command."""

    def __init__(self, call: CommandCall) -> None:
        self.settings: Final = call.settings
        self.locations: Final = call.locations
        self.catalog: Final = Catalog(call.locations.sessions)
        self.limits: Final = RetentionLimits(**msgspec.structs.asdict(self.settings.retention))
        self.given: Final = call.stdin
        self.out: Final = call.stdout
        self._problems: Final = call.stderr

    def tell(self, text: str) -> None:
        self.out.write(f"{safe_line(text)}\n")

    def tell_more(self, text: str) -> None:
        """Write a line that belongs to the previous one."""
        self.out.write(f"  {safe_line(text)}\n")

    def warn(self, text: str) -> None:
        """Write a line to the standard error output, apart from the data."""
        self._problems.write(f"genie-tui: {safe_line(text)}\n")

    def confirm(self, question: str, *, surely: bool) -> None:
        """Ask the person, unless they said yes before.

        Raises:
            NotConfirmed: they say no, or there is no terminal to ask on.
        """
        if surely:
            return
        if not self.given.isatty():
            raise NotConfirmed("there is no terminal to ask for confirmation; add --yes to skip it")
        self.out.write(f"{question} [y/N] ")
        self.out.flush()
        if self.given.readline().strip().casefold() not in ("y", "yes"):
            raise NotConfirmed("nothing has changed")


# Listing, showing, searching


def list_all(options: argparse.Namespace, sessions: Sessions) -> int:
    """Write the list; raises `DiskFailure`."""
    now, out = time.time(), sessions.out
    every = entries(sessions.catalog, sessions.limits, now)
    found = chosen(every, options.tag, options.sort)
    if options.json:
        out.write(f"{as_json(found, sessions.locations.sessions)}\n")
        return 0
    if not found:
        what = "no session has this tag" if every else "there are no sessions yet: genie-tui host"
        sessions.tell(what)
        return 0
    write_table(found, now, out)
    if line := past_line(len(past_limits(every))):
        sessions.tell(line)
    return 0


SORTS: Final[Mapping[str, Callable[[Listing], Any]]] = {
    "activity": lambda listing: -listing.last_activity,
    "title": lambda listing: listing.title.casefold(),
    "size": lambda listing: -listing.size,
    "unread": lambda listing: -_number(listing, "unread"),
}


@dataclass(frozen=True, slots=True)
class ListedSession:
    """A room in the list. `holder` is who has it open, `past` says which limit it is past."""

    listing: Listing
    holder: LockHolder | None = None
    past: str = ""


def entries(catalog: Catalog, limits: RetentionLimits, now: float) -> list[ListedSession]:
    """Return all saved rooms, latest first, up to date even after a crash. Blocks."""
    catalog.catch_up()
    listings = catalog.all(sized=True)
    past = {each.listing.id: each.why for each in due(listings, limits, now)}
    return [
        ListedSession(each, catalog.holder(each.id), past.get(each.id, "")) for each in listings
    ]


def past_limits(found: Iterable[ListedSession]) -> list[Due]:
    """Return those past a limit and not open in a program."""
    return [Due(each.listing, each.past) for each in found if each.past and not each.holder]


def chosen(found: Iterable[ListedSession], tags: Sequence[str], sort: str) -> list[ListedSession]:
    """Return those that have all of the tags, sorted."""
    wanted = {tag.removeprefix("#").casefold() for tag in tags}
    kept = [each for each in found if wanted <= {tag.casefold() for tag in _tags(each.listing)}]
    return sorted(kept, key=lambda each: SORTS[sort](each.listing))


def write_table(found: Sequence[ListedSession], now: float, out: TextIO) -> None:
    """Write the list as wide as the terminal, or in full width to a pipe."""
    width = shutil.get_terminal_size().columns if out.isatty() else None
    listings = [each.listing for each in found]
    columns = [
        _column("ID", [each.id for each in listings]),
        _column("TITLE", [each.title for each in listings], least=12),
        _column("ACTIVE", [ago(now - each.last_activity) for each in listings], 2),
        _column("PEOPLE", [_number_shown(each, "people") for each in listings], 6, right=True),
        _column("MESSAGES", [_number_shown(each, "messages") for each in listings], 5, right=True),
        _column("SIZE", [file_size(each.size) for each in listings], 4, right=True),
        _column("STATE", [_state(each) for each in found], 1, least=12),
        _column("TAGS", [" ".join(f"#{tag}" for tag in _tags(each)) for each in listings], 3, 6),
        _column("LAST MESSAGE", [_preview(each) for each in listings], 7, least=16),
    ]
    out.writelines(f"{line}\n" for line in laid_out(columns, width))
    out.writelines(
        f"{safe_line(each.id)}: {safe_line(each.note)}\n" for each in listings if each.note
    )


def as_json(found: Iterable[ListedSession], base: Path) -> str:
    """Format the list as a JSON array of objects."""
    return json_text([as_object(each, base) for each in found])


def as_object(entry: ListedSession, base: Path) -> dict[str, Any]:
    """Format a room as a JSON object."""
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
) -> TableColumn:
    return TableColumn(heading, tuple(cells), rank, least, right)


def _number(listing: Listing, name: str) -> int:
    return int(getattr(listing.metadata, name)) if listing.metadata else 0


def _number_shown(listing: Listing, name: str) -> str:
    return f"{_number(listing, name):,}" if listing.metadata else ""


def _tags(listing: Listing) -> tuple[str, ...]:
    return listing.metadata.tags if listing.metadata else ()


def _preview(listing: Listing) -> str:
    return listing.metadata.preview if listing.metadata else ""


def _state(entry: ListedSession) -> str:
    """Return a room's state in a few words."""
    listing = entry.listing
    unread, parked = _number(listing, "unread"), _number(listing, "parked")
    parts = [
        "unreadable" if listing.note else "",
        "archived" if listing.metadata and listing.metadata.archived else "",
        f"open by {entry.holder.who}" if entry.holder else "",
        f"{parked:,} parked" if parked else "",
        f"{unread:,} unread" if unread and not entry.holder else "",
        "past limit" if entry.past and not entry.holder else "",
    ]
    return ", ".join(part for part in parts if part)


def show(options: argparse.Namespace, sessions: Sessions) -> int:
    """Write the metadata of one room; errors as `Catalog.find`, and `DiskFailure`."""
    saved = sessions.catalog.find(options.id)
    if not options.json:
        sessions.out.writelines(f"{line}\n" for line in described(saved, options.last))
        return 0
    every = entries(sessions.catalog, sessions.limits, time.time())
    (entry,) = (each for each in every if each.listing.id == saved.id)
    told = as_object(entry, sessions.locations.sessions)
    told.update(details(saved, options.last))
    sessions.out.write(f"{json_text(told)}\n")
    return 0


def described(saved: SavedSession, last: int) -> Iterator[str]:
    """Describe a room in lines. Reads its log; blocks.

    Raises:
        DamagedSession: the log is no file.
        DiskFailure: it can't be read.
    """
    with saved.reader() as log:
        state, problems, lines = log.state(), log.problems, last_spoken(log, last)
    record = saved.metadata
    yield safe_line(record.shown_title or saved.id)
    for name, text in _facts(saved, state):
        if text:
            yield f"  {name:<10}{safe_line(text)}"
    yield from (f"  problem   {safe_line(each)}" for each in problems)
    if lines:
        yield "last messages"
    for line in lines:
        when = local_time(line.at)
        yield f"  {line.seq:>6}  {when:%Y-%m-%d %H:%M}  {safe_line(line.by)}: {safe_line(line.text)}"


def details(saved: SavedSession, last: int) -> dict[str, Any]:
    """Return the fields that `show --json` adds to the list's object. Reads as `described` does."""
    with saved.reader() as log:
        state, problems, lines = log.state(), log.problems, last_spoken(log, last)
    return {
        "members": [{"name": each.name, "role": each.role} for each in state.people.values()],
        "events": state.head,
        "waiting": [
            {"message": each.message, "agent": each.agent, "tool": each.tool, "owner": each.owner}
            for each in state.parked.values()
        ],
        "files": len(state.files),
        "problems": problems,
        "last": [
            {"seq": each.seq, "at": each.at, "by": each.by, "text": each.text} for each in lines
        ],
    }


def _facts(saved: SavedSession, state: RoomState) -> Iterator[tuple[str, str]]:
    record = saved.metadata
    held_by = holder(saved.folder)
    yield "id", saved.id
    yield "kind", _kind(saved)
    yield "title", record.title if record.alias else ""
    yield "created", f"{local_time(record.created):%Y-%m-%d %H:%M}"
    yield "active", f"{local_time(record.last_activity):%Y-%m-%d %H:%M}"
    yield "people", ", ".join(state.people)
    unread = f", {record.unread:,} unread" if record.unread else ""
    yield "messages", f"{state.messages:,}{unread}, in {counted(state.head, 'event')}"
    calls = [f"{each.tool} by {agent_path(each.agent)}" for each in state.parked.values()]
    yield "waiting", ", ".join(calls)
    yield "files", f"{len(state.files):,}" if state.files else ""
    yield "tags", " ".join(f"#{tag}" for tag in record.tags)
    yield "size", file_size(extent(saved.folder))
    yield "open in", str(held_by) if held_by else ""
    yield "folder", short_path(Path(saved.folder))


def _kind(saved: SavedSession) -> str:
    record = saved.metadata
    if record.kind == "hosted":
        return f"hosted here, as {record.owner}" if record.owner else "hosted here"
    host = record.host or "another person"
    return f"a copy of the room that {host} hosts, as {record.name}"


def search(options: argparse.Namespace, sessions: Sessions) -> int:
    """Write the hits of all sessions, the best first.

    Raises:
        NothingFound: there is nothing.
        WrongQuery: the text is no query.
        SlowExpression: a regular expression takes too long.
        DiskFailure: the sessions can't be listed.
    """
    text = " ".join(options.words)
    locations = sessions.locations
    found = search_sessions(locations.search, locations.sessions, text, options.limit)
    for note in found.notes:
        sessions.warn(note)
    if not found.hits:
        raise NothingFound(text)
    if options.json:
        sessions.out.write(f"{json_text([_hit_object(hit) for hit in found.hits])}\n")
        return 0
    session = ""
    for hit in found.hits:
        if hit.session != session:
            session = hit.session
            sessions.tell(f"{session}: {hit.title}")
        if hit.seq:
            when = f"{local_time(hit.at):%Y-%m-%d %H:%M}"
            sessions.out.write(f"  {hit.seq:>6}  {when}  {safe_line(_hit_line(hit))}\n")
    place = " --at NUMBER" if any(hit.seq for hit in found.hits) else ""
    sessions.tell(f"to watch one: genie-tui replay {found.hits[0].session}{place}")
    return 0


def _hit_line(hit: SearchHit) -> str:
    """Format a hit in one line, with matches in brackets."""
    text, at = "", 0
    for start, end in hit.snippet.marks:
        text += f"{hit.snippet.text[at:start]}»{hit.snippet.text[start:end]}«"
        at = end
    by = hit.by if hit.kind in ("message", "answer") else f"{hit.by} ({hit.kind})"
    return f"{by}: {text}{hit.snippet.text[at:]}"


def _hit_object(hit: SearchHit) -> dict[str, Any]:
    return {
        "session": hit.session,
        "title": hit.title,
        "seq": hit.seq,
        "message": hit.message,
        "at": hit.at,
        "by": hit.by,
        "kind": hit.kind,
        "text": hit.snippet.text,
        "marks": hit.snippet.marks,
    }


# Changing and checking


def rename_room(options: argparse.Namespace, sessions: Sessions) -> int:
    """Give a room another title; errors as `Catalog.find`, `NoTitle` and `SessionInUse`.

    Without one, a room of others is called again as they call it.
    """
    saved, title = sessions.catalog.find(options.id), " ".join(options.title)
    if not one_line(title) and saved.metadata.kind == "hosted":
        raise NoTitle(saved.id)
    with saved.held():
        saved.rename(title)
    sessions.tell(f"{saved.id} is called {saved.metadata.shown_title!r} now")
    return 0


def tag_room(options: argparse.Namespace, sessions: Sessions) -> int:
    """Change or print a room's tags; errors as `Catalog.find`, and `InvalidTag`."""
    saved = sessions.catalog.find(options.id)
    if options.remove:
        saved.tag(options.tags, options.remove)
    elif options.remove is not None:
        saved.tag(remove=options.tags)
    elif options.tags:
        saved.tag(options.tags)
    tags = " ".join(f"#{tag}" for tag in saved.metadata.tags)
    sessions.tell(f"{saved.id}: {tags or 'no tags'}")
    return 0


def fork_room(options: argparse.Namespace, sessions: Sessions) -> int:
    """Fork a room; errors as `Catalog.find` and `fork`."""
    saved = sessions.catalog.find(options.id)
    made = fork(sessions.catalog, saved, time.time(), options.at)
    sessions.tell(f"{made.saved.id} begins like {saved.id}, up to event {made.head:,}")
    sessions.tell("what agents remember stays with the original; they begin anew")
    if made.lacking:
        files = "1 file is" if made.lacking == 1 else f"{made.lacking:,} files are"
        sessions.tell(f"{files} not on this machine")
    sessions.tell(f"open it: genie-tui resume {made.saved.id}")
    return 0


def delete_rooms(options: argparse.Namespace, sessions: Sessions) -> int:
    """Move rooms to the trash; errors as `trash`, before the question, and `NotConfirmed`."""
    catalog = sessions.catalog
    ids = list(dict.fromkeys(catalog.match(wanted) for wanted in options.ids))
    for id_ in ids:
        if (other := holder(catalog.folder(id_))) is not None:
            raise SessionInUse(id_, other)
    titles = {each.id: each.title for each in catalog.all()}
    for id_ in ids:
        sessions.tell(f"{id_}: {titles.get(id_, '')}")
    _move(ids, "move this to the trash?", sessions, surely=options.yes)
    return 0


def prune_rooms(options: argparse.Namespace, sessions: Sessions) -> int:
    """Move rooms past a limit to the trash; errors as for `delete`."""
    if not (sessions.limits.max_age_days or sessions.limits.max_total_mb):
        sessions.tell("there is no limit; set one: genie-tui config set retention.max_age_days 365")
        return 0
    past = past_limits(entries(sessions.catalog, sessions.limits, time.time()))
    if not past:
        sessions.tell("no session is past your limit")
        return 0
    for each in past:
        sessions.tell(f"{each.listing.id}: {each.listing.title}, {each.why}")
    ids = [each.listing.id for each in past]
    _move(ids, "move these to the trash?", sessions, surely=options.yes)
    return 0


def _move(ids: Iterable[str], question: str, sessions: Sessions, *, surely: bool) -> None:
    sessions.confirm(question, surely=surely)
    for id_ in ids:
        trash(sessions.catalog.folder(id_))
        sessions.tell(f"{id_} is in the trash")
        try:
            SearchIndex(sessions.locations.search).forget([id_])
        except (IndexBusy, OSError) as error:
            sessions.warn(f"what was said there is still in the search index: {error}")


def check_rooms(options: argparse.Namespace, sessions: Sessions) -> int:
    """Check for damage and repair it if asked; returns 1 if something stays wrong."""
    catalog = sessions.catalog
    ids = [catalog.match(wanted) for wanted in options.ids]
    ids = list(dict.fromkeys(ids)) or [each.id for each in catalog.all()]
    if not ids:
        sessions.tell("there are no sessions yet")
    bad = 0
    for id_ in ids:
        found = check(catalog.folder(id_))
        _tell_checkup(found, sessions)
        if found.problems and options.repair:
            found = _repaired(found, sessions)
        bad += bool(found.problems)
    if bad:
        verb = "has" if bad == 1 else "have"
        sessions.tell(
            f"{bad:,} of {counted(len(ids), 'session')} {verb} problems{_advice(options)}"
        )
    return 1 if bad else 0


def _advice(options: argparse.Namespace) -> str:
    if options.repair:
        return " that can't be repaired"
    return "; to repair what can be repaired: genie-tui sessions check --repair"


def _tell_checkup(found: Checkup, sessions: Sessions) -> None:
    if found.skipped:
        sessions.tell(f"{found.id}: not checked, {found.skipped}")
        return
    log = found.log
    events = "its log can't be read" if log is None else counted(log.state.head, "event")
    files = f" and {counted(found.files, 'file')}" if found.files else ""
    state = counted(len(found.problems), "problem") if found.problems else "in order"
    sessions.tell(f"{found.id}: {state}, {events}{files}")
    for line in (*found.problems, *found.remarks):
        sessions.tell_more(line)


def _repaired(found: Checkup, sessions: Sessions) -> Checkup:
    """Repair a room, report it, and check again."""
    folder = sessions.catalog.folder(found.id)
    try:
        for line in repair(folder):
            sessions.tell_more(f"repaired: {line}")
    except StorageError as error:
        sessions.tell_more(f"not repaired: {error}")
        return found
    left = check(folder)
    if left.log is None:
        sessions.tell_more("not repaired: nothing is changed while the log can't be read")
    for line in left.problems:
        sessions.tell_more(f"still: {line}")
    return left


def salvage_room(options: argparse.Namespace, sessions: Sessions) -> int:
    """Put a room together from its remains, and report; errors as `salvage`."""
    from genie_core.sessions.salvage import salvage, salvage_into

    catalog = sessions.catalog
    sources = [_source(each, catalog) for each in options.sources]
    if options.into:
        done = salvage_into(catalog.folder(catalog.match(options.into)), sources)
    else:
        me = sessions.settings.name or default_name()
        done = salvage(catalog.base, sources, me, time.time())
    head = sum(done.taken.values())
    sessions.tell(f"{done.saved.id} has {counted(head, 'event')} again")
    for name, count in done.taken.items():
        sessions.tell_more(f"{counted(count, 'event')} from {name}")
    for line in _told_of_salvage(done):
        sessions.tell_more(line)
    return 0


def _source(text: str, catalog: Catalog) -> Path:
    """Return a file or folder, or the folder of the session that a text names."""
    path = folder_at(text)
    return path if path.exists() else catalog.folder(catalog.match(text))


def _told_of_salvage(done: "Salvaged") -> Iterator[str]:
    if done.missing:
        ranges = [
            f"{first:,}" if first == last else f"{first:,} to {last:,}"
            for first, last in done.missing
        ]
        lost = sum(last - first + 1 for first, last in done.missing)
        more = (
            f" and {len(ranges) - MOST_RANGES:,} more ranges" if len(ranges) > MOST_RANGES else ""
        )
        yield f"missing: {counted(lost, 'event')}: {', '.join(ranges[:MOST_RANGES])}{more}"
    if done.damaged:
        yield f"damaged: {counted(done.damaged, 'line')} that can't be read"
    if done.left_out:
        yield f"left out: {counted(done.left_out, 'event')} that contradict the others"
    yield from done.doubts
    yield from done.problems
    if done.files_missing:
        files = counted(done.files + done.files_missing, "attached file")
        yield f"{done.files:,} of {files} found"


Part: TypeAlias = Callable[[argparse.Namespace, Sessions], int]

_PARTS: Final[dict[str, Part]] = {
    "list": list_all,
    "show": show,
    "search": search,
    "rename": rename_room,
    "tag": tag_room,
    "fork": fork_room,
    "check": check_rooms,
    "salvage": salvage_room,
    "delete": delete_rooms,
    "prune": prune_rooms,
    "export": lambda options, sessions: export_sessions(options, sessions.locations, sessions.out),
    "import": lambda options, sessions: import_session(
        options, sessions.settings, sessions.locations, sessions.out
    ),
}


def run_sessions(call: CommandCall) -> int:
    """Run a sessions command; returns the exit code. Errors are `GenieError`s of the parts."""
    # The parts write their own messages; other lines would stand between theirs.
    logging.getLogger("genie_core").addHandler(logging.NullHandler())
    return _PARTS[call.options.part](call.options, Sessions(call))


_LANGUAGE: Final = """\
Texts with all the words are found, also inside of other words. TEXT may have:
  "a phrase"               the words as they stand
  -word -"a phrase"        leave out texts with them; also -from:bob, -kind:silent …
  from:ann from:genie      by a person, or by agents
  in:standup               in rooms with this in their title or id
  before:2026-11-01        before that day; or a month 2026-11, or a year 2026
  after:2026-10-01         from that day on
  kind:denied              of a kind: message, answer, decision, silent, approval, approved, denied,
                           expired, parked, failed, stopped, title
  has:file                 messages with files
  /inv(oice)?s?/           a regular expression

Quotes and a leading - need quotes around the whole TEXT:
  genie-tui sessions search '"last offer" -vendor from:ann'
"""


def add_sessions(command: CommandParser) -> None:
    command.used = frozenset({"retention"})
    add_settings(command)
    _add_list_options(command, "activity", [], json=False)
    command.set_defaults(run=run_sessions, part="list")
    add = parts_of(command)
    unset = argparse.SUPPRESS  # as in add_settings
    _add_list_options(add("list", "list all sessions, the latest first"), unset, unset, json=unset)
    _add_looking(add)
    _add_changing(add)
    add_export(add("export", "write sessions to files, to be read or taken along"))
    add_import(add("import", "take in an exported session, or conversations of other programs"))


def _add_looking(add: AddPart) -> None:
    show = add("show", "tell what is known of one session")
    show.used = frozenset()
    show.add_argument("id", metavar="ID", help=SESSION_HELP)
    show.add_argument(
        "--last", type=whole_number, default=5, metavar="N", help="so many messages (default: 5)"
    )
    show.add_argument("--json", action="store_true", help="as JSON")
    search = add("search", "find words in all sessions")
    search.used = frozenset()
    search.epilog, search.formatter_class = _LANGUAGE, argparse.RawDescriptionHelpFormatter
    search.add_argument("words", metavar="TEXT", nargs="+", help="what to find, see below")
    search.add_argument(
        "--limit",
        type=whole_number,
        default=20,
        metavar="N",
        help="at most so many hits (default: 20)",
    )
    search.add_argument("--json", action="store_true", help="as JSON")


def _add_changing(add: AddPart) -> None:
    rename = add("rename", "give a session another title")
    rename.used = frozenset()
    rename.add_argument("id", metavar="ID", help=SESSION_HELP)
    rename.add_argument("title", metavar="TITLE", nargs="+")
    tag = add("tag", "put tags on a session, or take them off")
    tag.used = frozenset()
    tag.add_argument("id", metavar="ID", help=SESSION_HELP)
    tag.add_argument("tags", metavar="TAG", nargs="*", help="without any: print those it has")
    tag.add_argument(
        "--remove", metavar="TAG", nargs="*", help="take these off; without any, those before it"
    )
    fork = add("fork", "make a new session of what happened in one")
    fork.used = frozenset()
    fork.add_argument("id", metavar="ID", help=SESSION_HELP)
    fork.add_argument("--at", type=whole_number, metavar="SEQ", help="the last event to take along")
    check = add("check", "check for damage, and repair it if asked")
    check.used = frozenset()
    check.add_argument("ids", metavar="ID", nargs="*", help="default: all sessions")
    check.add_argument(
        "--repair", action="store_true", help="mend; what is changed is kept beside it first"
    )
    salvage = add("salvage", "put a session together from what a bad disk left of it")
    salvage.used = frozenset({"name"})
    salvage.add_argument(
        "sources",
        metavar="SOURCE",
        nargs="+",
        help="a damaged log, a file or folder with pieces, a member's copy, or the id of a session; "
        "the first counts most where several have an event",
    )
    salvage.add_argument(
        "--into", metavar="ID", help="mend this session; its log is the first source then"
    )
    delete = add("delete", "move sessions to the system's trash")
    delete.used = frozenset()
    delete.add_argument("ids", metavar="ID", nargs="+", help=SESSION_HELP)
    prune = add("prune", "move the sessions that are past your limits to the system's trash")
    for asking in (delete, prune):
        asking.add_argument("--yes", action="store_true", help="don't ask")


def _add_list_options(
    parser: CommandParser, sort: str, tags: list[str] | str, *, json: bool | str
) -> None:
    parser.add_argument(
        "--sort",
        choices=("activity", "title", "size", "unread"),
        default=sort,
        help="what the order goes by (default: activity)",
    )
    parser.add_argument(
        "--tag", action="append", default=tags, metavar="TAG", help="only those with this tag"
    )
    parser.add_argument("--json", action="store_true", default=json, help="as JSON")
