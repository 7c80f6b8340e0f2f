"""The line of keys at the bottom."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Protocol, runtime_checkable

from textual import events
from textual.binding import ActiveBinding
from textual.content import Content
from textual.screen import Screen
from textual.style import Style
from textual.visual import VisualType
from textual.widget import Widget

GAP = 1
"""Columns between two keys."""

BORDER: Final = "▏ "
"""Stands before the last key."""

COMMON: Final = (
    *("room.approvals", "room.activity", "app.palette", "room.find", "room.read-back"),
    *("app.quit", "room.editor", "app.rooms", "app.help"),
)
"""The commands of whole screens, which come after the keys of the focus.

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


@dataclass(frozen=True)
class ListedKey:
    """A key that the footer lists, from the column `start` of it on."""

    key: str
    display: str
    description: str
    tooltip: str
    enabled: bool
    start: int = 0

    @property
    def width(self) -> int:
        return len(self.display) + 1 + len(self.description)

    def is_at(self, column: int) -> bool:
        return self.start <= column < self.start + self.width


class KeyFooter(Widget):
    """Shows the keys that do something at the focus now; a click on a key presses it.

    It leaves out keys that there is no room for, rather than cutting one off. The first ones stay,
    esc, and the last one, which stands at the right. `left_out` has the ids of commands that this
    screen never lists.

    Textual's footer has a widget for each key, which are made again whenever the focus moves: 30
    ms.
    """

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    KeyFooter {
        dock: bottom;
        height: 1;
        padding: 0 1;
        background: $footer-background;
        & > .key-footer--key { color: $footer-key-foreground; text-style: bold; }
        & > .key-footer--description { color: $footer-description-foreground; }
        & > .key-footer--disabled { text-style: dim; }
        & > .key-footer--hovered { background: $block-hover-background; }
        & > .key-footer--border { color: $foreground 20%; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"key-footer--{part}" for part in ("key", "description", "disabled", "hovered", "border")
    }

    def __init__(self, *left_out: str) -> None:
        super().__init__()
        self._left_out = left_out
        self._hovered = ""
        self.keys: Sequence[ListedKey] = ()
        """The keys that are listed, from left to right."""

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._bindings_changed)

    def on_resize(self) -> None:
        self._list_keys()

    def _bindings_changed(self, screen: Screen[object]) -> None:
        if screen.app.app_focus and self.is_attached:
            self._list_keys()

    def _list_keys(self) -> None:
        """List the keys that do something now, as many as there is room for."""
        width = self.content_size.width
        keys = tuple(_placed(_fitting(self._offered(), width), width))
        if keys != self.keys:
            self.keys = keys
            self.refresh()

    def _offered(self) -> list[ListedKey]:
        """Return all keys that do something now, those of whole screens last."""
        first: dict[str, ActiveBinding] = {}
        for active in self.screen.active_bindings.values():
            if active.binding.show and self._is_offered(active):
                first.setdefault(active.binding.action, active)
        return [self._listed(each) for each in sorted(first.values(), key=_place)]

    def _is_offered(self, active: ActiveBinding) -> bool:
        id_ = active.binding.id or ""
        offers = not isinstance(active.node, Offering) or active.node.offers(id_)
        return offers and id_ not in self._left_out

    def _listed(self, active: ActiveBinding) -> ListedKey:
        binding = active.binding
        display = self.app.get_key_display(binding)
        return ListedKey(binding.key, display, binding.description, active.tooltip, active.enabled)

    def render(self) -> VisualType:
        parts: list[Content] = []
        column = 0
        for key in self.keys:
            space = " " * (key.start - column)
            if key is self.keys[-1]:
                before = Content(space[: -len(BORDER)])
                parts += [before, Content.styled(BORDER, self._style("border"))]
            else:
                parts.append(Content(space))
            parts.append(self._drawn(key))
            column = key.start + key.width
        return Content("").join(parts)

    def _drawn(self, key: ListedKey) -> Content:
        content = Content.assemble(
            (key.display, self._style("key")),
            (f" {key.description}", self._style("description")),
        )
        if not key.enabled:
            content = content.stylize(self._style("disabled"))
        if key.key == self._hovered:
            content = content.stylize(self._style("hovered"))
        return content

    def on_mouse_move(self, event: events.MouseMove) -> None:
        key = self._key_at(event)
        self._hover(key.key if key is not None else "", key.tooltip if key is not None else "")

    def on_leave(self) -> None:
        self._hover("", "")

    def _hover(self, key: str, tooltip: str) -> None:
        if key != self._hovered:
            self._hovered = key
            self.tooltip = tooltip or None
            self.refresh()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        key = self._key_at(event)
        if key is None:
            return
        if key.enabled:
            self.app.simulate_key(key.key)
        else:
            self.app.bell()

    def _key_at(self, event: events.MouseEvent) -> ListedKey | None:
        column = event.x - self.gutter.left
        return next((each for each in self.keys if each.is_at(column)), None)

    def _style(self, part: str) -> Style:
        return self.get_visual_style(f"key-footer--{part}", partial=True)


def _place(active: ActiveBinding) -> int:
    """Order the commands of whole screens behind the other keys, which stay as they are."""
    id_ = active.binding.id
    return COMMON.index(id_) if id_ in COMMON else -1


def _fitting(keys: Sequence[ListedKey], width: int) -> list[ListedKey]:
    """Return the keys that fit into a line, without those that don't."""
    always = [each for each in keys if each.key == "escape" or each is keys[-1]]
    room = width - sum(each.width + GAP for each in always) - GAP
    fitting = []
    for key in keys:
        if key not in always:
            room -= key.width + GAP
            if room < 0:
                continue
        fitting.append(key)
    return fitting


def _placed(keys: Sequence[ListedKey], width: int) -> Iterator[ListedKey]:
    """Yield keys with their columns: one after another, and the last one at the right."""
    column = 0
    for key in keys:
        start = max(width - key.width, column + len(BORDER)) if key is keys[-1] else column
        yield replace(key, start=start)
        column = start + key.width + GAP
