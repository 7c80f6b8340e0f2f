import asyncio
from typing import Any

import pytest

from genie_core.agent import AgentInput, ApprovalCallback
from testing_tests.contract.faulty import Emit, SoundAgent, noticed


class Swallowing(SoundAgent):
    async def answer(self, given: AgentInput, callback: ApprovalCallback, emit: Emit | None) -> str:
        try:
            return await super().answer(given, callback, emit)
        except asyncio.CancelledError:
            return "never mind"


class Dogged(SoundAgent):
    """Goes on in a task of its own, whatever becomes of the run; for a while."""

    async def answer(self, given: AgentInput, callback: ApprovalCallback, emit: Emit | None) -> str:
        work = asyncio.ensure_future(super().answer(given, callback, emit))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            await asyncio.wait({work}, timeout=1)
            work.cancel()
            raise


class Broken(SoundAgent):
    """Works until the first run that does not come to an end."""

    broken = False

    async def answer(self, given: AgentInput, callback: ApprovalCallback, emit: Emit | None) -> str:
        if self.broken:
            raise RuntimeError("in pieces")
        self.broken = True
        text = await super().answer(given, callback, emit)
        self.broken = False
        return text


class BrokenState(SoundAgent):
    def set_serialized(self, state: Any) -> None:
        raise RuntimeError("in pieces")


class Unwritten(SoundAgent):
    """Keeps out of its journal what was cancelled."""

    async def answer(self, given: AgentInput, callback: ApprovalCallback, emit: Emit | None) -> str:
        try:
            return await super().answer(given, callback, emit)
        except asyncio.CancelledError:
            self.get_new_messages()
            raise


class Cheerful(SoundAgent):
    async def answer(self, given: AgentInput, callback: ApprovalCallback, emit: Emit | None) -> str:
        try:
            return await super().answer(given, callback, emit)
        except Exception:
            return "Everything is fine."


class Vague(SoundAgent):
    async def answer(self, given: AgentInput, callback: ApprovalCallback, emit: Emit | None) -> str:
        try:
            return await super().answer(given, callback, emit)
        except Exception as error:
            raise RuntimeError("something went wrong") from error


class Hasty(SoundAgent):
    """Takes what came through for the answer."""

    async def answer(self, given: AgentInput, callback: ApprovalCallback, emit: Emit | None) -> str:
        heard: list[str] = []
        try:
            return await super().answer(given, callback, heard.append)
        except Exception:
            return "".join(heard)


class Mute(SoundAgent):
    """Passes on no text before it knows the end of it, and forgets what has none."""

    async def answer(self, given: AgentInput, callback: ApprovalCallback, emit: Emit | None) -> str:
        if emit is None:
            return await super().answer(given, callback, None)
        answer = await super().answer(given, callback, lambda _piece: None)
        emit(answer)
        return answer


class Forgetful(SoundAgent):
    """Remembers no run that has not come to its end."""

    async def answer(self, given: AgentInput, callback: ApprovalCallback, emit: Emit | None) -> str:
        before = list(self._history.messages)
        try:
            return await super().answer(given, callback, emit)
        except BaseException:
            self._history.messages = before
            raise


CANCELLATIONS = [
    "test_cancelling_while_the_model_thinks",
    "test_cancelling_while_text_is_streamed",
    "test_cancelling_while_an_approval_is_pending",
    "test_cancelling_while_a_tool_runs_ends_the_tool",
    "test_cancelling_when_one_of_two_calls_is_done",
    "test_cancelling_twice_is_like_once",
]
BEGUN = [
    "test_what_was_said_before_a_cancel_was_streamed_and_is_known",
    "test_what_was_said_before_a_stream_breaks_off_was_streamed_and_is_known",
]
REFUSALS = [
    "test_a_refused_request_fails_the_run_and_says_why",
    "test_a_wrong_key_fails_the_run_at_once",
    "test_a_request_refused_after_a_tool_ran",
    "test_a_provider_that_stays_busy_fails_the_run",
]


@pytest.mark.parametrize(
    ("kind", "test"),
    [
        *((kind, test) for test in CANCELLATIONS for kind in (Swallowing, Dogged, Broken)),
        (BrokenState, "test_what_a_cancelled_run_leaves_can_be_saved_and_restored"),
        (Unwritten, "test_what_a_cancelled_run_leaves_can_be_journalled"),
        *((kind, test) for test in REFUSALS for kind in (Cheerful, Vague)),
        (Broken, "test_a_refused_request_fails_the_run_and_says_why"),
        *((kind, test) for test in BEGUN for kind in (Mute, Forgetful)),
        (Hasty, "test_half_an_answer_is_no_answer"),
        (Cheerful, "test_half_an_answer_is_no_answer"),
    ],
)
async def test_the_contract_notices(kind: Any, test: str) -> None:
    assert await noticed(kind, test)
