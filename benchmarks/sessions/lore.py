"""Sessions to be measured: people talk, reasoners decide, and now and then an agent answers."""

from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Final

from genie_core.room.protocol.events import (
    AnswerPosted,
    AnyBody,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    HostStarted,
    MemberJoined,
    MessagePosted,
    RoomCreated,
)
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.session import SavedSession

PEOPLE: Final = ("ann", "bob", "cleo", "dan")
START: Final = 1_790_000_000.0
LAST_WORD: Final = "and that was all"

_WORDS: Final = [
    "garden",
    "harbour",
    "lantern",
    "meadow",
    "timber",
    "velvet",
    "copper",
    "basket",
    "thunder",
    "willow",
    "marble",
    "pepper",
    "saddle",
    "ribbon",
    "candle",
    "orchard",
    "compass",
    "feather",
    "granite",
    "juniper",
    "kettle",
    "lagoon",
    "mirror",
    "nectar",
]
_GROUP: Final = 1_000


def conversation(length: int) -> Iterator[Event]:
    """So many events; the last one is a message with the `LAST_WORD`."""
    for seq, (by, body) in enumerate(islice(_bodies(), length - 1), 1):
        yield Event(seq, START + seq, by, body)
    yield Event(length, START + length, "bob", MessagePosted("last", LAST_WORD))


def words(number: int, count: int) -> str:
    """A text that tells numbers apart."""
    step = number % (len(_WORDS) - 1) + 1
    chosen = (_WORDS[(number + place * step) % len(_WORDS)] for place in range(count))
    return f"{' '.join(chosen)} {number}"


def save_room(base: Path, title: str, length: int) -> SavedSession:
    """Make a room with such a conversation, without an index beside its log."""
    saved = Catalog(base).create(title, START, host="ann", name="ann")
    with saved.log_path.open("wb") as out:
        group: list[bytes] = []
        for event in conversation(length):
            group.append(encode_line(event))
            if len(group) == _GROUP or event.seq == length:
                out.write(b"".join(group))
                group.clear()
    return saved


def _bodies() -> Iterator[tuple[str, AnyBody]]:
    yield "", RoomCreated("bench", "Bench")
    yield "", HostStarted("ann")
    for name in PEOPLE:
        yield (
            name,
            MemberJoined("host" if name == "ann" else "member", engine=True, agent="a model"),
        )
    message = 3 + len(PEOPLE)
    for number, name in enumerate(cycle(PEOPLE)):
        work = list(_work(number, message))
        yield name, MessagePosted(f"{number:x}", words(number, 18), name)
        for body in work:
            yield name, body
        message += 1 + len(work)


def _work(
    number: int, message: int
) -> Iterator[DecisionMade | ApprovalRequested | ApprovalResolved | AnswerPosted]:
    if number % 4:
        yield DecisionMade(message, "ignore", "it is talk among people")
        return
    yield DecisionMade(message, "delegate", "it is a question", words(number, 8), "genie")
    approval = f"call-{message}"
    yield ApprovalRequested(
        message, approval, "genie", "read_file", {"path": f"notes/{number}.txt"}
    )
    yield ApprovalResolved(message, approval, "approved")
    yield AnswerPosted(message, words(number + 7, 60), elapsed=1.5)
