"""Ask for an export's path, format and attached files."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Checkbox, Input, Static

from genie_core.sessions.export.choices import EVERYTHING, Choices
from genie_core.sessions.export.formats import AddedFormat, AnyFormat, ExportFormat, form_of
from genie_core.text.format import counted, file_size
from genie_core.text.safe import visible_line
from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Scope, bindings
from genie_tui.screens.dialogs.dialog import Dialog
from genie_tui.widgets.keys_in_order import LineInput
from genie_tui.widgets.keys_line import KeyText, key_list
from genie_tui.widgets.tick import Tick
from genie_tui.widgets.too_small import TooSmall

LONGEST: Final = 4_096
"""Maximum characters of a path."""

ENDINGS: Final = (
    "The extension sets the format: .md to read, .html for a browser, .cast to play in a terminal, "
    ".jsonl to import again, .zip the same with attached files."
)

_PARTS: Final = {
    "messages_only": "only messages and answers",
    "pseudonyms": "pseudonyms for names",
}
"""The choices for formats to be read, by their names in `Choices`."""

_OTHER: Final = ("A format of a plugin, without files.",) * 2
_WORDS: Final[dict[AnyFormat, tuple[str, str]]] = {
    ExportFormat.MARKDOWN: (
        "Markdown.",
        "Markdown, with the files in {folder}.",
    ),
    ExportFormat.HTML: ("A web page.", "A web page that includes the files."),
    ExportFormat.LINES: (
        "The complete session, for importing.",
        "The complete session with its files, for importing.",
    ),
    AddedFormat("cast"): ("A terminal recording, without files.",) * 2,
    AddedFormat("svg"): ("An animated picture of a short session, without files.",) * 2,
}


_TO_READ: Final = (ExportFormat.MARKDOWN, ExportFormat.HTML)
"""The formats to be read, which take choices."""


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """The requested export: its path, whether to include files, and the part of the session."""

    path: str
    attachments: bool = False
    choices: Choices = EVERYTHING


@dataclass(frozen=True, slots=True)
class Attached:
    """The number of attached files, and their size in bytes."""

    count: int = 0
    size: int = 0


class _Choice(Tick, inherit_bindings=False):
    """A checkbox that leaves enter to the dialog."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("space", "toggle_button", show=False)]


class ExportScreen(Dialog[ExportRequest | None]):
    """Returns the requested export, None if the person went back.

    Only the archive of JSON lines has files: its name and the checkbox follow each other. Without
    files there is no checkbox for them. `problem` says why the last attempt failed.
    """

    CSS_PATH = "export.tcss"
    BINDINGS = bindings(Scope.EXPORT)

    def __init__(
        self, title: str, request: ExportRequest, attached: Attached, problem: str = ""
    ) -> None:
        super().__init__()
        self._title = title
        self._wish = request
        self._attached = attached
        self._problem = problem

    def compose(self) -> ComposeResult:
        yield TooSmall()
        files, size = counted(self._attached.count, "attached file"), self._attached.size
        with Vertical(id="export", classes="dialog"):
            yield Static(
                Content(visible_line(self._title)), id="export-title", classes="title", markup=False
            )
            yield LineInput(
                self._wish.path, id="export-path", max_length=LONGEST, select_on_focus=False
            )
            choice = _Choice(f"with {files}, {file_size(size)}", id="export-files", compact=True)
            choice.value = self._wish.attachments
            choice.display = bool(self._attached.count)
            yield choice
            for name, text in _PARTS.items():
                part = _Choice(text, id=f"export-{name}", classes="export-part", compact=True)
                part.value = getattr(self._wish.choices, name)
                yield part
            yield Static(id="export-form", markup=False)
            yield Static(ENDINGS, id="export-hint", markup=False)
            keys = key_list(keymap_of(self).actions(Scope.EXPORT))
            yield KeyText(keys, id="export-keys")

    def on_mount(self) -> None:
        """Show the meaning of the name, or its mistake."""
        self._explain()
        if self._problem:
            self._tell(self._problem, wrong=True)

    @on(Input.Changed)
    def _named(self, event: Input.Changed) -> None:
        if event.value == self._wish.path and self._problem:
            return  # the problem is about this
        self._problem = ""
        is_lines = form_of(self._wanted) is ExportFormat.LINES
        if is_lines and self._attached.count:
            self._choose(wanted=Path(self._wanted).suffix.lower() == ".zip")
        elif self._has_no_room:
            self._choose(wanted=False)
        self._explain()

    @on(Checkbox.Changed, "#export-files")
    def _chosen(self, event: Checkbox.Changed) -> None:
        if self._has_no_room:
            self._choose(wanted=False)
        elif form_of(self._wanted) is ExportFormat.LINES:
            ending = ".zip" if event.value else ".jsonl"
            self._path.value = str(Path(self._wanted).with_suffix(ending))
        self._explain()

    @on(Input.Submitted)
    def action_go_on(self) -> None:
        _ = self.dismiss(ExportRequest(self._wanted, self._files.value, self._choices))

    def action_back(self) -> None:
        _ = self.dismiss(None)

    def _choose(self, *, wanted: bool) -> None:
        with self._files.prevent(Checkbox.Changed):
            self._files.value = wanted

    def _explain(self) -> None:
        name = self._wanted
        form = form_of(name)
        for part in self._parts:
            part.display = form in _TO_READ
        if form is None:
            self._tell("Unknown format: use .md, .html, .cast, .svg, .jsonl or .zip.", wrong=True)
            return
        folder = f"{Path(name).stem}-files"
        self._tell(_WORDS.get(form, _OTHER)[self._files.value].format(folder=folder), wrong=False)

    def _tell(self, text: str, *, wrong: bool) -> None:
        line = self.query_one("#export-form", Static)
        line.update(Content(visible_line(text)))
        line.set_class(wrong, "-wrong")

    @property
    def _has_no_room(self) -> bool:
        return isinstance(form_of(self._wanted), AddedFormat)

    @property
    def _parts(self) -> list[_Choice]:
        return list(self.query(".export-part").results(_Choice))

    @property
    def _choices(self) -> Choices:
        if form_of(self._wanted) not in _TO_READ:
            return EVERYTHING
        only, names = (self.query_one(f"#export-{name}", _Choice).value for name in _PARTS)
        return Choices(messages_only=only, pseudonyms=names)

    @property
    def _wanted(self) -> str:
        """The path without surrounding blanks."""
        return self._path.value.strip()

    @property
    def _path(self) -> Input:
        return self.query_one("#export-path", Input)

    @property
    def _files(self) -> Checkbox:
        return self.query_one("#export-files", Checkbox)
