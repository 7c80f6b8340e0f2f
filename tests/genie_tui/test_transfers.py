from pathlib import Path

from genie_core.room.files.transfer import Direction, Transfer
from genie_tui.transfers import ELSEWHERE, HERE, FileTransfers


def transfer(done: int, way: Direction = Direction.DOWN, problem: str = "") -> Transfer:
    return Transfer("d", "a.pdf", way, done, 200, problem)


def test_a_file_is_here_or_elsewhere() -> None:
    transfers = FileTransfers()
    assert transfers.status("d") == ELSEWHERE
    transfers.place = {"d": Path("a")}.get
    assert transfers.status("d") == HERE


def test_progress_is_told_until_it_is_complete() -> None:
    transfers = FileTransfers()
    transfers.update(transfer(50))
    assert transfers.status("d").text == "25 %"
    transfers.update(transfer(50, Direction.UP))
    assert transfers.status("d").text == "sending 25 %"
    assert transfers.is_sending("d")
    transfers.update(transfer(200, Direction.UP))
    assert transfers.status("d") == ELSEWHERE
    assert not transfers.is_sending("d")


def test_a_problem_is_told_safely() -> None:
    transfers = FileTransfers()
    transfers.update(transfer(50, Direction.UP, "too large\x1b"))
    assert transfers.status("d").text == "too large␛"
    assert not transfers.is_sending("d")
