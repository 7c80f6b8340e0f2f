"""Deliver keys and pastes one after another, each once the one before it has had its effect.

Textual hands input to the focused widget as it arrives, but runs a binding only after its key has
bubbled from the widget to the app. Of keys sent in one burst, those after a key that moves the focus
or opens a dialog would go to the widget that had the focus before.
"""

import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

from textual import events
from textual.app import App
from textual.dom import DOMNode
from textual.screen import Screen

PATIENCE: Final = 1.0
"""Seconds after which input no longer waits for the input before it."""

UserInput: TypeAlias = events.Key | events.Paste


class InputQueue:
    """Holds input back until the input before it has passed all widgets that see it.

    `deliver` sends an event to the focused widget, or drops it.
    """

    def __init__(self, app: App[Any], deliver: Callable[[UserInput], Awaitable[None]]) -> None:
        self._app = app
        self._deliver = deliver
        self._waiting: deque[UserInput | Callable[[], object]] = deque()
        self._current: UserInput | None = None
        self._since = 0.0

    async def put(self, event: UserInput) -> None:
        """Deliver an event after those before it."""
        self._waiting.append(event)
        if self._current is None or time.monotonic() - self._since > PATIENCE:
            await self._next()

    async def call(self, callback: Callable[[], object]) -> None:
        """Call back after the input before it was delivered."""
        self._waiting.append(callback)
        if self._current is None:
            await self._next()

    async def _next(self) -> None:
        self._current = None
        while self._waiting and self._current is None:
            event = self._waiting.popleft()
            if not isinstance(event, events.Key | events.Paste):
                event()
                continue
            self._current, self._since = event, time.monotonic()
            screen = self._app.screen
            target = self._app.focused or screen
            await self._deliver(event)
            self._follow(event, screen, target if event.is_forwarded else None)

    def _follow(self, event: UserInput, screen: Screen[Any], node: DOMNode | None) -> None:
        """Follow an event on its way from widget to widget; `node` is the next that handles it."""
        while isinstance(node, DOMNode) and node is not self._app:
            if node.call_later(self._handled, event, screen, node):
                return
            node = node.parent  # this one is being removed
        # Requests of a handler or a binding to the app, such as for the focus, come first.
        self._app.call_later(self._settle, event, screen)

    def _handled(self, event: UserInput, screen: Screen[Any], node: DOMNode) -> None:
        is_stopped = event._stop_propagation  # noqa: SLF001 - Textual tells it nowhere else
        self._follow(event, screen, None if is_stopped else node.parent)

    def _settle(self, event: UserInput, screen: Screen[Any]) -> None:
        """Wait for a screen that was opened to be mounted and to have the focus."""
        top = self._app.screen
        if top is screen or not top.call_later(self._app.call_later, self._done, event):
            self._app.call_later(self._done, event)

    async def _done(self, event: UserInput) -> None:
        if event is self._current:
            await self._next()
