"""Building the reasoner, the answering agent, and the agents that it directs."""

import asyncio
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from genie_core.agent import Agent, AgentFactory, AgentInfo
from genie_core.agent.base import AsyncTool
from genie_core.agent.provider.compaction_summary import Compaction, CompactionRequest
from genie_core.agent.provider.instructions import ExtraInstructions
from genie_core.assistant.budget import BudgetedAgent, BudgetedReasoner, BudgetMeter
from genie_core.assistant.config import (
    AGENT_NAME,
    AgentSpec,
    AssistantConfig,
    ModelChoice,
    ModelOptions,
    Runtime,
)
from genie_core.assistant.errors import UnusableAgent, WorkspaceError
from genie_core.assistant.instructions.prompt import InstructionSources
from genie_core.assistant.instructions.skills import READ_SKILL, find_skills
from genie_core.assistant.instructions.texts import TextFolder
from genie_core.assistant.known_programs import title_of
from genie_core.assistant.models.chosen_models import ModelBinding, ModelRegistry
from genie_core.assistant.models.options import (
    check_options,
    openai_settings,
    pydantic_settings,
)
from genie_core.assistant.models.switchable import SwitchableAgent, SwitchableReasoner
from genie_core.assistant.offline.agent import OfflineAgent
from genie_core.assistant.offline.answer import found_here
from genie_core.assistant.offline.reasoner import OfflineReasoner
from genie_core.assistant.policy.effects import effects_of
from genie_core.assistant.policy.policy import denied_addresses, path_rules
from genie_core.assistant.programs import check_sandbox, command_access, file_access, program_of
from genie_core.assistant.prompts import (
    for_coordinator,
    for_owner,
    load_or_shipped,
    load_prompt,
)
from genie_core.assistant.reasoners.addressed import AddressedReasoner
from genie_core.assistant.secrets import OwnSecrets
from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.registry import ServerRegistry
from genie_core.assistant.tools.catalog import (
    FILE_TOOLS,
    PROGRAM_TOOLS,
    RISKS,
    available,
    build_tools,
)
from genie_core.assistant.tools.chat.room import RoomTools
from genie_core.assistant.tools.files.changes import FileChanges
from genie_core.assistant.tools.files.locks import FileLocks, LockingAgent
from genie_core.assistant.tools.files.workspace import Workspace
from genie_core.assistant.tools.shell.jobs import Jobs
from genie_core.message import SYSTEM
from genie_core.reasoner import GroupReasoner, GroupReasonerFactory
from genie_core.room.engine.approval_policy import ToolCall
from genie_core.runtime.agent_options import AgentOptions
from genie_core.runtime.garbage_collector import collector_paused
from genie_core.runtime.progress import REASONER
from genie_core.secrets import SecretsProvider

if TYPE_CHECKING:
    import httpx2

    from genie_core.agent.provider.acp import RunCommand
    from genie_core.assistant.servers.sampling import ModelSource
    from genie_core.assistant.servers.tool_server import ToolServer

ALONE_PROMPT: Final = "general"
COORDINATOR_PROMPT: Final = "coordinator"
PROGRAM_PROMPT: Final = "program"

IDLE_TIMEOUT: Final = 600.0
"""Idle seconds after which the answering agent is closed."""

DIRECT: Final = "run_subagent"
"""The tool with which the answering agent directs others."""


@dataclass(frozen=True, slots=True)
class Role:
    """One agent as the settings describe it, with the parts that these name."""

    spec: AgentSpec
    prompt: str
    tools: tuple[str, ...]
    """Names of built-in tools, which a program is offered besides its own."""
    servers: tuple[ServerSpec, ...] = ()
    coordinates: bool = False
    """Whether it directs others."""

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def command(self) -> tuple[str, ...]:
        """The installed program that it is, empty for the others."""
        return self.spec.command

    @property
    def info(self) -> AgentInfo:
        spec = self.spec
        return AgentInfo(
            spec.name, spec.description, emoji=spec.emoji or None, idle_timeout=spec.idle_timeout
        )

    @property
    def tool_names(self) -> tuple[str, ...]:
        """Its tools, without those of tool servers."""
        return (*self.tools, DIRECT) if self.coordinates else self.tools


