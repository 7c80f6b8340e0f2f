"""Decisions of reasoners beside a saved room, so that the same question is asked once.

`whatif/decisions.jsonl` is only appended to; the last line about a message counts. Each line has the
key of the reasoner that decided.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from genie_core.assistant.what_if.report import CaseResult
from genie_core.assistant.what_if.saved_reports import FOLDER
from genie_core.storage.atomic import append_line, make_private_folder
from genie_core.storage.errors import disk_access

DECISIONS_NAME: Final = "decisions.jsonl"

_LINE_BYTES: Final = 1024 * 1024


class _Kept(msgspec.Struct):
    reasoner: str
    case: CaseResult


_decode: Final = msgspec.json.Decoder(_Kept).decode


def reasoner_key(*parts: str) -> str:
    """Return a digest of all that a reasoner's decisions depend on: prompt, model and address."""
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:32]


def kept_decisions(room: Path, reasoner: str) -> dict[int, CaseResult]:
    """Return the decisions of a reasoner in a session's folder, by message. Blocks.

    Raises:
        DiskFailure: they can't be read.
    """
    path, found = room / FOLDER / DECISIONS_NAME, dict[int, CaseResult]()
    with disk_access("read", path):
        if not path.is_file():
            return found
        with path.open("rb") as lines:
            while line := lines.readline(_LINE_BYTES):
                kept = _understood(line)
                if kept is not None and kept.reasoner == reasoner:
                    found[kept.case.message] = kept.case
    return found


def keep_decisions(room: Path, reasoner: str, cases: Iterable[CaseResult]) -> None:
    """Add decisions to a session's folder; failures are left out, to be asked about again.

    Raises:
        DiskFailure: they can't be written.
    """
    lines = [_Kept(reasoner, each) for each in cases if each.after is not None]
    path = room / FOLDER / DECISIONS_NAME
    with disk_access("write", path):
        make_private_folder(path.parent)
        if lines:
            append_line(path, msgspec.json.Encoder().encode_lines(lines))


def _understood(line: bytes) -> _Kept | None:
    try:
        return _decode(line)
    except (ValueError, RecursionError):
        return None
