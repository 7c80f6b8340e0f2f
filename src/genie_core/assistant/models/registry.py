"""Which model each part of an assistant has now."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from genie_core.assistant.check import check_config
from genie_core.assistant.config import AssistantConfig, ModelChoice, Runtime
from genie_core.assistant.models.providers import PROVIDERS

if TYPE_CHECKING:
    import agents
    from pydantic_ai.models import Model

OFFLINE: Final = "offline"
"""What a person types for no language model."""

OFFLINE_LABEL: Final = "offline helper"
OFFLINE_RUNTIME: Final[Runtime] = "pydantic-ai"
"""The library that runs the offline helper, whatever runs the rest."""


@dataclass(frozen=True, slots=True)
class ModelBinding:
    """What an agent is run with: a library, and a model by name; no name is the offline helper."""

    runtime: Runtime
    choice: ModelChoice

    @property
    def label(self) -> str:
        """What people call the model."""
        return label_of(self.choice)


def label_of(choice: ModelChoice) -> str:
    """What people call a model."""
    return choice.name or OFFLINE_LABEL


class ModelRegistry:
    """Knows the models of an assistant, and makes each of them when it is first needed.

    Whoever has no model of their own has the main one, which `put` exchanges. `version` grows with
    every change; who holds a model of an older version asks for it again. `keys` are credentials by
    name. `offline` makes the model that needs no network.
    """

    def __init__(
        self, config: AssistantConfig, keys: Mapping[str, str], offline: Callable[[], "Model"]
    ) -> None:
        self._config = config
        self._keys = dict(keys)
        self._offline = offline
        self._main = config.main_model if config.main_model.name else ModelChoice()
        self._models: dict[ModelChoice, Model] = {}
        self._openai: dict[ModelChoice, agents.Model] = {}
        self.version = 1

    @property
    def main(self) -> ModelChoice:
        """The model of all who have none of their own."""
        return self._main

    @property
    def keys(self) -> Mapping[str, str]:
        """The credentials that are used."""
        return self._keys

    def use_keys(self, keys: Mapping[str, str]) -> None:
        """Use other credentials from now on, if they are others."""
        if dict(keys) != self._keys:
            self._keys = dict(keys)
            self._forget()

    def binding(self, own: ModelChoice, runtime: Runtime | None = None) -> ModelBinding:
        """Say what whoever has `own` model and runtime, or none, is run with now."""
        choice = own if own.name else self._main
        if not choice.name:
            return ModelBinding(OFFLINE_RUNTIME, choice)
        return ModelBinding(runtime or self._config.runtime, choice)

    def for_pydantic_ai(self, choice: ModelChoice) -> "Model":
        """The model for pydantic-ai. `ModelError` if it can't be set up."""
        if choice not in self._models:
            from genie_core.assistant.models.make import pydantic_model

            self._models[choice] = (
                pydantic_model(choice, self._keys) if choice.name else self._offline()
            )
        return self._models[choice]

    def for_openai_agents(self, choice: ModelChoice) -> "agents.Model":
        """The model for the OpenAI Agents SDK. `ModelError` if it can't be set up."""
        if choice not in self._openai:
            from genie_core.assistant.models.make import openai_model

            self._openai[choice] = openai_model(choice, self._keys)
        return self._openai[choice]

    def choice_of(self, name: str) -> ModelChoice:
        """The model that a person means by a name."""
        return choice_in(self._config, name)

    def check(self, choice: ModelChoice) -> None:
        """Raise the `ModelError` that putting this model in the main one's place would lead to.

        It is set up then, so that the next run need not wait for that. Blocks.
        """
        if choice.name:
            asked = with_main_model(self._config, choice)
            check_config(asked, self._keys)
            if self._needs_openai_agents:
                self.for_openai_agents(choice)
        self.for_pydantic_ai(choice)

    def put(self, choice: ModelChoice) -> None:
        """Put another model in the place of the main one."""
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
    """The model that a person with these settings means by a name.

    One that names another provider than the settings is not asked for at the settings' server.
    """
    name = name.strip()
    if not name or name.lower() in (OFFLINE, OFFLINE_LABEL):
        return ModelChoice()
    provider = _provider_of(name)
    served = provider in ("", _provider_of(config.main_model.name))
    return replace(config.main_model, name=name) if served else ModelChoice(name)


def with_main_model(config: AssistantConfig, choice: ModelChoice) -> AssistantConfig:
    """The same settings with another main model."""
    return replace(
        config,
        model=choice.name or None,
        base_url=choice.base_url,
        key_name=choice.key_name,
    )


def _provider_of(name: str) -> str:
    provider, colon, _ = name.partition(":")
    return provider if colon and provider in PROVIDERS else ""
