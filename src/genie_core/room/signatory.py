"""The signing hand of one person in one room, and the memory of what it has signed."""

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from genie_core.room.introduction import Introduction
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


class Signatory:
    """Signs what counts as the word of whoever introduced themselves, and knows it again.

    Implements `authorship.Author`. The room is that of the introduction at the time, so nothing is
    signed before it is known. `others` tells the visits of the person's terminals in the room.
    """

    def __init__(self, who: Introduction) -> None:
        self._who = who
        self._sent: set[str] = set()
        self.others: Callable[[], Iterable[str]] = tuple

    @property
    def key(self) -> str:
        """The public key by which others know the signatures."""
        return self._who.identity.key

    def note(self, id_: str) -> None:
        """Take note of a message that was typed here."""
        self._sent.add(id_)

    def sign(self, frame: ClientFrame) -> ClientFrame:
        """The frame as it goes out: what counts as the person's word carries their signature."""
        match frame:
            case PostMessage():
                visits = tuple(dict.fromkeys([self._who.visit, *self.others()]))[:MOST_VISITS]
                meant = replace(frame, visits=visits)
                return sign_speech(self._who.identity, self._who.room, meant)
            case AnswerApproval():
                return sign_ruling(self._who.identity, self._who.room, frame)
        return frame

    def sign_report(self, said: MessagePosted, body: RunBody) -> RunBody:
        """A step of the own engine about what this person `said`; signed if that kind is."""
        says_nothing = isinstance(body, RunFailed | RunCancelled) and not body.text
        if isinstance(body, Signed) and not says_nothing:
            return sign_report(self._who.identity, self._who.room, said, body)
        return body

    def wrote(self, said: MessagePosted) -> bool:
        """Whether this very person has said something that the room says they did."""
        return wrote(self.key, self._who.room, said)

    def is_current(self, said: MessagePosted) -> bool:
        """Whether it was said here, or at another terminal that knew of this one.

        A host could pass on old words once more, to somebody whose copy of the room is gone.
        """
        return said.id in self._sent or self._who.visit in said.visits

    def reported(self, said: MessagePosted, body: Signed) -> bool:
        """Whether an engine of this very person has done what the room says about a message."""
        return reported(self.key, self._who.room, said, body)

    def ruled(self, ruling: ApprovalAnswered) -> bool:
        """Whether this very person has given the answer that the room passes on."""
        return ruled(self.key, self._who.room, ruling)
