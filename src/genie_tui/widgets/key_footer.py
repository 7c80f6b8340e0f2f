"""The line of keys at the bottom."""

from typing import Protocol, runtime_checkable

from textual.app import ComposeResult
from textual.widgets import Footer
from textual.widgets._footer import FooterKey

GAP = 1
"""Columns between two keys."""


@runtime_checkable
class Offering(Protocol):
    """A widget some of whose keys do nothing at times, or only say why."""

    def offers(self, action: str) -> bool:
        """Whether an action, by its id, does something now."""
        ...


class KeyFooter(Footer):
    """Shows the keys that do something at the focus now.

    It leaves out keys that there is no room for, rather than cutting one off. The first ones stay,
    esc, and the last one, which stands at the right.
    """

    def __init__(self) -> None:
        super().__init__(show_command_palette=False, compact=True)
        self._fitted = 0

    def compose(self) -> ComposeResult:
        keys = [each for each in super().compose() if isinstance(each, FooterKey)]
        keys = [each for each in keys if self._is_offered(each)]
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
        active = self.screen.active_bindings.get(key.key)
        if active is None or not isinstance(active.node, Offering):
            return True
        return active.node.offers(active.binding.id or "")

    async def on_resize(self) -> None:
        if self.content_size.width != self._fitted:
            await self.recompose()


def _columns(key: FooterKey) -> int:
    return len(key.key_display) + 1 + len(key.description)
