"""A chat server whose people have agents; any line-based client will do.

    GENIE_MODEL=openai:gpt-5-mini OPENAI_API_KEY=… python -m examples.chat_server
    nc 127.0.0.1 8723

The first line is your name, every other one a message; begin it with @NAME to address somebody. When
your agent wants to call a tool, you are asked: answer with /allow NUMBER or /deny NUMBER REASON.
"""

import asyncio
import contextlib
import itertools
import os
import socket
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from functools import partial
from pathlib import Path
from time import localtime, strftime

from examples.reasoners import reasoner_factory
from examples.service import EnvironmentSecrets, Service, service_from
from genie_core.agent import Agent, AgentFactory, Approval
from genie_core.agent.provider.pydantic_ai import DefaultAgent
from genie_core.datastore import DataStore
from genie_core.errors import GenieError
from genie_core.execution import Answered, ApprovalClosed, ApprovalPending, Failed
from genie_core.message import SYSTEM, Message
from genie_core.secrets import SecretsProvider
from genie_core.session import Execution, GroupSession

PORT = 8723
FOLDER = Path("example-data/chat")
UNREAD = 200  # lines that a slow client may be behind before it is dropped

REASONER = """You follow a group chat on behalf of {owner}. Delegate what {owner} asks of nobody in
particular and an assistant can answer. Ignore what people say to each other."""

AGENT = "You help a group of people. Answer in one or two sentences."


async def local_time() -> str:
    """Return date and time where the server runs."""
    return strftime("%A, %d %B %Y, %H:%M", localtime())


def create_agent(service: Service, secrets: dict[str, str]) -> Agent:
    """Make the agent of one person."""
    return DefaultAgent(AGENT, service.for_pydantic_ai(secrets), tools=[local_time])


class Peer:
    """One connection. Lines to it wait in a queue, so that nobody waits for a slow reader."""

    def __init__(self, writer: StreamWriter) -> None:
        self._writer = writer
        self._lines: asyncio.Queue[str | None] = asyncio.Queue(UNREAD)

    def tell(self, line: str) -> None:
        """Send a line when the client takes it."""
        self._put(printable(line))

    def leave(self) -> None:
        """Close the connection behind the lines that wait."""
        self._put(None)

    def _put(self, line: str | None) -> None:
        try:
            self._lines.put_nowait(line)
        except asyncio.QueueFull:  # too far behind
            self._writer.transport.abort()

    async def write(self) -> None:
        """Send the lines, until told to leave or until the connection breaks."""
        with contextlib.suppress(ConnectionError):
            while (line := await self._lines.get()) is not None:
                self._writer.write(f"{line}\n".encode())
                await self._writer.drain()
        self._writer.close()


