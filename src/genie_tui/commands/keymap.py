"""The keys that run each action in an app: the tables' own, or those that a person chose instead.

Textual has a keymap, too (`App.set_keymap`). It is not used: it can't take all keys from an action,
it drops another binding of a widget that has the same key, and it loses an action whose default key
is a letter while a text field has the focus. `KeyedApp` sets the bindings of each widget instead.
"""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Final, cast

from textual import events
from textual.app import App, ReturnType
from textual.binding import Binding, BindingsMap
from textual.dom import DOMNode
from textual.keys import key_to_character
from textual.widget import Widget

from genie_tui.commands.input_queue import InputQueue, UserInput
from genie_tui.commands.keys import Action, Scope, actions, bindings_of, spell

NONE: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({})

REST: Final = 0.4
"""Seconds without a key before the key that opens a request: the person is not typing."""

LATELY: Final = 1.0
"""Seconds within which the app has acted on a key."""

_CONTEXTS: Final = {scope.context: scope for scope in Scope}


class Keymap:
    """The keys of every action. `changed` has those that are not the default, by `Action.id`.

    `table` returns the actions of a scope; those of widgets alone know no commands. `problems` are
    lines about the file that the keys were read from.
    """

    def __init__(
        self,
        table: Callable[[Scope], Iterable[Action]] = actions,
        changed: Mapping[str, tuple[str, ...]] = NONE,
        problems: Sequence[str] = (),
    ) -> None:
        self._table = table
        self.changed = changed
        self.problems = problems

    def of(self, action: Action) -> Action:
        """Return an action of the tables with its present keys."""
        keys = self.changed.get(action.id, action.keys)
        return action if keys == action.keys else action.with_keys(keys)

    def actions(self, scope: Scope) -> list[Action]:
        """The actions of a scope with their present keys, in the table's order."""
        return [self.of(action) for action in self._table(scope)]

    def named(self, scope: Scope, name: str) -> Action:
        id_ = f"{scope.context}.{name}"
        return {action.id: action for action in self.actions(scope)}[id_]

    def by_key(self, scope: Scope) -> dict[str, Action]:
        """The actions of a scope that run something, by each of their keys."""
        return {key: each for each in self.actions(scope) if each.run for key in each.keys}

    def text(self, scope: Scope, name: str) -> str:
        """Name the way to an action, for a sentence: its first key, else its command or label."""
        action = self.named(scope, name)
        return spell(action.keys[0]) if action.keys else action.slash or f"“{action.label}”"

    def meaning(self, scope: Scope, key: str) -> str:
        """Return the default key that a key stands for in a scope.

        It is empty for a default key whose action has other keys now, and the key itself if no
        action has it.
        """
        table = list(self._table(scope))
        for action in table:
            keys = self.changed.get(action.id, action.keys)
            if key in keys:
                if action.ordered:
                    return action.keys[keys.index(key) % len(action.keys)]
                return key if key in action.keys or not action.keys else action.keys[0]
        return "" if any(key in action.keys for action in table) else key

    def rebind(self, node: DOMNode, parent: DOMNode | None) -> None:
        """Set the present keys of a node that is about to become a child of `parent`."""
        if not self.changed:
            return
        own = scopes_of(node)
        before = node._bindings.key_to_bindings  # noqa: SLF001 - as the class's
        bindings = {
            key: other
            for key, listed in before.items()
            if (other := [each for each in listed if _scope_of(each) not in own])
        }
        for scope in own or _scopes_around(parent):
            self._move_stock(node, bindings, scope)
        fresh: dict[str, list[Binding]] = {}
        for scope in own:
            listed = BindingsMap(bindings_of(self.actions(scope))).key_to_bindings
            for key, each in listed.items():
                fresh.setdefault(key, []).extend(each)
        bindings |= fresh
        order = [key for key in before if key in bindings]  # which the footer lists
        bindings = {key: bindings[key] for key in dict.fromkeys([*order, *bindings])}
        node._bindings = BindingsMap.from_keys(bindings)  # noqa: SLF001 - as above

    def _move_stock(self, node: DOMNode, bindings: dict[str, list[Binding]], scope: Scope) -> None:
        """Move the keys of actions that a widget of Textual runs by itself.

        Of the keys of a text field, only enter moves, also where the table has an action for it.
        """
        is_field = _is_typed(node, "x")
        moved = [each for each in self._table(scope) if self.of(each) is not each]
        stock = {
            key
            for action in moved
            for key in action.keys
            if key == "enter" or not (action.run or is_field)
        }
        lost = {key: bindings.pop(key) for key in stock if key in bindings}
        for key in (key for action in moved for key in self.of(action).keys):
            meant = lost.get(self.meaning(scope, key), [])
            if meant and not _is_typed(node, key):
                bindings[key] = [each.with_key(key) for each in meant]


