import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from examples.chat_server import UNREAD, ChatServer, bound, create_session
from examples.service import EnvironmentSecrets, Service
from tests.examples.rulings import delegate, ignore
from tests.limits import scaled

from examples import chat_server
from genie_core.session import GroupSession
from genie_testing import agent_factory, delegate_all, ignore_all
from genie_testing import reasoner_factory as scripted_reasoners
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Call, Say


class Client:
    """What `nc` is to a person."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def say(self, line: str) -> None:
        self.writer.write(f"{line}\n".encode())

    async def hears(self, text: str) -> str:
        """Read on to the line with this text."""
        async with asyncio.timeout(scaled(60)):
            while text not in (line := (await self.reader.readline()).decode()):
                assert line, f"the server closed before it said {text!r}"
        return line.rstrip("\n")


@asynccontextmanager
async def connected(port: int, name: str) -> AsyncIterator[Client]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    client = Client(reader, writer)
    client.say(name)
    try:
        await client.hears(f"* {name} is here")
        yield client
    finally:
        writer.close()


@pytest.fixture
async def port(service: Service, secrets: EnvironmentSecrets) -> AsyncIterator[int]:
    async with ChatServer(create_session(service, secrets)).listening(bound(0)) as port:
        yield port


async def test_all_hear_and_agent_answers_sender(port: int, fake: FakeOpenAI) -> None:
    fake.script(ignore("for bob"), delegate("What is 12 * 7?", "alice"), Say("84."))
    async with connected(port, "alice") as alice, connected(port, "bob") as bob:
        alice.say("@bob how many boxes?")
        assert await bob.hears("boxes") == "alice: @bob how many boxes?"
        await fake.reached(1)
        bob.say("twelve rows of seven, what is that?")
        for each in (alice, bob):
            assert await each.hears("system:") == "system: @alice 84."
    assert 'receiver="bob"' in "\n".join(fake.requests[0].texts)


async def test_only_sender_allows_tool_call(port: int, fake: FakeOpenAI) -> None:
    fake.script(delegate("What day is it?"), Call("local_time", {}), Say("Friday."))
    async with connected(port, "alice") as alice, connected(port, "bob") as bob:
        alice.say("what day is it?")
        asked = await alice.hears("wants to call")
        assert "local_time()" in asked
        assert "/allow 1 or /deny 1 REASON" in asked
        bob.say("/allow 1")
        await bob.hears("nothing with that number waits for you")
        alice.say("/allow 1")
        await bob.hears("system: Friday.")
        alice.say("/allow 1")
        await alice.hears("nothing with that number")


async def test_a_denial_gives_the_agent_the_reason(port: int, fake: FakeOpenAI) -> None:
    fake.script(delegate("What day is it?"), Call("local_time", {}), Say("I may not look."))
    async with connected(port, "alice") as alice:
        alice.say("what day is it?")
        await alice.hears("wants to call")
        alice.say("/deny 1 look out of the window")
        await alice.hears("system: I may not look.")
    assert "look out of the window" in fake.requests[-1].tool_results[0]


async def test_names_are_unique_and_nobody_is_system(port: int) -> None:
    async with connected(port, "alice"):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        second = Client(reader, writer)
        for taken in ("alice", "system"):
            second.say(taken)
            await second.hears("* that name is taken")
        second.say("bob")
        await second.hears("* bob is here")
        writer.close()


async def test_nonreading_client_is_dropped() -> None:
    server = ChatServer(GroupSession("chat", scripted_reasoners(ignore_all), agent_factory()))
    async with (
        server.listening(bound(0)) as port,
        connected(port, "alice") as alice,
        connected(port, "sleeper") as sleeper,
    ):
        for number in range(3 * UNREAD):  # more than all buffers on the way can take
            alice.say(f"{number} " + "x" * 60_000)
            await alice.hears(f"alice: {number} ")
        with pytest.raises((ConnectionError, AssertionError)):
            await sleeper.hears("never said")


async def test_sender_sees_failure_of_message(port: int, fake: FakeOpenAI) -> None:
    fake.script(Say("invalid JSON"), Say("none either"), Say("still none"), ignore("fine"))
    async with connected(port, "alice") as alice:
        alice.say("hello")
        await alice.hears("* no answer: ")
        alice.say("still here?")
        await alice.hears("alice: still here?")


async def test_closing_flushes_and_disconnects() -> None:
    asked, closing = asyncio.Event(), asyncio.Event()

    async def slow(*_: object) -> str:
        asked.set()
        await closing.wait()
        return "done"

    server = ChatServer(GroupSession("chat", scripted_reasoners(delegate_all), agent_factory(slow)))
    async with asyncio.timeout(scaled(60)), AsyncExitStack() as clients:
        async with server.listening(bound(0)) as port:
            alice = await clients.enter_async_context(connected(port, "alice"))
            nameless, writer = await asyncio.open_connection("127.0.0.1", port)
            clients.callback(writer.close)
            alice.say("work")
            await asked.wait()
            closing.set()
        await alice.hears("system: @alice done")
        assert await alice.reader.read() == b""
        assert await nameless.read() == b"* your name?\n"


def test_taken_port_fails_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("GENIE_MODEL", "openai:scripted")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with bound(0) as other:
        monkeypatch.setattr(chat_server, "PORT", other.getsockname()[1])
        monkeypatch.setattr(chat_server, "FOLDER", tmp_path)
        with pytest.raises(SystemExit, match=r"^can't serve: Address already in use") as ended:
            chat_server.main()
    assert "\n" not in str(ended.value.code)
    assert caplog.messages == []
