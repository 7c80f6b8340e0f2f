import asyncio

import pytest
from tests.limits import scaled

from genie_core.room.protocol.errors import ConnectionLost
from genie_core.room.protocol.frames import ClientFrame, PostMessage, Stopping, Trouble, Typing
from genie_core.room.transport.connection import memory_pair
from genie_core.runtime.loop_thread import loop_thread


async def test_frames_arrive_as_they_are_and_in_order() -> None:
    near, far = memory_pair()
    frames: list[ClientFrame] = [PostMessage("1", "a"), Typing(), PostMessage("2", "b")]
    await near.send(frames)
    assert [await far.receive() for _ in range(3)] == frames
    await far.send([Trouble("x")])
    assert await near.receive() == Trouble("x")


async def test_sender_waits_for_slow_reader() -> None:
    near, far = memory_pair(capacity=2)
    sending = asyncio.create_task(near.send([PostMessage(str(n), "x") for n in range(5)]))
    assert await far.receive() == PostMessage("0", "x")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not sending.done()
    assert [(await far.receive()) for _ in range(4)] == [
        PostMessage(str(n), "x") for n in range(1, 5)
    ]
    await sending


async def test_sent_frames_arrive_before_close() -> None:
    near, far = memory_pair()
    await far.send([Trouble("last words")])
    await far.close("good night")
    assert await near.receive() == Trouble("last words")
    with pytest.raises(ConnectionLost, match="good night"):
        await near.receive()
    with pytest.raises(ConnectionLost):
        await near.send([Typing()])


async def test_closing_wakes_whoever_waits() -> None:
    near, far = memory_pair(capacity=1)
    receiving = asyncio.create_task(near.receive())
    sending = asyncio.create_task(near.send([Typing(), Typing()]))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    far.abort()
    for waiting in (receiving, sending):
        with pytest.raises(ConnectionLost):
            await waiting


async def test_post_never_waits_and_needs_space() -> None:
    near, far = memory_pair(capacity=2)
    assert far.is_free()
    far.post([Trouble(str(n)) for n in range(3)])
    assert not far.is_free()
    assert [await near.receive() for _ in range(3)] == [Trouble(str(n)) for n in range(3)]
    assert far.is_free()
    await near.close()
    assert not far.is_free()


async def test_a_memory_pair_connects_two_threads() -> None:
    near, far = memory_pair(capacity=2)

    async def echo() -> None:
        for _ in range(20):
            frame = await far.receive()
            assert isinstance(frame, PostMessage)
            await far.send([Stopping(int(frame.id), "ann")])
        await far.close("done")

    async def send() -> None:
        for number in range(20):
            await near.send([PostMessage(str(number), "hello")])

    async with asyncio.timeout(scaled(60)), loop_thread("other") as loop:
        echoing = asyncio.run_coroutine_threadsafe(echo(), loop)
        sending = asyncio.create_task(send())
        assert [await near.receive() for _ in range(20)] == [Stopping(n, "ann") for n in range(20)]
        await sending
        with pytest.raises(ConnectionLost, match="done"):
            await near.receive()
        await asyncio.wrap_future(echoing)
