"""Requests and answers as JSON."""

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.room.protocol.events import tag
from genie_serve.admin.errors import NotUnderstood
from genie_serve.admin.requests import (
    ANSWER_BYTES,
    REQUEST_BYTES,
    AnyAnswer,
    AnyRequest,
    ArchiveRoom,
    CreateInvite,
    CreateRoom,
    CreateWebLink,
    DeleteRoom,
    Done,
    Failed,
    GetStatus,
    HoldRooms,
    InviteText,
    ListMembers,
    ListRooms,
    MemberEntry,
    MemberList,
    ModerateMember,
    RoomChanged,
    RoomEntry,
    RoomList,
    Status,
    StopService,
    UnarchiveRoom,
    VoidAllInvites,
    decode_answer,
    decode_request,
    encode_answer,
    encode_request,
)

REQUESTS: list[AnyRequest] = [
    GetStatus(),
    ListRooms(),
    CreateRoom("Garten 🌱\n\x1b[0m"),
    ArchiveRoom("garden"),
    UnarchiveRoom("garden"),
    DeleteRoom("garden", "Garden"),
    CreateInvite("garden", "host", 3, 60.5),
    CreateWebLink("garden", 60.0, observers=True),
    CreateWebLink("garden", 60.0, uses=3),
    VoidAllInvites("garden"),
    ListMembers("garden"),
    ModerateMember("garden", "role", "ann", "observer", "why"),
    HoldRooms(),
    StopService(),
]
ANSWERS: list[AnyAnswer] = [
    Done(),
    Failed("no\nway"),
    Status("s", "1", 1, 0.5, "host:1", "pin", "key", 1, 2, 3, "nats", (0, 3), ("full",)),
    RoomList((RoomEntry("garden", "Garden\x1b", 1, 2, 3, 4, archived=True, problems=("bad",)),)),
    RoomChanged("garden", "Garden"),
    InviteText("genie1-"),
    MemberList((MemberEntry("ann", "host", present=True, since=1.5, kind="agent", words="a-b"),)),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=tag)
def test_a_request_is_one_line_and_comes_back(request_: AnyRequest) -> None:
    data = encode_request(request_)
    assert b"\n" not in data
    assert decode_request(data) == request_


@pytest.mark.parametrize("answer", ANSWERS, ids=tag)
def test_an_answer_is_one_line_and_comes_back(answer: AnyAnswer) -> None:
    data = encode_answer(answer)
    assert b"\n" not in data
    assert decode_answer(data) == answer


def test_each_kind_is_among_them() -> None:
    assert {*map(type, REQUESTS)} == {*get_args(AnyRequest)}
    assert {*map(type, ANSWERS)} == {*get_args(AnyAnswer)}


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
def test_invalid_request_is_not_understood(data: bytes) -> None:
    with pytest.raises(NotUnderstood):
        decode_request(data)


def test_a_large_request_is_not_even_parsed() -> None:
    with pytest.raises(NotUnderstood, match="has more than 16,384 bytes"):
        decode_request(b"[" * (REQUEST_BYTES + 1))
    with pytest.raises(NotUnderstood, match="has more than 16,384 bytes"):
        encode_request(CreateRoom("x" * REQUEST_BYTES))


def test_oversized_answer_says_so() -> None:
    rooms = tuple(
        RoomEntry(f"{seq}", "x" * 1000, 0, 0, 0, 0) for seq in range(ANSWER_BYTES // 1000)
    )
    answer = decode_answer(encode_answer(RoomList(rooms)))
    assert isinstance(answer, Failed)
    assert "can't be sent" in answer.text
