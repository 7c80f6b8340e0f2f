"""Check a session for damage. Locks and changes nothing."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from genie_core.room.protocol.events import UnreadableEvent
from genie_core.room.state.room_state import RoomState
from genie_core.sessions.errors import DamagedSession, NewerVersion, about
from genie_core.sessions.labels import LABELS_NAME, Labels
from genie_core.sessions.lock import holder
from genie_core.sessions.log.format import AllDamages, fitting
from genie_core.sessions.log.reader import logged
from genie_core.sessions.metadata import SessionMetadata, read_metadata
from genie_core.sessions.session import LOG_NAME, METADATA_NAME
from genie_core.storage.blobs import BLOBS_NAME, BlobStore, fault
from genie_core.storage.errors import StorageError, disk_access
from genie_core.storage.journal import decode_journal, decode_value
from genie_core.text.format import counted

MOST_REMARKS: Final = 5
"""How many different reasons for unreadable events are listed."""


TO_BE_CUT: Final = "the last line is unfinished: --repair, or the next opening, cuts {} off"


@dataclass(slots=True)
class CheckedLog:
    """The content of a log.

    `broken` says whether lines are damaged, missing or repeated, or the end is torn. `blank` counts
    the intact lines that tell nothing here, by the reason: their kind is of another version, or
    they stand for lost ones.
    """

    state: RoomState = field(default_factory=RoomState)
    problems: list[str] = field(default_factory=list)
    blank: Counter[str] = field(default_factory=Counter)
    first_at: float = 0.0
    last_at: float = 0.0
    broken: bool = False


@dataclass(slots=True)
class Checkup:
    """The result of a check.

    `problems` are lines for a person, usually none; `remarks` are about unusual parts that are in
    order. `skipped` says why nothing was looked at. `log` is the content of the log, None if it
    can't be read, `metadata` that of the session, None if that can't be read, and `spoilt` are the
    digests of files with another content than their names say.
    """

    id: str
    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    skipped: str = ""
    log: CheckedLog | None = None
    metadata: SessionMetadata | None = None
    spoilt: list[str] = field(default_factory=list)
    files: int = 0


def check(folder: Path) -> Checkup:
    """Read a whole session and report its damage. Blocks, long for a large session.

    An open session is skipped: a write in progress looks like damage.
    """
    try:
        held_by = holder(folder)
    except StorageError as error:
        return Checkup(folder.name, [_said(error, folder)])
    if held_by:
        return Checkup(folder.name, skipped=f"it is open in {held_by}")
    return examine(folder)


def examine(folder: Path) -> Checkup:
    """Check a session that no other process has open; see `check`."""
    checkup = Checkup(folder.name)
    try:
        _check_metadata(folder, checkup)
        if not checkup.skipped:
            checkup.log = read_log(folder / LOG_NAME)
            checkup.problems += checkup.log.problems
            _tell_blank(checkup, checkup.log)
            checkup.problems += doubts_told(checkup.log.state)
            _compare(checkup, checkup.log.state)
            _check_files(folder, checkup, checkup.log.state)
            checkup.problems += Labels.read(folder).problems
            checkup.problems += _check_other_files(folder)
    except StorageError as error:
        checkup.problems.append(_said(error, folder))
    return checkup


def doubts_told(state: RoomState) -> list[str]:
    """Say which entries of a log are not proven, a line for each reason."""
    reasons: dict[str, list[int]] = {}
    for seq, why in state.doubts.items():
        reasons.setdefault(why, []).append(seq)
    return [
        f"not proven in the log: {counted(len(seqs), 'entry', 'entries')} ({_first(seqs)}): {why}"
        for why, seqs in reasons.items()
    ]


def _first(numbers: Sequence[int]) -> str:
    """List the first numbers, and count the others."""
    more = len(numbers) - MOST_REMARKS
    named = ", ".join(f"{number:,}" for number in numbers[:MOST_REMARKS])
    return f"{named} and {more:,} more" if more > 0 else named


def read_log(path: Path) -> CheckedLog:
    """Read a log to its end; a missing one is empty.

    Raises:
        DamagedSession: it is no file.
        DiskFailure: it can't be read.
    """
    found, damages, contradictions = CheckedLog(), AllDamages(), AllDamages()
    for each in logged(path, damages):
        if isinstance(each.event.body, UnreadableEvent) and not each.lost:
            found.blank[each.event.body.why] += 1
        event = fitting(found.state, each.event, contradictions)
        found.first_at = found.first_at or event.at
        found.last_at = max(found.last_at, event.at)
    problems = damages.told(TO_BE_CUT)
    found.problems = [*problems, *contradictions.told()]
    found.broken = bool(problems)
    return found


def _said(error: StorageError, folder: Path) -> str:
    """Return an error's text without the folder's path."""
    if isinstance(error, DamagedSession):
        return f"{error.path.name} can't be read: {error.why}"
    return about(error, folder)


def _check_metadata(folder: Path, checkup: Checkup) -> None:
    try:
        checkup.metadata, _version = read_metadata(folder / METADATA_NAME)
    except NewerVersion as error:
        checkup.skipped = _said(error, folder)
    except StorageError as error:
        checkup.problems.append(_said(error, folder))


def _tell_blank(checkup: Checkup, log: CheckedLog) -> None:
    for why, count in log.blank.most_common(MOST_REMARKS):
        checkup.remarks.append(f"{counted(count, 'event')} can't be shown: {why}")


def _compare(checkup: Checkup, state: RoomState) -> None:
    """Report differences between metadata and log."""
    metadata = checkup.metadata
    if metadata is None:
        return
    for what, said, real in (
        ("messages", metadata.messages, state.messages),
        ("events", metadata.head, state.head),
    ):
        if said > real:
            checkup.problems.append(
                f"{METADATA_NAME} tells of {said:,} {what}, and the log has {real:,}"
            )
    if metadata.head and metadata.head < state.head:
        behind = counted(state.head - metadata.head, "event")
        checkup.remarks.append(f"{METADATA_NAME} is behind the log, by {behind}")


def _check_other_files(folder: Path) -> Iterator[str]:
    """Report damaged JSON of everything else: agents' memory, drafts, withheld arguments."""
    for path in sorted(folder.rglob("*.json*")):
        if path.suffix not in (".json", ".jsonl") or path.parent == folder / BLOBS_NAME:
            continue
        name = path.relative_to(folder)
        if str(name) in (LOG_NAME, METADATA_NAME, LABELS_NAME) or not path.is_file():
            continue
        with disk_access("read", path):
            content = path.read_bytes()
        why = _damage(content, lines=path.suffix == ".jsonl")
        if why:
            yield f"{name} is damaged: {why}"


