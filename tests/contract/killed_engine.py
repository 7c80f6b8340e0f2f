"""Runs engines that are killed at any moment, and looks at what they left behind.

Run as a program. It forks each engine from itself, so that a run costs milliseconds: it must have no
threads and no event loop of its own. An engine first examines what its predecessors left, then goes
on with their chat and reports every message that it is done with, until it is killed.
"""

import argparse
import asyncio
import gc
import io
import json
import os
import random
import select
import shutil
import signal
import sys
import time
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.limits import scaled

from genie_core.agent.approval import ApprovalCallback
from genie_core.agent.base import Agent, AgentInfo, AgentInput, AsyncTool
from genie_core.agent.factory import AgentFactory
from genie_core.datastore import DataStore
from genie_core.errors import MissingKey
from genie_core.execution import Answered, Decided, ExecutionEvent
from genie_core.message import Message
from genie_core.reasoner import Decision, GroupReasoner, Response
from genie_core.reasoner.factory import GroupReasonerFactory
from genie_core.secrets import SecretsProvider
from genie_core.session import GroupSession
from genie_core.storage.journal import decode_journal, decode_value

DEADLINE: Final = scaled(20.0)  # seconds in which an engine must be up; only ends a broken run
LIVES: Final = 10  # engines that go on with the same chat
JOURNALLED: Final = {"alice", "a/b"}
PEOPLE: Final = ["alice", "bob", "a/b", "a_b"]
HELPER: Final = "0000000a"
PADDING: Final = "\n" + "x" * 300_000  # so much is written in pieces, of which a kill leaves some
LARGE: Final = 0.1  # of the messages
TORN: Final = "cut off an unfinished last line"


def head(content: str) -> str:
    """Leave out the padding."""
    return content.partition("\n")[0]


class Listing:
    """Remembers texts, and is saved whole."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def add(self, texts: list[str]) -> None:
        self.texts += texts

    def get_serialized(self) -> Any:
        return {"texts": self.texts}

    def set_serialized(self, state: Any) -> None:
        self.texts = list(state["texts"])


class Journalled(Listing):
    """Remembers texts, and is saved as they come."""

    def __init__(self) -> None:
        super().__init__()
        self._new: list[str] = []

    def add(self, texts: list[str]) -> None:
        super().add(texts)
        self._new += texts

    def get_new_messages(self) -> list[Any]:
        new, self._new = self._new, []
        return new

    def set_serialized(self, state: Any) -> None:
        self.texts = list(state)


class Reasoner(Listing, GroupReasoner):
    @property
    def processed(self) -> int:
        return len(self.texts)

    async def run(self, updates: list[Message]) -> Response:
        await asyncio.sleep(0)
        self.add([head(message.content) for message in updates])
        last = updates[-1]
        if "?" not in last.content:
            return Response(Decision.IGNORE)
        return Response(Decision.DELEGATE, query=last.content)


class JournalledReasoner(Journalled, Reasoner):
    pass


class Answerer(Listing, Agent):
    def __init__(self, run_subagent: AsyncTool | None = None) -> None:
        super().__init__()
        self._run_subagent = run_subagent

    @asynccontextmanager
    async def mcp(self) -> AsyncIterator[Agent]:
        yield self

    async def run(self, input: AgentInput, callback: ApprovalCallback) -> str:  # noqa: A002 - the contract's name
        await asyncio.sleep(0)
        if self._run_subagent is not None:
            await self._run_subagent(input.query, "helper", HELPER)
        self.add([head(input.query)])
        return f"answer to {head(input.query)}"


class JournalledAnswerer(Journalled, Answerer):
    def __init__(self, run_subagent: AsyncTool | None = None) -> None:
        Journalled.__init__(self)
        self._run_subagent = run_subagent


class Owners(SecretsProvider):
    """Tells the factories for whom they work."""

    def get_secrets(self, username: str) -> dict[str, str] | None:
        return {"owner": username}


def reasoners() -> GroupReasonerFactory:
    def make(_secrets: dict[str, str], owner: str) -> GroupReasoner:
        return JournalledReasoner() if owner in JOURNALLED else Reasoner()

    return GroupReasonerFactory(make)


def agents() -> AgentFactory:
    def make(
        secrets: dict[str, str], tools: dict[str, AsyncTool], _infos: list[AgentInfo]
    ) -> Agent:
        journalled = secrets["owner"] in JOURNALLED
        return (JournalledAnswerer if journalled else Answerer)(tools["run_subagent"])

    def make_helper(secrets: dict[str, str]) -> Agent:
        return Answerer() if secrets["owner"] in JOURNALLED else JournalledAnswerer()

    factory = AgentFactory(make, secrets_provider=Owners())
    factory.add_agent_factory_fn(make_helper, AgentInfo("helper", "helps"))
    return factory


@dataclass
class Done:
    """What engines of one chat have reported to be done with: texts by person, and answers."""

    said: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in PEOPLE})

    def add(self, sender: str, text: str) -> None:
        self.said[sender].append(text)


async def texts_in(store: DataStore, key: str) -> list[str]:
    """Read what a `Listing` of either kind left."""
    if lines := await store.load_lines(key):
        return list(lines)
    try:
        state = await store.load(key)
    except MissingKey:
        return []
    return list(state["texts"])


async def examine(store: DataStore, messages: list[Message], done: Done) -> None:
    contents = [head(message.content) for message in messages]
    assert len(set(contents)) == len(contents), "a message is there twice"
    for owner, said in done.said.items():
        asked = [text for text in said if "?" in text]
        expect_in_order(said, contents, f"messages of {owner}")
        expect_in_order([f"answer to {text}" for text in asked], contents, f"answers to {owner}")
        part = store.narrowed("chat", owner)
        seen = await texts_in(part, "reasoner")
        assert seen == contents[: len(seen)], f"the reasoner of {owner} missed something"
        expect_in_order(said, seen, f"reasoner of {owner}")
        expect_in_order(asked, await texts_in(part, "system"), f"agent of {owner}")
        below = part.narrowed("system")
        expect_in_order(asked, await texts_in(below, f"helper:{HELPER}"), f"helper of {owner}")
    strange = [problem for problem in store.problems if TORN not in problem]
    assert not strange, strange


def expect_in_order(expected: list[str], found: list[str], where: str) -> None:
    assert len(set(found)) == len(found), f"{where}: something is there twice"
    wanted = set(expected)
    kept = [text for text in found if text in wanted]
    assert len(kept) == len(expected), f"{where}: lost {min(wanted - set(kept))}"


def readable(folder: Path) -> None:
    """Read every file the plain way, so that nothing hides behind the store's patience."""
    for path in folder.rglob("*.json*"):
        if path.suffix == ".json":
            decode_value(path.read_bytes())
        elif path.suffix == ".jsonl":
            assert not decode_journal(path.read_bytes()).damaged, path


