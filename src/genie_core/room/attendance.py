"""One person in a room: the parts of their seat, and what each makes of what the room tells."""

from collections.abc import Callable, Iterable
from functools import partial

from genie_core.room.audience import Audience
from genie_core.room.engine.approvals import Approvals
from genie_core.room.engine.config import EngineConfig
from genie_core.room.engine.context import Place
from genie_core.room.engine.host import EngineHost
from genie_core.room.engine.remote_control import RemoteControl
from genie_core.room.engine.reporter import EngineReporter
from genie_core.room.files.sync import FileSync
from genie_core.room.mail import Mail
from genie_core.room.plan import Plan
from genie_core.room.protocol.events import ApprovalResolved, Event, HostStarted, RoomCreated
from genie_core.room.protocol.frames import (
    AgentProgress,
    ApprovalAnswered,
    FilePiece,
    FileStored,
    FrameRefused,
    HostingAccepted,
    JoinRequested,
    Welcome,
)
from genie_core.room.seat import Going, Knock, Link, LinkStatus, Listener, Severity, Unsent
from genie_core.room.state.room_state import IllegalEvent, RoomState
from genie_core.room.succession import Succession
from genie_core.room.visit import Visit


class Attendance:
    """The `Follower` of a client: folds each event, keeps it, lets the parts act on it, shows it.

    `name`, `room` and `title` are the room's word once it has let the person in. `changed` is
    called whenever the state or the link has. All methods belong to one event loop; those named
    `on_…` are the client's to call.
    """

    def __init__(
        self, name: str, listener: Listener, plan: Plan, changed: Callable[[], None]
    ) -> None:
        self.name = name
        self.room = ""
        self.title = ""
        self.state = state = RoomState()
        self.audience = Audience(listener)
        self.client = client = plan.connect(self)
        client.author.others = self._own_visits
        self.visit = Visit(client, plan.saved, self._show_link)
        reporter = EngineReporter(client, state, self.audience, plan.label)
        remote = RemoteControl(state, client, self.audience)
        self.approvals = Approvals(state, reporter, plan.withheld, remote, plan.where)
        config = EngineConfig(
            plan.loader, plan.label, plan.offline, plan.where, plan.reload, plan.withheld
        )
        self.engines = EngineHost(
            config,
            state,
            reporter,
            self.approvals,
            remote,
            device=client.device,
            place=_place_in(plan.library),
            author=client.author,
            serves=plan.close_room is not None,
        )
        library = plan.library or FileSync(read_only=True)
        self.mail = Mail(library, client, self.audience, self.engines.file_arrived)
        self.succession = Succession(
            plan, client, state, self.audience, partial(self.visit.part, Going.HOST)
        )
        self._plan = plan
        self._changed = changed
        self._unheard: list[Event] = []
        self._live_after: int | None = None

    def _own_visits(self) -> list[str]:
        """By which visits the person's terminals are in the room now, as the room tells."""
        person = self.state.people.get(self.name)
        return [each.visit for each in person.terminals.values() if each.visit] if person else []

    def replay(self, events: Iterable[Event], base: RoomState | None = None) -> None:
        """Take in what a saved log holds; before `start`.

        `base` is the room before the first of the events, and must not be used any more. The
        listener hears of the events when the room has agreed that it is the same log.
        """
        if base is not None:
            self._plan.withheld.uncover_all(base.proposals.values())
            self.state.become(base)
        for event in events:
            shown = self._plan.withheld.uncover(event)
            if self.state.apply(shown):
                self._unheard.append(shown)
        self.mail.recall(self.state.files.values())

    def on_welcome(self, welcome: Welcome) -> None:
        """Note where history ends and the present begins."""
        self.name = welcome.name
        self.room, self.title = welcome.room, welcome.title
        self.succession.on_welcome(welcome)
        if self._live_after is None:
            self._live_after = welcome.head
            self.succession.begin()
        self._check_caught_up()
        self.visit.on_welcome()

    def on_event(self, event: Event) -> None:
        """Fold an event, keep it, act on it, show it.

        Raises:
            IllegalEvent: it does not fit the state.

        """
        self._refuse_other_room(event)
        shown, host = self._plan.withheld.uncover(event), self.state.host
        if not self.state.apply(shown):
            return
        if self._plan.keep is not None:
            self._plan.keep(event)
        self._act_on(shown, host)
        self.engines.accept(shown)
        self.audience.listener.on_event(shown)
        self._changed()
        self._check_caught_up()

    def _refuse_other_room(self, event: Event) -> None:
        """Let the room that we are in not become another one, where names may change their keys.

        A log may begin with the ids of rooms that it was copied from.
        """
        if not self.room or self.state.room != self.room or event.seq <= self.state.head:
            return
        if isinstance(event.body, RoomCreated | HostStarted) and event.body.room not in (
            "",
            self.room,
        ):
            raise IllegalEvent(f"event {event.seq} gives this room another id")

    def _act_on(self, event: Event, before: str) -> None:
        """Do what an event asks of the seat itself; `before` is who hosted until then."""
        self.mail.on_event(event)
        if isinstance(event.body, ApprovalResolved):
            self._plan.withheld.settle(event.body)
        if self._live_after is not None and event.seq > self._live_after:
            self.succession.on_event(event, before)

    def on_typing(self, name: str) -> None:
        """Pass on that somebody is writing."""
        self.audience.listener.on_typing(name)

    def on_delta(self, message: int, text: str) -> None:
        """Pass on more text of an answer, unless it is the own engine's."""
        exchange = self.state.exchanges.get(message)
        if exchange is not None and exchange.handler != self.name:
            self.audience.listener.on_delta(message, text)

    def on_progress(self, progressed: AgentProgress) -> None:
        """Pass on what somebody's agent is at."""
        self.audience.listener.on_progress(
            progressed.message, progressed.agent, progressed.what, progressed.detail
        )

    def on_stopping(self, message: int, by: str) -> None:
        """Stop a run that somebody wants stopped; the room has checked that they may."""
        self.engines.stop_here(message, by)

    def on_link(self, status: LinkStatus) -> None:
        """Note how the connection is; that it has ended is told once it is known why."""
        if status.link is Link.ONLINE:
            unheard, self._unheard = self._unheard, []
            for event in unheard:
                self.audience.listener.on_event(event)
        self.visit.on_link(status)

    def _show_link(self, status: LinkStatus) -> None:
        self._changed()
        self.mail.on_link(status)
        self.audience.listener.on_link(status)

    def on_unsent(self, unsent: tuple[Unsent, ...]) -> None:
        """Pass on which messages wait, and let those go for which there is space now."""
        self.mail.on_unsent(unsent)

    def on_rejected(self, unsent: Unsent, why: str) -> None:
        """Pass on that the room will not take a message."""
        self.audience.listener.on_rejected(unsent, why)

    def on_ruled(self, ruled: ApprovalAnswered) -> None:
        """Answer an approval that waits here as its owner did at another terminal."""
        self.approvals.on_answered_elsewhere(ruled)

    def on_knocking(self, knocking: JoinRequested) -> None:
        """Show who waits for the host's word."""
        self.audience.listener.on_knock(
            Knock(knocking.knock, knocking.name, knocking.key, knocking.source, knocking.over)
        )

    def on_offered(self, by: str) -> None:
        """Ask the person whether they would host."""
        self.succession.on_offered(by)

    def on_accepted(self, accepted: HostingAccepted) -> None:
        """Tell the host that somebody is willing."""
        self.succession.on_accepted(accepted)

    def on_file(self, answer: FileStored | FilePiece | FrameRefused) -> None:
        """Pass on what the room says about a file."""
        self.mail.on_file(answer)

    def on_notice(self, severity: Severity, text: str) -> None:
        """Pass on a line that matters now."""
        self.audience.listener.on_notice(severity, text)

    def _check_caught_up(self) -> None:
        if self._live_after is not None and self.state.head >= self._live_after:
            self.succession.caught_up()
            self.engines.begin(self._live_after)


def _place_in(library: FileSync | None) -> Place | None:
    """Where files of the room are on this machine, for an engine; None if it gets none."""
    return library.path if library is not None else None
