"""Somebody reads nothing any more: they are dropped with the reason, and nobody else notices."""

import math
import signal
import time
from functools import partial
from pathlib import Path

import pytest
from tests.contract.member import Member, new, visit

pytestmark = [pytest.mark.drill, pytest.mark.timeout(300)]

ROOMY = {"burst": 1000, "per_second": 1000.0, "volume": 64 * 1024 * 1024, "text_chars": 50_000}
PADDING = "x" * 40_000
"""Makes messages so long that the buffers on the way to who reads nothing are full soon."""

PAUSE = 0.03
"""Seconds between two messages, so that the test does not measure a machine at its limit."""

QUIET = 60
FLOOD = 150
"""So many of them fill all buffers on the way to a person who reads nothing."""

DROPPED = ("too slow", "connection lost")
"""Why the host drops her; on a busy machine it sooner misses her answers to pings."""

MAX_WORSE = 5.0
"""Seconds by which the others' p99 may be worse meanwhile. Waiting for who does not read would
cost them ten; everything below is what else this machine may be busy with."""


def pace(speaker: Member, hearer: Member, number: int) -> None:
    """Say something and go on when somebody else has heard it, and a pause has passed."""
    heard = hearer.now
    speaker.begin("say_now", text=f"{number} {PADDING}")
    hearer.wait_for("event", after=heard, by=speaker.name)
    time.sleep(PAUSE)


def delays(hearer: Member) -> list[float]:
    """Seconds from saying to hearing, by message."""
    lines = [line for line in hearer.all("event") if line["body"]["type"] == "said"]
    return [line["t"] - float(line["body"]["text"].split()[-1]) for line in lines]


def p99(values: list[float]) -> float:
    return sorted(values)[math.ceil(len(values) * 0.99) - 1]


def test_nonreading_client_is_dropped(tmp_path: Path, port: int) -> None:
    settings = {"port": port, "local": True, "limits": ROOMY}
    with Member("alice", tmp_path / "alice", new(), settings=settings) as alice:
        address = alice.seated()["address"]
        with (
            Member("bob", tmp_path / "bob", visit(address)) as bob,
            Member("carol", tmp_path / "carol", visit(address)) as carol,
            Member("sue", tmp_path / "sue", visit(address)) as sue,
        ):
            for member in (bob, carol, sue):
                member.seated()
            for number in range(QUIET):
                pace(bob, carol, number)
            sue.wait_until(lambda: len(sue.bodies("said")) == QUIET, "the first messages")

            sue.signal(signal.SIGSTOP)
            for number in range(FLOOD):
                bob.begin("say_now", text=f"{QUIET + number} {PADDING}")
            said = QUIET + FLOOD
            carol.wait_until(partial(has_heard, carol, said), "the flood")
            while said == QUIET + FLOOD or not alice.bodies("left"):
                pace(bob, carol, said)
                said += 1
            (left,) = alice.bodies("left")
            assert left["name"] == "sue", (left["reason"], bob.all("link"))
            assert left["reason"] in DROPPED

            before, after = delays(carol)[:QUIET], delays(carol)[QUIET + FLOOD :]
            assert p99(after) < p99(before) + MAX_WORSE
            bob.wait_until(lambda: bob.all("unsent")[-1]["texts"] == [], "everything acknowledged")
            for member in (alice, bob, carol):
                member.wait_until(partial(has_heard, member, said), "every message")
                assert member.is_gapless

            sue.signal(signal.SIGCONT)
            sue.wait_until(lambda: len(sue.bodies("said")) == said, "what she has missed")
            assert sue.texts == carol.texts


def has_heard(member: Member, said: int) -> bool:
    return len(member.texts) == said
