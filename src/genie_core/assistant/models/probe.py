"""Testing with a few small requests whether a model can do its job."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from genie_core.agent import Agent, AgentInput
from genie_core.assistant.config import AssistantConfig, ModelChoice, Runtime
from genie_core.errors import GenieError, ModelFailed
from genie_core.message import Message
from genie_core.runtime.progress import REASONER

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.settings import ModelSettings

LIMIT: Final = 30.0
"""Seconds within which a model must have completed the test."""

MAIN: Final = "agent"
"""Name of the answering agent in lists of a model's users."""

_QUESTION: Final = "Call the tool `add` once with 2 and 3, then say only its result."
_DECIDER: Final = "You watch a group chat. Ignore every message, with two words for a reason."
_TURNS: Final = 2


@dataclass(frozen=True, slots=True)
class Subject:
    """A model to test, with its library and its users."""

    choice: ModelChoice
    runtime: Runtime
    users: tuple[str, ...] = ()
    decides: bool = False
    acts: bool = False


@dataclass(slots=True)
class ProbeResult:
    """The result of a test; None means not tested.

    `latency` is the time to the first answer in seconds. `structured` describes how the model
    returns decisions. `trouble` is one line, empty if the model passed.
    """

    subject: Subject
    latency: float | None = None
    tools: bool | None = None
    structured: str | None = None
    trouble: str = field(default="")


def subjects_of(config: AssistantConfig) -> list[Subject]:
    """Return the distinct models of a configuration and their users."""
    uses: list[tuple[str, ModelChoice, Runtime]] = [
        *([] if config.program else [(MAIN, config.main_model, config.runtime)]),
        (REASONER, _decider(config), "pydantic-ai"),
        *(
            (spec.name, _or(spec.model, config), spec.runtime or config.runtime)
            for spec in config.agents
            if not spec.command
        ),
    ]
    found: dict[tuple[ModelChoice, Runtime], list[str]] = {}
    for user, choice, runtime in uses:
        if choice.name:
            found.setdefault((choice, runtime), []).append(user)
    return [
        Subject(choice, runtime, tuple(users), REASONER in users, users != [REASONER])
        for (choice, runtime), users in found.items()
    ]


async def examine(subject: Subject, keys: Mapping[str, str], limit: float = LIMIT) -> ProbeResult:
    """Test a model for its uses: tool calls, decisions, or both.

    Sends three requests, and two more if a decision can't be parsed. A failing model raises
    nothing.
    """
    finding = ProbeResult(subject)
    try:
        async with asyncio.timeout(limit):
            if subject.acts:
                await _try_tool(finding, keys, limit)
            if subject.decides:
                await _try_decision(finding, keys, limit)
    except TimeoutError:
        finding.trouble = f"model {subject.choice.name!r} did not answer within {limit:.0f} s"
    except GenieError as error:
        finding.trouble = str(error)
    return finding


async def _try_tool(finding: ProbeResult, keys: Mapping[str, str], limit: float) -> None:
    began = time.monotonic()

    def answered() -> None:
        if finding.latency is None:
            finding.latency = time.monotonic() - began

    async def add(first: int, second: int) -> int:
        """Add two numbers."""
        return first + second

    async def approve(_name: str, _arguments: dict[str, Any]) -> bool:
        answered()
        finding.tools = True
        return True

    agent = _agent(finding.subject, keys, [add], limit)
    try:
        await agent.run(AgentInput(_QUESTION), approve)
    except ModelFailed as failure:
        if failure.kind != "tools":
            raise
        finding.tools = False
        finding.trouble = str(failure)
        return
    except GenieError:
        if finding.tools is None:  # it kept calling the tool; only the first call matters
            raise
    answered()
    finding.tools = bool(finding.tools)
    if not finding.tools:
        finding.trouble = (
            f"model {finding.subject.choice.name!r} answered without the requested tool "
            "call; choose a model that can call tools"
        )


async def _try_decision(finding: ProbeResult, keys: Mapping[str, str], limit: float) -> None:
    from genie_core.agent.provider.pydantic_ai import DefaultGroupReasoner
    from genie_core.assistant.models.make import pydantic_model

    model = pydantic_model(finding.subject.choice, keys)
    reasoner = DefaultGroupReasoner(_DECIDER, model, _settings(limit))
    began = time.monotonic()
    try:
        await reasoner.run([Message("ping", "doctor")])
    except ModelFailed as failure:
        if failure.kind != "answer":
            raise
        finding.structured = "no"
        finding.trouble = str(failure)
        return
    if finding.latency is None:
        finding.latency = time.monotonic() - began
    native = bool(model.profile.get("supports_json_schema_output", False))
    finding.structured = "by schema" if native else "asked for in words"


def _agent(
    subject: Subject,
    keys: Mapping[str, str],
    tools: Sequence[Callable[..., Any]],
    limit: float,
) -> Agent:
    if subject.runtime == "openai-agents":
        import agents

        from genie_core.agent.provider.openai import DefaultAgent as OpenAIAgent
        from genie_core.assistant.models.make import openai_model

        once = agents.ModelSettings(
            extra_args={"timeout": limit}, retry=agents.ModelRetrySettings(max_retries=0)
        )
        answering = openai_model(subject.choice, keys)
        return OpenAIAgent("", answering, once, tools, max_turns=_TURNS, tracing=False)

    from genie_core.agent.provider.pydantic_ai import DefaultAgent
    from genie_core.assistant.models.make import pydantic_model

    model: Model = pydantic_model(subject.choice, keys)
    return DefaultAgent("", model, _settings(limit), tools=tools, max_turns=_TURNS)


def _settings(limit: float) -> "ModelSettings":
    from pydantic_ai.settings import ModelSettings

    return ModelSettings(max_retries=0, request_timeout=limit)


def _decider(config: AssistantConfig) -> ModelChoice:
    from genie_core.assistant.agents import MENTION_ONLY

    if config.template == MENTION_ONLY:
        return ModelChoice()  # no model decides
    return _or(config.reasoner, config)


def _or(own: ModelChoice, config: AssistantConfig) -> ModelChoice:
    return own if own.name else config.main_model
