"""What is left of a message that is too long."""

import gzip
import json
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.assistant.servers.long_results import LongLines, LongMessage, limited_http

LIMIT = 300_000


def cut(message: dict[str, Any]) -> dict[str, Any]:
    """What is left of a message that arrives in pieces."""
    reader = LongMessage(LIMIT)
    written = json.dumps(message).encode()
    for start in range(0, len(written), 7_000):
        reader.add(written[start : start + 7_000])
    left: dict[str, Any] = json.loads(reader.take() or "{}")
    return left


def result(*content: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "result": {"content": list(content), **more}}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def test_a_message_within_the_limit_is_as_it_was() -> None:
    message = result(text("x" * (LIMIT - 1_000)))
    assert cut(message) == message


def test_long_text_keeps_start_and_note() -> None:
    left = cut(result(text("first"), text("é" * LIMIT)))
    assert left["id"] == 7
    assert left["result"]["isError"]
    note, first, second = (part["text"] for part in left["result"]["content"])
    assert "1.8 MB and was cut while it was read" in note
    assert first == "first"
    assert second == "é" * len(second)
    assert len(second) > 10_000


def test_a_file_that_was_cut_is_left_out() -> None:
    left = cut(result(text("a picture"), {"type": "image", "data": "QUJD" * LIMIT}))
    note, words = left["result"]["content"]
    assert "cut while it was read" in note["text"]
    assert words == text("a picture")


def test_an_id_at_the_end_is_found() -> None:
    left = cut({"jsonrpc": "2.0", "result": {"content": [text("x" * LIMIT)]}, "id": 12})
    assert left["id"] == 12


def test_only_a_result_becomes_one() -> None:
    tools = [{"name": f"t{number}", "inputSchema": {}} for number in range(LIMIT // 20)]
    left = cut({"jsonrpc": "2.0", "id": 3, "result": {"tools": tools}})
    assert "was not read" in left["error"]["message"]
    structured = cut(
        {"jsonrpc": "2.0", "id": 3, "result": {"structuredContent": {"rows": ["row"] * LIMIT}}}
    )
    assert '"rows":["row","row"' in structured["result"]["content"][1]["text"]


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x" * LIMIT}},
        {"jsonrpc": "2.0", "id": 7, "method": "sampling/createMessage", "params": ["x" * LIMIT]},
        {"jsonrpc": "2.0", "result": "x" * LIMIT, "more": 1},
        ["x"] * LIMIT,
    ],
)
def test_one_that_answers_nothing_is_dropped(message: Any) -> None:
    assert cut(message) == {}


@given(st.lists(st.binary(max_size=40), max_size=20), st.integers(1, 30))
def test_lines_within_the_limit_pass_unchanged(lines: list[bytes], step: int) -> None:
    written = b"".join(line.replace(b"\n", b"") + b"\n" for line in lines)
    reader = LongLines(LIMIT)
    pieces = (written[start : start + step] for start in range(0, len(written), step))
    assert b"".join(map(reader.feed, pieces)) == written
    assert reader.size == 0


def test_endless_line_is_kept_to_limit() -> None:
    reader = LongLines(LIMIT, b"data:")
    for _ in range(100):
        assert reader.feed(b"data: " + b"x" * 100_000) == b""
    assert reader.size > 10_000_000
    assert reader.feed(b"\ndata: {}\n\n") == b"data:\ndata: {}\n\n"


async def test_an_answer_that_is_compressed_is_refused() -> None:
    """A thousandth of it arrives: it would be a whole one before its length is known."""

    def bomb(_request: httpx2.Request) -> httpx2.Response:
        body = gzip.compress(bytes(50_000_000))
        headers = {"content-type": "application/json", "content-encoding": "gzip"}
        return httpx2.Response(200, headers=headers, stream=httpx2.ByteStream(body))

    async with limited_http(LIMIT)(transport=httpx2.MockTransport(bomb)) as client:
        with pytest.raises(httpx2.DecodingError, match="compressed"):
            await client.post("http://127.0.0.1/mcp")
