"""A recorded room for tests: a list of events that is read as a log is."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tests.genie_tui.widgets.room_log import START, RoomLog

from genie_core.room.protocol.events import (
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    HostStarted,
    MemberJoined,
    RoomCreated,
    RunFailed,
)
from genie_core.room.state.room_state import RoomState
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.log.reader import LogReader
from genie_core.sessions.log.snapshots import Snapshots
from genie_core.sessions.session import SavedSession

PART = 4
"""Events of a part that is searched at once."""


class ListLog(LogReader):
    """Reads a list in memory; `most` is the longest piece that was read."""

    def __init__(self, events: list[Event]) -> None:
        self.all = events
        self._head = len(events)
        self.most = 0
        self.reads = 0

    @property
    def head(self) -> int:
        return self._head

    def state(self) -> RoomState:
        state = RoomState()
        for event in self.all[: self.head]:
            state.apply(event)
        return state

    def events(self, after: int = 0, upto: int | None = None) -> Iterator[Event]:
        for event in self.all[after : self.head if upto is None else min(upto, self.head)]:
            self.reads += 1
            yield event

    def read(self, after: int, most: int) -> list[Event]:
        found = self.all[after : min(after + most, self.head)]
        self.most = max(self.most, len(found))
        self.reads += len(found)
        return found

    @property
    def repeated(self) -> list[int]:
        return self.state().repeated

    @property
    def snapshots(self) -> Snapshots:
        return Snapshots()

    def part(self, seq: int, test: Callable[[bytes], bool]) -> tuple[int, int, bool]:
        first = seq - (seq - 1) % PART
        last = min(first + PART - 1, self.head)
        return first, last, test(b"".join(map(encode_line, self.all[first - 1 : last])))

    def refresh(self) -> int:
        self._head = len(self.all)
        return self._head


def a_day() -> RoomLog:
    """A room in which all happens that one may look for."""
    log = RoomLog()
    log.add(RoomCreated("r1", "Garden"))
    log.add(HostStarted("ann"))
    log.add(MemberJoined("host", engine=True), "ann")
    log.add(MemberJoined("member", engine=True), "bob")
    first = log.ask("ann", "where are the seeds?")  # 5, 6
    log.answer(first, "in the shed")  # 7
    quiet = log.say("bob", "good morning", handler="bob", after=3600)  # 8
    log.add(DecisionMade(quiet.seq, "ignore", reason="a greeting"), "bob")  # 9
    tidy = log.ask("bob", "please tidy up")  # 10, 11
    log.add(
        ApprovalRequested(tidy.seq, "a1", "genie", "delete_file", {"path": "old.txt"}), "bob"
    )  # 12
    log.add(ApprovalResolved(tidy.seq, "a1", "denied", reason="not that one"), "bob")  # 13
    log.add(RunFailed(tidy.seq, "agent", "the model is away"), "bob")  # 14
    log.add(
        ApprovalRequested(
            log.ask("ann", "look it up").seq, "a2", "genie", "grep", {}, unasked=True
        ),
        "ann",
    )
    return log


def save(sessions: Path, events: Iterable[Event], title: str = "Garden") -> SavedSession:
    """A room of ann's on disk, with this log."""
    saved = Catalog(sessions).create(title, START, host="ann", name="ann")
    append(saved, events)
    return saved


def append(saved: SavedSession, events: Iterable[Event]) -> None:
    """Let a room's log grow."""
    with saved.log_path.open("ab") as log:
        log.writelines(encode_line(event) for event in events)
