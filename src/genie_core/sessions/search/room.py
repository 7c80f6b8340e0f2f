"""Search an open room, in its log and in the part that this person can read."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Final

from genie_core.sessions.changes import Changes
from genie_core.sessions.search.documents import Document, SearchHit, documents
from genie_core.sessions.search.folding import folded
from genie_core.sessions.search.query import Query, room_key
from genie_core.sessions.search.snippet import snippet

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom

PAGE: Final = 4_000
"""Events that are searched in one go."""


async def search_room(room: "JoinedRoom", query: Query) -> AsyncIterator[list[SearchHit]]:
    """Yield the hits of each part of the log, the latest first.

    Cancelling it is safe.

    Raises:
        OSError: the log can't be read.
        SlowExpression: a regular expression takes too long.
    """
    state, before = room.state, room.state.head + 1
    changes = Changes(lambda: state.recovered)
    while before > 1:
        events = await room.past(before, PAGE)
        if not events:
            return
        changes.note_earlier(event for event in events if state.is_proven(event.seq))
        found = list(documents(events, changes))
        yield await asyncio.to_thread(_hits, query, found, room.saved, state.title)
        before = events[0].seq


def _hits(query: Query, found: Sequence[Document], id_: str, title: str) -> list[SearchHit]:
    key = room_key(title, id_)
    return [
        SearchHit(
            *(id_, title, each.seq, each.message, each.at, each.by, each.kind),
            snippet(query, each.text),
        )
        for each in reversed(found)
        if query.matches(each, folded(each.text), key)
    ]
