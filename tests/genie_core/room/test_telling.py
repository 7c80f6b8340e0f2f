from genie_core.room.seat import Transfer, Way
from genie_core.room.telling import REPORT_INTERVAL, Telling

SIZE = 100


class Person:
    """Hears of transfers, at times that the test sets."""

    def __init__(self) -> None:
        self.time = 0.0
        self.heard: list[Transfer] = []
        self.telling = Telling(lambda: self.time)
        self.telling.start(self.heard.append)

    def tell(self, done: int, problem: str = "", digest: str = "a") -> None:
        self.telling.tell(Transfer(digest, "a.txt", Way.UP, done, SIZE, problem))


def test_progress_is_told_as_often_as_anybody_can_read() -> None:
    person = Person()
    for done in (0, 1, 2):
        person.tell(done)
    person.time = REPORT_INTERVAL
    person.tell(3)
    assert [each.done for each in person.heard] == [0, 3]


def test_an_end_and_a_trouble_are_told_at_once_and_once() -> None:
    person = Person()
    person.tell(0)
    person.tell(5, "the disk is full")
    person.tell(5, "the disk is full")
    person.tell(SIZE)
    person.tell(SIZE)
    assert [(each.done, each.problem) for each in person.heard] == [
        (0, ""),
        (5, "the disk is full"),
        (SIZE, ""),
    ]


def test_what_is_forgotten_may_be_told_again() -> None:
    person = Person()
    for digest in ("a", "b"):
        person.tell(SIZE, digest=digest)
    person.telling.forget_all_but({"b"})
    for digest in ("a", "b"):
        person.tell(SIZE, digest=digest)
    assert [each.digest for each in person.heard] == ["a", "b", "a"]


def test_before_anybody_listens_it_is_told_to_nobody() -> None:
    telling = Telling(lambda: 0.0)
    telling.tell(Transfer("a", "a.txt", Way.UP, 0, SIZE, ""))
