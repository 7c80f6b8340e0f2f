"""Fill in the form with which a tool server asks for input."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

from genie_core.text.safe import visible, visible_line
from genie_core.text.tool_form import FormFault, FormField, fields_of, read_form
from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Scope
from genie_tui.screens.dialogs.review import ReviewDialog
from genie_tui.widgets.approvals.call_text import arguments_content, reads_answers
from genie_tui.widgets.keys_in_order import LineInput
from genie_tui.widgets.keys_line import KeyText

GONE: Final = "The server is no longer waiting, so your answer has no effect."
NOT_TAKEN: Final = "Not accepted; the server is still waiting."
LONGEST_VALUE: Final = 4_000


class FormScreen(ReviewDialog):
    """Asks for the fields of a form, shows the answer, and sends it.

    `waits` returns whether the request can still be answered; `send` answers it and returns whether
    that was accepted.
    """

    CSS_PATH = "form.tcss"
    SHOWN = "form-answer"

    def __init__(
        self,
        server: str,
        message: str,
        schema: Mapping[str, Any],
        waits: Callable[[], bool],
        send: Callable[[dict[str, Any]], bool],
        clock: Callable[[], float],
    ) -> None:
        super().__init__(clock, {"go_on": "send it", "go_back": "keep writing"})
        self._server = server
        self._message = message
        self._schema = schema
        self._fields = fields_of(schema)
        self._waits = waits
        self._send = send
        self._answer: dict[str, Any] = {}

    def compose(self) -> ComposeResult:
        name = visible_line(self._server)
        with Vertical(id="form", classes="dialog"):
            yield Static(f"{name} asks", id="form-title", classes="title", markup=False)
            with VerticalScroll(id="form-fields", can_focus=False):
                yield Static(visible(self._message), id="form-message", markup=False)
                for number, field in enumerate(self._fields):
                    yield Static(_label(field), classes="form-label", markup=False)
                    yield LineInput(
                        field.default,
                        id=f"form-field-{number}",
                        max_length=LONGEST_VALUE,
                        select_on_focus=False,
                        compact=True,
                    )
            with VerticalScroll(id="form-answer", can_focus=False):
                yield Static(id="form-values", markup=False)
            yield Static(reads_answers(self._server), id="form-warning", markup=False)
            yield Static(id="form-state", markup=False)
            yield KeyText(self._writing_keys(), id="form-keys")
            yield self._keys

    def on_mount(self) -> None:
        """Start with the first field; check periodically whether the server still waits."""
        self.set_interval(0.5, self._look_again)

    @on(Input.Submitted)
    def _next_field(self, event: Input.Submitted) -> None:
        event.stop()
        self.focus_next()

    def action_review(self) -> None:
        """Show the answer if it fits the form and the server still waits."""
        if self.reviewing:
            return
        read = read_form(self._schema, self._typed())
        if isinstance(read, FormFault):
            self._complain(read)
        elif self._waits():
            self._answer = read
            self.query_one("#form-values", Static).update(arguments_content(self._named(read)))
            self._title(f"Send this to {visible_line(self._server)}?")
            self._say("")
            self._review()

    def action_leave(self) -> None:
        """Return to the request, which keeps waiting."""
        _ = self.dismiss()

    def _go_on(self) -> None:
        if self._waits() and self._send(self._answer):
            _ = self.dismiss()
            return
        self._write_on()
        self._say(NOT_TAKEN if self._waits() else GONE)

    def _write_on(self) -> None:
        self.remove_class("-review")
        self._title(f"{visible_line(self._server)} asks")
        self.focus_next()

    def _look_again(self) -> None:
        if not self._waits() and not self.has_class("-gone"):
            self.add_class("-gone")
            self._write_on()
            self._say(GONE)

    def _typed(self) -> dict[str, str]:
        inputs = [self._input(number) for number in range(len(self._fields))]
        return {field.name: line.value for field, line in zip(self._fields, inputs, strict=True)}

    def _complain(self, fault: FormFault) -> None:
        self._say(f"✗ {visible_line(fault.text)}")
        for number, field in enumerate(self._fields):
            if field.name == fault.field:
                self._input(number).focus()

    def _named(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """Return an answer by the titles of its fields."""
        titles = {field.name: field.title for field in self._fields}
        return {titles[name]: _as_asked(value) for name, value in answer.items()}

    def _input(self, number: int) -> Input:
        return self.query_one(f"#form-field-{number}", Input)

    def _writing_keys(self) -> str:
        keymap = keymap_of(self)
        review, back = keymap.text(Scope.EDIT, "review"), keymap.text(Scope.EDIT, "back")
        return f"tab next field   {review} continue   {back} back, the server keeps waiting"

    def _say(self, text: str) -> None:
        self.query_one("#form-state", Static).update(Content(text))

    def _title(self, text: str) -> None:
        self.query_one("#form-title", Static).update(Content(text))


def _as_asked(value: Any) -> Any:
    """Return a value of an answer in the words of its form."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value


def _label(field: FormField) -> Content:
    about = f"\n{visible(field.about)}" if field.about else ""
    return Content.assemble(
        (visible_line(field.title), "bold $text-primary"),
        (f"  {visible_line(field.expected)}", "$foreground-muted"),
        (about, "$foreground-muted"),
    )
