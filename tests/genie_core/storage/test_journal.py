from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.storage.journal import decode_journal, decode_value, encode_json, encode_line

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(values, max_size=6), st.data())
def test_cut_file_gives_whole_lines(written: list[Any], data: st.DataObject) -> None:
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


LINES = [encode_line(value) for value in ({"n": [1, None]}, "é\n", {"crc": "x", "data": {}}, 4)]


def test_any_single_bit_may_flip_in_a_journal() -> None:
    content = b"".join(LINES)
    written = decode_journal(content).values
    ends = [content.index(line) + len(line) for line in LINES]
    for at in range(len(content)):
        hit = next(number for number, end in enumerate(ends) if at < end)
        for bit in range(8):
            damaged = bytearray(content)
            damaged[at] ^= 1 << bit
            journal = decode_journal(bytes(damaged))
            others = written[:hit] + written[hit + 1 :]
            between = at + 1 in ends[:-1]  # the newline: nothing that was written is lost
            assert journal.values == (written if between else others), (at, bit)
            assert not journal.plain


def test_a_value_is_never_read_changed() -> None:
    for value in ({"n": [1, None]}, "text", 3, {"crc": "01234567", "data": 1}):
        content = encode_line(value)
        assert decode_value(content) == value
        for at in range(len(content)):
            for damaged in (content[:at], *flipped(content, at)):
                try:
                    assert decode_value(damaged) == value
                except ValueError:
                    continue
                assert at == len(content) - 1  # the newline does not matter


def flipped(content: bytes, at: int) -> list[bytes]:
    return [content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1 :] for bit in range(8)]


def test_plain_journal_is_read_never_cut() -> None:
    journal = decode_journal(b'{"a": 1}\n\n  \nhalf a li\n{"crc": "x"}\n[NaN]\n{"torn')
    assert journal.values == [{"a": 1}, {"crc": "x"}, [None]]
    assert journal.damaged == [4, 7]
    assert journal.plain
    assert journal.intact == 48


def test_deep_nesting_is_damage_not_a_crash() -> None:
    deep = b"[" * 200_000 + b"]" * 200_000
    assert decode_journal(b'{"n": 1}\n' + deep + b"\n").damaged == [2]
    with pytest.raises(ValueError, match="nested"):
        decode_value(deep)


def test_damage_report_is_short() -> None:
    good = encode_line(1)
    assert decode_journal(b"x\n" + good).damage == "line 1 is damaged and was"
    many = decode_journal(b"x\n" * 7 + good)
    assert many.damage == "7 damaged lines (1, 2, 3, 4, 5, …) were"


def test_huge_numbers_become_null() -> None:
    """Infinity, which Python makes of them, could not be written again."""
    journal = decode_journal(b'{"n": 1e999}\n{"n": -1e999}\n{"n": 1.5}\n')
    assert journal.values == [{"n": None}, {"n": None}, {"n": 1.5}]
