import os
import stat
from pathlib import Path

import pytest

from genie_core.errors import FileNotSaved
from genie_tui.received import NotOpened, copy_to_show, save_to, show


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "blob"
    path.write_bytes(b"%PDF-1.7 content")
    return path


@pytest.fixture(autouse=True)
def _at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_DOWNLOAD_DIR", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def test_a_file_is_saved_among_the_downloads_beside_others(source: Path, tmp_path: Path) -> None:
    first = save_to(source, "a.pdf", "")
    second = save_to(source, "a.pdf", "")
    assert first == tmp_path / "home" / "Downloads" / "a.pdf"
    assert second.name == "a (2).pdf"
    assert second.read_bytes() == source.read_bytes()
    assert not second.stat().st_mode & stat.S_IXUSR


def test_a_file_is_saved_where_the_person_wants_it(source: Path, tmp_path: Path) -> None:
    assert save_to(source, "a.pdf", str(tmp_path)) == tmp_path / "a.pdf"
    assert save_to(source, "a.pdf", f"{tmp_path}/b.pdf") == tmp_path / "b.pdf"
    for to in (f"{tmp_path}/none/", f"{tmp_path}/none/b.pdf"):
        with pytest.raises(FileNotSaved, match="no such folder"):
            save_to(source, "a.pdf", to)


def test_a_name_from_others_is_no_way_out(source: Path, tmp_path: Path) -> None:
    assert save_to(source, "../../evil", str(tmp_path)) == tmp_path / "evil"


def test_a_copy_to_look_at_is_private(source: Path) -> None:
    copy = copy_to_show(source, "../Report.PDF")
    assert copy.name == "Report.PDF"
    assert copy.parent.stat().st_mode & 0o777 == 0o700
    assert copy.read_bytes() == source.read_bytes()


@pytest.mark.parametrize(
    "name",
    ["a.sh", "a.exe", "a.desktop", "a.py", "a.html", "a.svg", "a.pdf.exe", "a", ".pdf", "a.x"],
)
def test_what_could_run_is_refused_by_its_name(source: Path, name: str) -> None:
    with pytest.raises(NotOpened, match="/save"):
        copy_to_show(source, name)


@pytest.mark.parametrize(
    "head", [b"#!/bin/sh", b"\x7fELF", b"MZ\x90", b"\xef\xbb\xbf[Desktop Entry]", b"\n#!/bin/sh"]
)
def test_what_is_a_program_is_refused_whatever_its_name(source: Path, head: bytes) -> None:
    source.write_bytes(head)
    with pytest.raises(NotOpened, match="program"):
        copy_to_show(source, "a.txt")


async def test_the_systems_program_shows_it(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    opener = tmp_path / "bin" / "xdg-open"
    opener.parent.mkdir()
    opener.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/shown\n')
    opener.chmod(0o700)
    monkeypatch.setenv("PATH", f"{opener.parent}{os.pathsep}{os.environ['PATH']}")
    await show(source)
    assert (tmp_path / "shown").read_text().strip() == str(source)
    opener.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(NotOpened, match="code 3"):
        await show(source)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotOpened, match="xdg-open"):
        await show(source)
