"""The requests that wait, and which of them is on the card."""

from collections.abc import Iterator, Sequence

from genie_core.room.state.thread import ToolApproval


class CardQueue:
    """The requests that wait, and the one in view.

    New ones never move the view. When the one in view is gone, the next in order takes its place.
    """

    def __init__(self) -> None:
        self._waiting: list[ToolApproval] = []
        self._answered: set[str] = set()
        self._index = 0

    @property
    def current(self) -> ToolApproval | None:
        return self._waiting[self._index] if self._waiting else None

    @property
    def position(self) -> int:
        """Number of the one in view, from 1; 0 if nothing waits."""
        return self._index + 1 if self._waiting else 0

    def __iter__(self) -> Iterator[ToolApproval]:
        return iter(self._waiting)

    def __len__(self) -> int:
        return len(self._waiting)

    def update(self, waiting: Sequence[ToolApproval]) -> None:
        """Take over the waiting calls, oldest first."""
        self._answered &= {request.id for request in waiting}
        self._replace([entry for entry in waiting if entry.id not in self._answered])

    def answered(self, approval: str) -> None:
        self._answered.add(approval)
        self._replace([entry for entry in self._waiting if entry.id != approval])

    def oldest(self) -> None:
        self._index = 0

    def step(self, by: int) -> None:
        """View one further on or back, around the ends."""
        if self._waiting:
            self._index = (self._index + by) % len(self._waiting)

    def _replace(self, waiting: list[ToolApproval]) -> None:
        viewed = self.current
        ids = [request.id for request in waiting]
        if viewed is not None and viewed.id in ids:
            self._index = ids.index(viewed.id)
        else:
            self._index = min(self._index, max(len(waiting) - 1, 0))
        self._waiting = waiting
