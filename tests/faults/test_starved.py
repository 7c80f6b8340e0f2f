"""A program whose default executor is full stops nothing of the engine's."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.faults.scene import DEADLINE, joined
from tests.genie_core.agent.provider.both import RUNTIMES, bench

from genie_core.agent import AgentInput, ApprovalCallback
from genie_core.agent.provider.files import read_file
from genie_core.datastore import DataStore
from genie_core.message import Attachment, Message
from genie_core.session import GroupSession
from genie_testing import Emit, agent_factory, reasoner_factory
from genie_testing.turns import Say

pytestmark = pytest.mark.timeout(100)


@contextmanager
def full_executor() -> Iterator[None]:
    """Fill all threads of the loop's default executor, and its queue."""
    release = threading.Event()
    loop = asyncio.get_running_loop()
    blocked = [loop.run_in_executor(None, release.wait) for _ in range(100)]
    try:
        yield
    finally:
        release.set()
        for each in blocked:
            each.cancel()


async def reader(input: AgentInput, _ask: ApprovalCallback, _emit: Emit) -> str:  # noqa: A002 - as in Agent.run
    return (await read_file(input.attachments[0], ["text"])).data.decode()


async def test_data_is_read_and_written(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("read it")
    attached = Attachment(str(notes), "notes.txt", "text/plain")
    with full_executor():
        for life in (1, 2):
            async with asyncio.timeout(DEADLINE):
                store = DataStore(tmp_path / "store")
                chat = GroupSession("s", reasoner_factory(), agent_factory(reader), store)
                answer = await chat.handle(Message("go", "alice", attachments=[attached])).result()
                assert answer is not None
                assert answer.content == "read it"
                assert (await chat.get_group_chat_messages()).count("read it") == life
                await joined(chat)
                await store.aclose()


@pytest.mark.parametrize("runtime", RUNTIMES)
async def test_models_are_asked(runtime: str) -> None:
    async with bench(runtime, Say("still here")) as one:
        with full_executor():
            async with asyncio.timeout(DEADLINE):
                assert await one.ask(one.agent(), "go") == "still here"
