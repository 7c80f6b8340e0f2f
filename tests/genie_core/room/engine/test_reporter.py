"""What an engine does, told to the room and to the person at its terminal."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest
from tests.genie_core.room.doubles import Guest, local_connector, participant, room_server
from tests.genie_core.room.engine.doubles import FakeRoom
from tests.genie_core.room.live_room import Ear

from genie_core.privacy import redaction
from genie_core.privacy.known_secrets import HIDDEN, KnownSecrets
from genie_core.room.client.model import EngineState, EngineStatus
from genie_core.room.engine.reporter import EngineReporter
from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    EngineChanged,
    RunBody,
    RunCancelled,
    RunFailed,
)
from genie_core.room.protocol.frames import ReportProgress
from genie_core.room.security.signing import is_signed
from genie_core.room.server.server import RoomServer


@asynccontextmanager
async def two() -> AsyncIterator[tuple[Guest, Guest, EngineReporter, Ear]]:
    """Hana, who hosts with an engine, bob, and her engine's reporter."""
    server = room_server()
    await server.start()
    try:
        async with joined_rooms(server) as (hana, bob):
            ear = Ear()
            reporter = EngineReporter(hana.client, hana.seen.state, ear, "small")
            yield hana, bob, reporter, ear
    finally:
        await server.close()


@asynccontextmanager
async def joined_rooms(server: RoomServer) -> AsyncIterator[tuple[Guest, Guest]]:
    connector = local_connector(server)
    async with participant(connector, "hana", engine=True, token=server.host_token) as hana:
        await hana.seen.online()
        async with participant(connector, "bob") as bob:
            await bob.seen.online()
            yield hana, bob


async def asked(by: Guest, *hearers: Guest) -> int:
    """Let somebody ask something; returns the number of the message once the others have it."""
    await by.seen.until(lambda seen: seen.welcomes)
    by.client.messages.send("help?")
    for each in (by, *hearers):
        await each.seen.until(lambda seen: seen.texts)
    (message,) = by.seen.state.threads
    return message


async def test_steps_are_signed_by_engine_owner() -> None:
    for own in (True, False):
        async with two() as (hana, bob, reporter, _):
            message = await asked(*((hana, bob) if own else (bob, hana)))
            assert reporter.publish(DecisionMade(message, "ignore", "not now"))
            await bob.seen.until(lambda seen: isinstance(seen.events[-1].body, DecisionMade))
            decided = bob.seen.events[-1].body
            assert isinstance(decided, DecisionMade)
            (thread,) = bob.seen.state.threads.values()
            room = bob.seen.welcomes[-1].room
            assert is_signed(hana.identity.key, room, decided, thread.said.signature)


async def test_unrecordable_step_is_reported() -> None:
    async with two() as (hana, bob, reporter, ear):
        message = await asked(hana, bob)
        assert not reporter.publish(AnswerPosted(message, "x" * 10_000_000))
        assert "could not be recorded" in ear.notices[-1]


async def test_deltas_reach_host_and_members() -> None:
    async with two() as (hana, bob, reporter, ear):
        message = await asked(bob, hana)
        reporter.delta(message, "half")
        assert ear.deltas == [(message, "half")]
        await bob.seen.until(lambda seen: seen.deltas == [(message, "half")])


async def test_a_detail_always_stays_here() -> None:
    async with two() as (hana, bob, reporter, ear):
        message = await asked(hana, bob)
        reporter.progress(message, "system", "detail", "refused at gateway")
        reporter.progress(message, "system", "note", "refused")
        await bob.seen.until(lambda seen: seen.progress)
        assert ear.progress == [
            (message, "system", "note", "refused at gateway"),
            (message, "system", "note", "refused"),
        ]
        assert [each.detail for each in bob.seen.progress] == ["refused"]


async def test_run_end_is_signed_with_any_text() -> None:
    for text in ("Once", ""):
        async with two() as (hana, bob, reporter, _):
            message = await asked(hana, bob)
            assert reporter.publish(RunCancelled(message, "stopped", text=text))
            await bob.seen.until(lambda seen: isinstance(seen.events[-1].body, RunCancelled))
            cancelled = bob.seen.events[-1].body
            assert isinstance(cancelled, RunCancelled)
            (thread,) = bob.seen.state.threads.values()
            room = bob.seen.welcomes[-1].room
            assert is_signed(hana.identity.key, room, cancelled, thread.said.signature)


