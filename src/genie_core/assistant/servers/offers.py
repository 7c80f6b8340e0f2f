"""Prompts and resources that a server offers to people, as completion and help list them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from mcp.types import ListPromptsResult, ListResourcesResult, Prompt, Resource

from genie_core.assistant.servers.prompts import MOST_PROMPTS, usage_of
from genie_core.assistant.servers.registry import ServerConnection
from genie_core.privacy.redaction import mask_known
from genie_core.room.engine.controls import PromptInfo

log = logging.getLogger(__name__)

MOST_RESOURCES: Final = 200

_TIMEOUT: Final = 5.0
_LONGEST_ABOUT: Final = 300
_LONGEST_URI: Final = 500


async def learn_offers(
    connection: ServerConnection,
    prompts: Callable[[], Awaitable[ListPromptsResult]] | None,
    resources: Callable[[], Awaitable[ListResourcesResult]] | None,
) -> None:
    """Record the first page of each for a server that has just started, if it is not known yet.

    None stands for what the server does not have. A failure costs only that.
    """
    if connection.knows_offers:
        return
    try:
        async with asyncio.timeout(_TIMEOUT):
            found = (await prompts()).prompts if prompts else []
            listed = (await resources()).resources if resources else []
    except Exception:
        log.info("what a tool server offers can't be listed", exc_info=True)
        found, listed = [], []
    connection.offers(_infos(connection.name, found), _uris(listed))


def _infos(server: str, prompts: Iterable[Prompt]) -> tuple[PromptInfo, ...]:
    """Describe prompts; one whose name has spaces can't be typed, and is left out."""
    fit = [each for each in prompts if _can_be_typed(each.name)]
    return tuple(
        PromptInfo(
            server,
            each.name,
            mask_known(" ".join((each.description or each.title or "").split())[:_LONGEST_ABOUT]),
            mask_known(usage_of(each)[:_LONGEST_ABOUT]) if each.arguments else "",
        )
        for each in fit[:MOST_PROMPTS]
    )


def _uris(resources: Iterable[Resource]) -> tuple[str, ...]:
    fit = [str(each.uri) for each in resources if _can_be_typed(str(each.uri))]
    return tuple(mask_known(each) for each in fit[:MOST_RESOURCES])


def _can_be_typed(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_URI and text.isprintable() and not {" ", "@", '"'} & set(text)
