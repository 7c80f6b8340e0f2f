import pytest

from genie_core.room.protocol.events import (
    AnswerPosted,
    AnyBody,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    FileRef,
    MemberJoined,
    MessagePosted,
    RecoveredEvent,
    RunFailed,
)
from genie_core.sessions.replay.landmarks import Landmark, landmark_of, message_of, words_in


def event(body: AnyBody) -> Event:
    return Event(7, 1.0, "ann", body)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (MessagePosted("1", "hi"), Landmark.MESSAGE),
        (RecoveredEvent(event(MessagePosted("1", "hi"))), Landmark.MESSAGE),
        (DecisionMade(1, "ignore"), Landmark.DECISION),
        (ApprovalRequested(1, "a", "genie", "grep", {}), Landmark.APPROVAL),
        (ApprovalRequested(1, "a", "genie", "grep", {}, unasked=True), None),
        (ApprovalResolved(1, "a", "approved"), Landmark.VERDICT),
        (ApprovalResolved(1, "a", "denied", how="edit"), Landmark.VERDICT),
        (ApprovalResolved(1, "a", "approved", how="rule"), None),
        (ApprovalResolved(1, "a", "approved", how="grant"), None),
        (ApprovalResolved(1, "a", "expired"), None),
        (ApprovalResolved(1, "a", "parked"), None),
        (RunFailed(1, "agent", "broken"), Landmark.FAILURE),
        (AnswerPosted(1, "so"), None),
        (MemberJoined("host"), None),
    ],
)
def test_what_stands_out(body: AnyBody, kind: Landmark | None) -> None:
    assert landmark_of(event(body)) is kind


def test_search_covers_visible_words() -> None:
    file = FileRef("0" * 64, "plan.pdf", 3)
    said = MessagePosted("1", "the plan", files=(file,))
    assert list(words_in(event(said))) == ["the plan", "plan.pdf"]
    assert list(words_in(event(RecoveredEvent(event(said))))) == ["the plan", "plan.pdf"]
    assert "a greeting" in words_in(event(DecisionMade(1, "ignore", reason="a greeting")))
    assert "broken" in words_in(event(RunFailed(1, "agent", "broken")))
    assert "not now" in words_in(event(ApprovalResolved(1, "a", "denied", reason="not now")))
    assert "so" in words_in(event(AnswerPosted(1, "so")))


def test_search_skips_tool_arguments() -> None:
    asked = ApprovalRequested(1, "a", "genie", "fetch", {"key": "xyzzy"})
    assert list(words_in(event(asked))) == ["fetch", "genie"]


def test_the_message_that_an_event_is_about() -> None:
    assert message_of(event(MessagePosted("1", "hi"))) == 7
    assert message_of(event(RecoveredEvent(event(MessagePosted("1", "hi"))))) == 7
    assert message_of(event(DecisionMade(3, "ignore"))) == 3
    assert message_of(event(MemberJoined("host"))) == 0
