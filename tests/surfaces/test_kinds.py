"""Each surface shows each kind of event, or names it among those that it leaves out."""

import typing
from collections.abc import Callable

import pytest
from tests.surfaces.sample import sample
from tests.surfaces.surfaces import step_by_step

from genie_bridges.acp import updates as editor
from genie_bridges.mcp import messages as agent_member
from genie_core.room.protocol.events import AnyBody, Body, Event
from genie_core.room.state.room_state import RoomState
from genie_core.room.view import log, reader, spoken
from genie_core.sessions.export.story import story
from genie_core.sessions.search import documents as search
from genie_serve.web.feed import RoomFeed
from genie_tui.cli.plain.lines import entries_of
from genie_tui.widgets.activity import rows as activity

Shown = Callable[[Event, RoomState], bool]

KINDS = frozenset(typing.get_args(AnyBody))


def on_timeline() -> Shown:
    """Whether an event adds or changes an entry of a timeline."""
    state = RoomState()
    entries = log.EntryLog(state)

    def shows(event: Event, later: RoomState) -> bool:
        state.become(later)
        before = [*entries.entries]
        entries.add(event)
        return before != entries.entries

    return shows


def in_browser() -> Shown:
    feed = RoomFeed()

    def shows(event: Event, _: RoomState) -> bool:
        feed.apply(sample()[event.seq - 1], feed.state.room)
        return bool(feed.changed_since(event.seq - 1))

    return shows


def in_activity() -> Shown:
    rows = activity.ActivityRows()
    return lambda event, _: bool(rows.apply(event))


def in_export() -> Shown:
    told = {passage.event.seq for passage in story(sample())}
    return lambda event, _: event.seq in told


SURFACES: dict[str, tuple[Callable[[], Shown], frozenset[type]]] = {
    "view": (
        lambda: lambda event, state: reader.entry_of(event, state) is not None,
        reader.LEFT_OUT,
    ),
    "timeline": (on_timeline, log.LEFT_OUT | reader.LEFT_OUT),
    "plain": (lambda: lambda event, state: any(entries_of([event], state)), reader.LEFT_OUT),
    "browser": (in_browser, reader.LEFT_OUT),
    "editor": (
        lambda: lambda event, state: editor.is_line(event) and bool(editor.line_of(event, state)),
        editor.LEFT_OUT,
    ),
    "agents as members": (
        lambda: lambda event, state: agent_member.is_line(event, state, state.head),
        agent_member.LEFT_OUT,
    ),
    "activity": (in_activity, activity.LEFT_OUT),
    "exports": (in_export, reader.LEFT_OUT),
    "spoken": (lambda: lambda event, _: spoken.spoken_in(event) is not None, spoken.LEFT_OUT),
    "search": (lambda: lambda event, _: search.document(event) is not None, search.LEFT_OUT),
}


@pytest.mark.parametrize("surface", SURFACES)
def test_surface_shows_each_kind_or_names_it(surface: str) -> None:
    make, left_out = SURFACES[surface]
    shows = make()
    shown: set[type[Body]] = {
        type(event.body) for event, state in step_by_step() if shows(event, state)
    }
    assert {each.__name__ for each in shown} == {each.__name__ for each in KINDS - left_out}
