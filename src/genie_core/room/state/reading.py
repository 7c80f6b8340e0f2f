"""The texts that the agents of a room have read, as far as the log tells."""

from dataclasses import dataclass, field
from typing import Final

from genie_core.room.state.thread import MessageThread, ToolApproval

MOST_SOURCES: Final = 200


@dataclass(slots=True)
class Reading:
    """Whose words are in the conversation that agents read, and whose data they have read.

    `authors` are those of the messages so far, and those who vouched for one, or as hosts for all
    before there were signatures; true for agents. `sources` are quoted rooms, files and prompts
    that became messages, imported conversations, and pages, tool servers and other rooms that
    allowed calls of any owner's agents have read: their answers are in the conversation, too.
    `owners` are the people whose files an allowed call has read. None of it is forgotten with the
    messages.
    """

    authors: dict[str, bool] = field(default_factory=dict)
    sources: dict[str, None] = field(default_factory=dict)
    owners: dict[str, None] = field(default_factory=dict)

    def add_message(self, message: MessageThread) -> None:
        self.authors[message.author] = message.by_agent
        if message.recovered_from:
            self.authors.setdefault(message.recovered_from, False)
        for quote in message.said.quotes:
            of_room = f"a quote of {quote.title or quote.room}"
            self._add_source(quote.title or "a file" if quote.is_mark else of_room)

    def add_copy(self, origin: str) -> None:
        """Take in that all so far was copied from elsewhere: who said it is only the copy's word."""
        self._add_source(f"the copied conversation {origin}")

    def add_call(self, allowed: ToolApproval) -> None:
        """Take in the reads of an allowed call."""
        if allowed.reads:
            self.owners[allowed.owner] = None
        if allowed.source:
            self._add_source(allowed.source)

    def _add_source(self, source: str) -> None:
        if len(self.sources) < MOST_SOURCES:
            self.sources[source] = None
