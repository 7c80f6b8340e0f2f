"""A reasoner on group-sense."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from html import escape
from typing import Any, Final

import group_sense  # type: ignore[import-untyped]  # it ships no type information
from pydantic import Field
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse, infer_model
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext

from genie_core.message import Attachment, Message, Thread
from genie_core.reasoner.base import Decision, GroupReasoner, Response

DEFAULT_MODEL: Final = "google:gemini-3-flash-preview"
"""The model of a reasoner that is told none."""

MAX_TURNS: Final = 60
MIN_TURNS: Final = 30
"""A history of `MAX_TURNS` turns loses its oldest ones, down to `MIN_TURNS`.

Cut in steps, its beginning stays the same from one call to the next, which providers that cache
prompts reward.
"""

_SETTINGS: Final = ModelSettings(timeout=60.0)  # seconds; group-sense replaces empty settings


class ReasonedResponse(group_sense.Response):  # type: ignore[misc]  # untyped base
    """The decision on the latest messages of a group chat."""  # the model reads this sentence

    reason: str | None = Field(
        default=None,
        description=(
            "One short sentence, in the language of the chat, that tells the group's members "
            "why the messages are ignored or delegated."
        ),
    )


class DefaultGroupReasoner(GroupReasoner):
    """Decides with one model call per increment, remembering the latest before.

    The model is sent the last 30 to 60 turns, so that a decision costs the same however long the
    chat is. A turn is what was new when a decision was due, and that decision.

    Works with models that cannot be held to a JSON schema: they are asked for JSON in words.
    What people write reaches the model with `<`, `>`, `&` and, in names, quotes as HTML entities,
    so that nobody can write a message that looks like another person's.
    """

    def __init__(
        self,
        system_prompt: str,
        model: str | Model | None = None,
        model_settings: ModelSettings | None = None,
    ) -> None:
        self._reasoner = _Reasoner(
            system_prompt,
            StructuredOutputAnywhere(infer_model(model or DEFAULT_MODEL)),
            model_settings or _SETTINGS,
        )

    @property
    def processed(self) -> int:
        """How many messages the reasoner has taken in."""
        return int(self._reasoner.processed)

    def get_serialized(self) -> Any:
        """Return the conversation with the model and the number of messages taken in."""
        return self._reasoner.state()

    def get_new_messages(self) -> list[Any]:
        """Return what the last run added, to be journalled."""
        return [_without_instructions(line) for line in self._reasoner.get_new_messages()]

    def set_serialized(self, serialized: Any) -> None:
        """Take over a state, or the lines of a journal."""
        if isinstance(serialized, dict):
            lines = [{"messages": serialized["agent"], "processed": serialized["processed"]}]
        else:
            lines = serialized
        self._reasoner.set_serialized(lines)

    async def run(self, updates: list[Message]) -> Response:
        """Take in messages and decide on the last one."""
        raw = await self._reasoner.process([_foreign(message) for message in updates])
        return Response(
            decision=Decision(raw.decision.value),
            query=raw.query,
            receiver=raw.receiver or None,
            reason=raw.reason if isinstance(raw, ReasonedResponse) else None,
        )


class _Reasoner(group_sense.DefaultGroupReasoner):  # type: ignore[misc]  # untyped base
    """group-sense's reasoner, asking for our response."""

    def __init__(self, system_prompt: str, model: Model, settings: ModelSettings) -> None:
        super().__init__(system_prompt, model=model, model_settings=settings)
        # Its constructor settles the output type, and has no parameter for another one. As
        # instructions, unlike as a system prompt, a changed prompt is obeyed from then on.
        self._agent = Agent(
            model,
            instructions=system_prompt,
            output_type=NativeOutput(ReasonedResponse),
            model_settings=settings,
        )

    async def process(self, updates: list[Any]) -> Any:
        """Take in messages and decide, with no more history than is useful."""
        self._history: list[ModelMessage] = _latest(self._history)
        return await super().process(updates)

    def set_serialized(self, lines: list[dict[str, Any]]) -> None:
        """Restore from the latest lines of a journal, each of which has at least one turn."""
        super().set_serialized(lines[-MIN_TURNS:])

    def state(self) -> dict[str, Any]:
        """Return the whole state, in the form of group-sense before 0.0.5."""
        return {
            "agent": ModelMessagesTypeAdapter.dump_python(self._history, mode="json"),
            "processed": self.processed,
        }


def _latest(history: list[ModelMessage]) -> list[ModelMessage]:
    """Cut a history at the beginning of a turn, which is a request with something from outside."""
    starts = [
        place
        for place, message in enumerate(history)
        if isinstance(message, ModelRequest)
        and any(isinstance(part, UserPromptPart) for part in message.parts)
    ]
    return history[starts[1 - MIN_TURNS] :] if len(starts) >= MAX_TURNS else history


def _without_instructions(line: dict[str, Any]) -> dict[str, Any]:
    """Leave out the prompt, which every run brings anew and which would be saved every time."""
    return {
        **line,
        "messages": [
            {**each, "instructions": None} if each["kind"] == "request" else each
            for each in line["messages"]
        ],
    }


class StructuredOutputAnywhere(WrapperModel):
    """Asks in words for the JSON that the wrapped model cannot be held to by a schema."""

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Pass the request on."""
        return await self.wrapped.request(
            messages, model_settings, self._within_reach(model_request_parameters)
        )

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Pass the request on."""
        async with self.wrapped.request_stream(
            messages, model_settings, self._within_reach(model_request_parameters), run_context
        ) as response:
            yield response

    def _within_reach(self, parameters: ModelRequestParameters) -> ModelRequestParameters:
        able = self.wrapped.profile.get("supports_json_schema_output", False)
        if able or parameters.output_mode != "native":
            return parameters
        return replace(parameters, output_mode="prompted")


def _foreign(message: Message) -> group_sense.Message:
    return group_sense.Message(
        content=escape(message.content, quote=False),
        sender=escape(message.sender),
        receiver=escape(message.receiver) if message.receiver else None,
        threads=[_foreign_thread(thread) for thread in message.threads],
        attachments=list(_foreign_attachments(message.attachments)),
    )


def _foreign_thread(thread: Thread) -> group_sense.Thread:
    return group_sense.Thread(
        id=escape(thread.id), messages=[_foreign(message) for message in thread.messages]
    )


def _foreign_attachments(attachments: list[Attachment]) -> Iterable[Any]:
    for each in attachments:
        yield group_sense.Attachment(
            path=escape(each.path, quote=False),
            name=escape(each.name),
            media_type=escape(each.media_type),
        )
