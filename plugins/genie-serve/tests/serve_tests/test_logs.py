"""The log of a service: whole lines for programs and people, without secrets, never a flood."""

import json
import logging
from typing import Any, Literal

import pytest
from tests.genie_core.room.doubles import FailingSink, local_connector, participant, room_server

from genie_serve.logs import LINES_AT_ONCE, TRACES_AT_ONCE, FloodFilter, log_service

logger = logging.getLogger("genie_core.shown")


def lines(captured: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in captured.readouterr().err.splitlines()]


def warn(form: Literal["json", "text"], text: str) -> None:
    with log_service(form):
        try:
            raise OSError(28, f"no space: {text}")
        except OSError:
            logger.warning(
                "can't write %s", text, exc_info=True, extra={"room": "r1", "members": 3}
            )


def test_record_is_one_json_line(capsys: pytest.CaptureFixture[str]) -> None:
    warn("json", "the log")
    (line,) = lines(capsys)
    assert line["time"].endswith("Z")
    assert line["level"] == "warning"
    assert line["logger"] == "genie_core.shown"
    assert line["event"] == "can't write the log"
    assert (line["room"], line["members"]) == ("r1", 3)
    assert line["exception"].startswith("Traceback")
    assert line["exception"].endswith("OSError: [Errno 28] no space: the log")


def test_text_is_one_line_too(capsys: pytest.CaptureFixture[str]) -> None:
    warn("text", "the log")
    (line,) = capsys.readouterr().err.splitlines()
    assert " WARNING genie_core.shown: can't write the log room=r1 members=3␤Traceback" in line


@pytest.mark.parametrize("form", ["json", "text"])
def test_secrets_and_controls_are_hidden(
    capsys: pytest.CaptureFixture[str], form: Literal["json", "text"]
) -> None:
    warn(form, f"sk-{12345678}\n\x1b[2J\u202e\x9b")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.isprintable()
    assert "12345678" not in line


def test_libraries_say_only_what_matters(capsys: pytest.CaptureFixture[str]) -> None:
    with log_service("json"):
        logging.getLogger("uvicorn.error").info("started")
        logging.getLogger("websockets.server").info("connection open")
        logging.getLogger("nats.aio.client").warning("disconnected")
        logging.getLogger("genie_core.shown").info("opened")
        logging.getLogger("genie_serve.shown").info("stopping")
    assert [line["event"] for line in lines(capsys)] == ["disconnected", "opened", "stopping"]


def test_flood_from_one_line_is_counted() -> None:
    now = 0.0
    flood = FloodFilter(lambda: now)

    def record(line: int) -> logging.LogRecord:
        return logging.LogRecord("x", logging.WARNING, "x.py", line, "a stranger", (), None)

    passed = [flood.filter(record(1)) for _ in range(LINES_AT_ONCE + 5)]
    assert passed.count(True) == LINES_AT_ONCE
    assert flood.filter(record(2))
    now = 60.0
    after = record(1)
    assert flood.filter(after)
    assert after.__dict__["left_out"] == 5


def test_flood_of_failures_keeps_few_tracebacks(capsys: pytest.CaptureFixture[str]) -> None:
    """As from connections that are aborted as fast as a network carries them."""
    with log_service("json"):
        for number in range(5_000):
            try:
                raise ConnectionResetError(104, f"reset by peer {number}")
            except ConnectionResetError:
                logger.exception("a connection failed")
    told = lines(capsys)
    assert len(told) <= LINES_AT_ONCE + 1
    traces = [line["exception"] for line in told]
    assert sum("Traceback" in each for each in traces) == TRACES_AT_ONCE
    assert traces[-1].startswith("ConnectionResetError: [Errno 104] reset by peer")


async def test_room_lines_quote_no_message(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sink = FailingSink()
    with log_service("json"):
        async with (
            room_server(sink) as server,
            participant(local_connector(server), "hana", token=server.host_token) as hana,
        ):
            await hana.seen.online()
            sink.broken, before = True, sink.attempts
            hana.client.messages.send("the secret plan")
            await hana.seen.until(lambda _: sink.attempts > before)
            sink.broken = False
            await hana.seen.until(lambda seen: seen.texts == ["the secret plan"])
    line, *_ = lines(capsys)
    assert line["event"] == "writing the log failed"
    assert line["room"] == "2026-11-21-standup-3fk9"
    assert "the secret plan" not in json.dumps(line)
