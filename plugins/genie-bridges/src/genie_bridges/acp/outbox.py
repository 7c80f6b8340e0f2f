"""Updates on their way to the editor, in order."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from acp.helpers import text_block
from acp.schema import AgentMessageChunk, AgentThoughtChunk, ToolCallProgress, ToolCallStart

Update: TypeAlias = AgentMessageChunk | AgentThoughtChunk | ToolCallStart | ToolCallProgress
Send: TypeAlias = Callable[[str, Update], Awaitable[None]]

MOST_CHARS: Final = 1_000_000
"""Characters that wait for a slow editor; longer texts are left out."""

LEFT_OUT: Final = "\n\n> … some of what the room said is left out: the editor was too slow\n\n"


class Outbox:
    """Sends updates one after another, while `run` runs.

    Text that continues the last waiting one is sent with it. If the editor does not read, text is
    left out, and the editor gets a note; tool calls never are.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._waiting: deque[tuple[str, Update] | asyncio.Future[None]] = deque()
        self._chars = 0
        self._left_out_in = ""
        self._wake = asyncio.Event()
        self._ended = False

    def message(self, session: str, text: str, id_: str) -> None:
        """Send text of the message `id_`."""
        chunk = AgentMessageChunk(
            session_update="agent_message_chunk", content=text_block(text), message_id=id_
        )
        self._text(session, chunk, text)

    def thought(self, session: str, text: str) -> None:
        """Send a line that is no part of a message."""
        chunk = AgentThoughtChunk(
            session_update="agent_thought_chunk", content=text_block(f"{text}\n\n")
        )
        self._text(session, chunk, text)

    def call(self, session: str, update: ToolCallStart | ToolCallProgress) -> None:
        """Send news of a tool call."""
        self._waiting.append((session, update))
        self._wake.set()

    async def flushed(self) -> None:
        """Wait until everything put in before is sent, or can't be any more."""
        if self._ended:
            return
        flushed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(flushed)
        self._wake.set()
        await flushed

    async def run(self) -> None:
        """Send until cancelled.

        Raises:
            ConnectionError: the editor is gone.
        """
        try:
            while True:
                while self._waiting:
                    await self._send_next()
                if self._left_out_in:
                    session, self._left_out_in = self._left_out_in, ""
                    self.message(session, LEFT_OUT, "left-out")
                    continue
                self._wake.clear()
                await self._wake.wait()
        finally:
            self._ended = True
            for each in self._waiting:
                if isinstance(each, asyncio.Future) and not each.done():
                    each.set_result(None)

    async def _send_next(self) -> None:
        first = self._waiting.popleft()
        if isinstance(first, asyncio.Future):
            if not first.done():
                first.set_result(None)
            return
        session, update = first
        self._chars -= _length(update)
        await self._send(session, update)

    def _text(self, session: str, chunk: AgentMessageChunk | AgentThoughtChunk, text: str) -> None:
        if self._chars + len(text) > MOST_CHARS:
            self._left_out_in = session
            return
        last = self._waiting[-1] if self._waiting else None
        if not (isinstance(last, tuple) and last[0] == session and _continue(last[1], chunk)):
            self._waiting.append((session, chunk))
        self._chars += _length(chunk)
        self._wake.set()


def _continue(last: Update, chunk: AgentMessageChunk | AgentThoughtChunk) -> bool:
    """Add a text to one that it continues; False if it doesn't."""
    if not (isinstance(last, AgentMessageChunk) and isinstance(chunk, AgentMessageChunk)):
        return False
    if last.message_id != chunk.message_id:
        return False
    if last.content.type != "text" or chunk.content.type != "text":
        return False
    last.content.text += chunk.content.text
    return True


def _length(update: Update) -> int:
    if isinstance(update, AgentMessageChunk | AgentThoughtChunk) and update.content.type == "text":
        return len(update.content.text)
    return 0
