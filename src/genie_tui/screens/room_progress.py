"""Show who is typing and the work of agents."""

from genie_core.room.protocol.frames import AgentProgress, AnswerDelta
from genie_core.room.state.room_state import RoomState
from genie_tui.commands.context import RoomContext
from genie_tui.widgets.activity.activity_list import ActivityList
from genie_tui.widgets.timeline.streaming import RunProgress


class RoomProgress:
    """Shows typing and agents' activity in timeline, activity list and roster."""

    def __init__(self, context: RoomContext) -> None:
        self._context = context
        self._timeline = context.timeline
        self._progress = context.timeline.progress = RunProgress(context.clock)

    def begin(self) -> None:
        """Connect the activity list once it exists."""
        self._activity_list.bind_progress(self._progress)

    def wrote(self, delta: AnswerDelta) -> None:
        """Add text to an answer."""
        self._timeline.stream(delta.message, delta.text)
        self._activity_list.show_progress(delta.message)

    def made(self, progress: AgentProgress, state: RoomState | None) -> None:
        """Show an agent's activity; for a run that `state` does not know, only its person."""
        message, agent = progress.message, progress.agent
        self._context.roster.show_progress(message, agent, progress.what, progress.detail)
        if state is not None and message in state.running:
            self._progress.report(message, agent, progress.what, progress.detail)
            self._show(message)

    def types(self, name: str) -> None:
        self._context.hints.show_typing(name)
        self._context.roster.show_typing(self._context.hints.typing)

    def second_passed(self) -> None:
        """Expire typing signals; show how long runs have been waiting."""
        self._context.hints.expire_typing()
        self._context.roster.show_typing(self._context.hints.typing)
        if self._progress.is_idle:
            return
        self._context.roster.refresh_people()
        for message in self._progress.changed():
            self._show(message)

    def _show(self, message: int) -> None:
        self._timeline.show_progress(message)
        self._activity_list.show_progress(message)

    @property
    def _activity_list(self) -> ActivityList:
        return self._context.screen.query_one(ActivityList)
