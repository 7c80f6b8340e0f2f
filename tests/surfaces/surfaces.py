"""The sample as each surface shows it to ann."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

import msgspec
from rich.style import Style
from tests.docs.sample_log import ANN, START
from tests.surfaces.sample import sample

from genie_bridges.acp.updates import end_line, is_line, line_of, outcome_line, quoted, title_of
from genie_bridges.mcp import messages as mcp
from genie_core.assistant.tools.chat.rooms import search_saved_rooms
from genie_core.room.engine.context import missing
from genie_core.room.protocol.events import ApprovalResolved, Event
from genie_core.room.state.private import PrivateReader
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread
from genie_core.room.view.log import EntryLog, message_of
from genie_core.room.view.wording import message_text, message_title, why_silent
from genie_core.sessions.excerpts import excerpt, last_spoken
from genie_core.sessions.export.html import html
from genie_core.sessions.export.markdown import markdown
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.metadata import SessionMetadata
from genie_core.sessions.replay.landmarks import landmark_of, words_in
from genie_core.sessions.search.documents import documents
from genie_core.sessions.session import SavedSession
from genie_serve.web.feed import RoomFeed
from genie_tui.cli.plain.lines import entries_of, thread_entries
from genie_tui.cli.plain.log import lines
from genie_tui.notifications import Bell, told_by
from genie_tui.widgets.activity.rows import ActivityRows, details, headline
from genie_tui.widgets.timeline.canvas import NAMES, Palette
from genie_tui.widgets.timeline.painter import Painter

State = tuple[list[Event], RoomState]

Surface = Callable[[Path], Iterator[str]]


def seen() -> State:
    """The events as ann's program has them, and the state after all of them."""
    events: list[Event] = []
    reader, state = PrivateReader(ANN), RoomState()
    for event in sample():
        events.append(reader.shown(event, state))
        state.apply(event, events[-1])
    return events, state


def step_by_step() -> Iterator[tuple[Event, RoomState]]:
    """Each event with the state after it, as a live connection has them."""
    reader, state = PrivateReader(ANN), RoomState()
    for event in sample():
        shown = reader.shown(event, state)
        state.apply(event, shown)
        yield shown, state


def saved(base: Path) -> SavedSession:
    record = SessionMetadata(
        id="plum-1", title="Plums", kind="hosted", created=START, host="ann", device="d1"
    )
    session = SavedSession(base / "plum-1", record)
    if not session.log_path.exists():
        session.write()
        session.log_path.write_bytes(b"".join(map(encode_line, sample())))
    return session


def timeline(_: Path) -> Iterator[str]:
    state = RoomState()
    log, reader = EntryLog(state), PrivateReader(ANN)
    for event in sample():
        shown = reader.shown(event, state)
        state.apply(event, shown)
        log.add(shown)
    painter = Painter(Palette({name: Style() for name in NAMES}), 90, reasons=True)
    for entry in log.entries:
        for strip in painter.paint(entry, state.threads.get(message_of(entry))):
            yield strip.text.rstrip()


def activity(_: Path) -> Iterator[str]:
    rows = ActivityRows()
    for event, _state in step_by_step():
        rows.apply(event)
    for row in rows.rows:
        line = headline(row)
        parts = (line.tone.value, line.verdict, line.reason, line.subject, line.took, line.cost)
        yield " | ".join((line.glyph, *parts))
        yield from (f"    {label}: {text}" for label, text in details(row))


def plain(_: Path) -> Iterator[str]:
    """What `tail` and a room without a screen print."""
    events, state = seen()
    yield from entries_of(events, state)
    yield "-- /show"
    for thread in state.threads.values():
        yield from thread_entries(thread, state)


def log(base: Path) -> Iterator[str]:
    """What `replay` prints without a screen."""
    with saved(base).reader() as reader:
        yield from (text for _, text in lines(reader.events()))


