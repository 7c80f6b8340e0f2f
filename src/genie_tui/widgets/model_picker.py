"""The card in the lobby with installed agents and available models."""

from collections.abc import Sequence
from typing import Final

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from genie_core.assistant.config import ModelChoice
from genie_core.assistant.known_programs import ProgramOffer
from genie_core.assistant.models.discover import ModelOffer
from genie_core.text.safe import visible_line
from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Scope, bindings

LABEL: Final = 34
"""Columns for the name of an agent or a model, at most."""

OFFLINE: Final = "offline"
NEVER: Final = "never"

_TITLE: Final = "No agent or model is set up yet. Found on this machine ({key} to choose):"


class ModelPicker(Vertical):
    """Lists agents and models; hidden without any. It never takes the focus by itself."""

    BINDINGS = bindings(Scope.OFFERS)

    class Picked(Message):
        """The person picked this agent or model; a model without a name is the offline helper."""

        def __init__(self, choice: ModelChoice | ProgramOffer) -> None:
            super().__init__()
            self.choice = choice

    class Dismissed(Message):
        """The person picked none, for now or for good."""

        def __init__(self, *, for_ever: bool) -> None:
            super().__init__()
            self.for_ever = for_ever

    def __init__(self) -> None:
        super().__init__()
        self._offers: list[ProgramOffer | ModelOffer] = []

    def compose(self) -> ComposeResult:
        key = keymap_of(self).text(Scope.LOBBY, "offers")
        yield Static(_TITLE.format(key=key), id="offers-title", markup=False)
        yield OptionList(id="offers-list", markup=False, compact=True)

    def on_mount(self) -> None:
        self.display = False

    def show(self, offers: Sequence[ProgramOffer | ModelOffer]) -> None:
        """Show the offers; no offer hides the card."""
        self._offers = list(offers)
        listed = self.query_one("#offers-list", OptionList)
        listed.clear_options()
        if offers:
            rows = [(offer.label, offer.why, str(n)) for n, offer in enumerate(offers)]
            rows += [
                ("No model", "Use the offline helper", OFFLINE),
                ("Don't ask again", "", NEVER),
            ]
            columns = min(max(cell_len(visible_line(label)) for label, _, _ in rows), LABEL)
            listed.add_options(
                [Option(_line(label, why, columns), id=id_) for label, why, id_ in rows]
            )
            listed.highlighted = 0
        self.display = bool(offers)

    def focus_list(self) -> None:
        """Focus the list, if there is one."""
        if self.display:
            self.query_one("#offers-list", OptionList).focus()

    @on(OptionList.OptionSelected, "#offers-list")
    def _choose(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        chosen = event.option_id or OFFLINE
        if chosen == NEVER:
            self.post_message(self.Dismissed(for_ever=True))
        elif chosen == OFFLINE:
            self.post_message(self.Picked(ModelChoice()))
        else:
            offer = self._offers[int(chosen)]
            self.post_message(self.Picked(offer.choice if isinstance(offer, ModelOffer) else offer))

    def action_not_now(self) -> None:
        """Hide the card until the next start."""
        self.post_message(self.Dismissed(for_ever=False))


def _line(label: str, why: str, columns: int) -> Content:
    name = Content(visible_line(label)).truncate(columns, ellipsis=True, pad=True)
    return Content.assemble(name, "  ", (visible_line(why), "$foreground-muted"))
