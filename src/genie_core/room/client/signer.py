"""Signing and verifying a person's messages, reports and answers in one room."""

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from genie_core.room.client.handshake import ClientHandshake
from genie_core.room.protocol.events import (
    MOST_VISITS,
    MessagePosted,
    RunBody,
    RunCancelled,
    RunFailed,
)
from genie_core.room.protocol.frames import (
    AnswerApproval,
    ApprovalAnswered,
    ClientFrame,
    PostMessage,
)
from genie_core.room.security.signing import (
    Signed,
    answered,
    reported,
    sign_answer,
    sign_report,
    sign_speech,
    wrote,
)


class Signer:
    """Signs frames for one person, and verifies frames that the room attributes to them.

    Nothing is signed before the handshake supplies the room's id. `others` returns the visits of
    the person's other terminals in the room.
    """

    def __init__(self, who: ClientHandshake) -> None:
        self._who = who
        self._sent: set[str] = set()
        self.others: Callable[[], Iterable[str]] = tuple

    @property
    def key(self) -> str:
        return self._who.identity.key

    def note(self, id_: str) -> None:
        self._sent.add(id_)

    def sign(self, frame: ClientFrame) -> ClientFrame:
        """Return the frame to send: messages and answers get a signature."""
        match frame:
            case PostMessage():
                visits = tuple(dict.fromkeys([self._who.visit, *self.others()]))[:MOST_VISITS]
                addressed = replace(frame, visits=visits)
                return sign_speech(self._who.identity, self._who.room, addressed)
            case AnswerApproval():
                return sign_answer(self._who.identity, self._who.room, frame)
        return frame

    def sign_report(self, said: MessagePosted, body: RunBody) -> RunBody:
        """Return a step of this person's engine, signed if steps of its kind are."""
        is_empty = isinstance(body, RunFailed | RunCancelled) and not body.text
        if isinstance(body, Signed) and not is_empty:
            return sign_report(self._who.identity, self._who.room, said, body)
        return body

    def wrote(self, said: MessagePosted) -> bool:
        return wrote(self.key, self._who.room, said)

    def is_current(self, said: MessagePosted) -> bool:
        """Whether a message comes from here, or from another terminal that knew of this one.

        Without this check, a host could replay an old message to a member without a copy of the log.
        """
        return said.id in self._sent or self._who.visit in said.visits

    def reported(self, said: MessagePosted, body: Signed) -> bool:
        return reported(self.key, self._who.room, said, body)

    def answered(self, answer: ApprovalAnswered) -> bool:
        """Whether this person gave an answer that the room forwards."""
        return answered(self.key, self._who.room, answer)