def browser(_: Path) -> Iterator[str]:
    feed = RoomFeed()
    for event in sample():
        feed.apply(event, feed.state.room)
    yield bytes(feed.members).decode()
    for number, _changed in feed.changed_since(0):
        entry = feed.entry(number)
        yield f"{number}: {'' if entry is None else bytes(entry).decode()}"


def editor(_: Path) -> Iterator[str]:
    """What an editor shows of the room, and of calls and ends of runs."""
    for event, state in step_by_step():
        if is_line(event):
            yield quoted(line_of(event, state)).strip("\n")
        if isinstance(resolved := event.body, ApprovalResolved):
            call = state.calls[resolved.approval]
            yield f"{title_of(call, 'bob')} / {outcome_line(call, resolved, event.by)}"
    yield "-- ends"
    for thread in state.threads.values():
        yield f"{thread.seq}: {end_line(thread, state)}"


def agent_member(_: Path) -> Iterator[str]:
    events, state = seen()
    room = cast("Any", SimpleNamespace(state=state, files=SimpleNamespace(path=lambda _: None)))
    head = mcp.Page("Plums", state.head)
    found = [mcp.line_of(event, room) for event in events if mcp.is_line(event, state, state.head)]
    yield mcp.text_of(head, found)
    people = [mcp.member_of(person, "ann") for person in state.people.values()]
    yield mcp.text_of(head, people)


def export_markdown(base: Path) -> Iterator[str]:
    yield "".join(markdown(saved(base)))


def export_html(base: Path) -> Iterator[str]:
    """The page below its head, without the signatures."""
    page = "".join(html(saved(base))).partition("<dl>")[2]
    yield re.sub(r'<script type="application/json">.*?</script>', "", page.partition("<script>")[0])


def transcript(base: Path) -> Iterator[str]:
    """The messages of a saved room, and the excerpt that another room may quote."""
    with saved(base).reader() as reader:
        for line in last_spoken(reader, 200):
            yield f"{line.seq} {line.by}: {line.text!r}"
        yield "-- excerpt"
        for quoted_line in excerpt(reader, "r", "t", 200).lines:
            yield f"{quoted_line.sender}: {quoted_line.text!r}"


SHOWN: Final = ("seq", "message", "at", "by", "kind", "text", "has_file")
"""The fields of a document that decide what a search finds."""


def search(_: Path) -> Iterator[str]:
    for each in documents(sample()):
        shown = {name: getattr(each, name) for name in SHOWN}
        yield msgspec.json.encode(shown).decode()


def chat_tools(base: Path) -> Iterator[str]:
    """What an agent of the room reads, and what one finds in other rooms."""
    state = seen()[1]
    for item in missing(state, "ann", ()):
        yield f"{item.message.sender}: {item.message.content}"
    yield "-- search"
    yield search_saved_rooms(str(saved(base).folder.parent), "plum", "", 50, 60.0)


def landmarks(_: Path) -> Iterator[str]:
    for event, _state in step_by_step():
        kind, texts = landmark_of(event), [*words_in(event)]
        if kind is not None or texts:
            yield f"{event.seq} {kind.value if kind is not None else ''}: {texts}"


def notifications(_: Path) -> Iterator[str]:
    bell = Bell("all", lambda: 0.0)
    bell.enter(RoomState(), "ann")
    for event, state in step_by_step():
        bell._rang_at = float("-inf")
        if bell.ring_for([event], state, "ann") is not None:
            yield f"{event.seq} {told_by(event, 'Plums')!r}"


def message_dialogs(_: Path) -> Iterator[str]:
    """A message in full, and why it has no answer."""
    state = seen()[1]
    threads: list[MessageThread] = [*state.threads.values()]
    for thread in threads:
        yield f"-- {thread.seq}: {message_title(thread)}"
        yield message_text(thread)
        yield why_silent(thread)


SURFACES: Final[dict[str, Surface]] = {
    each.__name__: each
    for each in (
        timeline,
        activity,
        plain,
        log,
        browser,
        editor,
        agent_member,
        export_markdown,
        export_html,
        transcript,
        search,
        chat_tools,
        landmarks,
        notifications,
        message_dialogs,
    )
}
