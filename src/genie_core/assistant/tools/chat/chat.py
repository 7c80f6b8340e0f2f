"""Searching the chat and summarising its latest messages.

The engine gives agents a tool that returns the whole chat as JSON. These tools build on it, so that
a model need not read all of it.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from genie_core.assistant.reasoners.mention import mentioned
from genie_core.assistant.tools.chat.summary import Sentence, key_sentences, sentences
from genie_core.assistant.tools.output import (
    contains,
    excerpt,
    listed,
    shortened,
    terms_of,
)
from genie_core.message import SYSTEM
from genie_core.runtime.threads import in_thread
from genie_core.text.format import counted

FetchMessages = Callable[[], Awaitable[str]]
"""The engine's `get_group_chat_messages`: all messages as a JSON array, oldest first."""

MAX_HITS: Final = 50
MAX_SUMMARISED: Final = 500
SUMMARY_SENTENCES: Final = 5

_REQUEST = re.compile(
    r"\W*(?:please |can you |could you )*(?:search|find|look (?:for|up)|summari[sz]e|recap)\b",
    re.IGNORECASE,
)


class ChatLine(msgspec.Struct, frozen=True):
    """The fields of a message that the chat tools use."""

    content: str
    sender: str


_DECODER: Final = msgspec.json.Decoder(list[ChatLine])


@dataclass(frozen=True)
class Chat:
    """The chat tools over one source of messages. Long chats are processed in a thread."""

    fetch: FetchMessages

    async def search_chat(
        self,
        words: str,
        limit: int = 10,
        include_assistant: bool = False,  # noqa: FBT001, FBT002 — a model passes tool arguments by name
    ) -> str:
        """Search this group chat for messages with all of these words.

        Args:
            words: Case does not matter; "quotes" mark an exact phrase.
            limit: How many matches to show, the latest ones; at most 50.
            include_assistant: Also search your own messages.
        """
        terms = terms_of(words)
        if not terms:
            return "Cannot search: no words are given."
        content = await self.fetch()
        return await in_thread(_search, content, terms, limit, include_assistant)

    async def summarise_chat(self, count: int = 50) -> str:
        """Quote the key sentences of this group chat's latest messages.

        Args:
            count: How many messages to read, at most 500.
        """
        return await in_thread(_summarise, await self.fetch(), count)


def _search(content: str, terms: list[str], limit: int, include_assistant: bool) -> str:  # noqa: FBT001 — to_thread passes by position
    lines = _numbered(content, include_assistant=include_assistant)
    hits = [(n, line) for n, line in lines if contains(line.content, terms)]
    if not hits:
        return f"No message contains {listed(terms)} ({len(lines)} searched)."
    shown = hits[-max(1, min(limit, MAX_HITS)) :]
    heading = f"{counted(len(hits), 'message')} with {listed(terms)}"
    if len(shown) < len(hits):
        heading += f", the latest {len(shown)}"
    found = (f"- #{n} {line.sender}: {excerpt(line.content, terms[0])}" for n, line in shown)
    return "\n".join([f"{heading}:", *found])


def _summarise(content: str, count: int) -> str:
    lines = _numbered(content, include_assistant=False)[-max(1, min(count, MAX_SUMMARISED)) :]
    pool = [Sentence(text, line.sender) for _, line in lines for text in sentences(line.content)]
    picked = key_sentences(pool, SUMMARY_SENTENCES)
    if not picked:
        return "There are no messages to summarise yet."
    people = sorted({line.sender for _, line in lines})
    heading = (
        f"The last {counted(len(lines), 'message')} from {', '.join(people)}; "
        f"{counted(len(picked), 'sentence')} quoted verbatim:"
    )
    quotes = (f"- {sentence.speaker}: {shortened(sentence.text)}" for sentence in picked)
    return "\n".join([heading, *quotes])


def _numbered(content: str, *, include_assistant: bool) -> list[tuple[int, ChatLine]]:
    """Return members' messages with their positions, without requests to the assistant."""
    return [
        (number, line)
        for number, line in enumerate(_DECODER.decode(content), 1)
        if not _is_request(line) and (include_assistant or line.sender != SYSTEM)
    ]


def _is_request(line: ChatLine) -> bool:
    return mentioned(line.content) is not None or bool(_REQUEST.match(line.content))
