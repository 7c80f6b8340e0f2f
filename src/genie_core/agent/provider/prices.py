"""Prices and windows of models, from data that come with a library.

Nothing is fetched from the network, so models newer than the installed library, and local ones,
have no known price.
"""

from contextlib import suppress
from functools import lru_cache

from genai_prices import Usage as Tokens
from genai_prices import calc_price

from genie_core.runtime.progress import Usage


def cost_of(
    usage: Usage, provider: str, address: str = "", *, cache_written: int = 0
) -> float | None:
    """Return the US dollars for a model's usage; None if its price is unknown.

    `cache_written` are those input tokens that were written to a cache, which may cost more.
    `address` is tried before `provider`, the library's short name, such as "openai".
    """
    try:
        tokens = Tokens(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cached_tokens,
            cache_write_tokens=cache_written,
        )
    except ValueError:  # numbers that can't be, which a provider may claim
        return None
    if address:
        with suppress(LookupError, ValueError):
            return float(calc_price(tokens, usage.model, provider_api_url=address).total_price)
    try:
        return float(calc_price(tokens, usage.model, provider_id=provider).total_price)
    except (LookupError, ValueError):
        return None


@lru_cache(maxsize=64)
def window_of(model: str, provider: str) -> int | None:
    """Return a model's context window in tokens; None if unknown."""
    try:
        return calc_price(Tokens(), model, provider_id=provider).model.context_window
    except (LookupError, ValueError):
        return None
