"""How tools put what they found, and what they refuse, to a model."""

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import Final, ParamSpec

from genie_core.assistant.tools.workspace import AccessRefused
from genie_core.durable import reason
from genie_core.progress import doing

P = ParamSpec("P")

STOPPED: Final = "The search stopped at "

_REFUSED: Final = "Cannot do that: "


async def refusing(work: Callable[P, str], *arguments: P.args, **named: P.kwargs) -> str:
    """Do work on files in a thread, since disks may be slow; what it refuses is a sentence."""
    try:
        return await asyncio.to_thread(work, *arguments, **named)
    except AccessRefused as refusal:
        return cannot(str(refusal))
    except OSError as error:
        return cannot(reason(error))


def cannot(why: str) -> str:
    """Say that something is not done, and why, to people as well; `why` is a clause."""
    doing("note", why)
    return f"{_REFUSED}{why}."


def noted(told: str) -> str:
    """Tell people as well what another process refused, or where it stopped searching."""
    if told.startswith(_REFUSED):
        doing("note", told.removeprefix(_REFUSED).removesuffix("."))
    for line in told.rpartition("```")[2].splitlines():  # below what was found
        if line.startswith(STOPPED):
            doing("note", line.removesuffix("."))
    return told


def fenced(lines: Sequence[str]) -> list[str]:
    """Put lines in a Markdown fence that none of them can close."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, *lines, fence]


def counted(number: int, noun: str) -> str:
    """A number of things, as in "1 line" or "2,000 lines"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size(count: int) -> str:
    """A number of bytes, roughly."""
    if count == 1:
        return "1 byte"
    for unit in ("bytes", "kB", "MB"):
        if count < 1_000:
            return f"{count} {unit}"
        count //= 1_000
    return f"{count} GB"
