"""The memory of a run, and its limits."""
# ruff: noqa: S101 - these are tests: their names say it all

import json
from typing import Any

from genie_testing.contract.rig import ContractCase, Rig, ask, new_lines, through_json
from genie_testing.turns import Call, Say


class Remembering(ContractCase):
    """An agent goes on where it was, in this process or the next."""

    async def test_the_model_is_shown_what_was_said_before(self) -> None:
        self.needs("memory")
        async with self.opened(Say("Nice to meet you, Bob."), Say("Bob.")) as rig:
            await ask(rig.agent, "My name is Bob.")
            await ask(rig.agent, "What is my name?")
            _shows_all(rig, "My name is Bob.", "Nice to meet you, Bob.", "What is my name?")

    async def test_a_fresh_agent_has_a_state_to_restore(self) -> None:
        async with self.opened(Say("hello")) as rig:
            state = through_json(rig.agent.get_serialized())
            other = rig.again()
            other.set_serialized(state)
            async with other.mcp():
                assert await ask(other) == "hello"

    async def test_a_restored_agent_remembers(self) -> None:
        self.needs("memory")
        async with self.opened(Say("Nice to meet you, Bob."), Say("Bob.")) as rig:
            await ask(rig.agent, "My name is Bob.")
            other = rig.again()
            other.set_serialized(through_json(rig.agent.get_serialized()))
            async with other.mcp():
                assert await ask(other, "What is my name?") == "Bob."
            _shows_all(rig, "My name is Bob.", "Nice to meet you, Bob.", "What is my name?")

    async def test_a_restored_agent_relies_on_nothing_that_a_service_has_stored(self) -> None:
        self.needs("memory", "tools")
        turns = (Call("double", {"number": 4}), Say("eight"))
        async with self.opened(*turns, tools=[double]) as rig:
            await ask(rig.agent, "Twice four?")
            state = through_json(rig.agent.get_serialized())
        async with self.opened(Say("I said eight."), tools=[double]) as elsewhere:
            elsewhere.agent.set_serialized(state)
            assert await ask(elsewhere.agent, "What was it?") == "I said eight."
            _shows_all(elsewhere, "Twice four?", "eight", "What was it?")

    async def test_state_survives_being_saved_and_restored(self) -> None:
        async with self.opened(Say("one"), Say("two")) as rig:
            await ask(rig.agent, "first")
            await ask(rig.agent, "second")
            state = through_json(rig.agent.get_serialized())
            other = rig.again()
            other.set_serialized(state)
            assert through_json(other.get_serialized()) == state

    async def test_two_instances_share_no_memory(self) -> None:
        async with self.opened(Say("one")) as rig:
            empty = through_json(rig.again().get_serialized())
            await ask(rig.agent, "first")
            assert through_json(rig.again().get_serialized()) == empty

    async def test_journal_restores_state(self) -> None:
        tools = [] if "tools" in self.lacks else [double]
        turns = [Call("double", {"number": 4}), Say("eight")] if tools else [Say("eight")]
        async with self.opened(*turns, Say("nine"), Say("ten"), tools=tools) as rig:
            lines: list[Any] = []
            for query in ("first", "second", "third"):
                await ask(rig.agent, query)
                new = new_lines(rig.agent)
                assert new
                assert new_lines(rig.agent) == []
                lines += new
            other = rig.again()
            other.set_serialized(lines)
            restored = through_json(other.get_serialized())
            assert restored == through_json(rig.agent.get_serialized())

    async def test_what_was_restored_is_not_journalled_again(self) -> None:
        async with self.opened(Say("one"), Say("two")) as rig:
            await ask(rig.agent, "first")
            lines = new_lines(rig.agent)
            other = rig.again()
            other.set_serialized(lines)
            assert new_lines(other) == []
            async with other.mcp():
                await ask(other, "second")
            lines += new_lines(other)
            third = rig.again()
            third.set_serialized(lines)
            restored = through_json(third.get_serialized())
            assert restored == through_json(other.get_serialized())

    async def test_preferences_count_for_one_run(self) -> None:
        self.needs("preferences")
        wish = "Answer in exactly seven words."
        async with self.opened(Say("one"), Say("two")) as rig:
            await ask(rig.agent, "first", preferences=wish)
            assert wish in "\n".join(rig.last.texts)
            await ask(rig.agent, "second")
            assert wish not in "\n".join(rig.last.texts)

    async def test_preferences_are_not_kept_in_the_state(self) -> None:
        self.needs("preferences")
        wish = "Answer in exactly seven words."
        async with self.opened(Say("one")) as rig:
            await ask(rig.agent, "first", preferences=wish)
            assert wish not in json.dumps(rig.agent.get_serialized())
            if hasattr(rig.agent, "get_new_messages"):
                assert wish not in json.dumps(new_lines(rig.agent))

    async def test_an_agent_that_was_put_away_can_be_taken_out_again(self) -> None:
        async with self.scripted(Say("one"), Say("two")) as rig:
            async with rig.agent.mcp():
                assert await ask(rig.agent, "first") == "one"
            async with rig.agent.mcp():
                assert await ask(rig.agent, "second") == "two"
            if "memory" not in self.lacks:
                _shows_all(rig, "first", "one", "second")


async def double(number: int) -> int:
    """Double a number."""
    return 2 * number


def _shows_all(rig: Rig, *texts: str) -> None:
    shown = "\n".join(rig.last.texts)
    assert [text for text in texts if text not in shown] == []