class ChatServer:
    """Takes lines from people to the session, in the order of arrival, and answers to people."""

    def __init__(self, session: GroupSession) -> None:
        self._session = session
        self._connected: set[Peer] = set()
        self._peers: dict[str, Peer] = {}  # those who have said their name
        self._asked: dict[int, tuple[str, Approval]] = {}
        self._numbers = itertools.count(1)

    @asynccontextmanager
    async def listening(self, listener: socket.socket) -> AsyncIterator[int]:
        """Serve and yield the port; at the end finish the work and say goodbye."""
        async with asyncio.TaskGroup() as tasks:

            def welcome(reader: StreamReader, writer: StreamWriter) -> None:
                tasks.create_task(self._talk(reader, writer, tasks))

            server = await asyncio.start_server(welcome, sock=listener)
            try:
                yield listener.getsockname()[1]
            finally:
                server.close()
                await self._session.join()
                for peer in self._connected:
                    peer.leave()

    async def _talk(
        self, reader: StreamReader, writer: StreamWriter, tasks: asyncio.TaskGroup
    ) -> None:
        peer = Peer(writer)
        self._connected.add(peer)
        writing = tasks.create_task(peer.write())
        name = ""
        try:
            name = await self._join(reader, peer)
            while line := await _line(reader):
                if line.startswith("/"):
                    self._answer(name, line)
                else:
                    self._receive(name, line, tasks)
        except (ConnectionError, ValueError):
            pass  # gone, or a line longer than the stream's limit: neither concerns the others
        finally:
            self._connected.discard(peer)
            self._peers.pop(name, None)
            writing.cancel()
            writer.close()

    async def _join(self, reader: StreamReader, peer: Peer) -> str:
        """Read names until one is free; empty if the client leaves before."""
        peer.tell("* your name?")
        while name := await _line(reader):
            if name not in {SYSTEM, *self._peers}:
                self._peers[name] = peer
                self._tell_all(f"* {name} is here")
                return name
            peer.tell("* that name is taken; another one?")
        raise ConnectionError

    def _receive(self, sender: str, line: str, tasks: asyncio.TaskGroup) -> None:
        """Hand the message over before anything else is read: that keeps the order."""
        receiver, _, text = line[1:].partition(" ") if line.startswith("@") else ("", "", line)
        self._tell_all(f"{sender}: {line}")
        try:
            execution = self._session.handle(Message(text, sender, receiver or None))
        except GenieError as error:
            self._tell(sender, f"* {error}")
        else:
            tasks.create_task(self._follow(execution, sender))

    async def _follow(self, execution: Execution, sender: str) -> None:
        async for event in execution.events():
            match event:
                case ApprovalPending(approval=approval):
                    self._ask(sender, approval)
                case ApprovalClosed(approval=approval):
                    self._asked = {
                        n: each for n, each in self._asked.items() if each[1] != approval
                    }
                case Answered(message=answer):
                    to = f"@{answer.receiver} " if answer.receiver else ""
                    self._tell_all(f"{answer.sender}: {to}{answer.content}")
                case Failed(error=error):
                    self._tell(sender, f"* no answer: {error}")
                case _:
                    pass

    def _ask(self, owner: str, approval: Approval) -> None:
        number = next(self._numbers)
        self._asked[number] = owner, approval
        call = f"{approval.sender} wants to call {approval.call_repr()}"
        self._tell(owner, f"* {call}: /allow {number} or /deny {number} REASON")

    def _answer(self, name: str, line: str) -> None:
        """Take an answer from the person whose agent asks, and from nobody else."""
        command, _, rest = line.partition(" ")
        number, _, reason = rest.partition(" ")
        owner, approval = self._asked.get(int(number) if number.isdecimal() else 0, ("", None))
        if approval is None or owner != name:
            self._tell(name, "* nothing with that number waits for you")
        elif command == "/allow":
            approval.approve(by=name)
        elif command == "/deny":
            approval.deny(reason or None, by=name)
        else:
            self._tell(name, "* /allow NUMBER or /deny NUMBER REASON")

    def _tell(self, name: str, line: str) -> None:
        if peer := self._peers.get(name):
            peer.tell(line)

    def _tell_all(self, line: str) -> None:
        for peer in self._peers.values():
            peer.tell(line)


def printable(text: str) -> str:
    """Replace what a terminal might obey instead of showing it."""
    return "".join(each if each.isprintable() else " " for each in text)


async def _line(reader: StreamReader) -> str:
    """Read the next line that is not blank; empty at the end."""
    while raw := await reader.readline():
        if line := raw.decode(errors="replace").strip():
            return line
    return ""


def bound(port: int) -> socket.socket:
    """Take a port on loopback; `OSError` if another program has it."""
    return socket.create_server(("127.0.0.1", port))


def create_session(
    service: Service, secrets: SecretsProvider, store: DataStore | None = None
) -> GroupSession:
    """Make the session that the server feeds."""
    return GroupSession(
        id="chat",
        group_reasoner_factory=reasoner_factory(service, REASONER, secrets),
        agent_factory=AgentFactory(partial(create_agent, service), secrets_provider=secrets),
        data_store=store,
    )


async def run() -> None:
    """Serve until interrupted; what was said is there again the next time."""
    secrets = EnvironmentSecrets(os.environ)
    with bound(PORT) as listener:  # before anything begins that would have to end
        async with service_from(os.environ) as service, aclosing(DataStore(FOLDER)) as store:
            session = create_session(service, secrets, store)
            async with ChatServer(session).listening(listener) as port:
                print(f"Listening: nc 127.0.0.1 {port}")
                await asyncio.Event().wait()


def main() -> None:
    """Start, and end at the first ctrl+c, or with one line if the port or the folder is taken."""
    try:
        asyncio.run(run())
    except KeyboardInterrupt:
        pass
    except OSError as error:
        raise SystemExit(f"can't serve: {error.strerror or error}") from None


if __name__ == "__main__":
    main()
