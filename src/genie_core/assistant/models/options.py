"""Temperature, effort and output limit: which models take them, and in the words of the libraries."""

from typing import TYPE_CHECKING, Any, Final

from genie_core.assistant.config import ModelOptions
from genie_core.assistant.errors import RefusedOption

if TYPE_CHECKING:
    import agents
    from pydantic_ai.models import Model
    from pydantic_ai.settings import ModelSettings

_ALWAYS: Final = "it always thinks, and takes none then; remove it"
_WHILE_THINKING: Final = 'it takes none while it thinks; remove it, or set effort to "none"'
_NONE: Final = "it takes none; remove it"
_NO_THINKING: Final = "it is not known to think; remove it"


def check_options(model: "Model", name: str, options: ModelOptions, place: str = "") -> None:
    """Raise `RefusedOption` for an option that the model, called `name`, would refuse or ignore.

    `place` is the prefix of the option in the settings, such as "reasoner_". Facts about a model
    come from pydantic-ai; of others, the provider may refuse more.
    """
    ignored = model.unsupported_settings
    if options.max_tokens and "max_tokens" in ignored:
        raise RefusedOption(name, f"{place}max_tokens", _NONE)
    if options.effort not in ("", "none") and not _can_think(model):
        raise RefusedOption(name, f"{place}effort", _NO_THINKING)
    if options.temperature is not None and (why := _against_temperature(model, options)):
        raise RefusedOption(name, f"{place}temperature", why)


def _can_think(model: "Model") -> bool:
    profile: Any = model.profile
    return bool(profile.get("supports_thinking") or profile.get("thinking_always_enabled"))


def _against_temperature(model: "Model", options: ModelOptions) -> str:
    profile: Any = model.profile
    if "temperature" in model.unsupported_settings:
        return _NONE
    if profile.get("anthropic_disallows_sampling_settings"):
        return _NONE
    if model.system == "anthropic":
        return _WHILE_THINKING if options.effort not in ("", "none") else ""
    if not profile.get("openai_supports_reasoning"):
        return ""
    if profile.get("thinking_always_enabled"):
        return _ALWAYS
    by_default = profile.get("thinking_enabled_by_default")
    thinks = options.effort != "none" if options.effort else by_default
    return _WHILE_THINKING if thinks else ""


def pydantic_settings(options: ModelOptions) -> "ModelSettings":
    """Return the options as settings of pydantic-ai."""
    from pydantic_ai.settings import ModelSettings

    settings = ModelSettings()
    if options.temperature is not None:
        settings["temperature"] = options.temperature
    if options.max_tokens:
        settings["max_tokens"] = options.max_tokens
    if options.effort:
        settings["thinking"] = False if options.effort == "none" else options.effort
    return settings


def openai_settings(options: ModelOptions, timeout: float) -> "agents.ModelSettings":
    """Return the options, and the limit of a model's silence, for the OpenAI Agents SDK."""
    from agents import ModelSettings
    from openai import DEFAULT_TIMEOUT, Timeout
    from openai.types.shared import Reasoning

    return ModelSettings(
        include_usage=True,
        temperature=options.temperature,
        max_tokens=options.max_tokens or None,
        reasoning=Reasoning(effort=options.effort) if options.effort else None,
        extra_args={"timeout": Timeout(timeout, connect=DEFAULT_TIMEOUT.connect)},
    )
