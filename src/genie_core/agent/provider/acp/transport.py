"""Lines of JSON-RPC from and to a process, bounded and checked."""

import asyncio
import json
import logging
from typing import Any, Final

from genie_core.privacy.redaction import hide_secrets

log = logging.getLogger(__name__)

LONGEST_LINE: Final = 16 * 1024 * 1024
"""Bytes of one message. A longer one ends the connection: its kind is not known."""

_CHUNK: Final = 256 * 1024
_BATCH: Final = 64
"""Messages after which other tasks get their turn."""

_MOST_LOGGED: Final = 20
_LOGGED_CHARS: Final = 200


class LineTransport:
    """A transport for `acp.connection.Connection`, which handles messages only of the right form.

    Lines that are no messages are skipped: programs print lines to standard output that belong on
    standard error. `problem` says why the connection was given up, if it was.
    """

    def __init__(
        self,
        name: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        longest: int = LONGEST_LINE,
    ) -> None:
        self.problem = ""
        self._name = name
        self._reader = reader
        self._writer = writer
        self._longest = longest
        self._buffer = bytearray()
        self._searched = 0
        self._received = 0
        self._strange = 0

    async def send(self, message: dict[str, Any]) -> None:
        """Write a message. Raises `OSError` if it asks something and the process takes no more."""
        line = json.dumps(message, separators=(",", ":")) + "\n"
        try:
            self._writer.write(line.encode("utf-8", "replace"))
            await self._writer.drain()
        except OSError:
            if "method" in message:  # an answer is of no use any more
                raise

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message, or None at the end."""
        while (line := await self._line()) is not None:
            self._received += 1
            if self._received % _BATCH == 0:
                await asyncio.sleep(0)
            if not line.strip():
                continue
            if (message := _message_in(line)) is not None:
                return message
            self._note_strange(line)
        return None

    async def close(self) -> None:
        self._writer.close()

    async def _line(self) -> bytes | None:
        while (end := self._buffer.find(b"\n", self._searched)) < 0:
            self._searched = len(self._buffer)
            if self._searched > self._longest:
                self.problem = f"a message of more than {self._longest // 1_000_000} MB"
                self._buffer.clear()
                return None
            if not (chunk := await self._reader.read(_CHUNK)):
                return None
            self._buffer += chunk
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._searched = 0
        return line

    def _note_strange(self, line: bytes) -> None:
        self._strange += 1
        if self._strange <= _MOST_LOGGED:
            text = hide_secrets(line[:_LOGGED_CHARS].decode("utf-8", "replace"))
            log.info("agent program %s: not a message: %s", self._name, text)


def _message_in(line: bytes) -> dict[str, Any] | None:
    """Parse one message; None if it has not the form of one.

    A response with an error of another form becomes one with an error of the right form, since a
    request waits for it.
    """
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict):
        return None
    number = message.get("id")
    if "method" in message:
        is_known = "id" not in message or isinstance(number, int | str)
        return message if isinstance(message["method"], str) and is_known else None
    if not isinstance(number, int):
        return None
    if "result" in message:
        return message
    error = message.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    text = error.get("message") if isinstance(error, dict) else error
    return {
        "id": number,
        "error": {
            "code": code if isinstance(code, int) else -32603,
            "message": text if isinstance(text, str) else "an error without a message",
            "data": error.get("data") if isinstance(error, dict) else None,
        },
    }
