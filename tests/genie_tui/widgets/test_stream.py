from genie_tui.widgets.stream import OFTEN, Streams, pause


def test_parts_of_an_answer_are_joined() -> None:
    streams = Streams()
    streams.add(3, "He")
    streams.add(5, "other")
    streams.add(3, "llo")
    assert list(streams) == [(3, "Hello"), (5, "other")]
    streams.add(3, "!")
    assert dict(streams)[3] == "Hello!"


def test_an_ended_answer_is_gone() -> None:
    streams = Streams()
    streams.add(3, "text")
    assert streams.end(3)
    assert not streams.end(3)
    assert not streams


def test_slow_painting_is_followed_by_a_longer_pause() -> None:
    assert pause(0.0001) == OFTEN
    assert pause(0.1) > 0.3
