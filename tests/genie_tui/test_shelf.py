from pathlib import Path

from genie_core.room.seat import Transfer, Way
from genie_tui.shelf import ELSEWHERE, HERE, Shelf


def transfer(done: int, way: Way = Way.DOWN, problem: str = "") -> Transfer:
    return Transfer("d", "a.pdf", way, done, 200, problem)


def test_a_file_is_here_or_elsewhere() -> None:
    shelf = Shelf()
    assert shelf.standing("d") == ELSEWHERE
    shelf.place = {"d": Path("a")}.get
    assert shelf.standing("d") == HERE


def test_progress_is_told_until_it_is_complete() -> None:
    shelf = Shelf()
    shelf.take(transfer(50))
    assert shelf.standing("d").text == "25 %"
    shelf.take(transfer(50, Way.UP))
    assert shelf.standing("d").text == "sending 25 %"
    assert shelf.is_sending("d")
    shelf.take(transfer(200, Way.UP))
    assert shelf.standing("d") == ELSEWHERE
    assert not shelf.is_sending("d")


def test_a_problem_is_told_safely() -> None:
    shelf = Shelf()
    shelf.take(transfer(50, Way.UP, "too large\x1b"))
    assert shelf.standing("d").text == "too large␛"
    assert not shelf.is_sending("d")