def _damage(content: bytes, *, lines: bool) -> str:
    if lines:  # an unfinished last line was never acknowledged
        damaged = decode_journal(content[: content.rfind(b"\n") + 1]).damaged
        return f"line {_first(damaged)}" if damaged else ""
    try:
        decode_value(content)
    except ValueError as error:
        return str(error)
    return ""


def _check_files(folder: Path, checkup: Checkup, state: RoomState) -> None:
    here = BlobStore(folder / BLOBS_NAME).digests()
    damaged = damaged_files(folder, state)
    checkup.spoilt = list(damaged)
    checkup.problems += damaged.values()
    checkup.files = len(state.files.keys() & here.keys())
    missing = len(state.files) - checkup.files
    if missing:
        text = f"{counted(missing, 'file is', 'files are')} not on this machine"
        hosted = checkup.metadata is not None and checkup.metadata.kind == "hosted"
        (checkup.problems if hosted else checkup.remarks).append(text)


def damaged_files(folder: Path, state: RoomState) -> dict[str, str]:
    """Return the attached files that are not as messages sign them, and why, by digest. Blocks."""
    store = BlobStore(folder / BLOBS_NAME)
    here, found = store.digests(), {}
    for digest in [each for each in state.files if each in here]:
        path = store.path(digest)
        with disk_access("read", path):
            why = fault(path, digest, state.files[digest].size, here[digest])
        if why:
            found[digest] = f"the file {digest[:12]}… is damaged: {why}"
    return found
