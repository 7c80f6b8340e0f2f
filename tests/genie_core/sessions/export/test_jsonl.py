"""A saved room as JSON lines."""

import io
import json
import os
from pathlib import Path

import pytest
from tests.genie_core.sessions.sample import SECRETS, log_bytes, saved_room

from genie_core.sessions.errors import DamagedSession
from genie_core.sessions.export.jsonl import write_lines


def exported(*args: object, **fields: object) -> bytes:
    out = io.BytesIO()
    write_lines(saved_room(Path(str(args[0])), **fields), out)
    return out.getvalue()


def test_the_log_follows_a_header_as_it_is(tmp_path: Path) -> None:
    first, _, rest = exported(tmp_path).partition(b"\n")
    header = json.loads(first)
    assert header["genie-session"] == 1
    assert header["record"]["title"] == "Standup"
    assert rest.startswith(log_bytes())
    assert header["log"]["lines"] == log_bytes().count(b"\n")
    (label,) = map(json.loads, rest[len(log_bytes()) :].splitlines())
    assert (label["seq"], label["label"]) == (9, "wrong")


def test_machine_settings_are_not_exported(tmp_path: Path) -> None:
    data = exported(
        tmp_path,
        workspace="/home/ann/work",
        address="10.0.0.7:7654",
        addresses=("10.0.0.7:7654",),
        pin="of a certificate",
        template="/home/ann/mine.md",
    )
    for secret in (*SECRETS, b"/home/ann", b"10.0.0.7", b"of a certificate"):
        assert secret not in data


def test_a_torn_end_is_left_out_and_told_of(tmp_path: Path) -> None:
    saved = saved_room(tmp_path)
    whole, torn = io.BytesIO(), io.BytesIO()
    assert write_lines(saved, whole) == []
    with saved.log_path.open("ab") as log:
        log.write(b'{"seq":12,"at":17')
    (note,) = write_lines(saved, torn)
    assert "unfinished" in note
    assert torn.getvalue() == whole.getvalue()


def test_a_room_without_a_line_can_be_exported(tmp_path: Path) -> None:
    saved, out = saved_room(tmp_path), io.BytesIO()
    saved.log_path.write_bytes(b"x" * 600_000)
    write_lines(saved, out)
    assert json.loads(out.getvalue().partition(b"\n")[0])["log"]["size"] == 0
    saved.log_path.unlink()
    assert write_lines(saved, io.BytesIO()) == []


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    saved = saved_room(tmp_path)
    saved.log_path.unlink()
    os.mkfifo(saved.log_path)
    with pytest.raises(DamagedSession, match="not an ordinary file"):
        write_lines(saved, io.BytesIO())
