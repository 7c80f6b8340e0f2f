"""The code on the page about the engine is run as it stands there."""

import asyncio
import importlib.util
import os
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from openai import AsyncOpenAI
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from tests.examples.rulings import delegate

from genie_core.agent import AgentInput, Approval, ApprovalCallback
from genie_core.datastore import DataStore
from genie_core.message import Message
from genie_core.session import GroupSession
from genie_core.testing import Emit, agent_factory, reasoner_factory
from genie_core.testing.openai import FakeOpenAI
from genie_core.testing.turns import Call, Say

PAGE = Path(__file__).parents[2] / "docs/engine.md"
FENCE = re.compile(r"^```(\w*) ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = {name: code for _, name, code in FENCE.findall(PAGE.read_text())}
RUN_HERE = {"embed.py", "follow.py", "resume.py", "mentions.py", "hierarchy.py"}
RUN_BY_PYTEST = {"plain_agent.py", "test_plain_agent.py", "test_agent.py", "test_own_store.py"}
RUN_AS_EXAMPLES = {"host_room.py", "join_room.py"}  # tests/examples/test_rooms.py


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, code in BLOCKS.items():
        (tmp_path / name).write_text(code)
    return tmp_path


@pytest.fixture
def load(folder: Path) -> ModuleType:
    """Import all blocks that are modules, as one namespace."""
    together = ModuleType("blocks")
    for name in ("follow", "resume", "mentions", "hierarchy"):
        spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        vars(together)[name] = module
    return together


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
        async with asyncio.timeout(100):
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


async def test_the_agent_passes_the_contract_and_the_tests_pass(folder: Path) -> None:
    settings = "asyncio_mode=auto", "asyncio_default_fixture_loop_scope=function"
    options = *(f"-o{each}" for each in settings), "-q", "-Werror", "-pno:cacheprovider"
    code, out = await run_python(folder, "-m", "pytest", *options)
    assert code == 0, out
    assert int(re.findall(r"(\d+) passed", out)[0]) > 20


async def test_a_reasoner_of_ones_own_decides(
    load: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    session = GroupSession("s", load.mentions.reasoners, agent_factory())
    async with asyncio.timeout(60):
        await load.follow.follow(session.handle(Message("hello", "alice")))
        await load.follow.follow(session.handle(Message("@genie hello", "alice")))
        await session.join()
    ignored, delegated, answered = filter(None, capsys.readouterr().out.splitlines())
    assert re.fullmatch(r"ignore after \d\.\d s: not addressed to @genie", ignored)
    assert delegated.startswith("delegate after ")
    assert answered == "to alice: echo: hello"


async def test_what_a_process_left_is_picked_up(load: ModuleType, tmp_path: Path) -> None:
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
    async with asyncio.timeout(60), DataStore(tmp_path) as store:
        session = GroupSession("s", reasoner_factory(), agent_factory(), store)
        await load.resume.pick_up(session)
        assert await session.unfinished() == []
        assert "Please ask again" in await session.get_group_chat_messages()
        await session.join()


async def test_a_coordinator_asks_another_agent(load: ModuleType) -> None:
    ask = Call("run_subagent", {"query": "cheese", "subagent_name": "translator"})
    async with (
        asyncio.timeout(60),
        FakeOpenAI(ask, Say("caws"), Say("It is caws.")) as server,
        AsyncOpenAI(base_url=server.base_url, api_key=server.api_key) as client,
    ):
        model = OpenAIChatModel("any", provider=OpenAIProvider(openai_client=client))
        agents = load.hierarchy.agent_factory(model)
        session = GroupSession("s", reasoner_factory(), agents)
        answer = await session.handle(Message("Welsh for cheese?", "alice")).result()
        await session.join()
    assert answer is not None
    assert answer.content == "It is caws."
    assert "- translator: Translates into Welsh" in server.requests[0].instructions
    assert "You translate into Welsh." in server.requests[1].instructions
