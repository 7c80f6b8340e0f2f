"""Who carries out what a person orders in a room."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.screen import Screen

from genie_tui.doorman import Doorman
from genie_tui.order import (
    Admission,
    AnswerBacklog,
    Attach,
    Auto,
    Detach,
    Host,
    Invite,
    Moderation,
    Open,
    Order,
    Prefs,
    RaiseBudget,
    Save,
    Share,
    ShowCosts,
    Thread,
    UseModel,
    Who,
)
from genie_tui.screens.attachments import AttachmentController
from genie_tui.screens.candidates import Candidates
from genie_tui.screens.consent_desk import ConsentDesk
from genie_tui.screens.cost_desk import CostDesk
from genie_tui.screens.file_desk import FileDesk
from genie_tui.screens.host_desk import HostDesk
from genie_tui.screens.label_desk import LabelDesk
from genie_tui.screens.model_desk import ModelDesk
from genie_tui.screens.preferences_desk import PreferencesDesk
from genie_tui.screens.who_desk import WhoDesk
from genie_tui.widgets.activity.ledger import Ledger
from genie_tui.widgets.approvals.panel import ApprovalPanel
from genie_tui.widgets.banner import Banner
from genie_tui.widgets.composer.composer import Composer
from genie_tui.widgets.join_requests import JoinRequests
from genie_tui.widgets.timeline.timeline import Timeline

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom


class Desks:
    """The parts of a room's screen that act on orders, with the widgets they share.

    `take_over` is called when this person wants to host the room.
    """

    def __init__(
        self,
        screen: Screen[None],
        doorman: Doorman,
        seat: "Callable[[], JoinedRoom | None]",
        take_over: Callable[[], None],
        clock: Callable[[], float],
    ) -> None:
        self.banner = Banner()
        self.timeline = Timeline()
        self.door = JoinRequests(clock)
        self.composer = Composer()
        self.host = HostDesk(screen, self.door, self.banner, take_over, clock)
        self.attachments = AttachmentController(
            screen, self.composer, doorman, seat, self.timeline.transfers, clock
        )
        self.files = FileDesk(screen, lambda: self.timeline.chosen)
        self.models = ModelDesk(screen)
        self.consent = ConsentDesk(screen, lambda: screen.query_one(ApprovalPanel), clock)
        self.costs = CostDesk(screen)
        self.preferences = PreferencesDesk(screen, doorman)
        self.labels = LabelDesk(screen, self.timeline, lambda: screen.query_one(Ledger))
        self.candidates = Candidates(
            screen, self.composer, seat, self.files, self.attachments.attached, self.door
        )
        self.who = WhoDesk(screen)

    def carry_out(self, seat: "JoinedRoom", order: Order | None) -> None:
        """Do it, or tell the person why not. Nothing is nothing to do."""
        match order:
            case Invite() | Moderation() | Share() | Host() | Admission():
                self.host.carry_out(seat, order)
            case Attach() | Detach() | Thread():
                self.attachments.carry_out(seat, order)
            case Save() | Open():
                self.files.carry_out(seat, order)
            case Prefs():
                self.preferences.carry_out(seat, order)
            case ShowCosts() | RaiseBudget():
                self.costs.carry_out(seat, order)
            case Auto(on=on):
                self.consent.auto(seat, on=on)
            case AnswerBacklog(choice=choice):
                self.consent.answer_backlog(seat, choice)
            case UseModel():
                self.models.carry_out(seat, order)
            case Who(name=name):
                self.who.tell(name)
