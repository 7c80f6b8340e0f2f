import pytest

from genie_core.room.protocol.events import (
    Answered,
    AnyBody,
    Asked,
    Decided,
    Event,
    Failed,
    FileRef,
    Joined,
    Recovered,
    Said,
    Settled,
)
from genie_tui.replay.landmark import Landmark, landmark_of, message_of, words_in


def event(body: AnyBody) -> Event:
    return Event(7, 1.0, "ann", body)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (Said("1", "hi"), Landmark.MESSAGE),
        (Recovered(event(Said("1", "hi"))), Landmark.MESSAGE),
        (Decided(1, "ignore"), Landmark.DECISION),
        (Asked(1, "a", "genie", "grep", {}), Landmark.APPROVAL),
        (Asked(1, "a", "genie", "grep", {}, unasked=True), None),
        (Settled(1, "a", "approved"), Landmark.VERDICT),
        (Settled(1, "a", "denied", how="edit"), Landmark.VERDICT),
        (Settled(1, "a", "approved", how="rule"), None),
        (Settled(1, "a", "approved", how="grant"), None),
        (Settled(1, "a", "expired"), None),
        (Settled(1, "a", "parked"), None),
        (Failed(1, "agent", "broken"), Landmark.FAILURE),
        (Answered(1, "so"), None),
        (Joined("host"), None),
    ],
)
def test_what_stands_out(body: AnyBody, kind: Landmark | None) -> None:
    assert landmark_of(event(body)) is kind


def test_a_search_finds_words_wherever_people_read_them() -> None:
    file = FileRef("0" * 64, "plan.pdf", 3)
    said = Said("1", "the plan", files=(file,))
    assert list(words_in(event(said))) == ["the plan", "plan.pdf"]
    assert list(words_in(event(Recovered(event(said))))) == ["the plan", "plan.pdf"]
    assert "a greeting" in words_in(event(Decided(1, "ignore", reason="a greeting")))
    assert "broken" in words_in(event(Failed(1, "agent", "broken")))
    assert "not now" in words_in(event(Settled(1, "a", "denied", reason="not now")))
    assert "so" in words_in(event(Answered(1, "so")))


def test_a_search_does_not_look_into_what_tools_are_called_with() -> None:
    asked = Asked(1, "a", "genie", "fetch", {"key": "xyzzy"})
    assert list(words_in(event(asked))) == ["fetch", "genie"]


def test_the_message_that_an_event_is_about() -> None:
    assert message_of(event(Said("1", "hi"))) == 7
    assert message_of(event(Recovered(event(Said("1", "hi"))))) == 7
    assert message_of(event(Decided(3, "ignore"))) == 3
    assert message_of(event(Joined("host"))) == 0