async def live(
    folder: Path, report: Callable[[dict[str, Any]], None], done: Done, life: int
) -> None:
    store = DataStore(folder)
    session = GroupSession("chat", reasoners(), agents(), store)
    await examine(store, await session.remembered(), done)
    report({"opened": life})
    if life == LIVES:
        await session.join()
        await store.aclose()
        return
    chance = random.Random(f"{folder} {life}")

    async def say(number: int) -> None:
        sender = chance.choice(PEOPLE)
        mark = "?" if chance.random() < 0.6 else "."
        text = f"{life}/{number} from {sender}{mark}"
        content = text + (PADDING if chance.random() < LARGE else "")
        events = [event async for event in session.handle(Message(content, sender)).events()]
        assert handled(events, text), events
        report({"sender": sender, "text": text})

    for start in range(0, 400, 8):
        async with asyncio.TaskGroup() as together:
            for number in range(start, start + 8):
                together.create_task(say(number))
    await session.join()
    await store.aclose()


def handled(events: list[ExecutionEvent], text: str) -> bool:
    """Tell whether everything went well and is on disk."""
    expected = [Decided, Answered] if "?" in text else [Decided]
    return [type(event) for event in events] == expected


def become_engine(folder: Path, pipe: int, done: Done, life: int) -> None:
    """Never returns."""

    def report(event: dict[str, Any]) -> None:
        os.write(pipe, json.dumps(event).encode() + b"\n")

    code = 1
    try:
        asyncio.run(live(folder, report, done, life))
        code = 0
    except BaseException:
        report({"failure": traceback.format_exc()})
    finally:
        os._exit(code)


def run(folder: Path, done: Done, life: int, chance: random.Random) -> None:
    """Let one engine live, kill it unless it is the last one, and take down what it reported."""
    reader, writer = os.pipe()
    engine = os.fork()
    if engine == 0:
        os.close(reader)
        become_engine(folder, writer, done, life)
    os.close(writer)
    with os.fdopen(reader, "rb", buffering=0) as pipe:
        try:
            received = read_for_a_while(pipe, chance, last=life == LIVES)
        finally:
            os.kill(engine, signal.SIGKILL)
            os.waitpid(engine, 0)
        received += pipe.readall()
    *lines, _unfinished = received.split(b"\n")
    for event in map(json.loads, lines):
        if failure := event.get("failure"):
            raise AssertionError(failure)
        if "text" in event:
            done.add(event["sender"], event["text"])
    if life == LIVES:
        assert lines, "the last engine did not open the chat"


def read_for_a_while(pipe: io.FileIO, chance: random.Random, *, last: bool) -> bytes:
    """Read until a number of reports have come, and a moment longer."""
    received = b""
    wanted = 10_000 if last else chance.choice([0, 0, 1, 2, 4, 8, 16])
    deadline = time.monotonic() + DEADLINE
    while received.count(b"\n") < wanted:
        ready, _, _ = select.select([pipe], [], [], deadline - time.monotonic())
        assert ready, f"an engine said nothing for {DEADLINE} seconds"
        some = pipe.read(65_536)
        if not some:
            return received
        received += some
    time.sleep(chance.random() * (0.012 if not wanted else 0.003))  # the moment to kill it
    return received


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("folder", type=Path)
    options.add_argument("--kills", type=int, default=500)
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    gc.freeze()
    reported = 0
    for chat in range(given.kills // LIVES):
        folder = given.folder / str(chat)
        chance = random.Random(f"{given.seed} {chat}")
        done = Done()
        for life in range(LIVES + 1):
            try:
                run(folder, done, life, chance)
                readable(folder)
            except AssertionError as failure:
                sys.exit(f"--seed {given.seed}: chat {chat}, life {life}, {folder}: {failure}")
        reported += sum(map(len, done.said.values()))
        shutil.rmtree(folder)
    print(json.dumps({"kills": given.kills, "reported": reported}))  # noqa: T201 - the result


if __name__ == "__main__":
    main()
