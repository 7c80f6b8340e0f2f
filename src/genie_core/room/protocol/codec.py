"""Frames as bytes: one JSON object each, checked for size and shape when decoded."""

import zlib
from collections import OrderedDict
from typing import Any, Final, TypeVar

import msgspec

from genie_core.room.protocol.errors import FrameError
from genie_core.room.protocol.events import (
    AnswerPosted,
    AnyBody,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    MessagePosted,
    RecoveredEvent,
    RunBody,
    UnreadableEvent,
    is_moment,
)
from genie_core.room.protocol.frames import ClientFrame, Entries, ServerFrame

T = TypeVar("T")

MAX_DEPTH: Final = 64
"""How deeply the arguments of a tool call may be nested."""

SERVER_FRAME_BYTES: Final = 4 * 1024 * 1024
"""The largest frame that a participant accepts."""

_client: "Final[msgspec.json.Decoder[ClientFrame]]" = msgspec.json.Decoder(ClientFrame)
_server: "Final[msgspec.json.Decoder[ServerFrame]]" = msgspec.json.Decoder(ServerFrame)
_body: "Final[msgspec.json.Decoder[RunBody]]" = msgspec.json.Decoder(RunBody)
_event: "Final[msgspec.json.Decoder[Event]]" = msgspec.json.Decoder(Event)
_encode: Final = msgspec.json.Encoder().encode

IMPOSSIBLE_TIME: Final = "has an impossible time"

_WITH_MORE: Final = (MessagePosted, ApprovalRequested, ApprovalResolved, RecoveredEvent)
"""Bodies with constraints that their types don't express."""

_KEPT_BATCHES: Final = 64
_KEPT_BYTES: Final = 1024 * 1024


def encode(frame: ClientFrame | ServerFrame) -> bytes:
    """Encode a frame.

    Raises:
        FrameError: it contains something that JSON can't express.
    """
    try:
        return _encode(frame)
    except (TypeError, ValueError, RecursionError) as error:
        raise FrameError("malformed", f"this can't be sent: {error}") from error


def decode_client(data: bytes, limit: int) -> ClientFrame:
    """Decode a participant's frame.

    Raises:
        FrameError: it is over `limit` bytes, or no frame.
    """
    return _decode(_client, data, limit)


def decode_server(data: bytes, limit: int = SERVER_FRAME_BYTES) -> ServerFrame:
    """Decode a server's frame; raises as `decode_client` does."""
    frame = _decode(_server, data, limit)
    if isinstance(frame, Entries):
        for event in frame.events:
            if why := flaw(event):
                raise FrameError("malformed", f"event {event.seq} {why}")
    return frame


def flaw(event: Event) -> str:
    """Return the fault of an invalid event, from any source; empty if it is valid.

    Other values may be wrong, but can be shown, folded and written.
    """
    body = event.body
    if not isinstance(body, _WITH_MORE) or _is_plain(body):
        return "" if is_moment(event.at) else IMPOSSIBLE_TIME
    for _ in range(MAX_DEPTH):
        if not isinstance(body, RecoveredEvent):
            break
        body = body.event.body
    else:
        return "was recovered again and again"
    if not event.has_sane_time():
        return IMPOSSIBLE_TIME
    if not event.has_sane_files():
        return "names files that can't be"
    arguments = body.arguments if isinstance(body, ApprovalRequested | ApprovalResolved) else None
    if arguments and _deeper_than(arguments, MAX_DEPTH):
        return f"has arguments nested more than {MAX_DEPTH} levels deep"
    return ""


