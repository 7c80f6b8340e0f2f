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
    reported,
    ruled,
    sign_report,
    sign_ruling,
    sign_speech,
    wrote,
)


class Signer:
    """Signs frames for one person, and verifies what the room attributes to them.

    Implements `authorship.Author`. The room's id comes from the handshake, so nothing is signed
    before it is known. `others` returns the visits of the person's terminals in the room.
    """

    def __init__(self, who: ClientHandshake) -> None:
        self._who = who
        self._sent: set[str] = set()
        self.others: Callable[[], Iterable[str]] = tuple

    @property
    def key(self) -> str:
        """The public key by which others know the signatures."""
        return self._who.identity.key

    def note(self, id_: str) -> None:
        """Remember the id of a message that was sent from here."""
        self._sent.add(id_)

    def sign(self, frame: ClientFrame) -> ClientFrame:
        """Return the frame as it is sent: messages and answers carry a signature."""
        match frame:
            case PostMessage():
                visits = tuple(dict.fromkeys([self._who.visit, *self.others()]))[:MOST_VISITS]
                meant = replace(frame, visits=visits)
                return sign_speech(self._who.identity, self._who.room, meant)
            case AnswerApproval():
                return sign_ruling(self._who.identity, self._who.room, frame)
        return frame

    def sign_report(self, said: MessagePosted, body: RunBody) -> RunBody:
        """Return a step of the own engine about a message of this person, signed if its kind is."""
        says_nothing = isinstance(body, RunFailed | RunCancelled) and not body.text
        if isinstance(body, Signed) and not says_nothing:
            return sign_report(self._who.identity, self._who.room, said, body)
        return body

    def wrote(self, said: MessagePosted) -> bool:
        """Whether this person wrote a message that the room attributes to them."""
        return wrote(self.key, self._who.room, said)

    def is_current(self, said: MessagePosted) -> bool:
        """Whether a message was sent from here, or from another terminal that knew of this one.

        Otherwise a host could replay an old message to a member whose copy of the room is gone.
        """
        return said.id in self._sent or self._who.visit in said.visits

    def reported(self, said: MessagePosted, body: Signed) -> bool:
        """Whether an engine of this person took a step that the room attributes to it."""
        return reported(self.key, self._who.room, said, body)

    def ruled(self, ruling: ApprovalAnswered) -> bool:
        """Whether this person gave an answer that the room passes on."""
        return ruled(self.key, self._who.room, ruling)
