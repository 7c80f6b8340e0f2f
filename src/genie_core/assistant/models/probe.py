"""Testing with a few small requests whether a model can do its job."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from genie_core.agent import Agent, AgentInput
from genie_core.assistant.config import AssistantConfig, ModelChoice, Runtime
from genie_core.errors import GenieError, ModelFailed
from genie_core.message import Message
from genie_core.runtime.progress import REASONER, Usage, What, also_reporting_to

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

    `latency` are the seconds of the first request, without this program's own preparations; None
    also if there was no answer. `structured` describes how the model returns decisions. `trouble`
    is one line, empty if the model passed.
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


def load_libraries(subjects: Iterable[Subject]) -> None:
    """Import the libraries that these models need, which takes seconds the first time."""
    for runtime in {each.runtime for each in subjects} | {"pydantic-ai"}:
        library = "openai" if runtime == "openai-agents" else "pydantic_ai"
        import_module(f"genie_core.agent.provider.{library}")


@dataclass(frozen=True, slots=True)
class _FirstRequest:
    """Takes the time of a model's first request."""

    finding: ProbeResult

    def spent(self, usage: Usage) -> None:
        if self.finding.latency is None:
            self.finding.latency = usage.seconds

    def doing(self, what: What, detail: str) -> None:
        """Ignore progress."""


async def examine(subject: Subject, keys: Mapping[str, str], limit: float = LIMIT) -> ProbeResult:
    """Test a model for its uses: tool calls, decisions, or both.

    Sends three requests, and two more if a decision can't be parsed. A failing model raises
    nothing.
    """
    finding = ProbeResult(subject)
    try:
        load_libraries([subject])
        async with asyncio.timeout(limit):
            with also_reporting_to(_FirstRequest(finding)):
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
    async def add(first: int, second: int) -> int:
        """Add two numbers."""
        return first + second

    async def approve(_name: str, _arguments: dict[str, Any]) -> bool:
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
    try:
        await reasoner.run([Message("ping", "doctor")])
    except ModelFailed as failure:
        if failure.kind != "answer":
            raise
        finding.structured = "no"
        finding.trouble = str(failure)
        return
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
