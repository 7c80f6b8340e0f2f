"""A long session as several pages with an index."""

import re
import stat
from pathlib import Path

import pytest
from tests.genie_core.sessions.export.test_html import Page, log
from tests.genie_core.sessions.sample import saved_room

from genie_core.room.protocol.events import AnswerPosted, AnyBody, MessagePosted, RoomCreated
from genie_core.sessions.export import html
from genie_core.sessions.export.choices import Choices, read_place
from genie_core.sessions.export.formats import InTheWay
from genie_core.sessions.export.writer import write_export
from genie_core.sessions.session import SavedSession

MOST = 4


@pytest.fixture
def long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SavedSession:
    """A room of ten messages, the first of which is answered at the end."""
    monkeypatch.setattr(html, "PAGE", MOST)
    saved = saved_room(tmp_path / "sessions")
    entries: list[tuple[str, AnyBody]] = [("", RoomCreated("r1", "Standup"))]
    entries += [("ann", MessagePosted(f"m{n}", f"word{n}", "ann", reply_to=n)) for n in range(10)]
    log(saved, [*entries, ("ann", AnswerPosted(2, "late"))])
    (tmp_path / "out").mkdir()
    return saved


def links(text: str) -> set[str]:
    return {
        value or "" for tag, name, value in Page(text).attributes if (tag, name) == ("a", "href")
    }


def test_pages_are_bounded_and_indexed(long: SavedSession, tmp_path: Path) -> None:
    path = tmp_path / "out" / "a room.html"
    assert write_export(long, path) == []
    pages = sorted((tmp_path / "out" / "a room-pages").iterdir())
    assert [page.name for page in pages] == ["1.html", "2.html", "3.html"]
    words = [re.findall(r"word\d", page.read_text()) for page in pages]
    assert words == [
        [f"word{n}" for n in range(start, min(start + MOST, 10))] for start in (0, 4, 8)
    ]
    index = path.read_text()
    assert links(index) == {f"a%20room-pages/{n}.html" for n in (1, 2, 3)}
    assert "word0" not in index
    assert ">4</td></tr>" in index
    assert stat.S_IMODE(pages[0].stat().st_mode) == stat.S_IMODE(path.stat().st_mode) == 0o600


def test_pages_link_each_other_and_replies(long: SavedSession, tmp_path: Path) -> None:
    write_export(long, tmp_path / "out" / "room.html")
    first, second, third = (
        (tmp_path / "out" / "room-pages" / f"{n}.html").read_text() for n in (1, 2, 3)
    )
    assert {"../room.html", "2.html"} <= links(first)
    assert {"../room.html", "1.html", "3.html", "1.html#m5"} <= links(second)
    assert '→ <a href="1.html#m2">ann</a>' in third
    assert "<title>Standup, page 3 of 3</title>" in third
    for page in (first, second, third):
        for link in links(page):
            name, _, anchor = link.partition("#")
            target = (tmp_path / "out" / "room-pages" / name).read_text() if name else page
            assert not anchor or f'id="{anchor}"' in target


def test_pages_need_force_and_index_is_last(
    long: SavedSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out" / "room.html"
    path.with_name("room-pages").mkdir()
    with pytest.raises(InTheWay, match="room-pages"):
        write_export(long, path)
    assert not path.exists()
    write_export(long, path, force=True)
    monkeypatch.setattr(html, "PAGE", 6)
    write_export(long, path, force=True)
    pages = path.with_name("room-pages")
    assert sorted(page.name for page in pages.iterdir()) == ["1.html", "2.html"]
    (pages / "mine.txt").touch()
    write_export(long, path, choices=Choices(first=read_place("9")), force=True)
    assert [page.name for page in pages.iterdir()] == ["mine.txt"]


def test_a_room_that_fits_is_one_page(long: SavedSession, tmp_path: Path) -> None:
    write_export(long, tmp_path / "out" / "room.html", choices=Choices(first=read_place("9")))
    assert [each.name for each in (tmp_path / "out").iterdir()] == ["room.html"]
