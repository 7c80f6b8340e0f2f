import pytest

from genie_core.room.held import Held
from genie_core.room.protocol.errors import TooLong, TooManyUnsent
from genie_core.room.protocol.events import FileRef
from genie_core.room.seat import Unsent


def message(text: str, *digests: str) -> Unsent:
    return Unsent(text, text, False, 0.0, tuple(FileRef(digest, "f", 1) for digest in digests))


@pytest.fixture
def sent() -> set[str]:
    return set()


@pytest.fixture
def held(sent: set[str]) -> Held:
    return Held(lambda digest: digest in sent)


def test_a_message_without_files_need_not_wait(held: Held) -> None:
    assert not held.keeps(message("hello"))
    assert held.waiting == ()


def test_none_passes_one_that_waits_for_its_files(held: Held, sent: set[str]) -> None:
    said: list[Unsent] = []
    messages = [message("1", "a", "b"), message("2"), message("3", "c"), message("4")]
    assert [held.keeps(each) for each in messages] == [True] * 4
    for digest, count in (("a", 0), ("c", 0), ("b", 4)):
        sent.add(digest)
        assert held.release(said.append) == []
        assert len(said) == count
    assert said == messages
    assert not held.keeps(message("5"))


def test_a_file_can_be_left_out_of_what_waits(held: Held) -> None:
    said: list[Unsent] = []
    held.hold([message("1", "a"), message("2")])
    assert not held.leave_out("b")
    assert held.leave_out("a")
    assert held.release(said.append) == []
    assert said == [message("1"), message("2")]


def test_one_that_cannot_be_sent_does_not_keep_the_others(held: Held) -> None:
    said: list[str] = []

    def send(unsent: Unsent) -> None:
        if unsent.text == "long":
            raise TooLong(4, 3)
        said.append(unsent.text)

    held.hold([message("1"), message("long"), message("2")])
    ((unsent, problem),) = held.release(send)
    assert unsent.text == "long"
    assert isinstance(problem, TooLong)
    assert said == ["1", "2"]
    assert held.waiting == ()


def test_what_is_too_much_at_once_goes_on_waiting(held: Held) -> None:
    said: list[str] = []

    def send(unsent: Unsent) -> None:
        if len(said) == 2:
            raise TooManyUnsent(2)
        said.append(unsent.text)
        assert held.release(send) == []  # whoever is told of sending may ask again

    held.hold([message(text) for text in "12345"])
    assert held.release(send) == []
    assert (said, [each.text for each in held.waiting]) == (["1", "2"], ["3", "4", "5"])
    said.clear()
    assert held.release(send) == []
    assert said == ["3", "4"]
