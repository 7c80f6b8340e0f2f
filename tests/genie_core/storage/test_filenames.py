import stat
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from genie_core.errors import FileNotSaved
from genie_core.storage.filenames import NAME_BYTES, NAMELESS, create_new, safe_name, save_copy


@pytest.mark.parametrize(
    ("raw", "safe"),
    [
        ("report.pdf", "report.pdf"),
        ("Übersicht – März 2026 (neu).xlsx", "Übersicht – März 2026 (neu).xlsx"),
        ("写真.jpeg", "写真.jpeg"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\bob\\a.txt", "a.txt"),
        ("folder/", "folder"),
        ("..", NAMELESS),
        ("", NAMELESS),
        (" . ", NAMELESS),
        ("\u202e\u2066\u200b", NAMELESS),
        ("---", NAMELESS),
        (".ssh", "ssh"),
        ("-rf", "rf"),
        (". -.x", "x"),
        ("photo\u202egpj.exe", "photogpj.exe"),
        ("photo.jpg" + " " * 80 + ".exe", "photo.jpg .exe"),
        ("a\x1b]0;title\x07b\n\0", "a_]0;title_b__"),
        ('a<b>:"|?*', "a_b______"),
        ("con", "_con"),
        ("NUL.tar.gz", "_NUL.tar.gz"),
        ("com1 .txt", "_com1 .txt"),
        ("console.txt", "console.txt"),
        ("name. . ", "name"),
        ("\ud800x", "x"),
        ("e\u0301.txt", "é.txt"),
        ("z" + "\u0300" * 50, unicodedata.normalize("NFC", "z" + "\u0300" * 4)),
        ("family\U0001f468\u200d\U0001f469.png", "family\U0001f468\U0001f469.png"),
    ],
)
def test_a_name_is_made_safe(raw: str, safe: str) -> None:
    assert safe_name(raw) == safe


def test_a_long_name_keeps_its_ending() -> None:
    assert safe_name("x" * 500 + ".tar.gz").endswith("x.tar.gz")
    assert safe_name("é" * 500 + ".pdf").endswith("é.pdf")
    assert len(safe_name("x." + "y" * 500).encode()) < NAME_BYTES


@given(st.text(st.characters(codec=None), max_size=300), st.integers(40, NAME_BYTES))
@example("a" * 198 + " .b", NAME_BYTES)
@example("-" + "." * 300 + "con", 40)
@example("\u00a0con.", 40)
@example("e\u200d\u0301", 40)
def test_whatever_a_name_holds_the_result_is_one(raw: str, longest: int) -> None:
    name = safe_name(raw, longest)
    assert safe_name(name, longest) == name
    assert 1 <= len(name.encode()) <= longest
    assert not set(name) & set('/\\<>:"|?*')
    assert not any(unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for char in name)
    assert name[0] not in ".- "
    assert name[-1] not in ". "
    assert Path("/folder", name).parent == Path("/folder")


def test_a_file_is_never_overwritten(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"new")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.txt").write_bytes(b"old")
    (folder / "a (2).txt").symlink_to(tmp_path / "elsewhere")
    saved = [save_copy(source, folder, "../a.txt") for _ in range(2)]
    assert saved == [folder / "a (3).txt", folder / "a (4).txt"]
    assert (folder / "a.txt").read_bytes() == b"old"
    assert saved[0].read_bytes() == b"new"
    assert stat.S_IMODE(saved[0].stat().st_mode) == 0o600
    assert not (tmp_path / "elsewhere").exists()


def test_the_longest_name_has_room_for_a_number(tmp_path: Path) -> None:
    for _ in range(12):
        path, file = create_new(tmp_path, "é" * 300 + ".jpg")
        file.close()
    assert path.name.endswith(" (12).jpg")


def test_two_at_once_get_two_files(tmp_path: Path) -> None:
    def make(_number: int) -> Path:
        path, file = create_new(tmp_path, "same.tar.gz")
        file.close()
        return path

    with ThreadPoolExecutor(8) as threads:
        made = set(threads.map(make, range(40)))
    assert len(made) == 40
    assert tmp_path / "same (40).tar.gz" in made


def test_failed_saving_is_one_line(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"x")
    with pytest.raises(FileNotSaved, match="no such file or directory; choose another place"):
        save_copy(source, tmp_path / "missing", "a")
    with pytest.raises(FileNotSaved, match="not a directory"):
        save_copy(source, source, "a")
    with pytest.raises(FileNotSaved):
        save_copy(tmp_path / "gone", tmp_path, "a")
    assert list(tmp_path.iterdir()) == [source]
