"""The line of keys at the bottom."""

from typing import Final, Protocol, runtime_checkable

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


@runtime_checkable
class Offering(Protocol):
    """A widget or screen some of whose keys do nothing at times, or only say why.

    It calls `refresh_bindings` when that changes.
    """

    def offers(self, action: str) -> bool:
        """Whether an action, by its id, does something now."""
        ...


class KeyFooter(Footer):
    """Shows the keys that do something at the focus now.

    It leaves out keys that there is no room for, rather than cutting one off. The first ones stay,
    esc, and the last one, which stands at the right. `left_out` has the ids of commands that this
    screen never lists.
    """

    def __init__(self, *left_out: str) -> None:
        super().__init__(show_command_palette=False, compact=True)
        self._left_out = left_out
        self._fitted = 0

    def compose(self) -> ComposeResult:
        keys = [each for each in super().compose() if isinstance(each, FooterKey)]
        keys = sorted(filter(self._is_offered, keys), key=self._place)
        always = [each for each in keys if each.key == "escape" or each is keys[-1]]
        self._fitted = room = self.content_size.width
        room -= sum(_columns(each) + GAP for each in always) + GAP
        for key in keys:
            if key not in always and self._fitted:
                room -= _columns(key) + GAP
                if room < 0:
                    continue
            yield key

    def _is_offered(self, key: FooterKey) -> bool:
        active = self.screen.active_bindings[key.key]
        id_ = active.binding.id or ""
        offers = not isinstance(active.node, Offering) or active.node.offers(id_)
        return offers and id_ not in self._left_out

    def _place(self, key: FooterKey) -> int:
        id_ = self.screen.active_bindings[key.key].binding.id
        return COMMON.index(id_) if id_ in COMMON else -1

    async def on_resize(self) -> None:
        if self.content_size.width != self._fitted:
            await self.recompose()


def _columns(key: FooterKey) -> int:
    return len(key.key_display) + 1 + len(key.description)
