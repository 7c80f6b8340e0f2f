from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from genie_core.room.protocol.founding import BEFORE_CHARS, NAME_CHARS
from genie_core.room.security.founding import (
    HASH_CHARS,
    TITLE_CHARS,
    found_room,
    hash_in,
    is_founding_of,
    room_id,
)
from genie_core.room.security.identity import Identity

ANN = Identity.generate()


@given(st.text(max_size=300), st.text(max_size=30))
def test_any_name_founds_valid_room(name: str, title: str) -> None:
    founding = found_room(ANN, name, title)
    room = room_id(founding)
    assert is_founding_of(founding, room)
    assert len(room) <= NAME_CHARS + 1 + HASH_CHARS
    assert room == f"{founding.name}-{hash_in(room)}"


def test_each_room_has_another_id() -> None:
    assert room_id(found_room(ANN, "a", "A")) != room_id(found_room(ANN, "a", "A"))


@pytest.mark.parametrize(
    "change",
    [
        {"key": Identity.generate().key},
        {"name": "another"},
        {"title": "Another"},
        {"nonce": "0" * 22},
        {"before": "another"},
    ],
)
def test_nothing_in_a_founding_can_be_changed(change: dict[str, Any]) -> None:
    founding = found_room(ANN, "standup", "Standup", "before")
    changed = replace(founding, **change)
    assert not is_founding_of(changed, room_id(founding))
    assert not is_founding_of(changed, room_id(changed))  # its founder did not sign it
    assert is_founding_of(founding, room_id(founding))


@pytest.mark.parametrize(
    "change",
    [
        {"name": "-a"},
        {"name": "A"},
        {"name": ""},
        {"name": "a" * (NAME_CHARS + 1)},
        {"title": "t" * (TITLE_CHARS + 1)},
        {"before": "b" * (BEFORE_CHARS + 1)},
        {"nonce": "short"},
    ],
)
def test_impossible_founding_is_refused(
    change: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    founding = replace(found_room(ANN, "standup", "Standup"), **change)
    monkeypatch.setattr("genie_core.room.security.founding.verify", lambda *_: True)
    assert not is_founding_of(founding, room_id(founding))


def test_only_founded_room_id_has_hash() -> None:
    assert hash_in("2026-11-21-standup-3fk9") == ""
    assert hash_in("standup-" + "a" * HASH_CHARS) == "a" * HASH_CHARS
    assert hash_in("standup-" + "A" * HASH_CHARS) == ""
    assert hash_in("standup-" + "a" * HASH_CHARS + "\n") == ""
