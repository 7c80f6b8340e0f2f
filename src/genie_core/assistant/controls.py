"""Inspecting and changing a built assistant."""

import inspect
import os
from collections.abc import Callable, Sequence
from dataclasses import replace

from genie_core.assistant.agents import DIRECT, MENTION_ONLY, AssistantBuilder, Role
from genie_core.assistant.errors import UnknownPart
from genie_core.assistant.instructions.commands import find_commands
from genie_core.assistant.known_programs import title_of
from genie_core.assistant.models.chosen_models import label_of
from genie_core.assistant.models.discover import local_address
from genie_core.assistant.programs import PROGRAM_RISKS
from genie_core.assistant.tools.files.files import file_names
from genie_core.message import SYSTEM
from genie_core.room.engine.approval_policy import ApprovalPolicy, Risk, ToolCall
from genie_core.room.engine.controls import (
    AgentSummary,
    Allowance,
    CustomCommand,
    EngineControls,
    JobInfo,
    PromptInfo,
    ServerInfo,
    ToolInfo,
    UndoPlan,
)
from genie_core.runtime.agent_options import AgentOptions
from genie_core.runtime.progress import REASONER, Usage
from genie_core.runtime.threads import in_thread
from genie_core.secrets import fetch_secrets


class AssistantControls(EngineControls):
    """Controls for the assistant that an `AssistantBuilder` makes."""

    def __init__(self, builder: AssistantBuilder, policy: ApprovalPolicy, owner: str) -> None:
        self._builder = builder
        self._policy = policy
        self._owner = owner
        self._about = {DIRECT: "Directs another agent."}
        for role in builder.roles:
            tools = builder.tools_for(role, _no_chat)
            self._about |= {each.__name__: _first_line(each) for each in tools}

    @property
    def agents(self) -> Sequence[AgentSummary]:
        """The agents, the answering one first, and last the reasoner if it has a model."""
        builder = self._builder
        infos = [self._summary(role) for role in builder.roles]
        by_mention = builder.config.decided_by_mention and not builder.models.main.name
        if by_mention or builder.config.template == MENTION_ONLY:
            return infos
        reasoner = builder.models.binding(builder.config.reasoner, "pydantic-ai")
        description = "Decides which messages the assistant answers."
        return (*infos, AgentSummary(REASONER, description, reasoner.label, reasoner.library))

    def _summary(self, role: Role) -> AgentSummary:
        spec = role.spec
        if spec.command:
            label, library = title_of(spec.command), "acp"
        else:
            binding = self._builder.models.binding(spec.model, spec.runtime)
            label, library = binding.label, binding.library
        return AgentSummary(spec.name, spec.description, label, library, role.coordinates)

    @property
    def tools(self) -> Sequence[ToolInfo]:
        """The tools by agent, without those of servers that have not started."""
        return (*self._built_in, *self._served)

    @property
    def servers(self) -> Sequence[ServerInfo]:
        return self._builder.servers.servers

    @property
    def problems(self) -> Sequence[str]:
        return self._builder.problems

    @property
    def prompts(self) -> Sequence[PromptInfo]:
        return self._builder.servers.prompts

    @property
    def resources(self) -> Sequence[str]:
        return self._builder.servers.resources

    async def prompt(self, server: str, name: str, words: Sequence[str]) -> Sequence[str]:
        """Fetch a prompt by a connection of its own; raises an `AssistantError`."""
        specs = {each.name: each for role in self._builder.roles for each in role.servers}
        if server not in specs:
            raise UnknownPart("your agents", "tool server", server, tuple(specs))
        from genie_core.assistant.servers.prompts import prompt_text

        keys, auth = self._builder.models.keys, self._builder.login_at(specs[server])
        return await prompt_text(specs[server], keys, name, words, auth)

    @property
    def allowance(self) -> Allowance:
        return self._builder.meter.allowance

    @property
    def model(self) -> str:
        """The model that answers, as in the settings; empty for the offline helper."""
        return self._builder.models.main.name

    @property
    def model_server(self) -> str:
        """The address of the answering model's server, if it is on this machine; else empty."""
        return local_address(self._builder.models.main, os.environ)

    @property
    def options(self) -> AgentOptions:
        """The options of the program that answers; empty without one, and before its first run."""
        return self._builder.options

    async def use_model(self, name: str) -> str:
        """Use another model from the next run on; returns its label.

        Fetches secrets again, since a missing one may have been stored meanwhile. Raises a
        `GenieError` and changes nothing if the model can't be used.
        """
        models, secrets = self._builder.models, self._builder.secrets
        if secrets is not None:
            models.use_keys(await fetch_secrets(self._owner, secrets))
        choice = models.choice_of(name)
        await in_thread(self._builder.check, choice)
        models.put(choice)
        return label_of(choice)

    def raise_budget(self, *, money: float = 0.0, tokens: int = 0) -> Allowance:
        """Raise this session's limits by these amounts."""
        return self._builder.meter.raise_limits(money=money, tokens=tokens)

    async def workspace_files(self) -> Sequence[str]:
        workspace = self._builder.workspace_of(self._builder.roles[0].name)
        return await file_names(workspace) if workspace is not None else ()

    async def custom_commands(self) -> Sequence[CustomCommand]:
        folders = self._builder.text_folders(SYSTEM)
        commands, _ = await in_thread(find_commands, folders)
        return commands

    async def plan_undo(self, file: str = "", approval: str = "") -> UndoPlan:
        builder = self._builder
        return await in_thread(builder.changes.plan, builder.workspace, file, approval)

    async def undo(self, number: int) -> None:
        builder = self._builder
        await in_thread(builder.changes.undo, builder.workspace, number)

    def compact(self) -> None:
        """Summarise the answering agent's conversation before its next answer."""
        self._builder.compaction_request.wanted = True

    @property
    def jobs(self) -> Sequence[JobInfo]:
        return [job.info for job in self._builder.jobs.all]

    async def stop_job(self, number: int) -> bool:
        for job in self._builder.jobs.all:
            if job.number == number and job.is_running:
                await job.stop()
                return True
        return False

    def begin(self, spent: Usage) -> None:
        """Count the costs in this room before the engine was loaded."""
        self._builder.meter.spend(spent)

    def enter(self, members: Callable[[], Sequence[str]]) -> None:
        """Let tools tell who is in the room."""
        self._builder.members[:] = [members]

    @property
    def _built_in(self) -> Sequence[ToolInfo]:
        return [
            self._with_policy(ToolInfo(role.name, name, self._about[name], "unknown", "ask", ""))
            for role in self._builder.roles
            for name in role.tool_names
        ]

    @property
    def _served(self) -> Sequence[ToolInfo]:
        return [
            self._with_policy(replace(tool, agent=role.name))
            for role in self._builder.roles
            for tool in self._builder.servers.tools
            if tool.server in {each.name for each in role.servers}
        ]

    def _with_policy(self, info: ToolInfo) -> ToolInfo:
        """Add the policy's result for a call without arguments."""
        result = self._policy.evaluate(ToolCall(self._owner, info.agent, info.name, {}))
        return replace(info, risk=result.risk, effect=result.effect, because=result.because)


def risk_in(builder: AssistantBuilder, agent: str, tool: str) -> Risk:
    """Return the risk of an agent's built-in tool, "unknown" if the agent has no such tool.

    For an installed program, it is the risk of its request.
    """
    from genie_core.assistant.tools.catalog import RISKS

    role = next((role for role in builder.roles if role.name == agent), None)
    mine = role.tool_names if role else ()
    if role is not None and role.command and tool not in mine:
        return PROGRAM_RISKS.get(tool, "unknown")
    return RISKS.get(tool, "unknown") if tool in mine else "unknown"


async def _no_chat() -> str:
    """Stand in for the chat where tools are only inspected."""
    return "[]"


def _first_line(tool: object) -> str:
    return (inspect.getdoc(tool) or "").partition("\n")[0]
