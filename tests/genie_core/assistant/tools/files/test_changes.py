import errno
import os
import stat
from pathlib import Path

import pytest
from tests.genie_core.faulty_files import FaultyFiles, failing, failing_from

from genie_core.agent.approval import approval_id
from genie_core.assistant.tools.files import changes as module
from genie_core.assistant.tools.files.changes import RECORDS_NAME, FileChanges, UndoRefused
from genie_core.assistant.tools.files.edit import Edits, TextEdit
from genie_core.assistant.tools.files.workspace import MAX_FILE_BYTES, Workspace


@pytest.fixture
def edits(tmp_path: Path) -> Edits:
    root = tmp_path / "work"
    root.mkdir()
    (root / "notes.md").write_bytes(b"one\ntwo\n")
    return Edits(Workspace.at(root), FileChanges(tmp_path / "session" / "changes"))


def undo(edits: Edits, file: str = "", approval: str = "") -> str:
    """Undo the latest change; return the diff that is shown before."""
    plan = edits.changes.plan(edits.workspace, file, approval)
    edits.changes.undo(edits.workspace, plan.number)
    return plan.diff


def refusal(edits: Edits, file: str = "", approval: str = "") -> str:
    with pytest.raises(UndoRefused) as caught:
        undo(edits, file, approval)
    return str(caught.value)


def kept(edits: Edits) -> list[Path]:
    assert edits.changes.folder is not None
    return [each for each in edits.changes.folder.iterdir() if each.name != RECORDS_NAME]


def reopened(edits: Edits) -> Edits:
    return Edits(edits.workspace, FileChanges(edits.changes.folder))


async def test_changes_are_undone_from_the_latest_back(edits: Edits) -> None:
    notes, new = edits.workspace.root / "notes.md", edits.workspace.root / "src" / "new.py"
    await edits.edit_file("notes.md", "two", "2")
    await edits.write_file("src/new.py", "a\n")
    await edits.write_file("notes.md", "all new\n", overwrite=True)
    assert undo(edits) == "--- notes.md\n+++ notes.md\n@@ -1 +1,2 @@\n-all new\n+one\n+2"
    assert notes.read_bytes() == b"one\n2\n"
    plan = edits.changes.plan(edits.workspace)
    assert (plan.name, plan.deletes) == ("src/new.py", True)
    assert plan.diff.endswith("\n-a")
    edits = reopened(edits)  # what is undone stays so
    undo(edits)
    assert not new.exists()
    undo(edits)
    assert notes.read_bytes() == b"one\ntwo\n"
    assert refusal(edits) == "no change of a file is left that could be undone"
    assert refusal(reopened(edits)) == "no change of a file is left that could be undone"


async def test_change_is_undone_only_once(edits: Edits) -> None:
    await edits.edit_file("notes.md", "two", "2")
    plan = edits.changes.plan(edits.workspace)
    assert edits.changes.plan(edits.workspace) == plan
    assert (edits.workspace.root / "notes.md").read_bytes() == b"one\n2\n"
    edits.changes.undo(edits.workspace, plan.number)
    with pytest.raises(UndoRefused, match="undone already"):
        edits.changes.undo(edits.workspace, plan.number)


async def test_change_is_chosen_by_file_or_call(edits: Edits) -> None:
    approval_id.set("first")
    await edits.edit_file("notes.md", "two", "2")
    approval_id.set("second")
    await edits.write_file("new.md", "")
    await edits.write_file("other.md", "x")
    assert edits.changes.plan(edits.workspace, "./notes.md").name == "notes.md"
    assert edits.changes.plan(edits.workspace, approval="second").name == "other.md"
    assert refusal(edits, "missing.md") == "no change of missing.md is left that could be undone"
    assert refusal(edits, approval="none") == "no change of this call is left that could be undone"
    undo(reopened(edits), approval="first")
    assert (edits.workspace.root / "notes.md").read_bytes() == b"one\ntwo\n"


async def test_contents_are_private_kept_once(edits: Edits) -> None:
    for text in ("2", "3"):
        await edits.write_file("notes.md", text, overwrite=True)
        await edits.write_file("notes.md", "one\ntwo\n", overwrite=True)
    folder = edits.changes.folder
    assert folder is not None
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()} == {0o600}
    assert sorted(each.read_bytes() for each in kept(edits)) == [b"2", b"3", b"one\ntwo\n"]


async def test_what_changed_since_is_left_alone(edits: Edits) -> None:
    notes = edits.workspace.root / "notes.md"
    await edits.edit_file("notes.md", "two", "2")
    await edits.write_file("new.md", "mine")
    plan = edits.changes.plan(edits.workspace, "notes.md")
    notes.write_bytes(b"yours")
    (edits.workspace.root / "new.md").write_bytes(b"yours")
    [copy] = kept(edits)
    changed = f"notes.md has changed since; its earlier content is kept in {copy}"
    assert refusal(edits, "notes.md") == changed
    with pytest.raises(UndoRefused, match="has changed since"):  # between question and answer
        edits.changes.undo(edits.workspace, plan.number)
    assert refusal(edits) == "new.md has changed since; it did not exist before"
    assert notes.read_bytes() == (edits.workspace.root / "new.md").read_bytes() == b"yours"
    notes.unlink()
    assert refusal(edits, "notes.md").startswith("notes.md is gone; its earlier content is kept in")
    notes.symlink_to("new.md")
    assert "leads to another place" in refusal(edits, "notes.md")
    notes.unlink()
    notes.mkdir()
    assert "it is not a file" in refusal(edits, "notes.md")


