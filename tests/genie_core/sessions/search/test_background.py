import threading
from pathlib import Path

import pytest

from genie_core.sessions.search import index
from genie_core.sessions.search.background import INDEXING, BackgroundIndexing


def test_request_during_run_is_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    began, may_go_on = threading.Event(), threading.Event()
    done: list[tuple[Path, Path]] = []

    def index_session(path: Path, folder: Path) -> None:
        began.set()
        assert may_go_on.wait(60)
        done.append((path, folder))

    monkeypatch.setattr(index, "index_session", index_session)
    indexing = BackgroundIndexing(tmp_path / "index")
    indexing.request(tmp_path / "a")
    assert began.wait(60)
    (thread,) = (each for each in threading.enumerate() if each.name == INDEXING)
    for _ in range(3):
        indexing.request(tmp_path / "a")
    assert thread.daemon
    may_go_on.set()
    thread.join(60)
    assert done == [(tmp_path / "index", tmp_path / "a")] * 2
    indexing.request(tmp_path / "b")
    for each in threading.enumerate():
        if each.name == INDEXING:
            each.join(60)
    assert done[2:] == [(tmp_path / "index", tmp_path / "b")]
