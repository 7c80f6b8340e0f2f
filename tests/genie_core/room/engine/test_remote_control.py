"""One person's word, from whichever of their terminals it comes."""

from pathlib import Path

from tests.genie_core.room.live_room import (
    answers,
    by_socket,
    calls,
    loader,
    opened,
    tool_user,
)

from genie_core.room.client.model import Answer, EngineState


async def test_waiting_call_is_answered_remotely(tmp_path: Path) -> None:
    async with opened() as live:
        connector = await by_socket(live)
        ann, ear = await live.joined("ann", None)
        desk, desk_ear = await live.joined(
            "ben", loader(tmp_path / "desk", run=tool_user), connector=connector, device="desk"
        )
        couch, couch_ear = await live.joined("ben", None, connector=connector, device="couch")
        desk.messages.send("old.txt")
        await couch_ear.until(lambda: couch.state.pending_for("ben"))
        (request,) = couch.state.pending_for("ben")
        assert request.arguments == {"path": "old.txt"}
        assert not ann.approvals.answer(request.id, Answer(allow=True))
        assert couch.approvals.answer(request.id, Answer(allow=True, reason="go on"))
        for person, heard in ((desk, desk_ear), (couch, couch_ear), (ann, ear)):
            await heard.until(lambda person=person: answers(person))  # type: ignore[misc] # mypy can't infer a lambda with a default
            assert answers(person) == ["deleted old.txt"]
            assert not person.state.open  # the card is closed everywhere
            (settled,) = calls(person)
            assert (settled.outcome, settled.settled_by) == ("approved", "ben")
        assert not couch.approvals.answer(request.id, Answer(allow=True))
        assert not desk.approvals.answer(request.id, Answer(allow=True))


async def test_terminals_run_own_and_stop_any(tmp_path: Path) -> None:
    async with opened() as live:
        connector = await by_socket(live)
        joined_rooms = {
            device: await live.joined(
                "ben",
                loader(tmp_path / device, run=tool_user),
                connector=connector,
                device=device,
            )
            for device in ("desk", "couch")
        }
        for joined, ear in joined_rooms.values():
            await ear.until(lambda joined=joined: joined.engine.status.state is EngineState.READY)  # type: ignore[misc] # mypy can't infer a lambda with a default
        (desk, desk_ear), (couch, couch_ear) = joined_rooms.values()
        desk.messages.send("from the desk")
        couch.messages.send("from the couch")
        await desk_ear.until(lambda: len(desk.state.pending_for("ben")) == 2)
        where = {e.said.text: e.device for e in desk.state.threads.values()}
        assert where == {"from the desk": "desk", "from the couch": "couch"}
        assert desk.engine.stop() == 2
        await couch_ear.until(lambda: couch.state.threads and not couch.state.running)


async def test_foreign_or_ended_call_is_refused(
    tmp_path: Path,
) -> None:
    async with opened() as live:
        ann, ear = await live.joined("ann", loader(tmp_path, run=tool_user))
        ben, _ = await live.joined("ben", None)
        ann.messages.send("old.txt")
        await ear.until(lambda: ann.state.pending_for("ann") and ben.state.pending_for("ann"))
        (request,) = ben.state.pending_for("ann")
        assert not ben.approvals.answer(request.id, Answer(allow=True))
        assert not ben.approvals.answer("never asked for", Answer(allow=True))
        assert ben.engine.stop() == 0
        assert ben.engine.stop(10_000) == 0
        assert ann.state.pending_for("ann")
        assert ann.engine.stop(request.message) == 1
        await ear.until(lambda: not ann.state.running)
        assert not ann.approvals.answer(request.id, Answer(allow=True))
