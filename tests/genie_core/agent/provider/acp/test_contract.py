"""The agent contract, with a program that can resume its sessions and one that can't."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, ClassVar

from tests.genie_core.agent.provider.acp.rig import staged

from genie_core.agent import AsyncTool
from genie_testing.contract import AgentContract, Feature, Rig
from genie_testing.turns import Cut, Refuse, Say, Stall, Turn, split_words


class Program(AgentContract):
    lacks: ClassVar[Mapping[Feature, str]] = {
        "tools": "the program has tools of its own",
        "schemas": "the program has tools of its own",
        "preferences": "they go before each prompt, and a session keeps its prompts",
        "retries": "the program repeats its requests itself",
        "insistence": "what the program's model says is the program's business",
    }
    can: ClassVar[dict[str, Any]] = {}

    @asynccontextmanager
    async def scripted(self, *turns: Turn, tools: Sequence[AsyncTool] = ()) -> AsyncIterator[Rig]:
        assert not tools
        async with staged() as stage:
            stage.script(*map(_steps, turns), **self.can)
            yield Rig(stage.agent, stage)


class TestProgramThatForgets(Program):
    pass


class TestProgramThatLoads(Program):
    can: ClassVar[dict[str, Any]] = {"load": True}


class TestProgramThatResumes(Program):
    can: ClassVar[dict[str, Any]] = {"resume": True}


def _steps(turn: Turn) -> list[dict[str, Any]]:
    match turn:
        case Say(text, cut):
            steps: list[dict[str, Any]] = [{"words": split_words(text)}]
            return [*steps, {"stop": {"stopReason": "max_tokens"}}] if cut else steps
        case Cut(after):
            return [{"words": split_words(after)}, {"exit": 1}]
        case Stall(after):
            return [{"words": split_words(after)}, {"wait": True}]
        case Refuse(_, message):
            return [{"fail": {"code": -32603, "message": message}}]
        case _:
            raise AssertionError(turn)
