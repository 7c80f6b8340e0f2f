"""Requests and answers as JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.serve.admin.errors import NotUnderstood
from genie_core.serve.admin.requests import (
    ANSWER_BYTES,
    REQUEST_BYTES,
    AnyAnswer,
    AnyRequest,
    CreateRoom,
    Failed,
    RoomEntry,
    RoomList,
    decode_answer,
    decode_request,
    encode_answer,
    encode_request,
)


@given(st.from_type(AnyRequest))  # type: ignore[arg-type]
def test_a_request_is_one_line_and_comes_back(request: AnyRequest) -> None:
    try:
        data = encode_request(request)
    except UnicodeEncodeError:  # a lone surrogate, which no command line has
        return
    assert b"\n" not in data
    assert decode_request(data) == request


@given(st.from_type(AnyAnswer))  # type: ignore[arg-type]
def test_an_answer_is_one_line_and_comes_back(answer: AnyAnswer) -> None:
    try:
        data = encode_answer(answer)
    except UnicodeEncodeError:
        return
    assert b"\n" not in data
    assert type(decode_answer(data)) is type(answer)


@given(st.binary(max_size=200) | st.text().map(json.dumps).map(str.encode))
def test_anything_else_is_an_error_of_one_line(data: bytes) -> None:
    with pytest.raises(NotUnderstood) as caught:
        decode_request(data)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    "data",
    [
        b'{"request":"format"}',
        b'{"request":"stop","now":true}',
        b'{"request":"create"}',
        b'{"request":"create","title":"%s"}' % (b"x" * 1025),
        b'{"request":"invite","room":"r","uses":0}',
        b'{"request":"invite","room":"r","lifetime":-1}',
        b'{"request":"moderate","room":"r","name":"ann","measure":"promote"}',
        b"[" * 10_000,
    ],
)
def test_what_no_administrator_can_ask_is_refused(data: bytes) -> None:
    with pytest.raises(NotUnderstood):
        decode_request(data)


def test_a_large_request_is_not_even_parsed() -> None:
    with pytest.raises(NotUnderstood, match="has more than 16,384 bytes"):
        decode_request(b"[" * (REQUEST_BYTES + 1))
    with pytest.raises(NotUnderstood, match="has more than 16,384 bytes"):
        encode_request(CreateRoom("x" * REQUEST_BYTES))


def test_an_answer_that_is_too_large_is_one_that_says_so() -> None:
    rooms = tuple(
        RoomEntry(f"{seq}", "x" * 1000, 0, 0, 0, 0) for seq in range(ANSWER_BYTES // 1000)
    )
    answer = decode_answer(encode_answer(RoomList(rooms)))
    assert isinstance(answer, Failed)
    assert "can't be sent" in answer.text
