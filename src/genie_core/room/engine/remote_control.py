"""Answers and stops for runs at a person's other terminals."""

from genie_core.room.client.connection import RoomConnection
from genie_core.room.client.events import OnEvent, warning
from genie_core.room.client.model import Answer
from genie_core.room.protocol.frames import AnswerApproval, ApprovalAnswered
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread


class RemoteControl:
    """Sends a person's answers and stops through the room to the terminal that runs the engine."""

    def __init__(self, state: RoomState, client: RoomConnection, emit: OnEvent) -> None:
        self._state = state
        self._client = client
        self._emit = emit

    def answer(self, approval: str, answer: Answer) -> bool:
        """Answer a request that waits at another terminal.

        Returns False if it does not wait there, there is no connection, or the answer would allow a
        call whose arguments this terminal can't show.
        """
        request = self._state.open.get(approval)
        if request is None or request.owner != self._client.name:
            return False
        thread = self._state.threads[request.message]
        if not self._state.is_elsewhere(thread, self._client.device):
            return False
        if answer.allow and request.withheld:
            self._emit(
                warning("only the terminal that runs this call can show it; answer it there")
            )
            return False
        if thread.is_private:
            self._emit(warning("a private request is answered where the agent runs"))
            return False
        return self._client.queue.ask(
            AnswerApproval(
                approval,
                answer.allow,
                answer.reason,
                answer.scope,
                answer.arguments,
                call=request.digest,
                count=answer.count,
                stop=answer.stop,
                covers=answer.covers,
            )
        )

    def verified(self, answered: ApprovalAnswered) -> Answer | None:
        """Return an answer from another terminal; None unless its owner gave it to this very call."""
        if not self._client.signer.answered(answered):
            self._emit(
                warning("the host claims that you answered a tool call elsewhere, but you did not")
            )
            return None
        request = self._state.calls.get(answered.approval)
        if answered.allow and request is not None and answered.call != request.digest:
            self._emit(
                warning(
                    "your answer from another terminal was ignored: the host showed you a "
                    "different call there"
                )
            )
            return None
        return Answer(
            answered.allow,
            answered.reason,
            answered.scope,
            answered.arguments,
            answered.count,
            answered.stop,
            answered.covers,
        )

    def stop(self, thread: MessageThread) -> bool:
        """Ask another terminal to stop a run; False if this person may not."""
        if self._client.name not in (thread.author, thread.handler):
            return False
        self._client.queue.stop(thread.seq)
        return True
