"""Signatures of members, so that a host can't invent messages or approvals.

A host relays everything, and could relay what no member wrote. An engine therefore acts only on
messages signed by its owner's key, and an approval is answered from another terminal only with the
same key (Ed25519, RFC 8032). The signed bytes name the room, so that they are invalid elsewhere,
and the random visits of the author's terminals: an engine accepts only messages that name its own
visit, which no earlier signature can. So old messages can't be replayed, whatever clocks say.
Engines also sign the reports from which they may have to continue.
"""

from typing import Final, TypeAlias

import msgspec

from genie_core.room.protocol.events import (
    FILE_NAME_CHARS,
    AnswerPosted,
    ApprovalRequested,
    DecisionMade,
    MessagePosted,
    RunCancelled,
    RunFailed,
)
from genie_core.room.protocol.frames import AnswerApproval, ApprovalAnswered, PostMessage
from genie_core.room.security.identity import Identity, verify
from genie_core.storage.filenames import safe_name

SPEECH: Final = b"genie-tui room speech 2"
OLD_SPEECH: Final = b"genie-tui room speech 1"
"""The earlier form, with the author's time in place of visits and file names."""

ANSWER: Final = b"genie-tui room ruling 2"
REPORT: Final = b"genie-tui room report 2"

Signed: TypeAlias = DecisionMade | ApprovalRequested | AnswerPosted | RunFailed | RunCancelled
"""Reports that engines sign; the last two if they have partial text."""


def sign_speech(identity: Identity, room: str, say: PostMessage) -> PostMessage:
    """Sign a message."""
    return msgspec.structs.replace(say, signature=identity.sign(_speech(room, say)))


def wrote(key: str, room: str, said: MessagePosted) -> bool:
    """Whether the key's owner posted this message in this room.

    The signature doesn't cover the size and type of files, which the host determines.
    """
    statement = _speech(room, said) if said.visits else _old_speech(room, said)
    return verify(key, said.signature, statement)


def sign_answer(identity: Identity, room: str, answer: AnswerApproval) -> AnswerApproval:
    """Sign an answer to an approval."""
    signature = identity.sign(_answer_statement(room, answer))
    return msgspec.structs.replace(answer, signature=signature)


def answered(key: str, room: str, answer: ApprovalAnswered) -> bool:
    """Whether the key's owner gave this answer in this room."""
    return verify(key, answer.signature, _answer_statement(room, answer))


def sign_report(identity: Identity, room: str, said: MessagePosted, body: Signed) -> Signed:
    """Sign an event of an engine."""
    return msgspec.structs.replace(body, signature=identity.sign(_report(room, said, body)))


def reported(key: str, room: str, said: MessagePosted, body: Signed) -> bool:
    """Whether an engine of the key's owner published this event about that message."""
    return verify(key, body.signature, _report(room, said, body))


def _report(room: str, said: MessagePosted, body: Signed) -> bytes:
    match body:
        case DecisionMade():
            step: tuple[object, ...] = "Decided", body.decision, body.query, body.receiver
        case ApprovalRequested():
            call = body.agent, body.tool, body.arguments, body.binding
            step = "Asked", body.approval, *call
        case AnswerPosted():
            # Longer only where it has to be: older signatures stay good.
            step = "Answered", body.text, body.receiver, *(("cut",) if body.cut else ())
        case RunFailed():
            step = "Failed", body.stage, body.error, body.text
        case RunCancelled():
            step = "Cancelled", body.reason, body.text
    return _statement(REPORT, room, said.signature, *step)


def _speech(room: str, said: PostMessage | MessagePosted) -> bytes:
    files = [(file.digest, safe_name(file.name[:FILE_NAME_CHARS])) for file in said.files]
    words = said.id, said.text, said.emote, files, said.quotes
    return _statement(SPEECH, room, *words, said.visits)


def _old_speech(room: str, said: MessagePosted) -> bytes:
    digests = [file.digest for file in said.files]
    words = said.id, said.text, said.emote, digests, said.quotes
    return _statement(OLD_SPEECH, room, *words, said.written)


def _answer_statement(room: str, answer: AnswerApproval | ApprovalAnswered) -> bytes:
    parts = answer.approval, answer.allow, answer.reason, answer.scope, answer.arguments
    return _statement(ANSWER, room, *parts, answer.call, answer.count, answer.stop)


def _statement(context: bytes, *parts: object) -> bytes:
    """The bytes to sign, as JSON in a fixed order."""
    return context + b"\0" + msgspec.json.encode(parts, order="deterministic")
