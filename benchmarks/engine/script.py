"""A reasoner and an agent that cost nothing themselves, built on the engine under test.

Their memory is what a model-backed one would have to remember: every text that was shown to it and
what it made of it. They can tell what is new (`get_new_messages`), which both engines append to a
journal, and hand out everything (`get_serialized`), which older engines of this family save whole.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from benchmarks.engine.package import Package


class Memory:
    """What was remembered, and what of it nobody has asked for yet."""

    def __init__(self) -> None:
        self._lines: list[Any] = []
        self._told = 0

    def remember(self, line: Any) -> None:
        self._lines.append(line)

    def get_new_messages(self) -> list[Any]:
        fresh, self._told = self._lines[self._told :], len(self._lines)
        return fresh

    def get_serialized(self) -> Any:
        return {"lines": self._lines}

    def set_serialized(self, state: Any) -> None:
        self._lines = list(state["lines"] if isinstance(state, dict) else state)
        self._told = len(self._lines)


def reasoner_factory(package: Package) -> Any:
    """Make a factory for reasoners that delegate questions and ignore the rest."""
    ignore, delegate = package.decision.IGNORE, package.decision.DELEGATE

    class Questions(Memory, package.reasoner):  # type: ignore[misc, name-defined] # a base known at run time
        processed = 0

        async def run(self, updates: list[Any]) -> Any:
            self.processed += len(updates)
            last = updates[-1]
            decision = delegate if last.content[-1] == "?" else ignore
            self.remember({"seen": [each.content for each in updates], "to": decision.value})
            return package.response(decision=decision, query=last.content, receiver=last.sender)

    return package.reasoner_factory(lambda _secrets, _owner: Questions())


def agent_factory(package: Package) -> Any:
    """Make a factory for agents that answer at once."""

    class Answers(Memory, package.agent):  # type: ignore[misc, name-defined] # a base known at run time
        @asynccontextmanager
        async def mcp(self) -> AsyncIterator[Any]:
            yield self

        async def run(self, input: Any, callback: Any) -> str:  # noqa: A002 - the contract's names
            answer = f"answer to {input.query}"
            self.remember({"query": input.query, "answer": answer})
            return answer

    return package.agent_factory(lambda _secrets: Answers())
