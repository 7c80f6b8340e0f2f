import contextlib
import json
import random
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.room.protocol.codec import (
    MAX_DEPTH,
    ServerEncoder,
    decode_client,
    decode_server,
    encode,
    event_mark,
    normal,
    survives,
    whole_text,
)
from genie_core.room.protocol.errors import FrameError
from genie_core.room.protocol.events import (
    LATEST,
    AnswerPosted,
    ApprovalRequested,
    DecisionMade,
    Event,
    MessagePosted,
    Quote,
    QuotedLine,
    RecoveredEvent,
    RunBody,
    UnreadableEvent,
)
from genie_core.room.protocol.frames import (
    Entries,
    Hello,
    PostMessage,
    Publish,
    ReportDelta,
    Typing,
    Welcome,
)
from genie_core.room.protocol.limits import Limits

LIMIT = 10_000

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.mark.parametrize(
    "frame",
    [
        Hello("alice", since=7, engine=True),
        PostMessage("1", "héllo"),
        Publish("2", ApprovalRequested(3, "a", "system", "shell", {"cmd": ["ls", 1, None]})),
        ReportDelta(3, "x"),
        Typing(),
    ],
)
def test_frames_survive_the_wire(frame: Any) -> None:
    assert decode_client(encode(frame), LIMIT) == frame


def test_size_limit_is_checked_first() -> None:
    with pytest.raises(FrameError) as refusal:
        decode_client(b"x" * (LIMIT + 1), LIMIT)
    assert refusal.value.code == "too_large"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"type":"bogus"}',
        b'{"type":"say","id":1,"text":"x"}',
        b'{"type":"say","id":"1","text":NaN}',
        b'{"type":"say","id":"1","text":"\\ud800"}',
        b'{"type":"say","id":"1","text":"\xff"}',
        b'{"type":"hello","name":"a","since":1.5}',
        b'{"type":"publish","id":"1","body":{"type":"said","id":"1","text":"forged"}}',
        b"[" * LIMIT,
        b'{"type":"delta","message":1' + b"0" * 5000 + b',"text":""}',
    ],
)
def test_what_is_no_frame_is_a_typed_error(data: bytes) -> None:
    with pytest.raises(FrameError) as refusal:
        decode_client(data, LIMIT)
    assert refusal.value.code == "malformed"


@given(st.binary(max_size=200))
def test_random_bytes_fail_as_frame_error(data: bytes) -> None:
    for decode in (lambda: decode_client(data, LIMIT), lambda: decode_server(data)):
        with contextlib.suppress(FrameError):
            decode()


@given(st.sampled_from(["say", "hello", "publish", "delta", "stop"]), JSON, JSON, st.integers())
def test_random_fields_fail_as_frame_error(kind: str, one: Any, two: Any, cut: int) -> None:
    fields = {"type": kind, "id": one, "name": one, "text": two, "message": two, "body": two}
    data = json.dumps(fields).encode("utf-8", "surrogatepass")
    for piece in (data, data[: cut % (len(data) + 1)]):
        with contextlib.suppress(FrameError):
            decode_client(piece, LIMIT)


def test_mutations_fail_as_frame_error() -> None:
    rng = random.Random(7)
    data = encode(
        Publish("2", ApprovalRequested(3, "a", "system", "shell", {"cmd": ["ls", 1, None]}))
    )
    for _ in range(3000):
        mutated = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            mutated[rng.randrange(len(mutated))] = rng.randrange(256)
        with contextlib.suppress(FrameError):
            decode_client(bytes(mutated), LIMIT)


@given(st.dictionaries(st.text(), JSON))
def test_normal_body_survives_round_trips(arguments: dict[str, Any]) -> None:
    once = normal(ApprovalRequested(1, "a", "system", "tool", arguments), 10**6)
    assert normal(once, 10**6) == once
    assert decode_client(encode(Publish("1", once)), 10**6) == Publish("1", once)


def test_odd_values_are_made_normal() -> None:
    body = normal(
        ApprovalRequested(1, "a", "s", "t", {"x": (1, 2), "nan": float("nan"), "s": "\ud800"}),
        LIMIT,
    )
    assert body == ApprovalRequested(1, "a", "s", "t", {"x": [1, 2], "nan": None, "s": "?"})
    assert normal(AnswerPosted(1, "cut \udc80 off"), LIMIT) == AnswerPosted(1, "cut ? off")


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "arguments",
    [
        {"x": object()},
        {"x": nested(MAX_DEPTH)},
        {"x": nested(100_000)},
        {"x": "y" * LIMIT},
        {"x": 10**6000},
    ],
)
def test_unrecordable_body_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(FrameError):
        normal(ApprovalRequested(1, "a", "s", "t", arguments), LIMIT)


