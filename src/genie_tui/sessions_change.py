"""Changing saved rooms from the command line."""

import argparse
import time
from collections.abc import Iterable

from genie_core.errors import GenieError
from genie_core.sessions.check import Checkup, check
from genie_core.sessions.fork import fork
from genie_core.sessions.lock import SessionInUse, holder
from genie_core.sessions.metadata import one_line
from genie_core.sessions.repair import repair
from genie_core.sessions.search.index import IndexBusy, SearchIndex
from genie_core.sessions.trash import trash
from genie_core.storage.errors import StorageError
from genie_tui import sessions_list as lists
from genie_tui.amounts import counted
from genie_tui.sessions_desk import Sessions


class NoTitle(GenieError):
    """A room should be called nothing at all."""

    def __init__(self, room: str) -> None:
        super().__init__(f"{room} needs a title that can be seen")
        self.room = room


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
    """Change a room's tags, or write them; errors as `Catalog.find`, and `InvalidTag`."""
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
    """Make a room of another one; errors as `Catalog.find` and `fork`."""
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
    """Move rooms to the trash; errors as `trash`, before anybody is asked, and `NotConfirmed`."""
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
    """Move the rooms that are past a limit to the trash; errors as for `delete`."""
    if not (sessions.limits.max_age_days or sessions.limits.max_total_mb):
        sessions.tell("there is no limit; set one: genie-tui config set retention.max_age_days 365")
        return 0
    past = lists.past_limits(lists.entries(sessions.catalog, sessions.limits, time.time()))
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
    """Look for damage, and mend it if that is asked for; 1 if something stays wrong."""
    catalog = sessions.catalog
    ids = [catalog.match(wanted) for wanted in options.ids]
    ids = list(dict.fromkeys(ids)) or [each.id for each in catalog.all()]
    if not ids:
        sessions.tell("there are no sessions yet")
    bad = 0
    for id_ in ids:
        found = check(catalog.folder(id_))
        _tell(found, sessions)
        if found.problems and options.repair:
            found = _mended(found, sessions)
        bad += bool(found.problems)
    if bad:
        verb = "has" if bad == 1 else "have"
        sessions.tell(
            f"{bad:,} of {counted(len(ids), 'session')} {verb} problems{_advice(options)}"
        )
    return 1 if bad else 0


def _advice(options: argparse.Namespace) -> str:
    if options.repair:
        return " that can't be mended"
    return "; to mend what can be mended: genie-tui sessions check --repair"


def _tell(found: Checkup, sessions: Sessions) -> None:
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


def _mended(found: Checkup, sessions: Sessions) -> Checkup:
    """Mend a room, tell what was done, and look at it again."""
    folder = sessions.catalog.folder(found.id)
    try:
        for line in repair(folder):
            sessions.tell_more(f"mended: {line}")
    except StorageError as error:
        sessions.tell_more(f"not mended: {error}")
        return found
    left = check(folder)
    if left.log is None:
        sessions.tell_more("not mended: nothing is changed while the log can't be read")
    for line in left.problems:
        sessions.tell_more(f"still: {line}")
    return left
