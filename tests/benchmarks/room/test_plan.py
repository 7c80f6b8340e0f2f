"""What travels between processes comes out as it went in."""

import dataclasses

import pytest
from benchmarks.room.plan import BROADCAST, ROOM, TERMINAL, TEXT_CHARS, Note, Plan
from tests.benchmarks.room.results import PLAN


def test_a_plan_survives_json() -> None:
    assert Plan.from_json(PLAN.to_json()) == PLAN


@pytest.mark.parametrize(
    ("subject", "encrypted"), [(ROOM, True), (BROADCAST, True), (TERMINAL, False)]
)
def test_only_group_terminal_is_not_encrypted(subject: str, encrypted: bool) -> None:
    assert dataclasses.replace(PLAN, subject=subject).is_encrypted() is encrypted


def test_notes_keep_one_message_length() -> None:
    for note in (Note(0, -1, 5), Note(3, 599, 123_456_789_012_345)):
        assert Note.read(note.text()) == note
        assert len(note.text()) == TEXT_CHARS