def roles_of(
    config: AssistantConfig, servers: Mapping[str, ServerSpec], owner: str
) -> tuple[Role, ...]:
    """Return the roles of all configured agents, the answering one first.

    Tools and servers exist; see `usable`.

    Raises:
        UnusableAgent: a name is taken or has characters that are not allowed.
        UnknownTemplate: a prompt does not exist.
        UnreadableTemplate: a prompt can't be read.
    """
    _check_names(config.agents)
    subagents = tuple(_directed(config, spec, servers, owner) for spec in config.agents)
    listed = [f"{each.name}: {each.spec.description}" for each in subagents]
    if config.program is not None:
        prompt = load_or_shipped("agent", own_prompt_name(config), config.prompts_dir)
        role = _program_role(config.program, for_coordinator(prompt, owner, listed))
        spec = replace(role.spec, name=SYSTEM)
        return (replace(role, spec=spec, coordinates=bool(subagents)), *subagents)
    spec = AgentSpec(
        SYSTEM,
        "Answers questions in the chat with the tools that its owner allows.",
        tools=config.tools,
        servers=tuple(servers) if config.servers is None else config.servers,
        options=config.options,
    )
    prompt = load_or_shipped("agent", own_prompt_name(config), config.prompts_dir)
    answering = _role(config, spec, servers, for_coordinator(prompt, owner, listed))
    return (replace(answering, coordinates=bool(subagents)), *subagents)


def own_prompt_name(config: AssistantConfig) -> str:
    """Return the name of the answering agent's prompt."""
    if config.program is not None:
        return config.program.prompt or PROGRAM_PROMPT
    return COORDINATOR_PROMPT if config.agents else ALONE_PROMPT


def _directed(
    config: AssistantConfig, spec: AgentSpec, servers: Mapping[str, ServerSpec], owner: str
) -> Role:
    if spec.command:
        prompt = load_prompt("agent", spec.prompt or PROGRAM_PROMPT, config.prompts_dir)
        return _program_role(spec, for_coordinator(prompt, owner, ()))
    prompt = load_prompt("agent", spec.prompt or spec.name, config.prompts_dir)
    return _role(config, spec, servers, for_coordinator(prompt, owner, ()))


def _role(
    config: AssistantConfig, spec: AgentSpec, servers: Mapping[str, ServerSpec], prompt: str
) -> Role:
    own = tuple(servers[each] for each in spec.servers)
    return Role(spec, prompt, _tools(config, spec.tools), own)


def _program_role(spec: AgentSpec, prompt: str) -> Role:
    about = f"Answers questions in the chat; it is {title_of(spec.command)}."
    return Role(replace(spec, description=spec.description or about), prompt, PROGRAM_TOOLS)


def _check_names(specs: Sequence[AgentSpec]) -> None:
    taken = {SYSTEM, REASONER, "genie"}
    for spec in specs:
        if not AGENT_NAME.fullmatch(spec.name):
            raise UnusableAgent(spec.name, "a name has at most 40 letters, digits, - and _")
        if spec.name.casefold() in taken:
            raise UnusableAgent(spec.name, "the name is taken")
        taken.add(spec.name.casefold())


def _tools(config: AssistantConfig, wanted: Collection[str] | None) -> tuple[str, ...]:
    skills, _ = find_skills(text_folders(config))
    return available(config.workspace, config.rooms, wanted, skills=bool(skills))


def text_folders(
    config: AssistantConfig, workspace: Workspace | None = None
) -> tuple[TextFolder, ...]:
    """Return the folders with texts for agents, the person's own first."""
    if workspace is None and config.workspace is not None:
        with suppress(WorkspaceError):  # building reports it
            workspace = Workspace.at(config.workspace)
    own = [TextFolder(config.own_texts)] if config.own_texts is not None else []
    return (*own, *([TextFolder(workspace.root, workspace)] if workspace is not None else []))


MENTION_ONLY: Final = "mention_only"

FETCH: Final = "get_group_chat_messages"
"""The engine's tool that returns the chat."""


