"""The history of a reasoner: how it is saved, and how much of it is used."""

from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar

from genie_core.reasoner.base import GroupReasoner

MAX_TURNS: Final = 60
MIN_TURNS: Final = 30
"""A history of `MAX_TURNS` turns is cut to the latest `MIN_TURNS`.

Cutting in steps keeps the start of the history constant between calls, so that providers can cache
the prompt.
"""

M = TypeVar("M")


class RememberingReasoner(GroupReasoner, Generic[M]):
    """A reasoner that keeps its latest turns, as messages of pydantic-ai or as their JSON."""

    def __init__(self) -> None:
        self._history: list[M] = []
        self._processed = 0
        self._unsaved: list[dict[str, Any]] = []

    @property
    def processed(self) -> int:
        return self._processed

    def get_serialized(self) -> Any:
        """Return the conversation with the model and the number of processed messages."""
        return {"agent": self._to_json(self._history), "processed": self._processed}

    def get_new_messages(self) -> list[Any]:
        lines, self._unsaved = self._unsaved, []
        return lines

    def set_serialized(self, serialized: Any) -> None:
        """Restore a state or journal lines, also in group-sense's own form.

        Raises `ValueError` and changes nothing if it is neither.
        """
        values, processed = read_history(serialized)
        self._history, self._processed, self._unsaved = self._from_json(values), processed, []

    def _remember(self, history: list[M], turn: Sequence[M], messages: int) -> None:
        """Keep a history that ends with a new turn, which has processed so many messages."""
        self._history = history
        self._processed += messages
        added = self._to_json(turn)
        self._unsaved.append({"messages": added, "processed": self._processed})

    def _to_json(self, messages: Sequence[M]) -> list[Any]:
        return list(messages)

    def _from_json(self, values: list[Any]) -> list[M]:
        return values


def read_history(serialized: Any) -> tuple[list[Any], int]:
    """Return the latest saved messages and the number of processed ones.

    `serialized` is a state, also in group-sense's own form, or a list of journal lines. Raises
    `ValueError` if it is neither.
    """
    lines = [serialized] if isinstance(serialized, dict) else serialized
    try:
        # Each line has at least one turn, and no more of them are used.
        messages = [each for line in lines[-MIN_TURNS:] for each in _messages_of(line)]
        processed = int(lines[-1]["processed"]) if lines else 0
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(f"not the state of such a reasoner: {error!r}") from error
    return messages, processed


def latest_turns(history: Sequence[M], begins_turn: Callable[[M], bool]) -> Sequence[M]:
    """Cut a history at the start of a turn, if it has `MAX_TURNS` of them."""
    starts = [place for place, message in enumerate(history) if begins_turn(message)]
    return history[starts[1 - MIN_TURNS] :] if len(starts) >= MAX_TURNS else history


def _messages_of(line: dict[str, Any]) -> list[Any]:
    messages: list[Any] = line["agent"] if "agent" in line else line["messages"]
    return messages
