"""A saved room with its attached files in one archive."""

import io
import json
import zipfile
from pathlib import Path

from tests.genie_core.sessions.sample import DIGEST, FILE, SECRETS, saved_room

from genie_core.sessions.export.jsonl import write_bundle, write_lines
from genie_core.sessions.session import SavedSession
from genie_core.storage.blobs import BLOBS_NAME, BlobStore


def contents(saved: SavedSession) -> tuple[dict[str, bytes], list[str]]:
    out = io.BytesIO()
    notes = write_bundle(saved, out)
    with zipfile.ZipFile(out) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}, notes


def test_bundle_has_only_lines_and_files(tmp_path: Path) -> None:
    saved, lines = saved_room(tmp_path), io.BytesIO()
    write_lines(saved, lines)
    found, notes = contents(saved)
    assert found == {"session.jsonl": lines.getvalue(), f"blobs/{DIGEST}": FILE}
    assert notes == []
    assert not any(secret in data for secret in SECRETS for data in found.values())


def test_unnamed_and_missing_files_stay_out(tmp_path: Path) -> None:
    saved = saved_room(tmp_path)
    (stray := tmp_path / "stray").write_bytes(b"attached, and never sent")
    blobs = BlobStore(saved.folder / BLOBS_NAME)
    blobs.add(stray)
    blobs.remove(DIGEST)
    found, notes = contents(saved)
    assert list(found) == ["session.jsonl"]
    assert notes == ["1 file is not stored here and left out"]
    assert json.loads(found["session.jsonl"].partition(b"\n")[0])["genie-session"] == 1
