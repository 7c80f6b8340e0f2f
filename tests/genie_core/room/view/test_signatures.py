"""Who signed an entry, in words."""

from msgspec.structs import replace
from tests.genie_core.room.bench import identity
from tests.genie_core.room.founded import FoundedLog, founded, unsigned

from genie_core.room.protocol.events import (
    AnswerPosted,
    DecisionMade,
    Event,
    MessageEdited,
    MessagePosted,
    RoomCreated,
)
from genie_core.room.security.identity import words
from genie_core.room.state.room_state import WINDOW, RoomState
from genie_core.room.view.signatures import (
    FORGOTTEN,
    NOT_FOUNDED,
    signed_by,
    signed_line,
    signed_lines,
)


def proven(name: str) -> str:
    return f"signed by {name}, {words(identity(name).key)}; proven"


def answered() -> tuple[FoundedLog, int]:
    log = founded("bob")
    said = log.add("bob", MessagePosted("m", "shall we?", "ann", device="d1")).seq
    log.add("ann", DecisionMade(said, "delegate"))
    log.add("ann", AnswerPosted(said, "yes"))
    return log, said


def test_entry_names_signer_and_key_words() -> None:
    log, _said = answered()
    lines = [signed_line(log.state, event) for event in log.events[-3:]]
    assert lines == [
        f"the message: {proven('bob')}",
        f"the decision: {proven('ann')}",
        f"the answer: {proven('ann')}",
    ]


def test_a_message_is_told_with_its_answer() -> None:
    log, said = answered()
    assert signed_lines(log.state, log.state.threads[said]) == [
        f"the message: {proven('bob')}",
        f"the answer: {proven('ann')}",
    ]


def test_what_is_not_proven_says_why() -> None:
    log = founded("bob")
    log.take(unsigned(log.next("bob", MessagePosted("m", "I owe 900", "bob"))))
    line = signed_line(log.state, log.events[-1])
    assert line == "the message: ⚠ not proven: it is not signed by its author"


def test_an_edit_counts_for_its_message() -> None:
    log = founded("bob")
    said = log.says("bob").seq
    log.add("bob", MessageEdited(said, "better"))
    assert signed_lines(log.state, log.state.threads[said]) == [f"the message: {proven('bob')}"]


def test_unfounded_room_checks_nothing() -> None:
    state = RoomState()
    state.apply(Event(1, 1.0, "", RoomCreated("r1", "Standup")))
    assert signed_by(state, 1, "ann") == NOT_FOUNDED


def test_old_doubts_are_not_taken_for_proofs() -> None:
    log = founded("bob")
    bad = unsigned(log.says("bob"))
    for _ in range(2 * WINDOW):
        log.take(replace(bad, seq=log.state.head + 1, parent=log.state.link))
    assert signed_by(log.state, 5, "bob") == FORGOTTEN
