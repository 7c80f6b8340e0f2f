"""Let a provider keep the beginning of a conversation for the next request."""

from typing import Final, cast

from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings, merge_model_settings

from genie_core.agent.provider.prompt_cache import cache_key
from genie_core.agent.provider.pydantic_ai.errors import unwrapped

_KEY: Final = "openai_prompt_cache_key"


def with_cache(model: Model, settings: ModelSettings | None, prompt: str) -> ModelSettings | None:
    """Ask for caching of tools, instructions and conversation, unless the settings say otherwise.

    pydantic-ai sets a provider's breakpoints, and ignores this for models that need or have none.
    """
    key = cache_key(prompt, str(getattr(unwrapped(model), "base_url", None) or ""))
    wanted = cast("ModelSettings", {"cache": True, **({_KEY: key} if key else {})})
    return merge_model_settings(merge_model_settings(wanted, model.settings), settings)
