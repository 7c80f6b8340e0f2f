"""What signatures and the chain cost: bytes per entry, and time to fold a log of messages.

A log of messages by four people is folded four times: without a founding; founded, which checks
each link and signature; again in the same process, which remembers the latest signatures; and from
the state that the index beside a log keeps.
"""

import argparse
import time
from collections.abc import Callable, Sequence

import msgspec

from genie_core.room.protocol.events import (
    AnyBody,
    Event,
    HostStarted,
    MemberJoined,
    MessagePosted,
    RoomCreated,
)
from genie_core.room.security.founding import found_room, room_id
from genie_core.room.security.identity import Identity
from genie_core.room.security.keys import forget_verified
from genie_core.room.security.signing import sign
from genie_core.room.server.log_window import LogWindow
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.snapshot import decode_state, encode_state

PEOPLE = ("ann", "bob", "cat", "dan")
TEXT = "the quarterly numbers are in the folder, have a look at the second sheet first"
START = 1_795_000_000.0


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks proofs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--entries", type=int, default=100_000, metavar="N")
    count: int = parser.parse_args(list(arguments)).entries
    plain, founded = signed_log(count, founded=False), signed_log(count, founded=True)
    print(f"{count:,} messages of {len(TEXT)} characters\n")
    print(f"{'bytes per entry, not founded':40}{_size(plain):>10,.0f}")
    print(f"{'bytes per entry, founded':40}{_size(founded):>10,.0f}")
    _time("fold, not founded", count, lambda: _fold(plain))
    forget_verified()
    _time("fold, founded", count, lambda: _fold(founded))
    latest = founded[:5_000]
    _fold(latest)
    _time("fold, founded, verified before", len(latest), lambda: _fold(latest))
    kept = encode_state(_fold(founded))
    _time("restore the state from the index", count, lambda: decode_state(kept))
    return 0


def signed_log(
    count: int, *, founded: bool, host_name: str = "", host: Identity | None = None
) -> list[Event]:
    """Return a log as a host records it, who is the first of the people or another one."""
    people = {name: Identity.generate() for name in PEOPLE}
    host = host or people[PEOPLE[0]]
    founding = found_room(host, "bench", "Bench") if founded else None
    room = room_id(founding) if founding is not None else "bench"
    log = LogWindow([], identity=host)
    log.record("", RoomCreated(room, "Bench", founding), START)
    log.record("", HostStarted(host_name or PEOPLE[0], key=host.key), START)
    for name, identity in people.items():
        joined = MemberJoined("member", True, key=identity.key)
        log.record(name, sign(identity, room, joined, name), START)
    before = dict.fromkeys(PEOPLE, b"")
    for number in range(count):
        name = PEOPLE[number % len(PEOPLE)]
        said = MessagePosted(f"{number:016x}", TEXT, visits=("2lXq0q8wZ4bV1C7h",))
        body: AnyBody = said
        if founded:
            body = signed = sign(people[name], room, said, "", before[name])
            before[name] = signed.signature
        log.record(name, body, START + number)
    if founded and log.state.doubtful:
        raise SystemExit("the log of this benchmark is not proven")
    return log.remembered()


def _size(events: Sequence[Event]) -> float:
    return sum(len(msgspec.json.encode(event)) for event in events) / len(events)


def _fold(events: Sequence[Event]) -> RoomState:
    state = RoomState()
    for event in events:
        state.apply(event)
    return state


def _time(what: str, count: int, work: Callable[[], object]) -> None:
    began = time.perf_counter()
    work()
    took = time.perf_counter() - began
    print(f"{what:40}{took:>10,.2f} s{took / count * 1e6:>10,.1f} µs each")
