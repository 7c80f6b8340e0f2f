from tests.genie_core.sessions.replay.recorded import a_day

from genie_core.sessions.replay.landmarks import Landmark, Outline


def outline_of_a_day() -> Outline:
    outline = Outline()
    for event in a_day().events:
        outline.add(event)
    return outline


def test_the_way_through_the_messages() -> None:
    outline = outline_of_a_day()
    assert outline.upto == len(a_day().events)
    assert outline.after(Landmark.MESSAGE, 0) == 5
    assert outline.after(Landmark.MESSAGE, 5) == 8
    assert outline.before(Landmark.MESSAGE, 8) == 5
    assert outline.before(Landmark.MESSAGE, 5) is None
    assert outline.after(Landmark.FAILURE, 14) is None


def test_every_kind_is_found_where_it_is() -> None:
    outline = outline_of_a_day()
    assert outline.after(Landmark.DECISION, 6) == 9
    assert outline.after(Landmark.APPROVAL, 0) == 12
    assert outline.after(Landmark.VERDICT, 0) == 13
    assert outline.after(Landmark.FAILURE, 0) == 14
    assert outline.count(Landmark.APPROVAL) == 1


def test_stretch_knows_its_landmarks() -> None:
    outline = outline_of_a_day()
    assert outline.has(Landmark.APPROVAL, 11, 12)
    assert not outline.has(Landmark.APPROVAL, 12, 16)
    assert not outline.has(Landmark.APPROVAL, 0, 11)
