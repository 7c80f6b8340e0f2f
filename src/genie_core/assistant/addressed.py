"""The reasoner that lets nobody who calls the assistant by name wait in vain."""

from collections import deque
from collections.abc import Callable
from typing import Any, Final

from genie_core.assistant.mention import mentioned, without_mention
from genie_core.assistant.query import MAX_CONTEXT_MESSAGES, compose_query
from genie_core.message import SYSTEM, Message
from genie_core.reasoner import Decision, GroupReasoner, Response

EMPTY_QUESTION: Final = "What can you do?"


class AddressedReasoner(GroupReasoner):
    """Delegate at once what is addressed to the assistant; ask `inner` about everything else.

    A message is addressed if it calls `@genie` or `@system`, or is sent to the receiver `system`.
    No model decides about it. Such a message is not counted as processed, so that `inner` still
    sees it when it is asked the next time. Without an `inner`, everything else is ignored.

    The agent never saw the messages that were ignored, so the latest of them go along with the
    next addressed one. They are kept in memory only: a resumed chat begins without them.
    """

    def __init__(self, inner: GroupReasoner | None) -> None:
        self._inner = inner
        self._decided = 0
        self._end = 0
        if inner is not None and hasattr(inner, "get_new_messages"):
            # defined only when there is something to journal: its presence is what is asked for
            self.get_new_messages: Callable[[], list[Any]] = inner.get_new_messages
        self._recent: deque[Message] = deque(maxlen=MAX_CONTEXT_MESSAGES)

    @property
    def processed(self) -> int:
        """Count the messages that the inner reasoner has seen, or this one if it is alone."""
        return self._decided if self._inner is None else self._inner.processed

    async def run(self, updates: list[Message]) -> Response:
        """Decide about the last of `updates`; the ones before it are what led up to it."""
        if not updates:
            raise ValueError("a reasoner needs at least one message to decide about")
        self._remember(updates)
        if self._inner is None:
            self._decided += len(updates)
        if reason := _addressed(updates[-1]):
            return self._delegate(reason)
        if self._inner is not None:
            return await self._inner.run(updates)
        return Response(decision=Decision.IGNORE, reason="only answers when addressed with @genie")

    def get_serialized(self) -> Any:
        """Return the inner reasoner's state, or the own count."""
        return {"processed": self._decided} if self._inner is None else self._inner.get_serialized()

    def set_serialized(self, serialized: Any) -> None:
        """Restore a state, also one from before the template was changed.

        Alone, only the count matters, whoever saved it. An inner reasoner is not given the count
        of one that was alone: it has seen none of those messages.
        """
        if self._inner is None:
            last = serialized[-1] if isinstance(serialized, list) else serialized
            self._decided = int(last["processed"])
        elif not (isinstance(serialized, dict) and serialized.keys() == {"processed"}):
            self._inner.set_serialized(serialized)

    def _remember(self, updates: list[Message]) -> None:
        """Keep the messages that earlier calls did not already bring."""
        first = self.processed
        self._recent.extend(updates[max(0, self._end - first) :])
        self._end = first + len(updates)

    def _delegate(self, reason: str) -> Response:
        asked = self._recent.pop()
        question = without_mention(asked.content) or EMPTY_QUESTION
        query = compose_query(asked.sender, question, tuple(self._recent))
        self._recent.clear()
        return Response(
            decision=Decision.DELEGATE, query=query, receiver=asked.sender, reason=reason
        )


def _addressed(message: Message) -> str | None:
    """Tell how the message addresses the assistant, or None if it does not."""
    if name := mentioned(message.content):
        return f"addressed with @{name}"
    return "sent to the assistant" if message.receiver == SYSTEM else None
