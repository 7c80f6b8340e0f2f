"""One line to pick one of a few values by arrow keys."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import RenderResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from genie_core.text.safe import visible_line


class Picker(Widget, can_focus=True):
    """Shows the picked value. Choices are pairs of a value and its label."""

    DEFAULT_CSS: ClassVar[str] = """
    Picker {
        height: 1;
        padding: 0 1;
        background: $panel;
        &:focus { background: $block-cursor-background; }
        &:disabled { color: $foreground-muted; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "pick(-1)", show=False),
        Binding("right,space", "pick(1)", show=False),
    ]

    class Picked(Message):
        """Another value was picked."""

        def __init__(self, picker: "Picker", value: str) -> None:
            super().__init__()
            self.picker = picker
            self.value = value

        @property
        def control(self) -> "Picker":
            """The picker, for selectors."""
            return self.picker

    def __init__(self, *, id: str) -> None:  # noqa: A002 - the name of Textual
        super().__init__(id=id)
        self._choices: list[tuple[str, str]] = []
        self._place = 0

    @property
    def value(self) -> str:
        """The picked value; empty before there are choices."""
        return self._choices[self._place][0] if self._choices else ""

    @property
    def choices(self) -> Sequence[tuple[str, str]]:
        return tuple(self._choices)

    @property
    def count(self) -> int:
        return len(self._choices)

    def offer(self, choices: Sequence[tuple[str, str]], value: str) -> None:
        """Set the choices and pick one, adding it if it is missing."""
        known = [each for each, _ in choices]
        extra = [] if value in known else [(value, value)]
        self._choices = [*extra, *choices]
        self._place = 0 if extra else known.index(value)
        self.refresh()

    def show(self, value: str) -> None:
        """Pick a value without a message."""
        self.offer(self._choices, value)

    def pick(self, value: str) -> None:
        """Pick a value, and say so if it is another one."""
        if value != self.value:
            self.show(value)
            self.post_message(self.Picked(self, value))

    def on_click(self) -> None:
        self.action_pick(1)

    def action_pick(self, step: int) -> None:
        if len(self._choices) > 1:
            self._place = (self._place + step) % len(self._choices)
            self.refresh()
            self.post_message(self.Picked(self, self.value))

    def render(self) -> RenderResult:
        label = self._choices[self._place][1] if self._choices else ""
        shown = Content(visible_line(label))
        if not self.has_focus:
            return shown
        where = f"  {self._place + 1} of {len(self._choices)}"
        return Content.assemble("‹ ", shown, " ›", (where, "dim"))
