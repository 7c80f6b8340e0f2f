"""Finding what is wrong with the settings before anything is loaded."""

from collections.abc import Mapping

from genie_core.assistant.config import AssistantConfig
from genie_core.assistant.prompts import load_prompt
from genie_core.assistant.provider import check_model
from genie_core.assistant.tools.workspace import Workspace


def check_config(config: AssistantConfig, env: Mapping[str, str]) -> None:
    """Raise the `AssistantError` that building would, as far as it can be told without the SDKs.

    Takes a few milliseconds, so that a command line can answer with it before opening a room.
    """
    if config.model is not None:
        check_model(config.model, env)
    load_prompt("reasoner", config.template, config.prompts_dir)
    if config.workspace is not None:
        Workspace.at(config.workspace)
