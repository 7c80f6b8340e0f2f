"""Streaming a finished response word by word."""

import re
from asyncio import sleep
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from pydantic_ai.messages import ModelResponseStreamEvent, TextPart, ToolCallPart
from pydantic_ai.models import StreamedResponse

MODEL_NAME: Final = "offline-helper"
PROVIDER_NAME: Final = "genie"

_WORDS = re.compile(r"\s*\S+|\s+$")


@dataclass
class FinishedResponse(StreamedResponse):
    """The parts of a response as a stream of events, text word by word."""

    parts: Sequence[TextPart | ToolCallPart] = ()
    _timestamp: datetime = field(default_factory=lambda: datetime.now(UTC))

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        for part in self.parts:
            if isinstance(part, ToolCallPart):
                yield self._parts_manager.handle_tool_call_part(
                    vendor_part_id=part.tool_call_id,
                    tool_name=part.tool_name,
                    args=part.args,
                    tool_call_id=part.tool_call_id,
                )
                continue
            for word in _WORDS.findall(part.content):
                for event in self._parts_manager.handle_text_delta(
                    vendor_part_id="text", content=word
                ):
                    yield event
                await sleep(0)  # let the screen keep up

    async def close_stream(self) -> None:
        """Do nothing: there is no connection."""

    @property
    def model_name(self) -> str:
        return MODEL_NAME

    @property
    def provider_name(self) -> str:
        return PROVIDER_NAME

    @property
    def provider_url(self) -> None:
        return

    @property
    def timestamp(self) -> datetime:
        return self._timestamp
