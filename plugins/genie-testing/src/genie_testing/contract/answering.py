"""Saying something, in one piece or bit by bit."""
# ruff: noqa: FBT001, S101 - these are tests: their names say it all, flags are fixtures

import pytest

from genie_core.agent.base import CutAnswer
from genie_core.errors import ModelFailed
from genie_testing.contract.rig import ContractCase, ask
from genie_testing.turns import Call, Say

_MORE_THAN_ANYBODY_TRIES = 10

ANSWER = "Paris is the capital of France,\nand has been for long."


class Answering(ContractCase):
    """The answer is the model's last text."""

    async def test_the_answer_is_what_the_model_said(self, streaming: bool) -> None:
        async with self.opened(Say(ANSWER)) as rig:
            assert await ask(rig.agent, streaming=streaming) == ANSWER

    async def test_the_model_is_shown_the_query(self, streaming: bool) -> None:
        async with self.opened(Say(ANSWER)) as rig:
            await ask(rig.agent, "Which is the capital of France?", streaming=streaming)
            assert "Which is the capital of France?" in "\n".join(rig.last.texts)

    async def test_the_pieces_that_are_streamed_add_up_to_the_answer(self) -> None:
        self.needs("streaming")
        pieces: list[str] = []
        async with self.opened(Say(ANSWER)) as rig:
            answer = await ask(rig.agent, streaming=True, emit=pieces.append)
        assert "".join(pieces) == answer == ANSWER
        assert len(pieces) > 1

    async def test_pieces_come_before_the_answer_is_complete(self) -> None:
        self.needs("streaming")
        done = False
        early: list[bool] = []
        async with self.opened(Say(ANSWER)) as rig:
            await ask(rig.agent, streaming=True, emit=lambda _piece: early.append(not done))
            done = True
        assert early
        assert all(early)

    async def test_an_answer_that_the_length_limit_ends_is_marked(self) -> None:
        self.needs("streaming", "limits")
        async with self.opened(Say(ANSWER, cut=True), Say(ANSWER)) as rig:
            cut = await ask(rig.agent, streaming=True)
            assert (cut, isinstance(cut, CutAnswer)) == (ANSWER, True)
            whole = await ask(rig.agent, streaming=True)
            assert (whole, isinstance(whole, CutAnswer)) == (ANSWER, False)

    async def test_silence_is_no_answer(self, streaming: bool) -> None:
        self.needs("insistence")
        async with self.opened(*[Say("")] * _MORE_THAN_ANYBODY_TRIES) as rig:
            with pytest.raises(ModelFailed) as failed:
                await ask(rig.agent, streaming=streaming)
            assert failed.value.kind == "answer"

    async def test_a_model_that_once_says_nothing_is_asked_again(self, streaming: bool) -> None:
        self.needs("insistence")
        async with self.opened(Say(""), Say(ANSWER), Say("Goodbye.")) as rig:
            assert await ask(rig.agent, streaming=streaming) == ANSWER
            assert await ask(rig.agent, streaming=streaming) == "Goodbye."

    async def test_nothing_said_after_a_tool_ran_runs_it_no_second_time(
        self, streaming: bool
    ) -> None:
        self.needs("insistence", "tools")
        ran: list[int] = []

        async def note(number: int) -> str:
            """Note a number."""
            ran.append(number)
            return ""

        async with self.opened(
            Call("note", {"number": 1}), Say(""), Say("Noted."), tools=[note]
        ) as rig:
            assert await ask(rig.agent, streaming=streaming) == "Noted."
        assert ran == [1]

    async def test_streaming_or_not_gives_the_same_answer(self) -> None:
        self.needs("tools")

        async def double(number: int) -> int:
            """Double a number."""
            return 2 * number

        turns = (Call("double", {"number": 21}), Say("It is 42."))
        async with self.opened(*turns, *turns, tools=[double]) as rig:
            whole = await ask(rig.agent)
            streamed = await ask(rig.agent, streaming=True)
        assert whole == streamed == "It is 42."
