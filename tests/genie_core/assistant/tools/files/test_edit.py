import asyncio
from pathlib import Path

import pytest

from genie_core.assistant.tools.files.edit import MAX_EDITS, MAX_WRITTEN_BYTES, Edits, TextEdit
from genie_core.assistant.tools.files.workspace import MAX_FILE_BYTES, Workspace


@pytest.fixture
def edits(tmp_path: Path) -> Edits:
    root = tmp_path / "work"
    root.mkdir()
    (root / "plan.md").write_text("one\ntwo\nthree\ntwo\n", encoding="utf-8")
    (root / "photo.png").write_bytes(b"\x89PNG\x00two")
    (root / ".env").write_text("KEY=two", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("two", encoding="utf-8")
    (root / "way-out").symlink_to(tmp_path)
    return Edits(Workspace.at(root))


def content(edits: Edits, name: str = "plan.md") -> str:
    return (edits.workspace.root / name).read_bytes().decode()


async def test_file_is_replaced_only_on_request(edits: Edits) -> None:
    said = await edits.write_file("src/new.py", "a\nb\n")
    assert said == "Wrote the new file src/new.py (2 lines, 4 bytes)."
    assert "set overwrite" in await edits.write_file("src/new.py", "c\n")
    assert content(edits, "src/new.py") == "a\nb\n"
    said = await edits.write_file("src/new.py", "a\nc\n", overwrite=True)
    assert said.startswith("Changed src/new.py (now 2 lines):\n```\n--- src/new.py")
    assert "-b\n+c\n" in said
    assert "is unchanged" in await edits.write_file("src/new.py", "a\nc\n", overwrite=True)


async def test_edit_shows_difference(edits: Edits) -> None:
    said = await edits.edit_file("plan.md", "three\n", "3\n4\n")
    assert said == (
        "Changed plan.md (now 5 lines):\n```\n--- plan.md\n+++ plan.md\n"
        "@@ -1,4 +1,5 @@\n one\n two\n-three\n+3\n+4\n two\n```"
    )
    assert content(edits) == "one\ntwo\n3\n4\ntwo\n"


async def test_ambiguous_text_is_not_edited(edits: Edits) -> None:
    assert "contains the old text 2 times" in await edits.edit_file("plan.md", "two", "2")
    assert "does not contain" in await edits.edit_file("plan.md", "Two", "2")
    assert "old is empty" in await edits.edit_file("plan.md", "", "2")
    assert "the same" in await edits.edit_file("plan.md", "one", "one")
    assert content(edits) == "one\ntwo\nthree\ntwo\n"
    assert "+2" in await edits.edit_file("plan.md", "two", "2", everywhere=True)
    assert content(edits) == "one\n2\nthree\n2\n"


async def test_how_lines_end_and_texts_begin_is_kept(edits: Edits) -> None:
    file = edits.workspace.root / "dos.txt"
    file.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    assert "Changed" in await edits.edit_file("dos.txt", "one\ntwo", "1\n2")
    assert file.read_bytes() == b"\xef\xbb\xbf1\r\n2\r\n"


@pytest.mark.parametrize(
    "path",
    ["../secret.txt", "way-out/secret.txt", "way-out/new", "/tmp/new", ".env", "photo.png", "."],
)
async def test_nothing_else_is_changed(edits: Edits, path: str) -> None:
    root = edits.workspace.root
    files = [root.parent / "secret.txt", root / ".env", root / "photo.png"]
    before = [each.read_bytes() for each in files]
    for overwrite in (False, True)[: 1 if path == "photo.png" else 2]:
        said = await edits.write_file(path, "mine", overwrite=overwrite)
        assert said.startswith("Cannot do that: ")
    assert (await edits.edit_file(path, "two", "mine")).startswith("Cannot do that: ")
    assert [each.read_bytes() for each in files] == before
    assert not (root.parent / "new").exists()


async def test_sizes_are_limited(edits: Edits) -> None:
    said = await edits.write_file("big.txt", "x" * (MAX_WRITTEN_BYTES + 1))
    assert f"the limit is {MAX_WRITTEN_BYTES:,}" in said
    (edits.workspace.root / "big.txt").write_bytes(b"x" * MAX_FILE_BYTES + b"y")
    assert f"more than {MAX_FILE_BYTES:,}" in await edits.edit_file("big.txt", "y", "z")
    said = await edits.edit_file("plan.md", "two", "x" * MAX_WRITTEN_BYTES, everywhere=True)
    assert "the limit is" in said
    assert "an incomplete character" in await edits.write_file("odd.txt", "\ud800")
    assert not (edits.workspace.root / "odd.txt").exists()


async def test_edits_at_once_are_all_made(edits: Edits) -> None:
    (edits.workspace.root / "many.txt").write_text(
        "".join(f"<{n}>\n" for n in range(20)), encoding="utf-8"
    )
    await asyncio.gather(
        *(Edits(edits.workspace).edit_file("many.txt", f"<{n}>", str(n)) for n in range(20))
    )
    assert content(edits, "many.txt") == "".join(f"{n}\n" for n in range(20))


async def test_several_edits_are_made_in_one_call(edits: Edits) -> None:
    (edits.workspace.root / "b.txt").write_bytes(b"alpha\r\nbeta\r\n")
    said = await edits.edit_files(
        [
            TextEdit("plan.md", "one\ntwo", "1\n2"),
            TextEdit("b.txt", "alpha\nbeta", "a\nb"),
            TextEdit("./plan.md", "2\nthree", "3"),
        ]
    )
    assert said.startswith(
        "Changed 2 files:\n```\n--- plan.md\n+++ plan.md\n@@ -1,4 +1,3 @@\n-one\n"
    )
    assert "--- b.txt\n+++ b.txt\n" in said
    assert content(edits) == "1\n3\ntwo\n"
    assert content(edits, "b.txt") == "a\r\nb\r\n"


@pytest.mark.parametrize(
    ("last", "why"),
    [
        (TextEdit("plan.md", "nowhere", "x"), "edit 2 of 2: 'plan.md' does not contain"),
        (TextEdit("nope.md", "a", "b"), "edit 2 of 2: 'nope.md' does not exist"),
        (TextEdit("photo.png", "two", "b"), "edit 2 of 2: 'photo.png' is not a text file"),
        (TextEdit(".env", "two", "b"), "edit 2 of 2: '.env' is hidden"),
        (TextEdit("way-out/secret.txt", "two", "b"), "outside"),
        (TextEdit("plan.md", "three", "\ud800"), "incomplete character"),
    ],
)
async def test_all_edits_are_made_or_none(edits: Edits, last: TextEdit, why: str) -> None:
    before = content(edits)
    assert why in await edits.edit_files([TextEdit("plan.md", "one", "1"), last])
    assert content(edits) == before
    assert "at least one edit" in await edits.edit_files([])
    many = [TextEdit("plan.md", "one", "1")] * (MAX_EDITS + 1)
    assert "at most 50" in await edits.edit_files(many)


async def test_failed_write_keeps_other_files(edits: Edits) -> None:
    (edits.workspace.root / "b.txt").write_text("two", encoding="utf-8")
    (edits.workspace.root / "b.txt").chmod(0o444)
    before = content(edits)
    said = await edits.edit_files([TextEdit("plan.md", "one", "1"), TextEdit("b.txt", "two", "2")])
    assert "'b.txt' cannot be written: it is write-protected" in said
    assert content(edits) == before


async def test_move_keeps_file_and_replaces_none(edits: Edits) -> None:
    photo = edits.workspace.root / "photo.png"
    photo.chmod(0o755)
    assert await edits.move_file("photo.png", "img/new.png") == "Moved photo.png to img/new.png."
    moved = edits.workspace.root / "img" / "new.png"
    assert moved.read_bytes() == b"\x89PNG\x00two"
    assert moved.stat().st_mode & 0o777 == 0o755
    assert not photo.exists()
    assert await edits.move_file("plan.md", "img") == "Moved plan.md to img/plan.md."
    assert "already exists" in await edits.move_file("img/plan.md", "img/new.png")
    for path, to, why in (
        ("img/plan.md", "../x", "outside"), ("img/plan.md", "way-out/x", "outside"),
        ("img/plan.md", ".git/hooks/pre-commit", "hidden"), (".env", "env.txt", "hidden"),
        ("nope", "x", "does not exist"), ("img", "x", "cannot be"), ("img/plan.md", "a\nb", "not a valid"),
        ("img/plan.md", " ", "is empty"), ("img/plan.md", "img", "already exists"), ("", "x", "not a file"),
    ):  # fmt: skip
        assert why in await edits.move_file(path, to), (path, to)
    assert content(edits, "img/plan.md").startswith("one")


async def test_a_file_is_deleted_if_it_can_be_kept(edits: Edits) -> None:
    assert await edits.delete_file("plan.md") == "Deleted plan.md (18 bytes)."
    assert not (edits.workspace.root / "plan.md").exists()
    (edits.workspace.root / "big").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    (edits.workspace.root / "held").write_text("x", encoding="utf-8")
    (edits.workspace.root / "held").chmod(0o444)
    for path, why in (
        ("big", "more than"), ("held", "write-protected"), ("plan.md", "does not exist"),
        (".env", "hidden"), ("way-out/secret.txt", "outside"), ("", "not a file"), ("way-out", "outside"),
    ):  # fmt: skip
        assert why in await edits.delete_file(path), path
    assert (edits.workspace.root / "big").exists()
