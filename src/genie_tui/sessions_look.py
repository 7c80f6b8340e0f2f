"""Looking at saved rooms from the command line: all of them, one of them, and what was said."""

import argparse
import time
from typing import Any

from genie_core.errors import GenieError
from genie_core.sessions.listing import past_line
from genie_core.sessions.search.documents import SearchHit
from genie_core.sessions.search.index import search_sessions
from genie_tui import sessions_list as lists
from genie_tui import sessions_show as showing
from genie_tui.moments import local_time
from genie_tui.output import json_text, safe_line
from genie_tui.sessions_desk import Sessions


class NothingFound(GenieError):
    """A search that brought nothing."""

    def __init__(self, text: str) -> None:
        words = len(text.split())
        if not any(letter.isalnum() for letter in text):
            why = "name a word that was said"
        elif words > 1:
            why = "fewer words find more"
        else:
            why = "the beginning of a word finds more"
        super().__init__(f"nothing is found for {text!r}; {why}")
        self.text = text


def list_all(options: argparse.Namespace, sessions: Sessions) -> int:
    """Write the list; raises `DiskFailure` if it can't be made."""
    now, out = time.time(), sessions.out
    every = lists.entries(sessions.catalog, sessions.limits, now)
    found = lists.chosen(every, options.tag, options.sort)
    if options.json:
        out.write(f"{lists.as_json(found, sessions.locations.sessions)}\n")
        return 0
    if not found:
        what = "no session has this tag" if every else "there are no sessions yet: genie-tui host"
        sessions.tell(what)
        return 0
    lists.write_table(found, now, out)
    if line := past_line(len(lists.past_limits(every))):
        sessions.tell(line)
    return 0


def show(options: argparse.Namespace, sessions: Sessions) -> int:
    """Write what is known of one room; errors as `Catalog.find`, and `DiskFailure`."""
    saved = sessions.catalog.find(options.id)
    if not options.json:
        sessions.out.writelines(f"{line}\n" for line in showing.described(saved, options.last))
        return 0
    every = lists.entries(sessions.catalog, sessions.limits, time.time())
    (entry,) = (each for each in every if each.listing.id == saved.id)
    told = lists.as_object(entry, sessions.locations.sessions)
    told.update(showing.details(saved, options.last))
    sessions.out.write(f"{json_text(told)}\n")
    return 0


def search(options: argparse.Namespace, sessions: Sessions) -> int:
    """Write what is found in all sessions, the best first.

    Raises:
        NothingFound: there is nothing.
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
        sessions.out.write(f"{json_text([_as_object(hit) for hit in found.hits])}\n")
        return 0
    session = ""
    for hit in found.hits:
        if hit.session != session:
            session = hit.session
            sessions.tell(f"{session}: {hit.title}")
        if hit.seq:
            when = f"{local_time(hit.at):%Y-%m-%d %H:%M}"
            sessions.out.write(f"  {hit.seq:>6}  {when}  {safe_line(_told(hit))}\n")
    place = " --at NUMBER" if any(hit.seq for hit in found.hits) else ""
    sessions.tell(f"to watch one: genie-tui replay {found.hits[0].session}{place}")
    return 0


def _told(hit: SearchHit) -> str:
    """A hit in one line, with what was found in brackets of its own kind."""
    text, at = "", 0
    for start, end in hit.snippet.marks:
        text += f"{hit.snippet.text[at:start]}»{hit.snippet.text[start:end]}«"
        at = end
    return f"{hit.by}: {text}{hit.snippet.text[at:]}"


def _as_object(hit: SearchHit) -> dict[str, Any]:
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
