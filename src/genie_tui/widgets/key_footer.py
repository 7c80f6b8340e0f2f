"""The line of keys at the bottom."""

from collections.abc import Callable

from textual.app import ComposeResult
from textual.widgets import Footer
from textual.widgets._footer import FooterKey

GAP = 1
"""Columns between two keys."""


class KeyFooter(Footer):
    """Leaves out keys that there is no room for, rather than cutting one off.

    The first ones stay, and the last one, which stands at the right. `hides` says of the name of an
    action whether it has nothing to act on, so that its key is left out, too.
    """

    def __init__(self, hides: Callable[[str], bool] = lambda _: False) -> None:
        super().__init__(show_command_palette=False, compact=True)
        self._hides = hides
        self._fitted = 0

    def compose(self) -> ComposeResult:
        keys = [
            each
            for each in super().compose()
            if isinstance(each, FooterKey) and not self._hides(each.description)
        ]
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
