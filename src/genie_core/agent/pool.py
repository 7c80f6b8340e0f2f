"""A limit on how many agents stay in memory."""

from typing import Final, Protocol

DEFAULT_SIZE: Final = 32
"""How many agents may hold models, memory and tool servers without having anything to do."""


class Resting(Protocol):
    """Something that can be put away while it has nothing to do."""

    @property
    def active(self) -> bool:
        """Whether it holds anything."""

    def rest(self) -> bool:
        """Release its resources unless it is working; return whether it does."""


class Pool:
    """Puts the least recently used members to rest while there are more than `size` active.

    One that works is never put to rest, so that there are more if more are at work.
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