@dataclass(frozen=True, slots=True)
class AssistantBuilder:
    """Builds the agents and reasoners of one assistant."""

    config: AssistantConfig
    models: ModelRegistry
    roles: Sequence[Role]
    workspace: Workspace | None
    servers: ServerRegistry
    meter: BudgetMeter
    secrets: SecretsProvider | None
    changes: FileChanges = field(init=False, default_factory=FileChanges)
    locks: FileLocks = field(init=False, default_factory=FileLocks)
    jobs: Jobs = field(init=False, default_factory=Jobs)
    options: AgentOptions = field(init=False, default_factory=AgentOptions)
    """The options of the answering agent, if that is a program."""
    members: list[Callable[[], Sequence[str]]] = field(init=False, default_factory=list)
    """Returns a line for each member of the room, once there is one."""
    owner: str = ""
    texts_used: dict[str, None] = field(init=False, default_factory=dict)
    """The texts of the workspace that have been in a prompt."""
    problems: Sequence[str] = ()
    """Why parts of the settings and texts for agents are left out."""
    compaction_request: CompactionRequest = field(init=False, default_factory=CompactionRequest)
    """Whether the answering agent's conversation is to be summarised."""

    def agent_factory(self) -> AgentFactory:
        """Return a factory for the answering agent and the agents that it directs."""
        answering, *others = self.roles
        factory = AgentFactory(self._agent_fn(answering), answering.info, self.secrets)
        for role in others:
            factory.add_agent_factory_fn(self._agent_fn(role), role.info)
        return factory

    def reasoner_factory(self, prompt: str) -> GroupReasonerFactory:
        return GroupReasonerFactory(
            self._reasoner_fn(prompt), IDLE_TIMEOUT, secrets_provider=self.secrets
        )

    def make_ready(self) -> None:
        """Import the agent libraries and set up all models.

        Raises `ModelError`, or `UnusableAgent` for one that needs a sandbox that is not there.

        Blocks, with a model for seconds, so that creating agents on the event loop later needs no imports.
        """
        if not self.config.decided_by_mention:
            self._prepare_reasoner(self.models.binding(self.config.reasoner).choice)
        for role in self.roles:
            if role.command:
                if role.spec.sandbox:
                    check_sandbox(role.name)
                import_module("genie_core.agent.provider.acp")
                continue
            binding = self.models.binding(role.spec.model, role.spec.runtime)
            _import_for(role, binding)
            for choice in self._choices(binding.choice):
                if binding.runtime == "openai-agents":
                    self.models.for_openai_agents(choice)
                self._check_options(choice, role.spec.options, _setting_place(role))

    def check(self, choice: ModelChoice) -> None:
        """Prepare for another main model. Blocks. Raises `ModelError` if it can't be used."""
        with collector_paused():
            self.models.check(choice)
            own = self.config.reasoner
            self._prepare_reasoner(own if own.name else choice)
            for role in self.roles:
                if not role.spec.model.name and not role.command:
                    _import_for(role, self.models.binding(choice, role.spec.runtime))
                    if choice.name:
                        self._check_options(choice, role.spec.options, _setting_place(role))

    def _prepare_reasoner(self, choice: ModelChoice) -> None:
        if choice.name:
            import_module("genie_core.agent.provider.pydantic_ai")
        for each in self._choices(choice):
            self._check_options(each, self.config.reasoner_options, "reasoner_")
        if (summary := self.config.summary).name:
            import_module("genie_core.agent.provider.pydantic_ai")
            self.models.for_pydantic_ai(summary)

    def _check_options(self, choice: ModelChoice, options: ModelOptions, place: str) -> None:
        check_options(self.models.for_pydantic_ai(choice), choice.name, options, place)

    def _choices(self, choice: ModelChoice) -> Sequence[ModelChoice]:
        """Return a model and the one that replaces it; none for the offline helper."""
        fallback = self._fallback_of(choice)
        return [each for each in (choice, fallback) if each.name] if choice.name else []

    def _fallback_of(self, choice: ModelChoice) -> ModelChoice:
        fallback = self.config.fallback
        return ModelChoice() if fallback == choice else fallback

    def workspace_of(self, agent: str) -> Workspace | None:
        """Return the workspace as the rules leave it to an agent."""
        if self.workspace is None:
            return None
        config = self.config
        rules = path_rules(config.rules, agent, RISKS.__getitem__, FILE_TOOLS, config.private_files)
        return replace(self.workspace, rules=rules)

    def text_folders(self, agent: str) -> tuple[TextFolder, ...]:
        """Return the folders with texts for an agent, as the rules leave them to it."""
        return text_folders(self.config, self.workspace_of(agent))

    def _compaction(self, role: Role) -> Compaction:
        request = self.compaction_request if role.name == SYSTEM else CompactionRequest()
        return Compaction(self._summary_of, request)

    async def _summary_of(self, conversation: str) -> str:
        from genie_core.agent.provider.pydantic_ai.summary import Summariser

        choice = self._summary_choice()
        fallback = self._fallback_of(choice)
        return await Summariser(
            self.models.for_pydantic_ai(choice),
            self.models.for_pydantic_ai(fallback) if fallback.name else None,
            self.config.reasoner_timeout,
        )(conversation)

    def _summary_choice(self) -> ModelChoice:
        config = self.config
        return self.models.binding(
            config.summary if config.summary.name else config.reasoner
        ).choice

    def _extra_instructions(self, role: Role) -> ExtraInstructions:
        folders = self.text_folders(role.name)
        return partial(
            InstructionSources(self.owner, folders, self.texts_used).paragraphs,
            skills=READ_SKILL in role.tools,
            of_workspace=not set(FILE_TOOLS).isdisjoint(role.tools),
        )

    def tools_for(self, role: Role, fetch: AsyncTool | None) -> list[AsyncTool]:
        """Build an agent's built-in tools; `fetch` returns the chat."""
        config = self.config
        if role.command:
            return RoomTools(fetch, self._present).all() if fetch is not None else []
        return build_tools(
            fetch,
            self.workspace_of(role.name),
            limits=config.limits,
            sandbox=config.sandbox,
            rooms=config.rooms,
            names=role.tools,
            denied_addresses=denied_addresses(config.rules, role.name),
            changes=self.changes,
            texts=self.text_folders(role.name),
            jobs=self.jobs,
        )

    def _agent_fn(
        self, role: Role
    ) -> Callable[[dict[str, str], dict[str, AsyncTool], list[AgentInfo]], Agent]:
        def create_agent(
            secrets: dict[str, str], extra_tools: dict[str, AsyncTool], _infos: list[AgentInfo]
        ) -> Agent:
            self._use(secrets)
            tools = self.tools_for(role, extra_tools.get(FETCH))
            if role.coordinates:
                tools.append(extra_tools[DIRECT])
            if role.command:
                program = SwitchableAgent(
                    lambda _: self._on_program(role, tools), lambda: (1, "acp")
                )
                return self._guarded(role, program)

            def make(runtime: Runtime) -> Agent:
                choice = self.models.binding(role.spec.model, role.spec.runtime).choice
                if runtime == "openai-agents":
                    return self._on_openai_agents(role, choice, tools)
                return self._on_pydantic_ai(role, choice, tools)

            def now() -> tuple[int, Runtime]:
                binding = self.models.binding(role.spec.model, role.spec.runtime)
                return self.models.version, binding.runtime

            return self._guarded(role, SwitchableAgent(make, now))

        return create_agent

    def _guarded(self, role: Role, agent: Agent) -> Agent:
        """Keep an agent within the budget, and off the files of other running answers."""
        return LockingAgent(
            BudgetedAgent(agent, self.meter), self.locks, partial(self._written, role.name)
        )

    def _written(self, agent: str, tool: str, arguments: dict[str, Any]) -> Sequence[str]:
        """Return the files of the workspace that a call writes."""
        risk = RISKS.get(tool, "unknown")
        if risk != "write":
            return ()
        call = ToolCall("", agent, tool, arguments)
        try:
            return effects_of(self.workspace_of(agent), call, risk).targets("write")
        except OSError:  # such as a name that is too long: the call itself will say so
            return ()

    def _present(self) -> Sequence[str]:
        return self.members[-1]() if self.members else ()

    def _on_program(self, role: Role, tools: list[AsyncTool]) -> Agent:
        from genie_core.agent.provider.acp import DefaultAgent

        workspace = self.workspace_of(role.name)
        program = self.config.program
        name = program.name if program is not None and role.name == SYSTEM else role.name
        return DefaultAgent(
            program_of(
                name,
                role.command,
                role.spec.env,
                self.models.keys,
                self.config.sandbox if role.spec.sandbox else None,
                workspace,
            ),
            workspace.root if workspace else None,
            role.prompt,
            file_access(workspace, self.changes) if workspace else None,
            tools,
            commands=self._command_access(workspace),
            options=self.options if role.name == SYSTEM else None,
        )

    def _command_access(self, workspace: Workspace | None) -> "RunCommand | None":
        config = self.config
        if workspace is None or "run_command" not in _tools(config, config.tools):
            return None
        from genie_core.assistant.tools.shell.command import Commands

        return command_access(Commands(workspace, config.limits, config.sandbox))

    def _on_pydantic_ai(self, role: Role, choice: ModelChoice, tools: list[AsyncTool]) -> Agent:
        if not choice.name:
            keys = {**os.environ, **self.models.keys}
            return OfflineAgent(tools, partial(found_here, keys, os.environ.get("PATH", "")))
        from genie_core.agent.provider.pydantic_ai import DefaultAgent
        from genie_core.agent.provider.pydantic_ai.errors import silence_limit

        fallback, model = self._fallback_of(choice), self.models.for_pydantic_ai(choice)
        return DefaultAgent(
            role.prompt,
            model,
            {**silence_limit(model, self.config.timeout), **pydantic_settings(role.spec.options)},
            max_turns=self.config.max_turns,
            fallback=self.models.for_pydantic_ai(fallback) if fallback.name else None,
            compaction=self._compaction(role),
            toolsets=self._toolsets(role),
            tools=tools,
            extra_instructions=self._extra_instructions(role),
        )

    def _on_openai_agents(self, role: Role, choice: ModelChoice, tools: list[AsyncTool]) -> Agent:
        from genie_core.agent.provider.openai import DefaultAgent

        fallback = self._fallback_of(choice)
        return DefaultAgent(
            role.prompt,
            self.models.for_openai_agents(choice),
            openai_settings(role.spec.options, self.config.timeout),
            max_turns=self.config.max_turns,
            fallback=self.models.for_openai_agents(fallback) if fallback.name else None,
            compaction=self._compaction(role),
            tools=tools,
            mcp_servers=self._mcp_servers(role),
            extra_instructions=self._extra_instructions(role),
            tracing=False,
        )

    def _toolsets(self, role: Role) -> list[Any]:
        if not role.servers:
            return []
        from genie_core.assistant.servers.pydantic_ai import server_toolset

        return [server_toolset(each) for each in self._connections(role)]

    def _mcp_servers(self, role: Role) -> list[Any]:
        if not role.servers:
            return []
        from genie_core.assistant.servers.openai import ConfiguredServer

        return [ConfiguredServer(each) for each in self._connections(role)]

    def _connections(self, role: Role) -> "Iterator[ToolServer]":
        """Yield the role's tool servers, for an agent on either library."""
        from genie_core.assistant.servers.tool_server import ToolServer

        keys, model = self.models.keys, self._model_for_servers(role)
        for each in role.servers:
            connection = self.servers.connection(each.name)
            yield ToolServer(each, keys, connection, model, self.login_at(each))

    def login_at(self, server: ServerSpec) -> "httpx2.Auth | None":
        """Return the part that sends the owner's login at a server; None if it takes none."""
        from genie_core.assistant.servers.login import KeptLogin, LoginStore, can_log_in

        if not isinstance(self.secrets, OwnSecrets) or not can_log_in(server):
            return None
        return KeptLogin(server.name, LoginStore(server.name, self.secrets))

    def _model_for_servers(self, role: Role) -> "ModelSource":
        """Return a function that gets the role's model, which its tool servers may ask to use."""
        choice = self.models.binding(role.spec.model, role.spec.runtime).choice
        return partial(asyncio.to_thread, self.models.for_pydantic_ai, choice)

    def _reasoner_fn(self, prompt: str) -> Callable[[dict[str, str], str], GroupReasoner]:
        config = self.config
        if config.template == MENTION_ONLY:
            return lambda _secrets, _owner: AddressedReasoner(None)

        def create_reasoner(secrets: dict[str, str], owner: str) -> GroupReasoner:
            self._use(secrets)
            if config.decided_by_mention and not self.models.main.name:
                return AddressedReasoner(None)

            def make() -> GroupReasoner:
                choice = self.models.binding(config.reasoner).choice
                if not choice.name:
                    return OfflineReasoner(available(config.workspace, names=config.tools))
                from genie_core.agent.provider.pydantic_ai import DefaultGroupReasoner

                fallback, options = self._fallback_of(choice), config.reasoner_options
                return DefaultGroupReasoner(
                    for_owner(prompt, owner),
                    self.models.for_pydantic_ai(choice),
                    {**pydantic_settings(options), "request_timeout": config.reasoner_timeout},
                    fallback=self.models.for_pydantic_ai(fallback) if fallback.name else None,
                )

            changeable = SwitchableReasoner(make, lambda: self.models.version)
            return AddressedReasoner(BudgetedReasoner(changeable, self.meter))

        return create_reasoner

    def _use(self, secrets: dict[str, str]) -> None:
        if self.secrets is not None:
            self.models.use_keys(secrets)


def _setting_place(role: Role) -> str:
    return "" if role.name == SYSTEM else f"agents.{role.name}."


def _import_for(role: Role, binding: ModelBinding) -> None:
    if not binding.choice.name:  # the offline helper needs no library
        return
    library = "openai" if binding.runtime == "openai-agents" else "pydantic_ai"
    import_module(f"genie_core.agent.provider.{library}")
    if role.servers:
        import_module(f"genie_core.assistant.servers.{library}")
