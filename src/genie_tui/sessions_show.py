"""One saved room, told in lines."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from genie_core.room.state.room_state import RoomState
from genie_core.sessions.catalog import extent
from genie_core.sessions.lock import holder
from genie_core.sessions.session import SavedSession
from genie_core.sessions.transcript import last_spoken
from genie_tui.amounts import counted, file_size
from genie_tui.locations import short_path
from genie_tui.moments import local_time
from genie_tui.output import safe_line
from genie_tui.widgets.agent_path import agent_path

LAST: Final = 5
"""So many of the last messages are shown, unless more are asked for."""


def described(saved: SavedSession, last: int) -> Iterator[str]:
    """What is known of a room, in lines; its log is read for that. Blocks.

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
    """What JSON tells of a room beyond what the list does; as `described` otherwise."""
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
    host = record.host or "somebody"
    return f"a copy of the room that {host} hosts, as {record.name}"
