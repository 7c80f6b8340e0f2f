"""Building an assistant from a configuration.

Reports every configuration error before a room opens. Building imports vendor SDKs, which takes
seconds: call it in a background thread.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from genie_core.agent import AgentFactory
from genie_core.assistant.agents import MENTION_ONLY, AssistantBuilder, roles_of
from genie_core.assistant.budget import BudgetMeter
from genie_core.assistant.check import check_choice, check_essentials
from genie_core.assistant.config import DEFAULT_TEMPLATE, AssistantConfig
from genie_core.assistant.controls import AssistantControls, risk_in
from genie_core.assistant.instructions.skills import SKILL_FILE, skill_effects
from genie_core.assistant.known_programs import title_of
from genie_core.assistant.models.chosen_models import ModelRegistry, label_of
from genie_core.assistant.policy.effects import effects_of
from genie_core.assistant.policy.normalize import normalized
from genie_core.assistant.policy.policy import Policy
from genie_core.assistant.programs import program_effects, sandbox_for
from genie_core.assistant.prompts import load_or_shipped
from genie_core.assistant.servers.registry import ServerRegistry
from genie_core.assistant.tools.catalog import SKILL_TOOLS
from genie_core.assistant.tools.files.changes import FileChanges
from genie_core.assistant.tools.files.workspace import Workspace
from genie_core.assistant.tools.shell.jobs import Jobs
from genie_core.assistant.tools.shell.run import is_key
from genie_core.assistant.tools.shell.sandbox import describe_sandbox, is_confined, is_isolated
from genie_core.assistant.usable import refused_texts, usable
from genie_core.reasoner import GroupReasonerFactory
from genie_core.room.engine.approval_policy import ApprovalPolicy, Risk, ToolCall
from genie_core.room.engine.controls import EngineControls
from genie_core.room.engine.tool_effects import ToolEffects
from genie_core.room.state.costs import kind_of
from genie_core.secrets import SecretsProvider, secrets_of

NO_MODEL: Final = "no model"
"""Label of a template that needs no model."""


@dataclass(frozen=True, slots=True)
class Assistant:
    """A ready-made assistant.

    `label` names the model for a status bar. `notices` are lines about settings without effect.
    `policy` decides about tool calls by the configured rules; `controls` inspects and changes the
    assistant. `changes` keeps its tools' changes of files once it has a folder. `jobs` are its
    commands in the background; close them at the end.
    """

    reasoner_factory: GroupReasonerFactory
    agent_factory: AgentFactory
    label: str
    offline: bool
    notices: tuple[str, ...]
    policy: ApprovalPolicy
    controls: EngineControls
    changes: FileChanges
    jobs: Jobs


def build_assistant(
    config: AssistantConfig, secrets: SecretsProvider | None = None, owner: str = ""
) -> Assistant:
    """Build the assistant that `config` describes. Raises `AssistantError`.

    `secrets` holds the credentials of `owner`; without it they come from the environment.
    """
    keys: Mapping[str, str] = os.environ if secrets is None else secrets_of(owner, secrets)
    check_essentials(config, keys)
    written, found = config, usable(config, keys)
    config, servers = found.config, found.servers
    prompt = load_or_shipped("reasoner", config.template, config.prompts_dir)
    roles = roles_of(config, servers.servers, owner)
    problems = [*map(str, found.problems), *refused_texts(config)]
    builder = AssistantBuilder(
        config=config,
        models=ModelRegistry(config, keys),
        roles=roles,
        workspace=Workspace.at(config.workspace) if config.workspace else None,
        servers=ServerRegistry(list(servers.servers.values()), left_out=servers.problems),
        meter=BudgetMeter(config.budget),
        secrets=secrets,
        owner=owner,
        problems=problems,
    )
    in_sandbox = partial(
        effects_of,
        sandbox=describe_sandbox(config.sandbox),
        isolated=is_isolated(config.sandbox),
        confined=is_confined(config.sandbox),
    )
    policy = Policy(
        config.rules,
        partial(risk_in, builder),
        owner,
        partial(normalized, builder.workspace),
        partial(_effects, builder, in_sandbox),
        lambda: tuple(builder.texts_used),
    )
    builder.make_ready()
    return Assistant(
        reasoner_factory=builder.reasoner_factory(prompt),
        agent_factory=builder.agent_factory(),
        label=title_of(config.program.command) if config.program else label_of(builder.models.main),
        offline=not (builder.models.main.name or config.program),
        notices=(*_notices(written), *problems),
        policy=policy,
        controls=AssistantControls(builder, policy, owner),
        changes=builder.changes,
        jobs=builder.jobs,
    )


def build_reasoner(
    config: AssistantConfig, prompt: str, secrets: SecretsProvider | None = None, owner: str = ""
) -> tuple[GroupReasonerFactory, str]:
    """Build only a reasoner that follows `prompt`; also returns the label of its model.

    Errors and blocking as in `build_assistant`, except that a template without a model is not
    checked for one.
    """
    keys: Mapping[str, str] = os.environ if secrets is None else secrets_of(owner, secrets)
    models = ModelRegistry(config, keys)
    choice = models.binding(config.reasoner).choice
    needs_model = config.template != MENTION_ONLY
    if needs_model:
        check_choice(choice, keys)
    builder = AssistantBuilder(
        config=config,
        models=models,
        roles=(),
        workspace=None,
        servers=ServerRegistry([]),
        meter=BudgetMeter(config.budget),
        secrets=secrets,
    )
    if needs_model:
        builder.make_ready()
    return builder.reasoner_factory(prompt), label_of(choice) if needs_model else NO_MODEL


def _effects(
    builder: AssistantBuilder,
    in_sandbox: Callable[[Workspace | None, ToolCall, Risk], ToolEffects],
    call: ToolCall,
    risk: Risk,
) -> ToolEffects:
    agent = kind_of(call.agent)
    workspace = builder.workspace_of(agent)
    role = next((each for each in builder.roles if each.name == agent and each.command), None)
    if role is not None:
        settings = sandbox_for(role.command, builder.config.sandbox) if role.spec.sandbox else None
        return program_effects(
            workspace, call, risk, describe_sandbox(settings) if settings else ""
        )
    if call.tool in SKILL_TOOLS and risk != "unknown":
        named = {key: str(call.arguments.get(key, "")) for key in ("name", "file")}
        folders = builder.text_folders(agent)
        return skill_effects(folders, named["name"], named["file"] or SKILL_FILE)
    effects = in_sandbox(workspace, call, risk)
    claim = builder.servers.claim(call.tool) if risk == "unknown" else ""
    return replace(effects, claim=claim) if claim else effects


def _notices(config: AssistantConfig) -> Iterator[str]:
    program = config.program
    for name in filter(is_key, config.sandbox.env):
        yield f"{name} in [sandbox] env has no effect: commands never get API keys"
    if program is not None and config.decided_by_mention and config.template != MENTION_ONLY:
        yield (
            f"no model decides which messages need an answer: {title_of(program.command)} answers "
            "those to @genie; set a model to have it decide"
        )
    for spec in config.agents:
        if spec.command and (spec.tools or spec.servers or spec.model.name):
            yield f"the agent {spec.name} is a program: its tools, servers and model have no effect"
    if program is not None:
        return
    if not config.model and config.template not in (DEFAULT_TEMPLATE, MENTION_ONLY):
        yield (
            f"the template {config.template} needs a language model; the offline helper answers "
            "when a message addresses it or plainly asks for something that it can do"
        )
    if not config.model and config.runtime != "pydantic-ai":
        yield (
            f"the runtime {config.runtime} needs a language model, and the offline helper "
            "does not use it: choose a model with /model"
        )