async def test_damaged_copy_is_not_restored(edits: Edits) -> None:
    await edits.edit_file("notes.md", "two", "2")
    [copy] = kept(edits)
    copy.write_bytes(b"one\nwoe\n")
    assert refusal(edits) == f"notes.md can't be brought back: its kept copy {copy} is damaged"
    copy.unlink()
    lost = "notes.md can't be brought back: its earlier content is no longer kept"
    assert refusal(edits) == lost
    assert (edits.workspace.root / "notes.md").read_bytes() == b"one\n2\n"


async def test_already_restored_file_is_skipped(edits: Edits) -> None:
    await edits.write_file("other.md", "x")
    await edits.edit_file("notes.md", "two", "2")
    (edits.workspace.root / "notes.md").write_bytes(b"one\ntwo\n")
    assert edits.changes.plan(edits.workspace).name == "other.md"
    (edits.workspace.root / "other.md").unlink()
    assert "no change of a file is left" in refusal(edits)


async def test_binary_and_empty_files_come_back(edits: Edits) -> None:
    file = edits.workspace.root / "file"
    for before, diff in (
        (b"\x89PNG\x00two", "binary, 4 bytes → 8 bytes"),
        (b"", "--- file\n+++ file\n@@ -1 +0,0 @@\n-text\n\\ No newline at end of file"),
        (b"\xef\xbb\xbftext", "4 bytes → 7 bytes"),
    ):
        file.write_bytes(before)
        file.chmod(0o640)
        await edits.write_file("file", "text", overwrite=True)
        assert undo(edits) == diff
        assert file.read_bytes() == before
        assert stat.S_IMODE(file.stat().st_mode) == 0o640


async def test_oversized_file_is_not_replaced(edits: Edits) -> None:
    large = edits.workspace.root / "large.txt"
    large.write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    said = await edits.write_file("large.txt", "small", overwrite=True)
    assert f"'large.txt' has more than {MAX_FILE_BYTES:,} bytes" in said
    assert large.stat().st_size == MAX_FILE_BYTES + 1


async def test_failed_write_is_no_change(edits: Edits, monkeypatch: pytest.MonkeyPatch) -> None:
    await edits.write_file("notes.md", "one\ntwo\n", overwrite=True)
    assert edits.changes.folder is not None
    assert not edits.changes.folder.exists()
    with monkeypatch.context() as patch:
        FaultyFiles(patch, edits.workspace.root).fails = failing_from(0)
        assert "Cannot do that" in await edits.edit_file("notes.md", "two", "2")
    notes = edits.workspace.root / "notes.md"
    notes.write_bytes(b"yours")
    for each in (edits, reopened(edits)):
        assert "no change of a file is left" in refusal(each)


