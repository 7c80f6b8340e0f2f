"""A checkbox whose state can be read without colours."""

from textual.content import Content
from textual.widgets import Checkbox


class Tick(Checkbox):
    """Shows `[x]` or `[ ]` before its label; Textual's own draws an invisible X where it is off."""

    def render(self) -> Content:
        label = Content(self.label.plain).stylize(self.get_visual_style("toggle--label"))
        return Content.assemble("[x] " if self.value else "[ ] ", label)
