from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIResponsesModelSettings

from genie_core.agent import AgentInput, ApprovalCallback
from genie_core.agent.provider.pydantic_ai import DefaultAgent
from testing_tests.contract.faulty import Emit, SoundAgent, noticed, passes


class Forgetful(SoundAgent):
    async def answer(self, given: AgentInput, callback: ApprovalCallback, emit: Emit | None) -> str:
        self.set_serialized([])
        return await super().answer(given, callback, emit)


class Blank(SoundAgent):
    def set_serialized(self, state: Any) -> None:
        pass


class NotJson(SoundAgent):
    def get_serialized(self) -> Any:
        return {"messages": super().get_serialized()["messages"], "at": datetime.now(UTC)}


class Referring(SoundAgent):
    def __init__(self, system_prompt: str, model: Model, **options: Any) -> None:
        settings = OpenAIResponsesModelSettings(openai_send_reasoning_ids=True)
        super().__init__(system_prompt, model, settings, **options)


class Changing(SoundAgent):
    def get_serialized(self) -> Any:
        return {"messages": super().get_serialized()["messages"][1:]}


class OneMind(SoundAgent):
    queries: list[str] = []  # noqa: RUF012 - sharing it is the defect

    async def answer(self, given: AgentInput, callback: ApprovalCallback, emit: Emit | None) -> str:
        self.queries.append(given.query)
        return await super().answer(given, callback, emit)

    def get_serialized(self) -> Any:
        return {**super().get_serialized(), "queries": list(self.queries)}


class Repeating(SoundAgent):
    def get_new_messages(self) -> list[Any]:
        return [self.get_serialized()]


class Losing(SoundAgent):
    def get_new_messages(self) -> list[Any]:
        return super().get_new_messages()[:0] or ([{"messages": []}] if self._first() else [])

    def _first(self) -> bool:
        first, self.asked = not getattr(self, "asked", False), True
        return first


class Retelling(SoundAgent):
    def set_serialized(self, state: Any) -> None:
        super().set_serialized(state)
        self.told = state

    def get_new_messages(self) -> list[Any]:
        told, self.told = getattr(self, "told", []), []
        return told + super().get_new_messages()


class Indiscreet(SoundAgent):
    async def answer(self, given: AgentInput, callback: ApprovalCallback, emit: Emit | None) -> str:
        query = f"{given.preferences or ''} {given.query}"
        return await super().answer(AgentInput(query), callback, emit)


class Careless(SoundAgent):
    async def answer(self, given: AgentInput, callback: ApprovalCallback, emit: Emit | None) -> str:
        return await super().answer(AgentInput(given.query), callback, emit)


class OnlyOnce(SoundAgent):
    @asynccontextmanager
    async def mcp(self) -> AsyncIterator[DefaultAgent]:
        if getattr(self, "left", False):
            raise RuntimeError("closed for good")
        async with super().mcp() as agent:
            yield agent
        self.left = True


@pytest.mark.parametrize(
    ("kind", "test"),
    [
        (Forgetful, "test_the_model_is_shown_what_was_said_before"),
        (NotJson, "test_a_fresh_agent_has_a_state_to_restore"),
        (Blank, "test_a_restored_agent_remembers"),
        (Referring, "test_a_restored_agent_relies_on_nothing_that_a_service_has_stored"),
        (Changing, "test_state_survives_being_saved_and_restored"),
        (OneMind, "test_two_instances_share_no_memory"),
        (Repeating, "test_journal_restores_state"),
        (Losing, "test_journal_restores_state"),
        (Retelling, "test_what_was_restored_is_not_journalled_again"),
        (Indiscreet, "test_preferences_count_for_one_run"),
        (Careless, "test_preferences_count_for_one_run"),
        (Indiscreet, "test_preferences_are_not_kept_in_the_state"),
        (OnlyOnce, "test_an_agent_that_was_put_away_can_be_taken_out_again"),
    ],
)
async def test_the_contract_notices(kind: Any, test: str) -> None:
    assert await noticed(kind, test)
    assert await passes(SoundAgent, test)
