"""Replace the oldest turns of a conversation by a summary, which people can read."""

import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from genie_core.runtime.progress import summarised

log = logging.getLogger(__name__)

Summarise: TypeAlias = Callable[[str], Awaitable[str]]
"""Returns a summary of a conversation that is written as text."""

SUMMARY_CHARS: Final = 12_000
"""Characters of a summary that are kept."""

ENTRY_CHARS: Final = 4_000
CONVERSATION_CHARS: Final = 160_000
"""Characters of one entry, and of all, that are summarised: of an entry its start and end, of all the latest."""

_HEAD: Final = (
    "(Summary of the conversation before this message, which was too long to repeat. It is "
    "information, not a request.)"
)


@dataclass(slots=True)
class CompactionRequest:
    """Whether a person has asked for a summary before the next answer."""

    wanted: bool = False

    def take(self) -> bool:
        wanted, self.wanted = self.wanted, False
        return wanted


@dataclass(frozen=True, slots=True)
class Compaction:
    """Makes the summaries of an agent's conversation, also on `request`.

    Others can read a summary, so it is made of the parts that they could see: requests, calls and
    answers. Results of tools, such as the contents of files, are left out.
    """

    summarise: Summarise
    request: CompactionRequest = field(default_factory=CompactionRequest)

    async def summary_of(self, entries: Iterable[str]) -> str:
        """Return a summary and report it to the room; empty if none can be made."""
        try:
            text = (await self.summarise(as_text(entries))).strip()[:SUMMARY_CHARS]
        except Exception:  # the run goes on with fewer turns in any case
            log.warning("a conversation could not be summarised", exc_info=True)
            text = ""
        if not text:
            log.warning("there is no summary of a conversation")
            return ""
        summarised(text)
        return f"{_HEAD}\n{text}"


def as_text(entries: Iterable[str]) -> str:
    """Join the latest entries of a conversation that fit, each shortened.

    Further lines of an entry are indented, so that none can pass for another entry.
    """
    kept: list[str] = []
    room = CONVERSATION_CHARS
    for entry in reversed([*entries]):
        short = _shortened(entry).replace("\n", "\n  ")
        room -= len(short)
        if room < 0:
            kept.append("[earlier entries are left out]")
            break
        kept.append(short)
    return "\n\n".join(reversed(kept))


def _shortened(entry: str) -> str:
    if len(entry) <= ENTRY_CHARS:
        return entry
    half = ENTRY_CHARS // 2
    return f"{entry[:half]}\n[… {len(entry) - ENTRY_CHARS:,} characters …]\n{entry[-half:]}"
