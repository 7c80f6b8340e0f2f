import asyncio
import json
from typing import Any

import pytest

from genie_core.agent.provider.acp.transport import LineTransport


class Closed:
    """A writer of which nothing is read any more."""

    def write(self, _data: bytes) -> None:
        raise BrokenPipeError

    async def drain(self) -> None: ...

    def close(self) -> None: ...


def reading(data: bytes, longest: int = 1000) -> LineTransport:
    reader = asyncio.StreamReader()
    reader.feed_data(data)
    reader.feed_eof()
    closed: Any = Closed()
    return LineTransport("program", reader, closed, longest)


async def messages(transport: LineTransport) -> list[Any]:
    found = []
    while (message := await transport.receive()) is not None:
        found.append(message)
    return found


async def test_only_valid_messages_pass() -> None:
    right = [
        {"id": 1, "method": "a", "params": {}},
        {"id": "x", "method": "b"},
        {"method": "c"},
        {"id": 2, "result": None},
    ]
    wrong: list[Any] = [
        7,
        None,
        [],
        {},
        {"id": None, "method": "d"},
        {"method": 1},
        {"id": "x", "result": 1},
    ]
    lines = [json.dumps(each) for pair in zip(right, wrong, strict=False) for each in pair]
    lines += [json.dumps(each) for each in wrong] + ["no JSON", "", "\xff"]
    assert await messages(reading("\n".join(lines).encode("latin-1") + b"\n")) == right


@pytest.mark.parametrize(
    ("error", "text"),
    [
        ({"code": -1, "message": "why"}, "why"),
        ("why", "why"),
        (None, "an error without a message"),
        ({"code": "x"}, "an error without a message"),
        ([], "an error without a message"),
    ],
)
async def test_any_error_form_answers_request(error: Any, text: str) -> None:
    line = json.dumps({"id": 5, "error": error}).encode() + b"\n"
    [message] = await messages(reading(line))
    assert message["id"] == 5
    assert message["error"]["message"] == text
    assert isinstance(message["error"]["code"], int)


async def test_overlong_line_ends_connection() -> None:
    transport = reading(b'{"method": "a"}\n' + b"x" * 2_000_000, longest=1_000_000)
    assert await messages(transport) == [{"method": "a"}]
    assert transport.problem == "a message of more than 1 MB"


async def test_a_line_that_is_not_ended_is_no_message() -> None:
    assert await messages(reading(b'{"method": "a"}')) == []


async def test_only_requests_fail_when_closed() -> None:
    transport = reading(b"")
    await transport.send({"id": 1, "result": {}})
    with pytest.raises(BrokenPipeError):
        await transport.send({"id": 1, "method": "a"})