def test_nan_elapsed_is_refused() -> None:
    with pytest.raises(FrameError):
        normal(AnswerPosted(1, "x", elapsed=float("nan")), LIMIT)


@pytest.mark.parametrize(
    "body",
    [
        AnswerPosted(1, ""),
        AnswerPosted(1, " \n\u2003"),
        DecisionMade(1, "delegate"),
        DecisionMade(1, "delegate", query=" \t"),
    ],
)
def test_blank_answer_or_query_is_refused(body: RunBody) -> None:
    with pytest.raises(FrameError, match="blank") as refusal:
        normal(body, LIMIT)
    assert refusal.value.code == "malformed"


def test_silence_needs_no_query() -> None:
    assert normal(DecisionMade(1, "ignore", query=""), LIMIT) == DecisionMade(1, "ignore", query="")


def test_whole_text_leaves_sound_text_alone() -> None:
    assert whole_text("héllo 🧞") == "héllo 🧞"
    assert whole_text("a\ud83d") == "a?"


def test_event_mark_survives_and_differs() -> None:
    event = Event(7, 1795219200.123456, "alice", MessagePosted("1", "héllo"))
    (arrived,) = decode_server(encode(Entries((event,)))).events  # type: ignore[union-attr] # it is what was encoded
    assert event_mark(arrived) == event_mark(event) != 0
    assert event_mark(event) != event_mark(Event(7, 1795219200.123457, "alice", event.body))
    assert event_mark(Event(7, 1.0, "", UnreadableEvent("damaged"))) == 0


def test_a_batch_is_encoded_once() -> None:
    encoder = ServerEncoder()
    batch = Entries((Event(1, 0.0, "alice", MessagePosted("1", "hello")),))
    assert encoder(batch) is encoder(Entries(batch.events))
    assert decode_server(encoder(batch)) == batch


@pytest.mark.parametrize("at", ["1e300", "-1e18", "-1.0", "253370764801.0"])
def test_impossible_event_time_is_refused(at: str) -> None:
    body = '{"type":"hosted","host":"hana"}'
    frame = f'{{"type":"entries","events":[{{"seq":7,"at":{at},"by":"","body":{body}}}]}}'
    with pytest.raises(FrameError, match="event 7 has an impossible time"):
        decode_server(frame.encode())


def test_too_deep_arguments_are_refused() -> None:
    arguments: dict[str, Any] = {}
    for _ in range(MAX_DEPTH):
        arguments = {"a": arguments}
    event = Event(7, 1.0, "ann", ApprovalRequested(1, "a", "agent", "tool", arguments))
    with pytest.raises(FrameError, match="event 7 has arguments nested more than 64 levels deep"):
        decode_server(encode(Entries((event,))))
    event = Event(7, 1.0, "ann", ApprovalRequested(1, "a", "agent", "tool", arguments["a"]))
    assert decode_server(encode(Entries((event,)))) == Entries((event,))


def test_latest_time_fits_every_time_zone() -> None:
    for hours in (-14, 14):
        datetime.fromtimestamp(LATEST, timezone(timedelta(hours=hours)))


def test_zero_message_rate_is_refused() -> None:
    welcome = Welcome("r", "t", "bob", "guest", "hana", 0, Limits(per_second=0.0))
    with pytest.raises(FrameError, match="per_second"):
        decode_server(encode(welcome))


def test_event_changed_by_wire_is_lost() -> None:
    assert survives(Event(1, 1.0, "a", MessagePosted("1", "x")), 100)
    for lost in (
        Event(1, 1.0, "a", MessagePosted("1", "x" * 100)),
        Event(1, 1.0, "a", MessagePosted("1", "\ud800")),
        Event(1, float("nan"), "a", MessagePosted("1", "x")),
        Event(1, 1.0, "a", ApprovalRequested(1, "a", "agent", "tool", {"x": (1, 2)})),
        Event(1, 1.0, "a", ApprovalRequested(1, "a", "agent", "tool", {"x": object()})),
    ):
        assert not survives(lost, 100)


@pytest.mark.parametrize("at", [-1.0, LATEST * 2])
def test_nested_times_are_checked(at: float) -> None:
    quoted = MessagePosted("1", "x", quotes=(Quote("r", "t", (QuotedLine("a", "x", at),)),))
    for body in (quoted, RecoveredEvent(Event(1, at, "a", MessagePosted("1", "x")))):
        for wrapped in (body, RecoveredEvent(Event(1, 1.0, "a", body))):
            data = encode(Entries((Event(1, 1.0, "a", wrapped),)))
            with pytest.raises(FrameError, match="impossible time"):
                decode_server(data)
