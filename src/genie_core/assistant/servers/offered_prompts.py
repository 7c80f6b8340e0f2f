"""Prompts and resources that a server offers to people, as completion and help list them."""

import asyncio
import logging
from collections.abc import Iterable
from typing import Any, Final

from fastmcp import Client
from mcp.types import Prompt, Resource

from genie_core.assistant.servers.prompts import MOST_PROMPTS, usage_of
from genie_core.assistant.servers.registry import ServerConnection
from genie_core.privacy.redaction import mask_known
from genie_core.room.engine.controls import PromptInfo

log = logging.getLogger(__name__)

MOST_RESOURCES: Final = 200

_TIMEOUT: Final = 5.0
_LONGEST_ABOUT: Final = 300
_LONGEST_URI: Final = 500


async def learn_offers(connection: ServerConnection, client: Client[Any]) -> None:
    """Record the first page of each for a server that has just started, if it is not known yet.

    A failure costs only that.
    """
    if connection.knows_offers:
        return
    has = client.server_capabilities
    try:
        async with asyncio.timeout(_TIMEOUT):
            found = (await client.list_prompts_mcp()).prompts if has and has.prompts else []
            listed = (await client.list_resources_mcp()).resources if has and has.resources else []
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