OF_WIDGETS: Final = Keymap()
"""The default keys of widgets, for apps without commands."""


@dataclass(frozen=True, slots=True)
class LastKey:
    """The latest key or paste: its name, when it was pressed, and the key and the rest before it."""

    key: str = ""
    at: float = -math.inf
    before: str = ""
    rest: float = 0.0


class KeyedApp(App[ReturnType]):
    """An app whose widgets have the keys of a keymap, and get them one after another.

    `clock` is monotonic seconds.
    """

    def __init__(
        self, keymap: Keymap = OF_WIDGETS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self.keymap = keymap
        self.clock = clock
        self.last_key = LastKey()
        self.input_queue = InputQueue(self, self.deliver)
        keymap.rebind(self, None)

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            await self.input_queue.put(event)
        else:
            await super().on_event(event)

    async def deliver(self, event: UserInput) -> None:
        """Send a key or a paste to the widget that has the focus."""
        at = self.clock() - age_of(event)
        key = event.key if isinstance(event, events.Key) else ""
        self.last_key = LastKey(key, at, self.last_key.key, at - self.last_key.at)
        await super().on_event(event)

    def use_keymap(self, keymap: Keymap) -> None:
        """Use other keys from now on, also on the open screens."""
        self.keymap = keymap
        keymap.rebind(_as_made(self), None)
        for screen in {each for stack in self._screen_stacks.values() for each in stack}:
            for node in screen.walk_children(with_self=True):
                keymap.rebind(_as_made(node), node.parent)
            screen.refresh_bindings()

    def _register_child(
        self, parent: DOMNode, child: Widget, before: int | None, after: int | None
    ) -> None:
        self.keymap.rebind(child, parent)
        super()._register_child(parent, child, before, after)


def age_of(event: UserInput) -> float:
    """Return how many seconds ago a key was pressed."""
    return time.monotonic() - event.time


def opened_at(node: DOMNode, name: str) -> float | None:
    """Return when the person pressed the key of a room's action, if it was just now and at rest."""
    app = cast("App[object]", node.app)
    if not isinstance(app, KeyedApp):
        return None
    last = app.last_key
    is_just_now = app.clock() - last.at <= LATELY
    if last.key not in app.keymap.named(Scope.ROOM, name).keys or not is_just_now:
        return None
    return last.at if last.rest >= REST else None


def call_after_input(app: App[Any], callback: Callable[[], object]) -> None:
    """Call back after all input that the terminal has sent by now was delivered to a widget."""
    if isinstance(app, KeyedApp):
        app.call_later(app.input_queue.call, callback)
    else:
        app.call_later(callback)


def _as_made(node: DOMNode) -> DOMNode:
    """Give a node the bindings of its class again, and return it."""
    made = node._merged_bindings or BindingsMap()  # noqa: SLF001 - as the class's
    node._bindings = made.copy()  # noqa: SLF001 - as above
    return node


def keymap_of(node: DOMNode) -> Keymap:
    """Return the keymap of a node's app."""
    app = cast("App[object]", node.app)
    return app.keymap if isinstance(app, KeyedApp) else OF_WIDGETS


def scopes_of(node: DOMNode) -> tuple[Scope, ...]:
    """Return the scopes whose keys a node has."""
    return _scopes_of(type(node))


def _scopes_around(parent: DOMNode | None) -> tuple[Scope, ...]:
    """Return the scopes of the nearest node that has some."""
    nodes = parent.ancestors_with_self if parent is not None else []
    return next((scopes for node in nodes if (scopes := scopes_of(node))), ())


@cache
def _scopes_of(kind: type[DOMNode]) -> tuple[Scope, ...]:
    made = kind._merged_bindings or BindingsMap()  # noqa: SLF001 - the class's own and inherited ones
    scopes = (_scope_of(binding) for _, binding in made)
    return tuple(dict.fromkeys(scope for scope in scopes if scope is not None))


def _scope_of(binding: Binding) -> Scope | None:
    return _CONTEXTS.get((binding.id or "").partition(".")[0])


def _is_typed(node: DOMNode, key: str) -> bool:
    """Whether a node would take a key as text."""
    return isinstance(node, Widget) and node.check_consume_key(key, key_to_character(key))
