"""An agent's conversation with its model, and the part that is not saved yet."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai.messages import ModelMessage

from genie_core.agent.provider.journal_lines import messages_in
from genie_core.agent.provider.pydantic_ai.observed_model import without_turns
from genie_core.agent.provider.pydantic_ai.saved import from_json, to_json, without_prompt


@dataclass(frozen=True, slots=True)
class Fork:
    """The conversation as a run found it.

    `version` counts the runs that ended before, `cuts` those that left out its oldest turns.
    """

    messages: Sequence[ModelMessage]
    version: int
    cuts: int


class PydanticHistory:
    """Messages to and from the model.

    `messages_in` describes their forms as JSON. Instructions are not included: each run has its own.
    """

    def __init__(self) -> None:
        self.messages: list[ModelMessage] = []
        self._unsaved: list[dict[str, Any]] = []
        self._version = 0
        self._cuts = 0

    def fork(self) -> Fork:
        """Return the conversation for one run, which no other run changes."""
        return Fork(list(self.messages), self._version, self._cuts)

    def join(
        self, fork: Fork, messages: Sequence[ModelMessage], left_out: int = 0, summary: str = ""
    ) -> None:
        """Keep a run's messages, which start with those of its fork.

        So many of the oldest turns are dropped, or replaced by a summary, unless another run has
        done that since the fork. If another run has ended since, the run's own turns are appended
        to that run's.
        """
        if fork.version == self._version:
            self.update(messages)
        else:
            self.update([*self.messages, *messages[len(fork.messages) :]])
        self._version += 1
        if fork.cuts == self._cuts:
            self.forget(left_out, summary)

    def update(self, messages: Sequence[ModelMessage]) -> None:
        """Set the messages after a run, which start with the earlier ones.

        The last earlier ones may have changed: a run closes tool calls that a cancelled one left
        open.
        """
        keep = min(len(self.messages), len(messages))
        while keep and messages[keep - 1] != self.messages[keep - 1]:
            keep -= 1
        added = [without_prompt(message) for message in messages[keep:]]
        if not added and keep == len(self.messages):
            return
        self.messages[keep:] = added
        self._unsaved.append({"keep": keep, "messages": to_json(added)})

    def forget(self, turns: int, summary: str = "") -> None:
        """Drop the oldest turns, or replace them by a summary.

        The journal then restarts with the kept part, in one line.
        """
        if turns:
            self._cuts += 1
            self.messages = without_turns(self.messages, turns, summary)
            self._unsaved.append({"keep": 0, "messages": to_json(self.messages)})

    def take_unsaved(self) -> list[dict[str, Any]]:
        """Return the journal lines added since the last call."""
        lines, self._unsaved = self._unsaved, []
        return lines

    def to_state(self) -> dict[str, Any]:
        """Return everything as one JSON object."""
        return {"messages": to_json(self.messages)}

    def restore(self, state: Any) -> None:
        """Restore either form; raises `ValueError` and changes nothing if it is neither."""
        self.messages = from_json(messages_in(state))
        self._unsaved = []
