"""The parts that the contract needs from an author of an agent through it."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import pytest

from genie_core.agent.approval import ApprovalCallback, Verdict
from genie_core.agent.base import Agent, AgentInput, AsyncTool
from genie_core.message import Attachment
from genie_testing.shown import ScriptedModel, ShownMessages
from genie_testing.turns import Turn

Feature: TypeAlias = Literal[
    "streaming",
    "tools",
    "schemas",
    "memory",
    "preferences",
    "attachments",
    "retries",
    "insistence",
    "limits",
]
"""The abilities that an agent may lack.

"schemas" means that arguments are checked before a tool gets them, "memory" that the model is shown
the runs before, "retries" that a request is repeated when a provider is busy, "insistence" that
a model that says nothing is asked again, and a run fails in which it never says anything, and
"limits" that a streamed answer that the model's length limit ended is a `CutAnswer`.
"""


class Rig:
    """An agent whose model follows a script.

    `make` gives a fresh agent on the same model with the same tools. Without `model`, which reports
    its input, tests that have to look there are skipped.
    """

    def __init__(self, make: Callable[[], Agent], model: ScriptedModel | None = None) -> None:
        self._make = make
        self._model = model
        self.agent = make()

    def again(self) -> Agent:
        """Create another instance, as after a restart."""
        return self._make()

    @property
    def model(self) -> ScriptedModel:
        """The scripted model; skips the test if the agent has none."""
        if self._model is None:
            pytest.skip("this rig can't tell what its model is shown")
        return self._model

    @property
    def last(self) -> ShownMessages:
        """The last request; skips the test if it is not recorded."""
        return self.model.requests[-1]


class Approver:
    """An approval callback that gives one answer to all and remembers the calls.

    As with the engine's own, an agent may name the parameters when it calls it.
    """

    def __init__(self, answer: Verdict | bool = True) -> None:  # noqa: FBT001, FBT002 - the value is an answer
        self._answer = answer if isinstance(answer, Verdict) else Verdict(approved=answer)
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def __call__(self, tool_name: str, tool_args: dict[str, Any]) -> bool:
        return (await self.verdict(tool_name, tool_args)).approved

    async def verdict(
        self, tool_name: str, tool_args: dict[str, Any], _schema: dict[str, Any] | None = None
    ) -> Verdict:
        self.asked.append((tool_name, tool_args))
        return self._answer


class ContractCase:
    """The common part of the tests of the contract.

    `lacks` gives, for each feature the agent does without, the reason to show for skipped tests.
    `patience` is how many seconds a test may take before it counts as hanging, and `promptness`
    how many a run may take to end once it is cancelled.
    """

    pytestmark = pytest.mark.asyncio

    lacks: ClassVar[Mapping[Feature, str]] = {}
    patience: ClassVar[float] = 60.0
    promptness: ClassVar[float] = 20.0

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if unknown := sorted(set(cls.lacks) - set(get_args(Feature))):
            known = ", ".join(get_args(Feature))
            raise TypeError(f"{cls.__name__}.lacks names {unknown}; there are: {known}")

    def scripted(
        self, *turns: Turn, tools: Sequence[AsyncTool] = ()
    ) -> AbstractAsyncContextManager[Rig]:
        """Create an agent with these tools on a model that answers with these turns."""
        raise NotImplementedError(f"{type(self).__name__} must implement scripted()")

    @pytest.fixture(params=[False, True], ids=["whole", "streamed"])
    def streaming(self, request: pytest.FixtureRequest) -> bool:
        """Whether the agent is asked by `run` or `run_streaming`."""
        return bool(request.param)

    @asynccontextmanager
    async def opened(self, *turns: Turn, tools: Sequence[AsyncTool] = ()) -> AsyncIterator[Rig]:
        """Yield a scripted agent that is ready to run, within a time limit."""
        async with (
            asyncio.timeout(self.patience),
            self.scripted(*turns, tools=tools) as rig,
            rig.agent.mcp(),
        ):
            yield rig

    def needs(self, *features: Feature) -> None:
        """Skip the test if the agent lacks one of these features."""
        for feature in features:
            if feature in self.lacks:
                pytest.skip(f"no {feature}: {self.lacks[feature]}")


async def ask(
    agent: Agent,
    query: str = "go",
    callback: ApprovalCallback | None = None,
    *,
    streaming: bool = False,
    emit: Callable[[str], None] = lambda _text: None,
    attachments: Sequence[Attachment] = (),
    preferences: str | None = None,
) -> str:
    """Send one query to an agent; tool calls are approved by default."""
    given = AgentInput(query, list(attachments), preferences)
    approve = callback or Approver()
    if streaming:
        return await agent.run_streaming(given, approve, emit)
    return await agent.run(given, approve)


def through_json(state: Any) -> Any:
    """Return a state as it is after a restart."""
    return json.loads(json.dumps(state, allow_nan=False))


def new_lines(agent: Agent) -> list[Any]:
    """Return the agent's journal lines; skips the test if it keeps none."""
    if not hasattr(agent, "get_new_messages"):
        pytest.skip("this agent's state is saved as a whole")
    lines = agent.get_new_messages()
    if not isinstance(lines, list):
        pytest.fail(f"get_new_messages() must return a list, not {lines!r}")
    return [through_json(line) for line in lines]
