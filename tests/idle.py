"""What an app in a test waits for, and what it need not do without a terminal."""

import asyncio
from collections import defaultdict, deque
from collections.abc import Hashable, Iterator
from time import process_time
from typing import Any
from weakref import WeakSet

import pytest
from rich.console import RenderableType
from textual._compositor import Compositor  # it has no public name
from textual._context import active_app, visible_screen_stack
from textual.cache import LRUCache
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.geometry import Region
from textual.screen import Screen

TURN = 1 / 50
"""A timer that is due within so many seconds is waited for: Textual draws 60 times in one."""
IDLE = TURN / 20
MOST_TURNS = 50
MOST_WORK = 1.0
"""For how long on the processor those who never rest are waited for in one turn."""

_render_update = Compositor.render_update


async def wait_for_idle(_least: float = TURN, _most: float = 1.0) -> None:
    """Wait until the process does nothing, and its loop has nothing to do now or soon.

    Textual itself looks at the process alone, and on a busy machine one that has to wait for a
    processor seems to be done.
    """
    loop: Any = asyncio.get_running_loop()
    for _ in range(MOST_TURNS):
        began = process_time()
        await asyncio.sleep(TURN)
        worked = process_time() - began
        while loop._ready and process_time() - began < MOST_WORK:
            await asyncio.sleep(0)
        soon = loop.time() + TURN
        waits = any(each.when() < soon for each in loop._scheduled if not each.cancelled())
        if worked < IDLE and not waits:
            break
    paint()


@pytest.fixture(scope="session", autouse=True)
def pilots_wait_for_the_loop() -> Iterator[None]:
    """Let no pilot take a process that has to wait for a processor for one that is done."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("textual.app.wait_for_idle", wait_for_idle)
        patch.setattr("textual.pilot.wait_for_idle", wait_for_idle)
        yield


_unpainted: WeakSet[Compositor] = WeakSet()


def noted_update(
    compositor: Compositor,
    full: bool = False,
    screen_stack: list[Screen[Any]] | None = None,
    simplify: bool = False,
) -> RenderableType | None:
    """Note that something has changed; `paint` renders it once the app is at rest.

    A terminal gets every frame. A pilot looks at what is there when the app rests, and a headless
    app throws the rest away.
    """
    if full or not active_app.get().is_headless:
        return _render_update(compositor, full, screen_stack, simplify)
    visible_screen_stack.set(screen_stack or [])
    _unpainted.add(compositor)
    return None


def paint() -> None:
    """Render all lines of the widgets that have changed, as a terminal would show them."""
    while _unpainted:
        compositor = _unpainted.pop()
        screen, dirty = compositor.size.region, compositor._dirty_regions.copy()
        compositor._dirty_regions.clear()
        if dirty:
            changed = Region.from_union(list(dirty)).intersection(screen)
            deque(compositor._get_renders(changed), 0)


class _Kept(LRUCache[Any, list[RuleSet]]):
    """Rules of one set of variables, which another app's change of its theme leaves true."""

    def clear(self) -> None:
        pass


_parsed: defaultdict[Hashable, _Kept] = defaultdict(lambda: _Kept(2_000))


class _ParsedOnce:
    """Rules that were parsed with the same variables, by any app of this process."""

    def __get__(self, stylesheet: Stylesheet, _: object) -> _Kept:
        return _parsed[frozenset(stylesheet._variables.items())]

    def __set__(self, stylesheet: Stylesheet, own: object) -> None:
        """An app's own cache is not kept."""


@pytest.fixture(scope="session", autouse=True)
def apps_parse_styles_once() -> Iterator[None]:
    """Parse the styles once for all apps rather than for each test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_cache", _ParsedOnce(), raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def pilots_compose_no_updates() -> Iterator[None]:
    """Save the work that only a terminal needs.

    Styles ask for the hash of some 200 rules per widget, which is their id as with any object.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RuleSet, "__hash__", object.__hash__)
        patch.setattr(Compositor, "render_update", noted_update)
        yield
