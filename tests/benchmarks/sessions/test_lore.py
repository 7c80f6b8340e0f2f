from pathlib import Path

import pytest
from benchmarks.sessions.lore import LAST_WORD, PEOPLE, conversation, save_room

from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    DecisionMade,
    MessagePosted,
)


@pytest.mark.parametrize("length", [10, 500])
def test_conversation_has_given_length(tmp_path: Path, length: int) -> None:
    saved = save_room(tmp_path, "Garden", length)
    with saved.reader() as reader:
        assert reader.problems == []
        assert reader.head == length
        last = next(reversed(reader.state().threads.values()))
    assert last.said.text == LAST_WORD


def test_people_talk_and_agents_answer() -> None:
    events = list(conversation(2_000))
    counts = {
        kind: sum(isinstance(event.body, kind) for event in events)
        for kind in (MessagePosted, DecisionMade, ApprovalRequested, AnswerPosted)
    }
    assert counts[MessagePosted] > counts[AnswerPosted] > counts[MessagePosted] / 5
    assert counts[ApprovalRequested] >= counts[AnswerPosted]
    assert {event.by for event in events if isinstance(event.body, MessagePosted)} == set(PEOPLE)
