import logging
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.room.client.model import PendingMessage, PendingReport
from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    FileRef,
    Quote,
    QuotedLine,
)
from genie_core.sessions.view_state import (
    VIEW_NAME,
    View,
    ViewNotKept,
    read_view,
    together,
    write_view,
)


def unsent(n: int, at: float = 0.0) -> PendingMessage:
    return PendingMessage(f"id{n}", f"text {n}", emote=False, at=at or float(n))


def test_view_is_restored_and_private(tmp_path: Path) -> None:
    message = PendingMessage(
        "a",
        "hello",
        emote=True,
        at=7.5,
        files=(FileRef("ab" * 32, "plan.pdf", 5),),
        quotes=(Quote("r2", "Other", (QuotedLine("bob", "yes"),)),),
    )
    view = View(
        draft="two\nlines [b] \u202e",
        at=12,
        distance=-3,
        hidden=True,
        tab="APPROVALS",
        shown="MINE",
        find="budget",
        reasons=True,
        seen=40,
        unsent=(message,),
        unrecorded=(
            PendingReport(
                "r1",
                ApprovalRequested(4, "x", "main", "delete", {"path": "a", "n": [1, None]}, "here"),
            ),
            PendingReport("r2", AnswerPosted(4, "done", "bob", 1.5)),
        ),
        files=(FileRef("cd" * 32, "notes.txt", 7, "text/plain"),),
        quotes=(Quote("r3", "Third", (QuotedLine("cleo", "no", 2.0),)),),
    )
    write_view(tmp_path, view)
    assert read_view(tmp_path) == view
    assert stat.S_IMODE((tmp_path / VIEW_NAME).stat().st_mode) == 0o600
    write_view(tmp_path, View())
    assert read_view(tmp_path) == View()


@given(st.text(max_size=50), st.none() | st.integers(0, 10**9), st.integers(-99, 99))
def test_any_draft_and_place_come_back(
    tmp_path_factory: pytest.TempPathFactory, draft: str, at: int | None, distance: int
) -> None:
    folder = tmp_path_factory.mktemp("room")
    view = View(draft=draft.encode("utf-8", "replace").decode(), at=at, distance=distance)
    write_view(folder, view)
    assert read_view(folder) == view


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"draft": 5}', b"\xff\x00", b"[" * 9_999])
def test_a_damaged_view_is_as_if_there_were_none(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / VIEW_NAME).write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert read_view(tmp_path) == View()
    assert "left out of account" in caplog.text
    write_view(tmp_path, View(draft="again"))
    assert read_view(tmp_path).draft == "again"


def test_steps_without_end_do_not_cost_the_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("genie_core.sessions.view_state.LARGEST", 1_000)
    long = PendingReport("r", AnswerPosted(4, "x" * 1_000, "bob", 1.5))
    write_view(tmp_path, View(draft="hi", unrecorded=(long,)))
    assert read_view(tmp_path) == View(draft="hi")


def test_a_field_of_a_later_version_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / VIEW_NAME).write_bytes(b'{"draft": "hi", "colour": "red"}')
    assert read_view(tmp_path) == View(draft="hi")


def test_a_view_from_before_has_nothing_attached(tmp_path: Path) -> None:
    (tmp_path / VIEW_NAME).write_bytes(b'{"draft":"hi","at":4,"seen":9}')
    assert read_view(tmp_path) == View(draft="hi", at=4, seen=9, files=(), quotes=())


def test_view_needs_draft_and_unsent_files() -> None:
    drafted, sent = FileRef("ab" * 32, "a", 1), FileRef("cd" * 32, "b", 2)
    message = PendingMessage("x", "look", emote=False, at=1.0, files=(sent,))
    assert list(View(files=(drafted,), unsent=(message,)).files_needed()) == [drafted, sent]


def test_without_a_folder_nothing_is_made(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    assert read_view(gone) == View()
    with pytest.raises(ViewNotKept, match="folder is gone"):
        write_view(gone, View(draft="x"))
    assert not gone.exists()


def test_unsent_lists_are_merged(tmp_path: Path) -> None:
    first, second, third = unsent(1), unsent(2), unsent(3)
    assert together((third,), (first, second), (second,)) == (first, second, third)
    assert together() == ()
