"""What a person signs in a room, so that a host can't put words or consent into their mouth.

A host passes everything on, and could pass on what nobody said. An engine therefore acts only on
words that its owner's key has signed, and an approval is answered at another terminal only by the
same key (Ed25519, RFC 8032). What is signed names the room, so that it means nothing elsewhere, and
the visits that the author's terminals have drawn at random: an engine takes only what names its own
visit, which no signature from before its start can do. So old words are no new ones, whatever
clocks say. Engines sign what they may have to go on from, too.
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
"""With the author's time in place of visits and names of files."""

ANSWER: Final = b"genie-tui room ruling 2"
REPORT: Final = b"genie-tui room report 2"

Signed: TypeAlias = DecisionMade | ApprovalRequested | AnswerPosted | RunFailed | RunCancelled
"""Reports that engines sign; the last two where they hold a part of an answer."""


def sign_speech(identity: Identity, room: str, say: PostMessage) -> PostMessage:
    """Sign a message."""
    return msgspec.structs.replace(say, signature=identity.sign(_speech(room, say)))


def wrote(key: str, room: str, said: MessagePosted) -> bool:
    """Whether the owner of a key has said this in this room.

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