async def test_nothing_is_changed_that_can_not_be_kept(
    edits: Edits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = FaultyFiles(monkeypatch, tmp_path / "session")
    files.room = 0
    no_space = os.strerror(errno.ENOSPC)
    assert await edits.edit_file("notes.md", "two", "2") == (
        f"Cannot do that: what 'notes.md' has now can't be kept for undo ({no_space}), "
        "so it was not changed."
    )
    assert no_space in await edits.write_file("new.md", "x")
    assert [each.name for each in edits.workspace.root.iterdir()] == ["notes.md"]
    assert (edits.workspace.root / "notes.md").read_bytes() == b"one\ntwo\n"
    files.room = None
    await edits.edit_file("notes.md", "two", "2")
    undo(edits)
    assert (edits.workspace.root / "notes.md").read_bytes() == b"one\ntwo\n"


@pytest.mark.parametrize("number", range(16))
async def test_any_fault_leaves_file_undoable(
    edits: Edits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    notes = edits.workspace.root / "notes.md"
    with monkeypatch.context() as patch:
        files = FaultyFiles(patch, tmp_path / "session")
        files.fails = failing(number)
        said = await edits.edit_file("notes.md", "two", "2")
        failed = len(files.calls) > number
    assert said.startswith("Cannot do that: ") is failed
    assert notes.read_bytes() == (b"one\ntwo\n" if failed else b"one\n2\n")
    edits = reopened(edits)
    if failed:
        assert "no change of a file is left" in refusal(edits)
    else:
        undo(edits)
    assert notes.read_bytes() == b"one\ntwo\n"


async def test_unrecorded_undo_counts(
    edits: Edits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await edits.edit_file("notes.md", "two", "2")
    with monkeypatch.context() as patch:
        FaultyFiles(patch, tmp_path / "session").room = 0
        undo(edits)
    assert (edits.workspace.root / "notes.md").read_bytes() == b"one\ntwo\n"
    for each in (edits, reopened(edits)):
        assert "no change of a file is left" in refusal(each)


async def test_the_oldest_contents_are_dropped_first(
    edits: Edits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_KEPT_BYTES", 3 * 4096)
    for text in ("1", "2", "3"):
        await edits.write_file("notes.md", text, overwrite=True)
    assert len(kept(edits)) == 3
    await edits.write_file("notes.md", "one\ntwo\n", overwrite=True)
    edits = reopened(edits)
    # Needed again, the oldest content counts as the latest.
    await edits.write_file("notes.md", "4", overwrite=True)
    assert sorted(each.read_bytes() for each in kept(edits)) == [b"2", b"3", b"one\ntwo\n"]
    for _ in range(3):
        undo(edits)
    lost = "notes.md can't be brought back: its earlier content is no longer kept"
    assert refusal(edits) == lost
    assert (edits.workspace.root / "notes.md").read_bytes() == b"2"


async def test_damaged_and_strange_lines_are_left_out(edits: Edits) -> None:
    await edits.edit_file("notes.md", "two", "2")
    assert edits.changes.folder is not None
    records = edits.changes.folder / RECORDS_NAME
    [line] = records.read_bytes().splitlines(keepends=True)
    outside = line.replace(b'"number":1', b'"number":2').replace(b'"before":"', b'"before":"../')
    records.write_bytes(outside + b"[" * 100_000 + b"\n\xff\n" + line + b'{"number":')
    edits = reopened(edits)
    await edits.write_file("new.md", "x")
    edits = reopened(edits)
    undo(edits)
    undo(edits)
    assert "no change of a file is left" in refusal(edits)


async def test_other_workspace_is_not_undone(edits: Edits, tmp_path: Path) -> None:
    await edits.edit_file("notes.md", "two", "2")
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes.md").write_bytes(b"one\n2\n")
    assert "no change of a file is left" in refusal(Edits(Workspace.at(other), edits.changes))
    with pytest.raises(UndoRefused, match="no change"):
        edits.changes.plan(None)


async def test_no_folder_means_no_undo(edits: Edits) -> None:
    edits = Edits(edits.workspace)
    assert "Changed" in await edits.edit_file("notes.md", "two", "2")
    assert refusal(edits) == "what tools change in files is not kept here, so it can't be undone"


async def test_deleted_or_moved_file_is_restored(edits: Edits) -> None:
    root = edits.workspace.root
    (root / "run.sh").write_bytes(b"#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    await edits.move_file("run.sh", "bin/run")
    await edits.delete_file("bin/run")
    plan = edits.changes.plan(edits.workspace)
    assert (plan.name, plan.deletes) == ("bin/run", False)
    assert undo(reopened(edits)).endswith("\n+#!/bin/sh")
    assert (root / "bin" / "run").stat().st_mode & 0o777 == 0o755
    edits = reopened(edits)
    assert edits.changes.plan(edits.workspace).name == "2 files"
    undo(edits)
    assert not (root / "bin" / "run").exists()
    assert (root / "run.sh").read_bytes() == b"#!/bin/sh\n"
    assert (root / "run.sh").stat().st_mode & 0o777 == 0o755


async def test_recreated_file_is_left_alone(edits: Edits) -> None:
    await edits.delete_file("notes.md")
    (edits.workspace.root / "notes.md").write_bytes(b"yours")
    assert "notes.md has changed since; its earlier content is kept in" in refusal(edits)
    assert (edits.workspace.root / "notes.md").read_bytes() == b"yours"


async def test_edits_of_call_are_undone_together(edits: Edits) -> None:
    root = edits.workspace.root
    (root / "b.md").write_bytes(b"b\n")
    approval_id.set("call")
    await edits.edit_files([TextEdit("notes.md", "two", "2"), TextEdit("b.md", "b", "c")])
    plan = edits.changes.plan(edits.workspace, approval="call")
    assert plan.name == "2 files"
    assert plan.diff.startswith("--- notes.md\n")
    assert edits.changes.plan(edits.workspace, "b.md") == plan
    (root / "b.md").write_bytes(b"yours")
    with pytest.raises(UndoRefused, match=r"b\.md has changed since"):
        edits.changes.undo(edits.workspace, plan.number)
    assert (root / "notes.md").read_bytes() == b"one\n2\n"
    (root / "b.md").write_bytes(b"c\n")
    edits.changes.undo(edits.workspace, plan.number)
    assert (root / "notes.md").read_bytes() == b"one\ntwo\n"
    assert (root / "b.md").read_bytes() == b"b\n"
    assert refusal(edits) == "no change of a file is left that could be undone"


async def test_unkeepable_file_is_not_deleted(edits: Edits) -> None:
    assert edits.changes.folder is not None
    edits.changes.folder.parent.mkdir(parents=True, exist_ok=True)
    edits.changes.folder.write_bytes(b"")  # no folder can be made here
    assert "can't be kept for undo" in await edits.delete_file("notes.md")
    assert "can't be kept for undo" in await edits.move_file("notes.md", "other.md")
    assert (edits.workspace.root / "notes.md").exists()
