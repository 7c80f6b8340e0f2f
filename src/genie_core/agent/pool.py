"""A limit on how many agents stay in memory."""

from typing import Final, Protocol

DEFAULT_SIZE: Final = 32
"""How many idle agents may hold models, memory and tool servers."""


class Resting(Protocol):
    """Something that can release its resources while idle."""

    @property
    def active(self) -> bool:
        """Whether it holds anything."""

    def rest(self) -> bool:
        """Release its resources unless it is working; return whether it does."""


class Pool:
    """Releases the least recently used members while more than `size` are active.

    A working member is never released, so there may be more.
    """

    def __init__(self, size: int = DEFAULT_SIZE) -> None:
        self._size = size
        self._members: dict[Resting, None] = {}  # in the order of their last use

    def use(self, member: Resting) -> None:
        """Mark a member as the most recently used."""
        self._members.pop(member, None)
        others = [each for each in self._members if each.active]
        surplus = len(others) + 1 - self._size
        for each in others:
            if surplus <= 0:
                break
            surplus -= each.rest()
        self._members = dict.fromkeys([*others, member])
