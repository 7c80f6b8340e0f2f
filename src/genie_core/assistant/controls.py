"""The parts of a built assistant that its owner can inspect and change."""

import asyncio
import inspect
from collections.abc import Sequence
from dataclasses import replace

from genie_core.assistant.agents import DIRECT, MENTION_ONLY, AssistantBuilder
from genie_core.assistant.models.registry import label_of
from genie_core.room.engine.controls import (
    AgentSummary,
    Allowance,
    EngineControls,
    ServerInfo,
    ToolInfo,
)
from genie_core.room.engine.policy import ApprovalPolicy, Risk, ToolCall
from genie_core.runtime.progress import REASONER, Usage
from genie_core.secrets import fetch_secrets


class AssistantControls(EngineControls):
    """Inspects and changes the assistant that a workshop makes."""

    def __init__(self, workshop: AssistantBuilder, policy: ApprovalPolicy, owner: str) -> None:
        self._workshop = workshop
        self._policy = policy
        self._owner = owner
        self._about = {DIRECT: "Directs another agent."}
        for role in workshop.roles:
            tools = workshop.tools_for(role, _no_chat)
            self._about |= {each.__name__: _first_line(each) for each in tools}

    @property
    def agents(self) -> Sequence[AgentSummary]:
        """The agents, the one that answers first, and last the reasoner if it has a model."""
        shop = self._workshop
        infos = []
        for role in shop.roles:
            cast = shop.lineup.cast(role.model, role.runtime)
            infos.append(
                AgentSummary(
                    role.name, role.description, cast.label, cast.runtime, role.coordinates
                )
            )
        if shop.config.template == MENTION_ONLY:
            return infos
        deciding = shop.lineup.cast(shop.config.reasoner, "pydantic-ai")
        decides = "Decides which messages the assistant answers."
        return (*infos, AgentSummary(REASONER, decides, deciding.label, deciding.runtime))

    @property
    def tools(self) -> Sequence[ToolInfo]:
        """The tools, by agent; those of servers that have not started yet are missing."""
        return (*self._built_in, *self._served)

    @property
    def servers(self) -> Sequence[ServerInfo]:
        """The tool servers."""
        return self._workshop.board.servers

    @property
    def allowance(self) -> Allowance:
        """How much of the session's budget is used."""
        return self._workshop.purse.allowance

    @property
    def model(self) -> str:
        """The model that answers, as in the settings; empty for the offline helper."""
        return self._workshop.lineup.main.name

    async def use_model(self, name: str) -> str:
        """Use another model from the next run on; returns its label.

        Secrets are looked up anew: a missing one may have been stored meanwhile. Raises a
        `GenieError`, and changes nothing, if the model can't be used.
        """
        lineup, secrets = self._workshop.lineup, self._workshop.secrets
        if secrets is not None:
            lineup.use_keys(await fetch_secrets(self._owner, secrets))
        choice = lineup.choice_of(name)
        await asyncio.to_thread(self._workshop.check, choice)
        lineup.put(choice)
        return label_of(choice)

    def raise_budget(self, *, money: float = 0.0, tokens: int = 0) -> Allowance:
        """Raise the limits of this session by so much."""
        return self._workshop.purse.raise_limits(money=money, tokens=tokens)

    def begin(self, spent: Usage) -> None:
        """Count what was spent in this room before the engine was loaded."""
        self._workshop.purse.begin(spent)

    @property
    def _built_in(self) -> Sequence[ToolInfo]:
        return [
            self._with_policy(ToolInfo(role.name, name, self._about[name], "unknown", "ask", ""))
            for role in self._workshop.roles
            for name in role.tool_names
        ]

    @property
    def _served(self) -> Sequence[ToolInfo]:
        return [
            self._with_policy(replace(tool, agent=role.name))
            for role in self._workshop.roles
            for tool in self._workshop.board.tools
            if tool.server in {each.name for each in role.servers}
        ]

    def _with_policy(self, info: ToolInfo) -> ToolInfo:
        """Add the policy's result for a call without arguments."""
        result = self._policy.evaluate(ToolCall(self._owner, info.agent, info.name, {}))
        return replace(info, risk=result.risk, effect=result.effect, because=result.because)


def risk_in(workshop: AssistantBuilder, agent: str, tool: str) -> Risk:
    """The risk of an agent's tool: that of the built-in one if this agent has it."""
    from genie_core.assistant.tools.catalog import RISKS

    mine = next((role.tool_names for role in workshop.roles if role.name == agent), ())
    return RISKS.get(tool, "unknown") if tool in mine else "unknown"


async def _no_chat() -> str:
    """Stand in for the chat where tools are only inspected."""
    return "[]"


def _first_line(tool: object) -> str:
    return (inspect.getdoc(tool) or "").partition("\n")[0]
