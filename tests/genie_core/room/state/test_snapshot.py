import zlib
from collections.abc import Iterable, Iterator
from unittest import mock

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.genie_core.room.histories import histories, history

from genie_core.room.protocol.events import ApprovalRequested, DecisionMade, Event, MessagePosted
from genie_core.room.state import room_state as fold
from genie_core.room.state import snapshot as checkpoint
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.snapshot import decode_state, encode_state


@pytest.fixture(autouse=True, params=[(1_000, 10_000), (3, 5)], ids=["wide", "narrow"])
def window(request: pytest.FixtureRequest) -> Iterator[None]:
    """As it is, and so narrow that much is forgotten."""
    messages, ids = request.param
    with mock.patch.object(fold, "WINDOW", messages), mock.patch.object(fold, "KNOWN_CHANGES", ids):
        yield


def folded(events: Iterable[Event], state: RoomState | None = None) -> RoomState:
    state = state or RoomState()
    for event in events:
        state.apply(event)
    return state


def content(state: RoomState) -> dict[str, object]:
    """Everything that a state holds, by attribute."""
    return {**vars(state), "_link": state.link, "_newest": None}  # computed when it is needed


@given(histories(), st.data())
def test_restored_state_continues_fold(events: list[Event], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(events)))
    whole, before = folded(events), folded(events[:cut])
    restored = decode_state(encode_state(before))
    assert content(restored) == content(before)
    assert content(folded(events[cut:], restored)) == content(whole)
    assert encode_state(folded(events[cut:], restored)) == encode_state(whole)


@given(histories())
def test_snapshot_shares_nothing(events: list[Event]) -> None:
    half = len(events) // 2
    state = folded(events[:half])
    data = encode_state(state)
    other = decode_state(data)
    folded(events[half:], state)
    assert encode_state(other) == data


@given(histories())
def test_what_refers_to_one_thing_still_does(events: list[Event]) -> None:
    state = decode_state(encode_state(folded(events)))
    assert all(state.threads[seq] is each for seq, each in state.running.items())
    for waiting in (state.open, state.parked):
        assert all(state.calls[id_] is each for id_, each in waiting.items())


def test_any_tool_arguments_are_encoded() -> None:
    arguments = {"n": 10**300, "below": -(2**80), "x": 1e-300, "": [None, True, "\U0001f9de"]}
    events = [
        Event(1, 1.0, "ann", MessagePosted("m1", "how much?", handler="ann")),
        Event(2, 2.0, "ann", DecisionMade(1, "delegate", query="how much?")),
        Event(3, 3.0, "ann", ApprovalRequested(1, "a1", "system", "calculate", arguments)),
    ]
    restored = decode_state(encode_state(folded(events)))
    assert restored.calls["a1"].arguments == arguments
    assert restored.open["a1"] is restored.calls["a1"]


def test_snapshot_size_is_bounded() -> None:
    with mock.patch.object(fold, "WINDOW", 20), mock.patch.object(fold, "KNOWN_CHANGES", 20):
        states = [folded(history(7, length)) for length in (500, 2_000)]
    sizes = [len(encode_state(state, entries=False)) for state in states]
    assert sizes[1] < 2 * sizes[0]
    assert len(encode_state(states[1])) <= sizes[1] + 8 * 2_000


def packed(value: object) -> bytes:
    return zlib.compress(msgspec.json.encode(value))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"nonsense",
        packed("nonsense"),
        packed([checkpoint.VERSION]),
        packed([checkpoint.VERSION + 1, "of", "a", "later", "version"]),
        encode_state(RoomState())[:-1],
    ],
)
def test_what_is_no_state_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"state|missing|Expected|Object"):
        decode_state(data)


@given(st.binary(max_size=40), st.integers(0, 2**16))
def test_damage_is_refused_or_still_state(noise: bytes, at: int) -> None:
    data = bytearray(encode_state(folded(history(3, 40))))
    at %= len(data)
    data[at : at + len(noise)] = noise
    try:
        state = decode_state(bytes(data))
    except ValueError:
        return
    assert isinstance(state, RoomState)


def test_a_bomb_is_not_unpacked() -> None:
    with (
        mock.patch.object(checkpoint, "MOST_BYTES", 1_000),
        pytest.raises(ValueError, match="not whole"),
    ):
        decode_state(zlib.compress(b"\0" * 100_000))
