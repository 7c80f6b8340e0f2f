"""The code on the page about the engine is run as it stands there."""

import asyncio
import importlib.util
import json
import os
import re
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.examples.rulings import delegate, ignore
from tests.limits import scaled
from tests.ports import free_port
from websockets.asyncio.client import ClientConnection, connect

from genie_core.agent import AgentInput, Approval, ApprovalCallback
from genie_core.datastore import DataStore
from genie_core.message import Message
from genie_core.session import GroupSession
from genie_testing import Emit, agent_factory, reasoner_factory
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Call, Say

PAGE = Path(__file__).parents[2] / "docs/engine.md"
FENCE = re.compile(r"^```(\w*) ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = {name: code for _, name, code in FENCE.findall(PAGE.read_text())}
RUN_HERE = {"embed.py", "follow.py", "resume.py", "websocket_chat.py", "resumed.py", "hierarchy.py"}
RUN_BY_PYTEST = {"plain_agent.py", "test_plain_agent.py", "test_agent.py", "test_own_store.py"}
RUN_AS_EXAMPLES = {"host_room.py", "join_room.py"}  # tests/examples/test_rooms.py


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, code in BLOCKS.items():
        (tmp_path / name).write_text(code)
    return tmp_path


def load(folder: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def run_python(folder: Path, *arguments: str, **env: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(PAGE.parents[1] / "src"), **env},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(scaled(100)):
            out, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, out.decode()


def test_every_block_is_run() -> None:
    assert set(BLOCKS) == RUN_HERE | RUN_BY_PYTEST | RUN_AS_EXAMPLES
    assert all(language == "python" for language, _, _ in FENCE.findall(PAGE.read_text()))


def test_embedding_takes_thirty_lines() -> None:
    assert len(BLOCKS["embed.py"].splitlines()) <= 30


async def test_the_thirty_lines_work_and_remember(folder: Path) -> None:
    script = delegate("Roll a die."), Call("roll", {"sides": 1}), Say("You do, with a 1.")
    async with FakeOpenAI(*script, *script) as server:
        keys = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": server.api_key}
        for _ in range(2):
            code, out = await run_python(folder, "embed.py", **keys)
            assert (code, out.splitlines()) == (0, ["delegate", "You do, with a 1."])
    assert server.requests[2].tool_results == ["1"]
    first, second = server.requests[1], server.requests[4]
    assert first.texts.count("Roll a die.") == 1
    assert second.texts.count("Roll a die.") == 2


async def test_example_agent_passes_contract(folder: Path) -> None:
    settings = "asyncio_mode=auto", "asyncio_default_fixture_loop_scope=function"
    options = *(f"-o{each}" for each in settings), "-q", "-Werror", "-pno:cacheprovider"
    code, out = await run_python(folder, "-m", "pytest", *options)
    assert code == 0, out
    assert int(re.findall(r"(\d+) passed", out)[0]) > 20


async def test_a_reasoner_of_ones_own_decides(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    follow = load(folder, "follow").follow
    session = GroupSession("s", load(folder, "resumed").reasoners, agent_factory())
    async with asyncio.timeout(scaled(60)), session:
        await follow(session.handle(Message("hello", "alice")))
        await follow(session.handle(Message("@genie hello", "alice")))
    ignored, delegated, answered = filter(None, capsys.readouterr().out.splitlines())
    assert re.fullmatch(r"ignore after \d\.\d s: not addressed to @genie", ignored)
    assert delegated.startswith("delegate after ")
    assert answered == "to alice: echo: hello"


async def test_what_a_process_left_is_picked_up(folder: Path, tmp_path: Path) -> None:
    async def book(_input: AgentInput, callback: ApprovalCallback, _emit: Emit) -> str:
        await callback("look", {})
        await callback("book", {})
        raise AssertionError

    async def begin() -> None:
        async with DataStore(tmp_path) as store:
            chat = GroupSession("s", reasoner_factory(), agent_factory(book), store)
            async for element in chat.handle(Message("book a trip", "alice")).stream():
                if isinstance(element, Approval):
                    if element.tool_name == "book":
                        break
                    element.approve()

    await asyncio.to_thread(lambda: asyncio.run(begin()))
    async with asyncio.timeout(scaled(60)), DataStore(tmp_path) as store:
        session = GroupSession("s", reasoner_factory(), agent_factory(), store)
        await load(folder, "resume").pick_up(session)
        assert await session.unfinished() == []
        assert "Please ask again" in await session.get_group_chat_messages()
        await session.join()


async def test_a_second_process_goes_on_from_the_first(folder: Path) -> None:
    said = [
        await run_python(folder, "resumed.py", text)
        for text in ("hi", "@genie milk", "@genie bread")
    ]
    assert said == [
        (0, "0 messages so far\nignore\n"),
        (0, "1 messages so far\ndelegate\nnote(text='milk')\n1 noted: milk\n"),
        (0, "3 messages so far\ndelegate\nnote(text='bread')\n2 noted: milk, bread\n"),
    ]


@pytest.mark.parametrize("sdk", ["pydantic-ai", "openai"])
async def test_a_coordinator_asks_another_agent(folder: Path, sdk: str) -> None:
    ask = Call("run_subagent", {"query": "cheese", "subagent_name": "translator"})
    async with FakeOpenAI(ask, Say("caws"), Say("It is caws.")) as server:
        keys = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": server.api_key}
        assert await run_python(folder, "hierarchy.py", sdk, **keys) == (0, "It is caws.\n")
    assert "- translator: Translates into Welsh" in server.requests[0].instructions
    assert "You translate into Welsh." in server.requests[1].instructions


class Client:
    """A person at the chat over WebSockets."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.run = ""

    async def send(self, frame: object) -> None:
        await self.connection.send(json.dumps(frame))

    async def receive(self) -> dict[str, Any]:
        """Return the next frame, without its number."""
        frame: dict[str, Any] = json.loads(await self.connection.recv())
        frame.pop("number", None)
        return frame


@asynccontextmanager
async def joined(port: int, name: str, run: str = "", after: int = 0) -> AsyncIterator[Client]:
    async with connect(f"ws://127.0.0.1:{port}", proxy=None) as connection:
        client = Client(connection)
        await client.send({"name": name, "run": run, "after": after})
        client.run = (await client.receive())["run"]
        yield client


@pytest.fixture
async def chat(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[FakeOpenAI, int]]:
    """Run the chat over WebSockets; gives its model server and its port."""
    monkeypatch.chdir(folder)
    port = free_port()
    async with FakeOpenAI() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", server.api_key)
        serving = asyncio.create_task(load(folder, "websocket_chat").main(port))
        try:
            async with asyncio.timeout(scaled(60)):
                while not listens(port):
                    await asyncio.sleep(0.01)
                    assert not serving.done()
            yield server, port
        finally:
            serving.cancel()
            await asyncio.wait([serving])


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


async def test_people_answer_own_approvals(chat: tuple[FakeOpenAI, int]) -> None:
    server, port = chat
    server.script(delegate("What time is it?"), Call("current_time", {}), Say("Noon."))
    async with (
        asyncio.timeout(scaled(60)),
        joined(port, "alice") as alice,
        joined(port, "bob") as bob,
    ):
        await alice.send({"say": "How late is it?"})
        said = {"from": "alice", "text": "How late is it?"}
        assert [await alice.receive(), await bob.receive()] == [said, said]
        asked = await alice.receive()
        assert asked["call"] == "current_time()"
        await bob.send({"allow": asked["asks"]})
        assert await bob.receive() == {"error": "unknown frame"}
        await alice.send({"allow": asked["asks"]})
        answer = {"from": "alice's agent", "text": "Noon."}
        assert [await alice.receive(), await bob.receive()] == [answer, answer]
        async with joined(port, "alice", alice.run, after=1) as again:
            assert (await again.receive())["asks"] == asked["asks"]
            assert await again.receive() == answer
        async with joined(port, "alice", "of an earlier process", after=1) as again:
            assert await again.receive() == said
        assert len(server.requests[-1].tool_results) == 1


@pytest.mark.parametrize(
    ("frame", "error"),
    [
        ("no json", "unknown frame"),
        ('{"say": ""}', "message refused: it is empty"),
        ('{"allow": "1"}', "unknown frame"),
    ],
)
async def test_bad_frame_is_answered(chat: tuple[FakeOpenAI, int], frame: str, error: str) -> None:
    server, port = chat
    server.script(ignore("nothing is asked"))
    async with asyncio.timeout(scaled(60)), joined(port, "alice") as alice:
        await alice.connection.send(frame)
        assert error in (await alice.receive())["error"]
        await alice.send({"say": "hello"})
        assert await alice.receive() == {"from": "alice", "text": "hello"}


async def test_unnamed_client_is_disconnected(chat: tuple[FakeOpenAI, int]) -> None:
    _, port = chat
    async with (
        asyncio.timeout(scaled(60)),
        connect(f"ws://127.0.0.1:{port}", proxy=None) as connection,
    ):
        await connection.send("[]")
        await connection.wait_closed()
