from collections.abc import Callable
from pathlib import Path

import pytest

from genie_core.room.protocol.events import (
    ROOM,
    AnyBody,
    Event,
    FileRef,
    HeirsChanged,
    HostStarted,
    MemberJoined,
    MemberLeft,
    MessagePosted,
    RoomCreated,
    RoomSuspended,
)
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.labels import LABELS_NAME
from genie_core.sessions.lock import SessionInUse, hold
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.session import SavedSession
from genie_core.sessions.unused import drop_if_unused
from genie_core.sessions.view_state import View, write_view
from genie_core.storage.atomic import replace_file

QUIET: list[tuple[str, AnyBody]] = [
    (ROOM, RoomCreated("r", "Garden")),
    (ROOM, HostStarted("ann", key="k")),
    ("ann", MemberJoined("host", key="k")),
    (ROOM, MemberLeft("ann")),
    (ROOM, RoomSuspended()),
]


@pytest.fixture
def saved(tmp_path: Path) -> SavedSession:
    """A room that was opened, and closed without anything in between."""
    saved = Catalog(tmp_path).create("Garden", 1.0, host="ann", name="ann", unshared=True)
    write(saved, QUIET)
    (saved.folder / "engine" / "r").mkdir(parents=True)
    (saved.folder / "passes.json").write_text("[]")
    write_view(saved.folder, View(seen=3))
    return saved


def write(saved: SavedSession, bodies: list[tuple[str, AnyBody]]) -> None:
    events = (Event(seq, float(seq), by, body) for seq, (by, body) in enumerate(bodies, 1))
    replace_file(saved.log_path, b"".join(map(encode_line, events)))


def said(saved: SavedSession, by: str, body: AnyBody) -> None:
    write(saved, [*QUIET[:3], (by, body), *QUIET[3:]])


def test_eventless_room_is_removed(saved: SavedSession) -> None:
    assert drop_if_unused(saved.folder)
    assert not list(saved.folder.parent.iterdir())
    assert not drop_if_unused(saved.folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda saved: said(saved, "ann", MessagePosted("m", "hello", "ann")),
        lambda saved: said(saved, "bob", MemberJoined("member", key="other")),
        lambda saved: said(saved, "ann", HeirsChanged(("bob",))),
        lambda saved: saved.log_path.write_bytes(saved.log_path.read_bytes() + b"torn"),
        lambda saved: saved.log_path.write_bytes(b""),
        lambda saved: saved.log_path.unlink(),
        lambda saved: saved.update(unshared=False),  # the invite was shown
        lambda saved: saved.update(kind="joined"),
        lambda saved: saved.update(copied="import"),
        lambda saved: saved.tag(["keep"]),
        lambda saved: write_view(saved.folder, View(draft="half a sen")),
        lambda saved: write_view(saved.folder, View(files=(FileRef("a" * 64, "plan.pdf", 3),))),
        lambda saved: (saved.folder / "blobs").mkdir(),
        lambda saved: (saved.folder / LABELS_NAME).touch(),
        lambda saved: (saved.folder / "my notes.txt").touch(),
    ],
)
def test_anything_else_is_kept(
    saved: SavedSession, change: Callable[[SavedSession], object]
) -> None:
    change(saved)
    assert not drop_if_unused(saved.folder)
    assert saved.folder.is_dir()


def test_a_room_that_is_open_is_kept(saved: SavedSession) -> None:
    with hold(saved.folder), pytest.raises(SessionInUse):
        drop_if_unused(saved.folder)
    assert saved.folder.is_dir()
