"""The reasoner that always answers messages addressed to the assistant."""

import json
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

from genie_core.assistant.reasoners.mention import mentioned, without_mention
from genie_core.message import SYSTEM, Message
from genie_core.reasoner import GroupReasoner, Response
from genie_core.reasoner.decision import decision
from genie_core.text.query import (
    MAX_CONTEXT_CHARS,
    MAX_CONTEXT_MESSAGES,
    compose_query,
)

EMPTY_QUESTION: Final = "What can you do?"


class AddressedReasoner(GroupReasoner):
    """Delegates messages addressed to the assistant; asks `inner` about all others.

    A message is addressed if it mentions `@genie` or `@system`, or has the receiver `system`. No
    model decides about it. `inner` sees it, or the latest such messages that fit a query's context,
    on its next run. Without an `inner`, all other messages are ignored.

    The agent never saw ignored messages, so the latest of them accompany the next addressed one.
    They are kept in memory only: a resumed chat begins without them.

    A saved state holds the message count as `processed`, the messages that `inner` has yet to see
    as `bypassed`, and the state of `inner` as `inner`. In a journal each line is one run:
    `bypassed` lists the messages it added, or is None if the run showed all to `inner`.
    """

    def __init__(self, inner: GroupReasoner | None) -> None:
        self._inner = inner
        self._processed = 0
        self._bypassed: list[Message] = []
        self._recent: deque[Message] = deque(maxlen=MAX_CONTEXT_MESSAGES)
        self._unsaved: list[dict[str, Any]] = []
        self._inner_news: Callable[[], list[Any]] | None = getattr(inner, "get_new_messages", None)
        if self._inner_news is not None:
            # callers check for this attribute, so it exists only if `inner` has a journal
            self.get_new_messages = self._take_unsaved

    @property
    def processed(self) -> int:
        """The number of messages received, whether or not `inner` has seen them."""
        return self._processed

    async def run(self, updates: list[Message]) -> Response:
        """Decide about the last of `updates`; the others are its context."""
        if not updates:
            raise ValueError("a reasoner needs at least one message to decide about")
        if reason := _addressed(updates[-1]):
            self._bypass(updates)
            return self._delegate(updates, reason)
        if self._inner is None:
            response = Response(
                decision("ignore"), reason="only answers when addressed with @genie"
            )
        else:
            response = await self._inner.run([*self._bypassed, *updates])
            self._bypassed = []
        self._record(updates, bypassed=None)
        self._recent.extend(updates)
        return response

    def get_serialized(self) -> Any:
        if self._inner is None:
            return {"processed": self._processed}
        return {
            "processed": self._processed,
            "bypassed": _serialized(self._bypassed),
            "inner": self._inner.get_serialized(),
        }

    def set_serialized(self, serialized: Any) -> None:
        """Restore a state or journal, including one saved with another template.

        Without `inner` only the count is restored. An `inner` that saved its own state continues
        from it; a count saved without `inner` is dropped, since `inner` has seen none of those
        messages.
        """
        if serialized == []:
            return
        if self._inner is None:
            last = serialized[-1] if isinstance(serialized, list) else serialized
            self._processed = int(last["processed"])
        elif isinstance(serialized, list):
            self._restore_journal(self._inner, serialized)
        elif _is_own(serialized):
            self._inner.set_serialized(serialized["inner"])
            self._bypassed = [Message.deserialize(each) for each in serialized["bypassed"]]
            self._processed = int(serialized["processed"])
        elif not (isinstance(serialized, dict) and serialized.keys() == {"processed"}):
            self._inner.set_serialized(serialized)
            self._processed = self._inner.processed

    def _restore_journal(self, inner: GroupReasoner, lines: list[Any]) -> None:
        own = [line for line in lines if _is_own(line)]
        inner_lines: list[Any] = []
        for line in lines:
            inner_lines += line["inner"] if _is_own(line) else [line]
        if inner_lines:
            inner.set_serialized(inner_lines)
        self._processed = int(own[-1]["processed"]) if _is_own(lines[-1]) else inner.processed
        waiting: list[Any] = []
        for line in own:
            waiting = [] if line["bypassed"] is None else waiting + line["bypassed"]
            waiting = waiting[-MAX_CONTEXT_MESSAGES:]
        self._bypassed = _newest([Message.deserialize(each) for each in waiting])

    def _bypass(self, updates: list[Message]) -> None:
        if self._inner is None:
            self._record(updates, bypassed=[])
            return
        newest = _newest(updates)
        self._bypassed = _newest([*self._bypassed, *newest])
        self._record(updates, bypassed=newest)

    def _record(self, updates: list[Message], *, bypassed: list[Message] | None) -> None:
        self._processed += len(updates)
        if self._inner_news is not None:
            line = {
                "processed": self._processed,
                "bypassed": None if bypassed is None else _serialized(bypassed),
                "inner": self._inner_news() if bypassed is None else [],
            }
            self._unsaved.append(line)

    def _take_unsaved(self) -> list[Any]:
        lines, self._unsaved = self._unsaved, []
        return lines

    def _delegate(self, updates: list[Message], reason: str) -> Response:
        *before, asked = updates
        self._recent.extend(before)
        question = without_mention(asked.content) or EMPTY_QUESTION
        query = compose_query(asked.sender, question, tuple(self._recent))
        self._recent.clear()
        return Response(
            decision=decision("delegate"), query=query, receiver=asked.sender, reason=reason
        )


def _newest(messages: Sequence[Message]) -> list[Message]:
    """Return the latest messages that fit the context limits of a query."""
    newest: list[Message] = []
    room = MAX_CONTEXT_CHARS
    for message in reversed(messages[-MAX_CONTEXT_MESSAGES:]):
        room -= len(json.dumps(message.serialize(), ensure_ascii=False))
        if room < 0:
            break
        newest.append(message)
    return newest[::-1]


def _serialized(messages: Sequence[Message]) -> list[Any]:
    return [message.serialize() for message in messages]


def _is_own(state: Any) -> bool:
    """Return whether a state has the form above, not that of an inner reasoner."""
    return isinstance(state, dict) and state.keys() == {"processed", "bypassed", "inner"}


def _addressed(message: Message) -> str | None:
    """Return how the message addresses the assistant, or None."""
    if name := mentioned(message.content):
        return f"addressed with @{name}"
    return "sent to the assistant" if message.receiver == SYSTEM else None
