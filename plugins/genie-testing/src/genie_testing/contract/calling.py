"""Using tools, and their failures."""
# ruff: noqa: FBT001, S101 - these are tests: their names say it all, flags are fixtures

from genie_core.agent.base import AsyncTool
from genie_testing.contract.rig import Approver, ContractCase, ask
from genie_testing.turns import Call, Calls, Say, Turn


class Calling(ContractCase):
    """The model gets to know everything that a tool does and the run goes on."""

    async def test_a_tool_gets_its_arguments_and_the_model_its_result(
        self, streaming: bool
    ) -> None:
        self.needs("tools")

        async def add(a: int, b: int) -> str:
            """Add two numbers."""
            return f"the sum is {a + b}"

        async with self.opened(Call("add", {"a": 2, "b": 3}), Say("5"), tools=[add]) as rig:
            assert await ask(rig.agent, streaming=streaming) == "5"
            assert [each.result for each in rig.last.exchanges] == ["the sum is 5"]

    async def test_a_tool_that_raises_does_not_end_the_run(self, streaming: bool) -> None:
        self.needs("tools")

        async def fetch(url: str) -> str:
            """Fetch a page."""
            raise RuntimeError(f"no route to {url}")

        turns = (Call("fetch", {"url": "example.org"}), Say("It can't be reached."))
        async with self.opened(*turns, tools=[fetch]) as rig:
            assert await ask(rig.agent, streaming=streaming) == "It can't be reached."
            assert "no route to example.org" in rig.last.exchanges[0].result

    async def test_a_tool_may_fail_again_and_again(self) -> None:
        self.needs("tools")

        async def fetch(url: str) -> str:
            """Fetch a page."""
            raise RuntimeError(f"no route to {url}")

        calls = [Call("fetch", {"url": f"{number}.example.org"}) for number in range(6)]
        async with self.opened(*calls, Say("I give up."), tools=[fetch]) as rig:
            assert await ask(rig.agent) == "I give up."

    async def test_a_tool_nobody_has_is_an_error_the_model_sees(self, streaming: bool) -> None:
        self.needs("tools")
        turns = (Call("teleport", {"to": "Mars"}), Say("I stay here."))
        async with self.opened(*turns, tools=[greet]) as rig:
            assert await ask(rig.agent, streaming=streaming) == "I stay here."
            assert "teleport" in rig.last.exchanges[0].result

    async def test_arguments_of_the_wrong_type_are_an_error_the_model_sees(
        self, streaming: bool
    ) -> None:
        self.needs("schemas")
        await self._survives(Call("halve", {"number": "a few"}), streaming=streaming)

    async def test_arguments_that_are_missing_are_an_error_the_model_sees(
        self, streaming: bool
    ) -> None:
        await self._survives(Call("halve", {}), streaming=streaming)

    async def test_arguments_that_are_no_json_are_an_error_the_model_sees(
        self, streaming: bool
    ) -> None:
        await self._survives(Call("halve", '{"number": 4'), streaming=streaming)

    async def test_parallel_results_belong_to_their_calls(self, streaming: bool) -> None:
        self.needs("tools")

        async def square(number: int) -> str:
            """Square a number."""
            return f"{number}² = {number * number}"

        calls = Calls(*(Call("square", {"number": number}) for number in (2, 3, 4)))
        async with self.opened(calls, Say("done"), tools=[square]) as rig:
            await ask(rig.agent, streaming=streaming)
            assert [each.result for each in rig.last.exchanges] == ["2² = 4", "3² = 9", "4² = 16"]

    async def _survives(self, call: Turn, *, streaming: bool) -> None:
        self.needs("tools")
        halved: list[float] = []

        async def halve(number: float) -> float:
            """Halve a number."""
            halved.append(number)
            return number / 2

        tools: list[AsyncTool] = [halve]
        turns = (call, Call("halve", {"number": 8}), Say("4"))
        async with self.opened(*turns, tools=tools) as rig:
            assert await ask(rig.agent, "go", Approver(), streaming=streaming) == "4"
            assert halved == [8]
            assert len(rig.last.exchanges) == 2


async def greet(name: str) -> str:
    """Greet a person."""
    return f"Hello {name}"
