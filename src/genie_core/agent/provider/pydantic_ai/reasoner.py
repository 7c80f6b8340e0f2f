"""A reasoner on group-sense."""

from collections.abc import Sequence
from typing import Any, Final

import group_sense  # type: ignore[import-untyped]  # it ships no type information
from pydantic import Field, field_validator
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart
from pydantic_ai.models import Model
from pydantic_ai.run import AgentRunResult
from pydantic_ai.settings import ModelSettings

from genie_core.agent.provider.pydantic_ai.caching import with_cache
from genie_core.agent.provider.pydantic_ai.errors import failures_told, with_limit
from genie_core.agent.provider.pydantic_ai.naming import DEFAULT_MODEL, model_named
from genie_core.agent.provider.pydantic_ai.observed_model import ObservedModel, without_turns
from genie_core.agent.provider.pydantic_ai.portable import portable
from genie_core.agent.provider.pydantic_ai.saved import from_json, to_json, without_prompt
from genie_core.agent.provider.pydantic_ai.structured import StructuredOutputAnywhere
from genie_core.agent.provider.reasoner_prompt import MAX_MESSAGES, reasoner_prompt
from genie_core.agent.provider.remembering_reasoner import RememberingReasoner, latest_turns
from genie_core.errors import ModelFailed
from genie_core.message import Message
from genie_core.reasoner.base import Response
from genie_core.runtime.model_limits import DECISION_TIMEOUT

_RETRIES: Final = 2  # how often a model may correct an answer that cannot be used


class ReasonedResponse(group_sense.Response):  # type: ignore[misc]  # untyped base
    """The decision on the latest messages of a group chat."""  # the model reads this sentence

    reason: str | None = Field(
        default=None,
        description=(
            "One short sentence, in the language of the chat, that tells the group's members "
            "why the messages are ignored or delegated."
        ),
    )

    @field_validator("decision", mode="before")
    @classmethod
    def _plain(cls, decision: Any) -> Any:
        """Accept "Ignore." and "DELEGATE"; models without a schema answer so."""
        return decision.strip(" .!\"'").lower() if isinstance(decision, str) else decision


class DefaultGroupReasoner(RememberingReasoner[ModelMessage]):
    """Decides with one model call per increment, with a memory of recent ones.

    The model is sent the last 30 to 60 turns, so that a decision costs the same at any length of
    the chat. A turn is a decision with the messages that were new then. If more than `MAX_MESSAGES`
    are new, as for a person who joins an old chat, the model gets the latest and the number of
    earlier ones; all of them count as processed.

    Works with models that can't be held to a JSON schema: their prompt asks for JSON. Messages
    reach the model with `<`, `>`, `&` and, in names, quotes as HTML entities, so that none can look
    like another person's.

    A decision may take `DECISION_TIMEOUT` seconds, retries included, unless `model_settings` or the
    model's own settings have a "timeout" or "request_timeout". If the model is not available,
    `fallback` decides. A request that fails in the end raises `ModelFailed`, and no message counts
    as processed. A conversation that exceeds the model's window loses the oldest turns first, then
    the oldest new messages.
    """

    def __init__(
        self,
        system_prompt: str,
        model: str | Model | None = None,
        model_settings: ModelSettings | None = None,
        *,
        fallback: Model | None = None,
    ) -> None:
        super().__init__()
        self._model = StructuredOutputAnywhere(model_named(model or DEFAULT_MODEL))
        spare = None if fallback is None else StructuredOutputAnywhere(fallback)
        self._watched = ObservedModel(self._model, fallback=spare)
        limit = ModelSettings(request_timeout=DECISION_TIMEOUT)
        self._agent = Agent(
            self._watched,
            instructions=system_prompt,  # a system prompt would stay as it was when first sent
            output_type=NativeOutput(ReasonedResponse),
            model_settings=with_limit(
                self._model,
                with_cache(self._model, portable(self._model, model_settings)),
                limit,
            ),
            retries={"output": _RETRIES},
        )

    async def run(self, updates: list[Message]) -> Response:
        """Process messages and decide on the last one."""
        if not updates:
            raise ValueError("there is nothing to decide on")
        shown = MAX_MESSAGES
        self._watched.begin()
        # Entered, for otherwise another one's end would close the connection that they share.
        async with self._watched:
            while (result := await self._decided(updates, shown)) is None:
                shown = min(shown, len(updates)) // 2
        messages = without_turns(result.all_messages(), self._watched.turns_left_out)
        history = [without_prompt(each) for each in messages]
        turn = [without_prompt(each) for each in result.new_messages()]
        self._remember(history, turn, len(updates))
        said: ReasonedResponse = result.output
        return Response(said.decision, said.query, said.receiver or None, said.reason)

    def _to_json(self, messages: Sequence[ModelMessage]) -> list[Any]:
        return to_json(messages)

    def _from_json(self, values: list[Any]) -> list[ModelMessage]:
        return from_json(values)

    async def _decided(
        self, updates: list[Message], most: int
    ) -> AgentRunResult[ReasonedResponse] | None:
        """Decide on the latest messages; None if these alone exceed the model's window."""
        try:
            with failures_told(self._watched):
                prompt = reasoner_prompt(updates, self._processed, most)
                history = latest_turns(self._history, _begins_turn)
                return await self._agent.run(prompt, message_history=history)
        except ModelFailed as error:
            if error.kind != "length" or min(most, len(updates)) == 1:
                raise
            return None


def _begins_turn(message: ModelMessage) -> bool:
    """Whether a message is a request with content from outside."""
    return isinstance(message, ModelRequest) and any(
        isinstance(part, UserPromptPart) for part in message.parts
    )
