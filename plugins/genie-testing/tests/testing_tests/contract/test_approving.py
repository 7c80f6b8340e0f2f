import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from genie_core.agent import AgentInput, ApprovalCallback, Verdict
from genie_core.agent.approval import ask_about
from testing_tests.contract.faulty import Emit, SoundAgent, noticed, passes


@dataclass
class Between:
    """A callback that lets a function decide, which may ask another callback."""

    decide: Callable[[str, dict[str, Any]], Awaitable[Any]]

    async def __call__(self, tool_name: str, tool_args: dict[str, Any]) -> bool:
        return bool(await self.decide(tool_name, tool_args))

    async def verdict(
        self, tool_name: str, tool_args: dict[str, Any], _schema: dict[str, Any] | None = None
    ) -> Any:
        return await self.decide(tool_name, tool_args)


class Interposed(SoundAgent):
    """Puts something between the agent and the callback."""

    async def answer(self, given: AgentInput, callback: ApprovalCallback, emit: Emit | None) -> str:
        between = Between(partial(self.decide, partial(ask_about, callback)))
        return await super().answer(given, between, emit)

    async def decide(self, ask: Any, name: str, arguments: dict[str, Any]) -> Any:
        return await ask(name, arguments)


class Unasking(Interposed):
    async def decide(self, ask: Any, name: str, arguments: dict[str, Any]) -> Any:
        return Verdict(approved=True)


class Deaf(Interposed):
    async def decide(self, ask: Any, name: str, arguments: dict[str, Any]) -> Any:
        return Verdict(approved=bool(await ask(name, arguments)))


class Misquoting(Interposed):
    async def decide(self, ask: Any, name: str, arguments: dict[str, Any]) -> Any:
        return await ask(name, {})


class NotTakingBools(Interposed):
    async def decide(self, ask: Any, name: str, arguments: dict[str, Any]) -> Any:
        (callback,) = ask.args
        answer = await callback(name, arguments)
        return Verdict(answer.approved, answer.reason, answer.arguments)


class ByName(Interposed):
    async def decide(self, ask: Any, name: str, arguments: dict[str, Any]) -> Any:
        return await ask(tool_name=name, tool_args=arguments)


class ByAnotherName(Interposed):
    async def decide(self, ask: Any, name: str, arguments: dict[str, Any]) -> Any:
        return await ask(tool=name, tool_args=arguments)


class KeepingArguments(Interposed):
    async def decide(self, ask: Any, name: str, arguments: dict[str, Any]) -> Any:
        verdict = await ask(name, arguments)
        return Verdict(True, None, verdict.arguments or arguments)


class OneAtATime(Interposed):
    async def decide(self, ask: Any, name: str, arguments: dict[str, Any]) -> Any:
        async with vars(self).setdefault("lock", asyncio.Lock()):
            return await ask(name, arguments)


class GivingIn(Interposed):
    async def decide(self, ask: Any, name: str, arguments: dict[str, Any]) -> Any:
        self.denied = getattr(self, "denied", 0) + 1
        return await ask(name, arguments) or self.denied > 3


class AllOrNothing(Interposed):
    """Waits for both answers before anything runs."""

    async def decide(self, ask: Any, name: str, arguments: dict[str, Any]) -> Any:
        answer = await ask(name, arguments)
        await vars(self).setdefault("answers", asyncio.Barrier(2)).wait()
        return answer


@pytest.mark.parametrize(
    ("kind", "test"),
    [
        (Unasking, "test_a_call_is_asked_for_by_name_and_arguments_before_it_runs"),
        (Misquoting, "test_a_call_is_asked_for_by_name_and_arguments_before_it_runs"),
        (Unasking, "test_a_denied_call_does_not_run"),
        (Deaf, "test_the_model_learns_why_a_call_was_denied"),
        (GivingIn, "test_denials_do_not_wear_out_the_run"),
        (NotTakingBools, "test_a_plain_true_approves"),
        (NotTakingBools, "test_a_plain_false_denies"),
        (ByAnotherName, "test_the_callback_of_the_engine_is_called_as_it_can_be"),
        (Deaf, "test_edited_arguments_are_what_the_tool_gets"),
        (KeepingArguments, "test_edited_arguments_that_do_not_fit_are_an_error_the_model_sees"),
        (OneAtATime, "test_parallel_calls_wait_together_and_are_answered_in_any_order"),
        (Deaf, "test_parallel_calls_wait_together_and_are_answered_in_any_order"),
        (AllOrNothing, "test_an_approved_call_runs_while_another_still_waits"),
    ],
)
async def test_the_contract_notices(kind: Any, test: str) -> None:
    assert await noticed(kind, test)
    assert await passes(Interposed, test)
    assert await passes(ByName, test)
