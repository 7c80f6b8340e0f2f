from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.journal import decode_journal, encode_json, encode_line

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(values, max_size=6), st.data())
def test_a_file_cut_anywhere_gives_its_whole_lines(written: list[Any], data: st.DataObject) -> None:
    lines = [encode_line(value) for value in written]
    content = b"".join(lines)
    cut = data.draw(st.integers(0, len(content)))
    journal = decode_journal(content[:cut])
    whole = content[:cut].count(b"\n")
    assert journal.values == written[:whole]
    assert journal.intact == sum(map(len, lines[:whole]))
    assert journal.damaged == []


@given(st.lists(values, min_size=3, max_size=6), st.data())
def test_a_damaged_line_costs_only_itself(written: list[Any], data: st.DataObject) -> None:
    lines = [encode_line(value) for value in written]
    hit = data.draw(st.integers(0, len(lines) - 2))
    at = data.draw(st.integers(0, len(lines[hit]) - 2))
    damaged = bytearray(lines[hit])
    damaged[at] ^= 1
    if damaged[at] == ord("\n"):
        return
    lines[hit] = bytes(damaged)
    journal = decode_journal(b"".join(lines))
    assert journal.values == written[:hit] + written[hit + 1 :]
    assert journal.damaged == [hit + 1]


@pytest.mark.parametrize("tail", [b"\0" * 100, b"\0" * 50 + b"\n", b"rubbish", b"{}\n"])
def test_rubbish_at_the_end_is_a_torn_tail(tail: bytes) -> None:
    good = encode_line({"n": 1})
    journal = decode_journal(good + tail)
    assert journal.values == [{"n": 1}]
    assert journal.intact == len(good)


def test_half_a_surrogate_pair_survives() -> None:
    assert decode_journal(encode_line("\ud83d")).values == ["\ud83d"]


@pytest.mark.parametrize("value", [object(), {1, 2}, float("nan"), b"bytes"])
def test_what_is_not_json_is_refused(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        encode_json(value)
