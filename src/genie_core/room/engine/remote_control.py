"""A person's word over the work that is theirs to decide about, at whichever terminal it runs."""

from genie_core.room.audience import Audience
from genie_core.room.client import RoomClient
from genie_core.room.engine.host import EngineRoom
from genie_core.room.protocol.frames import AnswerApproval, ApprovalAnswered
from genie_core.room.seat import Answer
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread


class Oversight:
    """Answers approvals and stops runs: those of this terminal's engine, or else by way of the room."""

    def __init__(
        self, engines: EngineRoom, state: RoomState, client: RoomClient, audience: Audience
    ) -> None:
        self._engines = engines
        self._state = state
        self._client = client
        self._audience = audience

    def answer(self, approval: str, answer: Answer) -> bool:
        """Answer an approval of one's own, pending or parked, also one of another terminal.

        False if it is not open, if there is no engine yet to act on the answer, or if it would
        allow what can't be seen here.
        """
        if self._engines.answer(approval, answer):
            return True
        proposal = self._state.open.get(approval)
        if proposal is None or proposal.owner != self._client.name:
            return False
        exchange = self._state.exchanges[proposal.message]
        if not self._state.is_elsewhere(exchange, self._client.device):
            return False
        if answer.allow and proposal.withheld:
            self._audience.warn("only the terminal where this call waits shows it; answer it there")
            return False
        return self._client.ask(
            AnswerApproval(
                approval,
                answer.allow,
                answer.reason,
                answer.scope,
                answer.arguments,
                call=proposal.digest,
                count=answer.count,
                stop=answer.stop,
            )
        )

    def on_ruled(self, ruled: ApprovalAnswered) -> None:
        """Answer an approval that waits here as its owner did at another terminal.

        Unless it was somebody else who did, or they saw another call than the one that waits.
        """
        if not self._client.author.ruled(ruled):
            self._audience.warn(
                "the host says that you answered a tool call elsewhere, but you did not"
            )
            return
        proposal = self._state.proposals.get(ruled.approval)
        if ruled.allow and proposal is not None and ruled.call != proposal.digest:
            self._audience.warn(
                "you allowed a call at another terminal that was shown another one there"
            )
            return
        answer = Answer(
            ruled.allow, ruled.reason, ruled.scope, ruled.arguments, ruled.count, ruled.stop
        )
        self._engines.answer(ruled.approval, answer)

    def stop(self, message: int | None = None) -> int:
        """Stop the run for a message, or all runs one may stop; returns how many were asked to."""
        running = self._state.running
        chosen = list(running) if message is None else [message]
        return sum(self._stop(running[seq]) for seq in chosen if seq in running)

    def on_stopping(self, message: int, by: str) -> None:
        """Stop a run here that somebody wants stopped; the room has checked that they may."""
        self._engines.stop(message, by)

    def _stop(self, exchange: MessageThread) -> bool:
        if self._engines.has(exchange):
            return self._engines.stop(exchange.seq, self._client.name)
        if self._client.name not in (exchange.author, exchange.handler):
            return False
        self._client.stop(exchange.seq)
        return True