def normal(body: RunBody, limit: int) -> RunBody:
    """Return a body as it is after encoding and decoding.

    Tuples become lists, numbers that JSON lacks become null, lone surrogates become question marks.
    All recorded bodies pass through here.

    Raises:
        FrameError: it is over `limit` bytes, too deeply nested, changed by encoding, or blank where
            engines need text.
    """
    try:
        data = _encode_repaired(body)
    except (TypeError, ValueError, RecursionError) as error:
        raise FrameError("malformed", f"this can't be recorded: {error}") from error
    result = _decode(_body, data, limit)
    arguments = getattr(result, "arguments", None)
    if arguments is not None and _deeper_than(arguments, MAX_DEPTH):
        raise FrameError("malformed", f"arguments nested more than {MAX_DEPTH} levels deep")
    _check_not_blank(result)
    return result


def survives(event: Event, limit: int) -> bool:
    """Whether an event of at most `limit` bytes is unchanged by the wire format."""
    try:
        data = _encode(event)
        return len(data) <= limit and _event.decode(data) == event
    except (TypeError, ValueError, RecursionError):
        return False


def size_of(part: AnyBody | ClientFrame) -> int:
    """Estimate the encoded size in bytes."""
    return len(_encode_repaired(part))


def event_mark(event: Event) -> int:
    """Return a checksum of an event; 0 if it could not be read here."""
    return 0 if isinstance(event.body, UnreadableEvent) else zlib.crc32(_encode(event))


def whole_text(text: str, most: int | None = None) -> str:
    """Replace lone surrogates, which files and frames can't hold, and cut to `most` characters."""
    return text[:most].encode("utf-8", "replace").decode("utf-8")


class ServerEncoder:
    """Encodes a room's frames; a batch of events for many peers is encoded once.

    Serves one room only: it identifies batches by their sequence numbers.
    """

    def __init__(self) -> None:
        self._batches: OrderedDict[tuple[int, int], bytes] = OrderedDict()
        self._size = 0

    def __call__(self, frame: ServerFrame) -> bytes:
        """Encode a frame, with a cache of the latest ones."""
        if not isinstance(frame, Entries) or not frame.events:
            return encode(frame)
        span = (frame.events[0].seq, frame.events[-1].seq)
        data = self._batches.get(span)
        if data is None:
            data = self._batches[span] = encode(frame)
            self._size += len(data)
            while len(self._batches) > _KEPT_BATCHES or self._size > _KEPT_BYTES:
                self._size -= len(self._batches.popitem(last=False)[1])
        return data


def _decode(decoder: "msgspec.json.Decoder[T]", data: bytes, limit: int) -> T:
    if len(data) > limit:
        raise FrameError("too_large", f"a frame of {len(data):,} bytes; the limit is {limit:,}")
    try:
        return decoder.decode(data)
    except (ValueError, RecursionError) as error:  # msgspec's own errors are ValueErrors
        raise FrameError("malformed", f"this is no frame: {error}") from error


def _check_not_blank(body: RunBody) -> None:
    match body:
        case AnswerPosted(text=text, sealed=()) if not text.strip():
            raise FrameError("malformed", "the answer is blank")
        case DecisionMade(decision="delegate", query=query, sealed=()) if not (query or "").strip():
            raise FrameError("malformed", "work is delegated with a blank query")


def _encode_repaired(body: AnyBody | ClientFrame) -> bytes:
    try:
        return _encode(body)
    except UnicodeEncodeError:
        return _encode(_with_whole_texts(msgspec.to_builtins(body)))


def _with_whole_texts(value: Any) -> Any:
    match value:
        case str():
            return whole_text(value)
        case dict():
            return {_with_whole_texts(k): _with_whole_texts(v) for k, v in value.items()}
        case list() | tuple():
            return [_with_whole_texts(each) for each in value]
    return value


def _deeper_than(value: Any, levels: int) -> bool:
    layer = [value]
    for _ in range(levels):
        layer = [
            child
            for each in layer
            if isinstance(each, dict | list)
            for child in (each.values() if isinstance(each, dict) else each)
        ]
        if not layer:
            return False
    return True


def _is_plain(body: AnyBody) -> bool:
    return isinstance(body, MessagePosted) and not (body.files or body.quotes)
