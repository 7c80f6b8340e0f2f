"""The command palette's entries: the offered actions of the key table."""

from collections.abc import Iterator
from functools import partial
from typing import ClassVar

from textual.command import DiscoveryHit, Hit, Hits, Provider

from genie_tui.action import Action, Scope
from genie_tui.keymap import actions


class ActionProvider(Provider):
    """Offers the actions of one scope."""

    scope: ClassVar[Scope]

    async def discover(self) -> Hits:
        """List everything, in the table's order."""
        for action in self._offered():
            yield DiscoveryHit(_title(action), partial(self._run, action), help=action.help)

    async def search(self, query: str) -> Hits:
        """List what matches, by label or by help text."""
        matcher = self.matcher(query)
        for action in self._offered():
            score = max(matcher.match(_title(action)), matcher.match(action.help) * 0.8)
            if score > 0:
                title = matcher.highlight(_title(action))
                yield Hit(score, title, partial(self._run, action), help=action.help)

    def _offered(self) -> Iterator[Action]:
        return (action for action in actions(self.scope) if action.offered)

    async def _run(self, action: Action) -> None:
        await self.app.run_action(action.run, default_namespace=self.screen)


class AppActions(ActionProvider):
    """What can be done on every screen."""

    scope = Scope.APP


class RoomActions(ActionProvider):
    """What can be done in a room."""

    scope = Scope.ROOM


def _title(action: Action) -> str:
    return f"{action.label.capitalize()}  {action.key_text}".rstrip()
