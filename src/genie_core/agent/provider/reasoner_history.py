"""The history of a reasoner that runs on a model: how it is saved, and how much of it is used."""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

MAX_TURNS: Final = 60
MIN_TURNS: Final = 30
"""A history of `MAX_TURNS` turns is cut to the latest `MIN_TURNS`.

Cutting in steps keeps the start of the history constant between calls, so that providers can cache
the prompt.
"""

M = TypeVar("M")


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
