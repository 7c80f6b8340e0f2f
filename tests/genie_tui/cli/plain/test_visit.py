"""How a visit without screens ends: by itself, by a signal, or with its reader."""

import asyncio
import signal

import pytest
from tests.genie_tui.cli.plain.conftest import Scene
from tests.limits import scaled

from genie_core.room.client.events import MessageRejected, Notice
from genie_core.room.client.model import (
    ConnectionState,
    ConnectionStatus,
    PendingMessage,
    Severity,
)
from genie_core.room.participant.receipt import LeftInDisorder, Receipt
from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    MessagePosted,
    ReactionChanged,
)
from genie_core.runtime.tasks import start_task
from genie_tui.cli.plain import say as say_module
from genie_tui.cli.plain.chat import chat
from genie_tui.cli.plain.say import NotSent, Unanswered, say
from genie_tui.cli.plain.tail import tail
from genie_tui.cli.plain.visit import Visit, Work, attend


async def say_hello(visit: Visit) -> int:
    return await say(visit, "hello")


async def wait_for_answer(visit: Visit) -> int:
    return await say(visit, "hello", 60)


async def last_three(visit: Visit) -> int:
    return await tail(visit, 3)


async def as_json(visit: Visit) -> int:
    return await tail(visit, 2, as_json=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("work", [say_hello, tail, chat])
async def test_signal_ends_waiting_for_admission(
    scene: Scene, work: Work, number: signal.Signals
) -> None:
    scene.opener.admitted.clear()
    visiting = start_task(attend(scene.visit, work, signal_succeeds=work is not say_hello))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    signal.raise_signal(number)
    async with asyncio.timeout(scaled(60)):
        assert await visiting == (128 + number if work is say_hello else 0)
    assert not scene.joined.left


async def test_slow_room_leaves_message_unsent(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(say_module, "RECORDED", 0.05)
    scene.opener.admitted.clear()
    with pytest.raises(NotSent, match="the room did not take it within"):
        await attend(scene.visit, say_hello)
    scene.opener.admitted.set()
    with pytest.raises(NotSent):
        await attend(scene.visit, say_hello)
    assert scene.joined.left


@pytest.mark.parametrize(
    "event",
    [
        MessageRejected(PendingMessage("1", "hello", emote=False, at=0.0), "you are muted"),
        ConnectionStatus(ConnectionState.CLOSED, "you are muted"),
    ],
)
async def test_a_message_that_is_refused_says_why(
    scene: Scene, event: MessageRejected | ConnectionStatus
) -> None:
    saying = start_task(attend(scene.visit, say_hello))
    while not scene.joined.said:
        await asyncio.sleep(0)
    scene.opener.emit(event)
    with pytest.raises(NotSent, match="you are muted"):
        await saying


async def test_an_answer_is_printed_and_nothing_else(scene: Scene) -> None:
    saying = start_task(attend(scene.visit, wait_for_answer))
    while not scene.joined.said:
        await asyncio.sleep(0)
    (event,) = scene.joined.feed(MessagePosted("1", "hello", handler="ann"))
    scene.joined.feed(
        DecisionMade(event.seq, "delegate"), AnswerPosted(event.seq, "Two\nlines\x1b")
    )
    assert await saying == 0
    assert scene.printed.read() == "Two\nlines␛\n"


async def test_approver_is_named_once_per_wait(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    saying = start_task(attend(scene.visit, wait_for_answer))
    while not scene.joined.said:
        await asyncio.sleep(0)
    (event,) = scene.joined.feed(MessagePosted("1", "hello", handler="ann"))
    scene.joined.feed(DecisionMade(event.seq, "delegate"))
    arguments = {"command": "ls\x1b -l"}
    scene.joined.feed(
        ApprovalRequested(event.seq, "p", "system", "run_command", arguments), by="ann"
    )
    told = ""
    async with asyncio.timeout(scaled(60)):
        while not told:
            await asyncio.sleep(0)
            told = capsys.readouterr().err
    scene.joined.feed(ReactionChanged(event.seq, "+", on=True), by="ann")
    scene.joined.feed(ApprovalResolved(event.seq, "p", "approved"), by="ann")
    scene.joined.feed(AnswerPosted(event.seq, "Done."))
    assert await saying == 0
    assert scene.printed.read() == "Done.\n"
    told += capsys.readouterr().err
    assert told.count("ann has to approve run_command: command ls") == 1
    assert "\x1b" not in told


@pytest.mark.parametrize("is_closed", [False, True])
async def test_no_answer_is_told(
    scene: Scene, is_closed: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    saying = start_task(attend(scene.visit, wait_for_answer))
    while not scene.joined.said:
        await asyncio.sleep(0)
    (event,) = scene.joined.feed(MessagePosted("1", "hello", handler="ann"))
    if is_closed:
        scene.opener.emit(ConnectionStatus(ConnectionState.CLOSED, "suspended"))
        with pytest.raises(Unanswered, match="suspended"):
            await saying
    else:
        scene.joined.feed(DecisionMade(event.seq, "ignore", "small talk"))
        assert await saying == 1
        assert "no answer: small talk" in capsys.readouterr().err
    assert scene.printed.read() == ""


async def test_history_ends_at_catch_up(scene: Scene) -> None:
    """However many deliveries it came in."""
    for number in range(6):
        scene.joined.feed(MessagePosted(str(number), f"old {number}"))
    visiting = start_task(attend(scene.visit, last_three))
    await scene.printed.until("old 5")
    scene.joined.feed(MessagePosted("7", "new"))
    text = await scene.printed.until("new")
    assert [line.split(": ")[1] for line in text.splitlines()] == ["old 3", "old 4", "old 5", "new"]
    signal.raise_signal(signal.SIGTERM)
    assert await visiting == 0
    assert scene.joined.left


@pytest.mark.parametrize("work", [last_three, as_json])
async def test_closed_reader_ends_quiet_visit(scene: Scene, work: Work) -> None:
    visiting = start_task(attend(scene.visit, work))
    await scene.printed.until("bob")
    scene.close_reader()
    with pytest.raises(BrokenPipeError):
        async with asyncio.timeout(scaled(60)):
            await visiting
    assert scene.joined.left


async def test_signal_ends_visit_of_slow_reader(scene: Scene) -> None:
    scene.joined.feed(MessagePosted("1", "x" * 1_000_000))
    visiting = start_task(attend(scene.visit, last_three))
    await scene.printed.until("[4]")
    signal.raise_signal(signal.SIGTERM)
    async with asyncio.timeout(scaled(60)):
        assert await visiting == 0


async def test_what_is_lost_on_leaving_is_told(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    scene.joined.leave_error = LeftInDisorder(Receipt(problems=("closing the files failed",)))
    scene.joined.pending = (PendingMessage("1", "half\nsaid", emote=False, at=0.0),)
    visiting = start_task(attend(scene.visit, tail))
    await scene.printed.until("[4]")
    signal.raise_signal(signal.SIGTERM)
    assert await visiting == 1
    told = capsys.readouterr().err
    assert "closing the files failed" in told
    assert "not sent: half␤said" in told


async def test_who_waits_to_be_let_in_reads_what_for(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    scene.opener.admitted.clear()
    visiting = start_task(attend(scene.visit, tail))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    scene.opener.emit(ConnectionStatus(ConnectionState.CONNECTING, "your key in words: a-b"))
    scene.opener.emit(Notice(Severity.INFO, "the room Standup"))
    told = capsys.readouterr().err
    assert told == "genie-tui: your key in words: a-b\ngenie-tui: the room Standup\n"
    signal.raise_signal(signal.SIGTERM)
    assert await visiting == 0
