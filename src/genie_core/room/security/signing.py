"""Signatures of the entries of a log (Ed25519, RFC 8032), so that a host can't invent any.

A host relays everything, and could relay words that no member wrote. So each body with a signature
covers the room's id, its own content, the author's signature before (`previous`), and its subject:

- a decision, a tool call, its resolution, an answer, the end of a run, a deletion: the signature of
  the message;
- an edit, a reaction: the signature of the message's edit before, or of the author's reaction to it
  before; without one, that of the message;
- a host's decision: the `parent` of the entry, and so the whole log before it;
- `MemberJoined`: the name;
- all others: nothing else.

A message that replies has the signature of its original in its content, as `about`. It is covered
even if a fold no longer knows that, and compared if it does.

Not covered are the parts that the room determines: numbers, times, roles, which engine answers,
sizes and types of files. Messages name the random visits of their author's terminals: an engine
accepts only messages that name its own visit, which no earlier signature can. So old messages can't
be replayed, by any clock.
"""

from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

import msgspec

from genie_core.room.protocol.events import (
    FILE_NAME_CHARS,
    AnswerPosted,
    AnyBody,
    ApprovalRequested,
    ArgumentSharingChanged,
    ChangeBody,
    DecisionMade,
    HeirsChanged,
    HostStarted,
    MemberJoined,
    MemberModerated,
    MessagePosted,
    RoomSuspended,
    RunBody,
    RunCancelled,
    RunFailed,
    SealedBody,
    SignedBody,
    tag,
)
from genie_core.room.protocol.frames import AnswerApproval, ApprovalAnswered
from genie_core.room.security.keys import verify
from genie_core.room.security.sealing import is_sealed, without_content
from genie_core.storage.filenames import safe_name

if TYPE_CHECKING:
    from genie_core.room.security.identity import Identity

ENTRY: Final = b"genie-tui room entry 3"
ANSWER: Final = b"genie-tui room ruling 2"
PREVIOUS_BYTES: Final = 12
"""Bytes of an earlier signature that a later one names."""

OLD_SPEECH: Final = b"genie-tui room speech 2"
OLDEST_SPEECH: Final = b"genie-tui room speech 1"
"""The forms of rooms that were not founded; the oldest has the author's time in place of visits."""

OLD_REPORT: Final = b"genie-tui room report 2"

HOST_SIGNED: Final = (
    HostStarted,
    RoomSuspended,
    HeirsChanged,
    MemberModerated,
    ArgumentSharingChanged,
)
About: TypeAlias = str | bytes
"""The reference of an entry; see above."""

T = TypeVar("T", bound=SignedBody)

_NOT_SIGNED: Final = {
    MemberJoined: ("role", "agent", "preferences"),
    MessagePosted: ("handler", "device", "files", "written"),
}


def sign(identity: "Identity", room: str, body: T, about: About, previous: bytes = b"") -> T:
    """Return a body with its author's signature; `previous` is the one before, or its start."""
    body = msgspec.structs.replace(body, **_before(body, previous[:PREVIOUS_BYTES]))
    signature = identity.sign(signed_bytes(room, body, about))
    return msgspec.structs.replace(body, signature=signature)


def is_signed(key: str, room: str, body: SignedBody, about: About) -> bool:
    """Whether the key's owner signed this body for this room."""
    return bool(body.signature) and verify(key, body.signature, signed_bytes(room, body, about))


def wrote(key: str, room: str, said: MessagePosted) -> bool:
    """Whether the key's owner posted this message, also before the room was founded."""
    if is_signed(key, room, said, ""):
        return True
    return verify(key, said.signature, _old_speech(room, said))


def reported(key: str, room: str, said: MessagePosted, body: RunBody) -> bool:
    """Whether an engine of the key's owner published this step for that message."""
    if is_signed(key, room, body, said.signature):
        return True
    old = _old_report(room, said, body)
    return bool(old) and verify(key, body.signature, old)


def same_content(one: RunBody, other: AnyBody) -> bool:
    """Whether two steps say the same, whether they are signed or not."""
    return isinstance(other, type(one)) and _unsigned(one) == _unsigned(other)


def sign_answer(identity: "Identity", room: str, answer: AnswerApproval) -> AnswerApproval:
    """Sign an answer to an approval that waits at another terminal."""
    signature = identity.sign(_answer_statement(room, answer))
    return msgspec.structs.replace(answer, signature=signature)


def answered(key: str, room: str, answer: ApprovalAnswered) -> bool:
    """Whether the key's owner gave this answer in this room."""
    return verify(key, answer.signature, _answer_statement(room, answer))


def _unsigned(body: RunBody) -> RunBody:
    return msgspec.structs.replace(body, signature=b"", previous=b"")


def _before(body: SignedBody, previous: bytes) -> dict[str, bytes]:
    return {} if isinstance(body, HOST_SIGNED) else {"previous": previous}


def signed_bytes(room: str, body: SignedBody, about: About) -> bytes:
    """Return the bytes to sign: context, and JSON of room, tag, what it is about, and content.

    Of a sealed body, the content is what it has sealed, whether it is opened or not.
    """
    if isinstance(body, SealedBody) and is_sealed(body):
        body = without_content(body)
    content = msgspec.to_builtins(body, builtin_types=(bytes,))
    for name in ("type", "signature", *_NOT_SIGNED.get(type(body), ())):
        content.pop(name, None)
    if isinstance(body, MessagePosted):
        content["files"] = [_file(file.digest, file.name) for file in body.files]
    elif isinstance(body, RunBody | ChangeBody):
        content.pop("message", None)
    return _statement(ENTRY, room, tag(body), about, content)


def _file(digest: str, name: str) -> tuple[str, str]:
    return digest, safe_name(name[:FILE_NAME_CHARS])


def _old_report(room: str, said: MessagePosted, body: RunBody) -> bytes:
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
        case _:
            return b""
    return _statement(OLD_REPORT, room, said.signature, *step)


def _old_speech(room: str, said: MessagePosted) -> bytes:
    words = said.id, said.text, said.emote
    if said.visits:
        files = [_file(file.digest, file.name) for file in said.files]
        return _statement(OLD_SPEECH, room, *words, files, said.quotes, said.visits)
    digests = [file.digest for file in said.files]
    return _statement(OLDEST_SPEECH, room, *words, digests, said.quotes, said.written)


def _answer_statement(room: str, answer: AnswerApproval | ApprovalAnswered) -> bytes:
    parts = answer.approval, answer.allow, answer.reason, answer.scope, answer.arguments
    reach = answer.count, answer.stop, *((answer.covers,) if answer.covers else ())
    return _statement(ANSWER, room, *parts, answer.call, *reach)


def _statement(context: bytes, *parts: object) -> bytes:
    """The bytes to sign, as JSON in a fixed order."""
    return context + b"\0" + msgspec.json.encode(parts, order="deterministic")
