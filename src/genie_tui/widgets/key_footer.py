"""The line of keys at the bottom."""

from collections.abc import Collection
from typing import Final

from textual.app import ComposeResult
from textual.widgets import Footer
from textual.widgets._footer import FooterKey

GAP = 1
"""Columns between two keys."""

COMMON: Final = (
    *("room.approvals", "room.activity", "app.palette", "room.find", "room.read-back"),
    *("app.quit", "room.editor", "app.rooms", "app.help"),
)
"""The commands of whole screens, which come after the keys of what has the focus.

The last one stands at the right; of the others, the first ones stay where there is little room.
"""


class KeyFooter(Footer):
    """Leaves out keys that there is no room for, rather than cutting one off.

    The first ones stay, and the last one, which stands at the right. `left_out` has the ids of
    actions that would do nothing.
    """

    def __init__(self, *left_out: str) -> None:
        super().__init__(show_command_palette=False, compact=True)
        self._left_out = frozenset(left_out)
        self._fitted = 0

    def leave_out(self, actions: Collection[str]) -> None:
        """Leave out these actions, by their ids, and no others."""
        if self._left_out != (left_out := frozenset(actions)):
            self._left_out = left_out
            self.refresh(recompose=True)

    def compose(self) -> ComposeResult:
        active = self.screen.active_bindings
        places: dict[FooterKey, int] = {}
        for key in super().compose():
            id_ = active[key.key].binding.id if isinstance(key, FooterKey) else None
            if isinstance(key, FooterKey) and id_ not in self._left_out:
                places[key] = COMMON.index(id_) if id_ in COMMON else -1
        keys = sorted(places, key=lambda key: places[key])
        self._fitted = room = self.content_size.width
        room -= sum(_columns(each) + GAP for each in keys[-1:]) + GAP
        for key in keys[:-1]:
            room -= _columns(key) + GAP
            if room < 0 and self._fitted:
                break
            yield key
        yield from keys[-1:]

    async def on_resize(self) -> None:
        if self.content_size.width != self._fitted:
            await self.recompose()


def _columns(key: FooterKey) -> int:
    return len(key.key_display) + 1 + len(key.description)
