"""Going in good order: every step is taken, whatever becomes of the others."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias

logger = logging.getLogger(__name__)

Step: TypeAlias = tuple[str, Callable[[], Awaitable[None]], float]
"""What is done, as in "closing the room"; how; and how many seconds it may take."""


async def take_steps(steps: Iterable[Step]) -> list[str]:
    """Take steps in order, leaving behind what takes too long; returns what went wrong."""
    problems: list[str] = []
    for what, step, seconds in steps:
        try:
            async with asyncio.timeout(seconds):
                await step()
        except TimeoutError:
            problems.append(f"{what} took too long")
        except Exception as error:  # the steps that follow are needed all the more
            logger.exception("%s failed", what)
            problems.append(f"{what} failed: {str(error) or type(error).__name__}")
    return problems
