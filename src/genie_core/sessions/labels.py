"""A person's labels of decisions in a session: which were wrong.

`labels.jsonl` is only appended to; the last line about a message counts. It belongs to this person
and is never sent.
"""

from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec

from genie_core.room.protocol.events import is_moment
from genie_core.sessions.errors import check_ordinary
from genie_core.storage.atomic import append_line
from genie_core.storage.errors import disk_access
from genie_core.text.format import counted

LABELS_NAME: Final = "labels.jsonl"

Mark: TypeAlias = Literal["wrong", ""]
"""The label of a decision; empty removes an earlier one."""


class Label(msgspec.Struct, frozen=True):
    """A person's label of the decision about the message with sequence number `seq`.

    `decision` is the labelled decision, `at` in seconds since the epoch, `by` the person.
    """

    seq: int
    label: Mark
    decision: Literal["ignore", "delegate"]
    at: float
    by: str


class Labels:
    """The labels of one session as last read. Its methods block."""

    def __init__(self, path: Path) -> None:
        self._path: Final = path
        self._wrong: dict[int, Label] = {}
        self.problems: list[str] = []

    @classmethod
    def read(cls, folder: Path) -> "Labels":
        """Read the labels in a session's folder; none without a file.

        Invalid lines are skipped and reported in `problems`.

        Raises:
            DamagedSession: it is no file.
            DiskFailure: it can't be read.
        """
        labels = cls(folder / LABELS_NAME)
        with disk_access("read", labels._path):
            if labels._path.exists():
                check_ordinary(labels._path)
                labels._take_all(labels._path.read_bytes())
        return labels

    @property
    def wrong(self) -> dict[int, Label]:
        """The messages whose decisions are marked as wrong, by number."""
        return dict(self._wrong)

    def put(self, label: Label) -> None:
        """Label a decision; on disk when this returns.

        Raises:
            DiskFailure: it can't be written; nothing has changed.
        """
        with disk_access("write", self._path):
            append_line(self._path, msgspec.json.encode(label) + b"\n")
        self._take(label)

    def _take_all(self, data: bytes) -> None:
        strange = 0
        for line in data.splitlines():
            try:
                label = msgspec.json.decode(line, type=Label)
            except (ValueError, RecursionError):
                strange += bool(line.strip())
                continue
            if label.seq > 0 and is_moment(label.at):
                self._take(label)
            else:
                strange += 1
        if strange:
            lines = counted(strange, "line")
            self.problems.append(f"{lines} of {self._path} can't be understood and are left out")

    def _take(self, label: Label) -> None:
        self._wrong.pop(label.seq, None)
        if label.label:
            self._wrong[label.seq] = label
