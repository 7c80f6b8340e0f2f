import base64
from collections.abc import Sequence

import msgspec
import pytest

from genie_core.privacy import redaction
from genie_core.privacy.known_secrets import HIDDEN, KnownSecrets
from genie_core.room.discreet import Discreet
from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    RunBody,
    RunCancelled,
    RunFailed,
)
from genie_core.runtime.progress import What

VALUE = "correct-horse-battery"
CODED = base64.b64encode(VALUE.encode()).decode()


class Room:
    largest = 100_000
    unrecorded: Sequence[RunBody] = ()

    def __init__(self) -> None:
        self.told: list[object] = []
        self.text = ""

    def publish(self, body: RunBody) -> bool:
        self.told.append(body)
        return True

    def delta(self, message: int, text: str) -> None:
        assert text
        self.told.append((message, text))
        self.text += text

    def progress(self, message: int, agent: str, what: What, detail: str) -> None:
        self.told.append((message, agent, what, detail))

    def warn(self, text: str) -> None:
        self.told.append(text)


@pytest.fixture(autouse=True)
def knowing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_KNOWN", KnownSecrets())
    redaction.know([VALUE])


def test_no_report_has_a_secret_in_it() -> None:
    room = Room()
    reports = Discreet(room)
    text = f"it is {VALUE} or {CODED}"
    for body in (
        DecisionMade(1, "delegate", text, text, "ann"),
        ApprovalRequested(
            1, "a1", "system", "send", {"to": [text], VALUE: {"n": text}}, because=text
        ),
        ApprovalResolved(1, "a1", "approved", text, arguments={"to": text}),
        AnswerPosted(1, text, "ann"),
        RunFailed(1, "agent", text),
        RunCancelled(1, text),
    ):
        assert reports.publish(body)
    reports.progress(1, "system", "calling", text)
    reports.warn(text)
    assert len(room.told) == 8
    assert VALUE not in repr(room.told)
    assert CODED not in repr(room.told)
    assert all(HIDDEN in repr(each) for each in room.told)
    assert room.told[3] == AnswerPosted(1, f"it is {HIDDEN} or {HIDDEN}", "ann")


def test_an_answer_in_pieces_shows_as_it_ends() -> None:
    room = Room()
    reports = Discreet(room)
    answer = f"{VALUE} and corr"
    for char in answer:
        reports.delta(1, char)
        reports.delta(2, char)
    assert room.told[:2] == [(1, HIDDEN), (2, HIDDEN)]
    reports.publish(RunCancelled(2))
    room.text = ""
    reports.publish(AnswerPosted(1, answer))
    assert room.told[-2:] == [(1, "corr"), AnswerPosted(1, f"{HIDDEN} and corr")]
    assert room.text == "corr"


def test_what_may_begin_a_secret_is_never_shown_when_the_answer_breaks_off() -> None:
    room = Room()
    reports = Discreet(room)
    for body in (RunFailed(1, "agent", "gone"), RunCancelled(1)):
        reports.delta(1, f"it is {VALUE[:-1]}")
        reports.publish(body)
    assert room.text == "it is it is "


def test_a_part_of_an_answer_is_recorded_as_it_was_shown() -> None:
    room = Room()
    reports = Discreet(room)
    begun = f"{VALUE} or {VALUE[:-1]}"
    for end in (RunFailed(1, "agent", "gone", text=begun), RunCancelled(1, text=begun)):
        for char in begun:
            reports.delta(1, char)
        reports.publish(end)
        assert room.told[-1] == msgspec.structs.replace(end, text=room.text)
        assert room.text == f"{HIDDEN} or "
        room.text = ""
