import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.text.decoding import NotText, decode_text, plain_json

ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-32")
WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff"))


@given(WORDS, st.sampled_from(ENCODINGS))
def test_text_of_editors_is_decoded(text: str, encoding: str) -> None:
    assert decode_text(text.encode(encoding)) == text


@pytest.mark.parametrize("encoding", ["utf-16-be", "utf-32-be"])
def test_big_endian_text_needs_its_mark(encoding: str) -> None:
    assert decode_text("\ufeffgrün".encode(encoding)) == "grün"
    with pytest.raises(NotText, match="save it as UTF-8"):
        decode_text("grun".encode(encoding))


@pytest.mark.parametrize(
    ("content", "place"),
    [(b"a\nb\xff", "line 2"), (b"\xff\xfea\0b", "byte 5"), ("é".encode("latin-1"), "line 1")],
)
def test_other_content_names_its_place(content: bytes, place: str) -> None:
    with pytest.raises(NotText, match=f"not UTF-8 text at {place}; save it as UTF-8"):
        decode_text(content)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=10,
)


@given(JSON)
def test_plain_json_stays_as_it_is(value: object) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=1)
    assert plain_json(text) == text


@given(JSON, st.sampled_from(["// x, } ]\n", '/* "a": [ */', "\n/* x\ny */ // z\n"]))
def test_comments_and_last_commas_are_blanked(value: object, comment: str) -> None:
    inner = json.dumps(value)
    text = f'{comment}{{"a": {inner},{comment}"b": [1, {inner},{comment}],{comment}}}{comment}'
    plain = plain_json(text)
    assert json.loads(plain) == {"a": value, "b": [1, value]}
    assert len(plain) == len(text)
    assert [len(line) for line in plain.split("\n")] == [len(line) for line in text.split("\n")]


def test_unfinished_texts_do_not_take_long() -> None:
    assert plain_json("/* x")
    assert plain_json('"' + "\\" * 100_001)
    assert plain_json(",/*" * 100_000)
    assert plain_json("// " * 100_000)
