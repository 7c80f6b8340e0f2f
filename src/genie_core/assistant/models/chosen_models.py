"""The models that the parts of an assistant use."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from genie_core.assistant.check import check_config
from genie_core.assistant.config import OFFLINE_LABEL, AssistantConfig, ModelChoice, Runtime
from genie_core.assistant.models.providers import PROVIDERS

if TYPE_CHECKING:
    import agents
    from pydantic_ai.models import Model

OFFLINE: Final = "offline"
"""The input that selects the offline helper."""

OFFLINE_RUNTIME: Final[Runtime] = "pydantic-ai"
"""The library in whose form the offline helper keeps its history, independent of the settings."""


@dataclass(frozen=True, slots=True)
class ModelBinding:
    """The library and model of an agent; an empty name is the offline helper."""

    runtime: Runtime
    choice: ModelChoice

    @property
    def label(self) -> str:
        return label_of(self.choice)

    @property
    def library(self) -> str:
        """The library that runs the agent; empty for the offline helper, which needs none."""
        return self.runtime if self.choice.name else ""


def label_of(choice: ModelChoice) -> str:
    """Return the display name of a model."""
    return choice.name or OFFLINE_LABEL


class ModelRegistry:
    """Creates the models of an assistant when they are first needed.

    Parts without a model of their own use the main one, which `put` replaces. `version` increases
    with every change; holders of an older model must fetch it again. `keys` are credentials by
    name. The offline helper has no model.
    """

    def __init__(self, config: AssistantConfig, keys: Mapping[str, str]) -> None:
        self._config = config
        self._keys = dict(keys)
        self._main = config.main_model if config.main_model.name else ModelChoice()
        self._models: dict[ModelChoice, Model] = {}
        self._openai: dict[ModelChoice, agents.Model] = {}
        self.version = 1

    @property
    def main(self) -> ModelChoice:
        return self._main

    @property
    def keys(self) -> Mapping[str, str]:
        return self._keys

    def use_keys(self, keys: Mapping[str, str]) -> None:
        """Replace the credentials; a change discards all created models."""
        if dict(keys) != self._keys:
            self._keys = dict(keys)
            self._forget()

    def binding(self, own: ModelChoice, runtime: Runtime | None = None) -> ModelBinding:
        """Return the current library and model for a part's `own` settings."""
        choice = own if own.name else self._main
        if not choice.name:
            return ModelBinding(OFFLINE_RUNTIME, choice)
        chosen = runtime or self._config.runtime  # "acp" is for agents with a command, without us
        return ModelBinding(OFFLINE_RUNTIME if chosen == "acp" else chosen, choice)

    def for_pydantic_ai(self, choice: ModelChoice) -> "Model":
        """Return the model for pydantic-ai. Raises `ModelError`."""
        if choice not in self._models:
            from genie_core.assistant.models.make import pydantic_model

            self._models[choice] = pydantic_model(choice, self._keys)
        return self._models[choice]

    def for_openai_agents(self, choice: ModelChoice) -> "agents.Model":
        """Return the model for the OpenAI Agents SDK. Raises `ModelError`."""
        if choice not in self._openai:
            from genie_core.assistant.models.make import openai_model

            self._openai[choice] = openai_model(choice, self._keys)
        return self._openai[choice]

    def choice_of(self, name: str) -> ModelChoice:
        return choice_in(self._config, name)

    def check(self, choice: ModelChoice) -> None:
        """Raise the `ModelError` that using this main model would raise.

        Sets the model up, so that the next run need not. Blocks.
        """
        if choice.name:
            asked = with_main_model(self._config, choice)
            check_config(asked, self._keys)
            if self._needs_openai_agents:
                self.for_openai_agents(choice)
            self.for_pydantic_ai(choice)

    def put(self, choice: ModelChoice) -> None:
        self._main = choice
        self.version += 1

    @property
    def _needs_openai_agents(self) -> bool:
        own = [spec.runtime for spec in self._config.agents if not spec.model.name]
        return "openai-agents" in {each or self._config.runtime for each in [None, *own]}

    def _forget(self) -> None:
        self._models.clear()
        self._openai.clear()
        self.version += 1


def choice_in(config: AssistantConfig, name: str) -> ModelChoice:
    """Return the model that a person means by a name.

    A model of another provider than the configured one does not use the configured server.
    """
    name = name.strip()
    if not name or name.lower() in (OFFLINE, OFFLINE_LABEL):
        return ModelChoice()
    provider = _provider_of(name)
    served = provider in ("", _provider_of(config.main_model.name))
    return replace(config.main_model, name=name) if served else ModelChoice(name)


def with_main_model(config: AssistantConfig, choice: ModelChoice) -> AssistantConfig:
    return replace(
        config,
        model=choice.name or None,
        base_url=choice.base_url,
        key_name=choice.key_name,
    )


def _provider_of(name: str) -> str:
    provider, colon, _ = name.partition(":")
    return provider if colon and provider in PROVIDERS else ""