async def test_note_on_foreign_message_is_local() -> None:
    async with two() as (hana, bob, reporter, ear):
        message = await asked(bob, hana)
        reporter.progress(message, "system", "note", "secrets.txt was refused")
        reporter.progress(message, "system", "calling", "read_file")
        assert [what for _, _, what, _ in ear.progress] == ["note", "calling"]
        await bob.seen.until(lambda seen: seen.progress)
        assert [each.what for each in bob.seen.progress] == ["calling"]


async def test_a_note_about_the_own_words_is_for_all() -> None:
    async with two() as (hana, bob, reporter, _):
        message = await asked(hana, bob)
        reporter.progress(message, "system", "note", "notes.txt was refused")
        await bob.seen.until(lambda seen: seen.progress)
        assert bob.seen.progress[0].detail == "notes.txt was refused"


async def test_only_changed_label_is_published() -> None:
    async with two() as (_, bob, reporter, ear):
        for state, label in (
            (EngineState.LOADING, "large"),
            (EngineState.READY, "small"),
            (EngineState.READY, "large"),
            (EngineState.READY, "large"),
        ):
            reporter.show_engine(EngineStatus(state, label))
        reporter.show_engine(EngineStatus(EngineState.READY, "larger"))
        assert len(ear.engines) == 5
        await bob.seen.until(lambda seen: seen.state.people["hana"].agent == "larger")
        told = [e.body.agent for e in bob.seen.events if isinstance(e.body, EngineChanged)]
        assert told in (["large", "larger"], ["larger"])  # only the latest counts


# -- secrets

VALUE = "correct-horse-battery"
CODED = base64.b64encode(VALUE.encode()).decode()


class Told(FakeRoom):
    """A room that remembers what it was told, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[object] = []
        self.text = ""

    def record(self, body: RunBody) -> None:
        self.told.append(body)

    def delta(self, message: int, text: str) -> None:
        assert text
        self.told.append((message, text))
        self.text += text

    def progress(self, progress: ReportProgress) -> None:
        self.told.append(progress)


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Told:
    monkeypatch.setattr(redaction, "_KNOWN", KnownSecrets())
    redaction.know([VALUE])
    return Told()


async def test_no_report_has_a_secret_in_it(room: Told) -> None:
    reports = room.reporter
    text = f"it is {VALUE} or {CODED}"
    for body in (
        DecisionMade(1, "delegate", text, text, "ann"),
        ApprovalRequested(
            1, "a1", "system", "send", {"to": [text], VALUE: {"n": text}}, because=text
        ),
        ApprovalResolved(1, "a1", "approved", text, arguments={"to": text}),
        AnswerPosted(1, text, "ann"),
        RunFailed(1, "agent", text),
        RunCancelled(1, text),
    ):
        assert reports.publish(body)
    reports.progress(1, "system", "calling", text)
    reports.warn(text)
    assert len(room.told) == 7
    shown = [*room.told, *room.ear.progress, *room.warnings]
    assert len(shown) == 9
    assert VALUE not in repr(shown)
    assert CODED not in repr(shown)
    assert all(HIDDEN in repr(each) for each in shown)
    assert room.told[3] == AnswerPosted(1, f"it is {HIDDEN} or {HIDDEN}", "ann")


async def test_an_answer_in_pieces_shows_as_it_ends(room: Told) -> None:
    reports = room.reporter
    answer = f"{VALUE} and corr"
    for char in answer:
        reports.delta(1, char)
        reports.delta(2, char)
    assert room.told[:2] == [(1, HIDDEN), (2, HIDDEN)]
    assert room.ear.deltas == room.told
    reports.publish(RunCancelled(2))
    room.text = ""
    reports.publish(AnswerPosted(1, answer))
    assert room.told[-2:] == [(1, "corr"), AnswerPosted(1, f"{HIDDEN} and corr")]
    assert room.text == "corr"


async def test_cut_answer_hides_partial_secret(
    room: Told,
) -> None:
    reports = room.reporter
    for body in (RunFailed(1, "agent", "gone"), RunCancelled(1)):
        reports.delta(1, f"it is {VALUE[:-1]}")
        reports.publish(body)
    assert room.text == "it is it is "


async def test_partial_answer_is_kept_as_shown(room: Told) -> None:
    reports = room.reporter
    begun = f"{VALUE} or {VALUE[:-1]}"
    for end in (RunFailed(1, "agent", "gone", text=begun), RunCancelled(1, text=begun)):
        for char in begun:
            reports.delta(1, char)
        reports.publish(end)
        assert room.told[-1] == msgspec.structs.replace(end, text=room.text)
        assert room.text == f"{HIDDEN} or "
        room.text = ""
