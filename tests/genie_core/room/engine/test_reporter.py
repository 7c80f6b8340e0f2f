"""What an engine does, told to the room and to the person at its terminal."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.genie_core.room.doubles import Guest, local_connector, participant, room_server
from tests.genie_core.room.house import Ear

from genie_core.room.audience import Audience
from genie_core.room.engine.reporter import Herald
from genie_core.room.protocol.events import AnswerPosted, DecisionMade, EngineChanged, RunCancelled
from genie_core.room.seat import EngineState, EngineStatus
from genie_core.room.server.server import RoomServer


@asynccontextmanager
async def two() -> AsyncIterator[tuple[Guest, Guest, Herald, Ear]]:
    """Hana, who hosts with an engine, bob, and what tells of her engine."""
    server = room_server()
    await server.start()
    try:
        async with seats(server) as (hana, bob):
            ear = Ear()
            herald = Herald(hana.client, hana.seen.state, Audience(ear), "small")
            yield hana, bob, herald, ear
    finally:
        await server.close()


@asynccontextmanager
async def seats(server: RoomServer) -> AsyncIterator[tuple[Guest, Guest]]:
    connector = local_connector(server)
    async with participant(connector, "hana", engine=True, token=server.host_token) as hana:
        await hana.seen.online()
        async with participant(connector, "bob") as bob:
            await bob.seen.online()
            yield hana, bob


async def asked(by: Guest, *hearers: Guest) -> int:
    """Let somebody ask something; returns the number of the message once the others have it."""
    await by.seen.until(lambda seen: seen.welcomes)
    by.client.say("help?")
    for each in (by, *hearers):
        await each.seen.until(lambda seen: seen.texts)
    (message,) = by.seen.state.exchanges
    return message


async def test_only_a_step_about_the_own_words_is_signed() -> None:
    for own in (True, False):
        async with two() as (hana, bob, herald, _):
            message = await asked(*((hana, bob) if own else (bob, hana)))
            assert herald.publish(DecisionMade(message, "ignore", "not now"))
            await bob.seen.until(lambda seen: isinstance(seen.events[-1].body, DecisionMade))
            decided = bob.seen.events[-1].body
            assert isinstance(decided, DecisionMade)
            assert bool(decided.signature) is own


async def test_a_step_that_can_not_be_recorded_is_told_to_the_person() -> None:
    async with two() as (hana, bob, herald, ear):
        message = await asked(hana, bob)
        assert not herald.publish(AnswerPosted(message, "x" * 10_000_000))
        assert "could not be recorded" in ear.notices[-1]


async def test_text_in_the_making_is_shown_here_and_there() -> None:
    async with two() as (hana, bob, herald, ear):
        message = await asked(bob, hana)
        herald.delta(message, "half")
        assert ear.deltas == [(message, "half")]
        await bob.seen.until(lambda seen: seen.deltas == [(message, "half")])


async def test_a_detail_always_stays_here() -> None:
    async with two() as (hana, bob, herald, ear):
        message = await asked(hana, bob)
        herald.progress(message, "system", "detail", "refused at gateway")
        herald.progress(message, "system", "note", "refused")
        await bob.seen.until(lambda seen: seen.progress)
        assert ear.progress == [
            (message, "system", "note", "refused at gateway"),
            (message, "system", "note", "refused"),
        ]
        assert [each.detail for each in bob.seen.progress] == ["refused"]


async def test_the_end_of_a_run_is_signed_if_it_holds_a_part_of_an_answer() -> None:
    for text in ("Once", ""):
        async with two() as (hana, bob, herald, _):
            message = await asked(hana, bob)
            assert herald.publish(RunCancelled(message, "stopped", text=text))
            await bob.seen.until(lambda seen: isinstance(seen.events[-1].body, RunCancelled))
            cancelled = bob.seen.events[-1].body
            assert isinstance(cancelled, RunCancelled)
            assert bool(cancelled.signature) is bool(text)


async def test_a_note_about_the_words_of_somebody_else_stays_here() -> None:
    async with two() as (hana, bob, herald, ear):
        message = await asked(bob, hana)
        herald.progress(message, "system", "note", "secrets.txt was refused")
        herald.progress(message, "system", "calling", "read_file")
        assert [what for _, _, what, _ in ear.progress] == ["note", "calling"]
        await bob.seen.until(lambda seen: seen.progress)
        assert [each.what for each in bob.seen.progress] == ["calling"]


async def test_a_note_about_the_own_words_is_for_all() -> None:
    async with two() as (hana, bob, herald, _):
        message = await asked(hana, bob)
        herald.progress(message, "system", "note", "notes.txt was refused")
        await bob.seen.until(lambda seen: seen.progress)
        assert bob.seen.progress[0].detail == "notes.txt was refused"


async def test_the_room_hears_of_another_label_and_only_of_that() -> None:
    async with two() as (_, bob, herald, ear):
        for state, label in (
            (EngineState.LOADING, "large"),
            (EngineState.READY, "small"),
            (EngineState.READY, "large"),
            (EngineState.READY, "large"),
        ):
            herald.show_engine(EngineStatus(state, label))
        herald.show_engine(EngineStatus(EngineState.READY, "larger"))
        assert len(ear.engines) == 5
        await bob.seen.until(lambda seen: seen.state.people["hana"].agent == "larger")
        told = [e.body.agent for e in bob.seen.events if isinstance(e.body, EngineChanged)]
        assert told in (["large", "larger"], ["larger"])  # only the latest counts
