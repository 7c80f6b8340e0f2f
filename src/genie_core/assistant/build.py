"""From a person's settings to the two factories that a session needs.

Everything that can be wrong with the settings is found here, before a room opens. Building imports
the vendor SDKs, which takes seconds: call it in a background thread.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from genie_core.agent import Agent, AgentFactory, AgentInfo
from genie_core.agent.base import AsyncTool
from genie_core.assistant.addressed import AddressedReasoner
from genie_core.assistant.check import check_config
from genie_core.assistant.config import DEFAULT_TEMPLATE, AssistantConfig
from genie_core.assistant.errors import ModelUnavailable
from genie_core.assistant.prompts import for_owner, load_prompt
from genie_core.assistant.provider import OLLAMA_LOCAL_URL
from genie_core.assistant.tools.catalogue import available, build_tools
from genie_core.assistant.tools.workspace import Workspace
from genie_core.reasoner import GroupReasoner, GroupReasonerFactory

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider

OFFLINE_LABEL: Final = "offline helper"
MENTION_ONLY: Final = "mention_only"
AGENT_PROMPT: Final = "general"
IDLE_TIMEOUT: Final = 600.0
"""Seconds after which an unused reasoner or agent is put away."""

DECISION_TIMEOUT: Final = 60.0
"""Seconds that a model has to decide about one message."""


@dataclass(frozen=True, slots=True)
class Assistant:
    """A ready-made assistant.

    `label` is what a status bar shows: the model, or that there is none. `notice` is a line worth
    telling once, about a setting that has no effect, or None.
    """

    reasoner_factory: GroupReasonerFactory
    agent_factory: AgentFactory
    label: str
    offline: bool
    notice: str | None = None


def build_assistant(config: AssistantConfig) -> Assistant:
    """Build the assistant that `config` describes; raise `AssistantError` if that cannot be."""
    check_config(config, os.environ)
    reasoner_prompt = load_prompt("reasoner", config.template, config.prompts_dir)
    agent_prompt = load_prompt("agent", AGENT_PROMPT, config.prompts_dir)
    workspace = Workspace.at(config.workspace) if config.workspace else None
    model = _model(config)
    return Assistant(
        reasoner_factory=GroupReasonerFactory(
            _reasoner_fn(config, reasoner_prompt, model), group_reasoner_idle_timeout=IDLE_TIMEOUT
        ),
        agent_factory=AgentFactory(
            _agent_fn(agent_prompt, model, workspace),
            system_agent_info=AgentInfo(
                name="system",
                description="Answers questions in the chat, with tools that only read.",
                idle_timeout=IDLE_TIMEOUT,
            ),
        ),
        label=config.model or OFFLINE_LABEL,
        offline=config.model is None,
        notice=_notice(config),
    )


def _model(config: AssistantConfig) -> "Model":
    """Set up the pydantic-ai model, or the one that needs no network."""
    if config.model is None:
        from genie_core.assistant.offline.model import OfflineModel

        return OfflineModel(available(config.workspace))
    return _vendor_model(config.model)


def _vendor_model(name: str) -> "Model":
    from pydantic_ai.models import infer_model
    from pydantic_ai.providers import infer_provider
    from pydantic_ai.providers.ollama import OllamaProvider

    def provider_for(provider: str) -> "Provider[Any]":
        if provider == "ollama" and not os.environ.get("OLLAMA_BASE_URL"):
            return OllamaProvider(base_url=OLLAMA_LOCAL_URL)
        return infer_provider(provider)

    try:
        return infer_model(name, provider_for)
    except Exception as error:
        raise ModelUnavailable(name, str(error) or type(error).__name__) from error


def _reasoner_fn(
    config: AssistantConfig, prompt: str, model: "Model"
) -> Callable[[dict[str, str], str], GroupReasoner]:
    if config.template == MENTION_ONLY:
        return lambda _secrets, _owner: AddressedReasoner(None)

    from genie_core.agent.provider.pydantic_ai import DefaultGroupReasoner

    def create_reasoner(_secrets: dict[str, str], owner: str) -> GroupReasoner:
        inner = DefaultGroupReasoner(
            system_prompt=for_owner(prompt, owner),
            model=model,
            model_settings={"request_timeout": DECISION_TIMEOUT},
        )
        return AddressedReasoner(inner)

    return create_reasoner


def _agent_fn(
    prompt: str, model: "Model", workspace: Workspace | None
) -> Callable[[dict[str, str], dict[str, AsyncTool], list[AgentInfo]], Agent]:
    from genie_core.agent.provider.pydantic_ai import DefaultAgent

    def create_agent(
        _secrets: dict[str, str], extra_tools: dict[str, AsyncTool], _infos: list[AgentInfo]
    ) -> Agent:
        fetch = extra_tools.get("get_group_chat_messages")
        return DefaultAgent(system_prompt=prompt, model=model, tools=build_tools(fetch, workspace))

    return create_agent


def _notice(config: AssistantConfig) -> str | None:
    if config.model is None and config.template not in (DEFAULT_TEMPLATE, MENTION_ONLY):
        return (
            f"the template {config.template} needs a language model; the offline helper answers "
            "when it is addressed or plainly asked for something it can do"
        )
    return None
