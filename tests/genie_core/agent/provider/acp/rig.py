"""Agents on a scripted program, and what that program was told."""

import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.limits import scaled

from genie_core.agent import AgentInput, Verdict
from genie_core.agent.provider.acp import AgentProgram, DefaultAgent
from genie_core.message import Attachment
from genie_core.runtime.progress import Usage, What, reporting_to

SCRIPT = Path(__file__).with_name("scripted_agent.py")

OPTIONS = [
    {"optionId": "always", "kind": "allow_always", "name": "Always"},
    {"optionId": "once", "kind": "allow_once", "name": "Once"},
    {"optionId": "no", "kind": "reject_once", "name": "No"},
]


@dataclass(frozen=True)
class Shown:
    """One prompt, with all that the program's session holds."""

    texts: Sequence[str]
    files: Sequence[str]
    exchanges: Sequence[Any] = ()


class Stage:
    """Makes agents whose program follows a script, and hears from the program."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        self.heard: list[dict[str, Any]] = []
        self._more = asyncio.Condition()

    @property
    def requests(self) -> list[Shown]:
        return [Shown(each["texts"], each["files"]) for each in self.all("prompt")]

    async def reached(self, count: int) -> None:
        await self.until("prompt", count)

    def all(self, what: str) -> list[dict[str, Any]]:
        return [each for each in self.heard if each["what"] == what]

    async def until(self, what: str, count: int = 1) -> dict[str, Any]:
        """Wait until the program has told this so often, and return the last."""
        async with asyncio.timeout(scaled(30)), self._more:
            await self._more.wait_for(lambda: len(self.all(what)) >= count)
        return self.all(what)[count - 1]

    def script(self, *turns: list[dict[str, Any]], **more: Any) -> None:
        text = json.dumps({"turns": turns, **more})
        (self.folder / "script.json").write_text(text)

    def program(self, **more: Any) -> AgentProgram:
        words = (sys.executable, "-I", "-S", str(SCRIPT))
        return AgentProgram((*words, str(self.folder / "socket"), str(self.folder)), **more)

    def agent(self, **more: Any) -> DefaultAgent:
        return DefaultAgent(self.program(), self.workspace, **more)

    @property
    def answers(self) -> list[Any]:
        """What we have answered to its requests."""
        return [
            each["error"] if each.get("result") is None else each["result"]
            for each in self.all("answer")
        ]

    async def listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                async with self._more:
                    self.heard.append(json.loads(line))
                    self._more.notify_all()
        finally:
            writer.close()


@asynccontextmanager
async def staged() -> AsyncIterator[Stage]:
    folder = Path(tempfile.mkdtemp(prefix="acp-")).resolve()  # a socket's path must be short
    stage, before = Stage(folder), children()
    server = await asyncio.start_unix_server(stage.listen, folder / "socket", limit=2**26)
    try:
        async with asyncio.timeout(scaled(60)):
            yield stage
    finally:
        server.close()
        for each in stage.heard:
            if "pid" in each:
                await gone(each["pid"])
        with suppress(TimeoutError):  # while the loop runs, it learns of their end
            async with asyncio.timeout(2):
                while children() - before:
                    await asyncio.sleep(0.01)
        shutil.rmtree(folder)


def children() -> set[str]:
    """Return the processes that this one started and that it has not seen end."""
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def lives(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


async def gone(pid: int) -> None:
    """Wait for the end of a process that was killed; fail if it stays."""
    async with asyncio.timeout(scaled(10)):
        while lives(pid):
            await asyncio.sleep(0.01)


def tool_call(number: str = "t1", /, **more: Any) -> dict[str, Any]:
    return {"toolCallId": number, **more}


def permission(number: str = "t1", /, **more: Any) -> dict[str, Any]:
    return {"toolCall": tool_call(number, **more), "options": OPTIONS}


class Sink:
    """Collects what a run reports."""

    def __init__(self) -> None:
        self.usages: list[Usage] = []
        self.done: list[tuple[str, str]] = []

    def spent(self, usage: Usage) -> None:
        self.usages.append(usage)

    def doing(self, what: What, detail: str) -> None:
        self.done.append((what, detail))

    def of(self, what: What) -> list[str]:
        return [detail for each, detail in self.done if each == what]


class Judge:
    """An approval callback that gives these verdicts in turn, the last one again and again."""

    def __init__(self, *verdicts: Verdict) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self._verdicts = verdicts or (Verdict(approved=True),)

    async def __call__(self, name: str, arguments: dict[str, Any]) -> bool:
        return (await self.verdict(name, arguments)).approved

    async def verdict(
        self, name: str, arguments: dict[str, Any], _schema: dict[str, Any] | None = None
    ) -> Verdict:
        self.asked.append((name, arguments))
        return self._verdicts[min(len(self.asked), len(self._verdicts)) - 1]


class Patient:
    """An approval callback that waits until it is told the answer."""

    def __init__(self) -> None:
        self.asked: asyncio.Queue[tuple[str, asyncio.Future[Verdict]]] = asyncio.Queue()

    async def __call__(self, name: str, arguments: dict[str, Any]) -> bool:
        return (await self.verdict(name, arguments)).approved

    async def verdict(
        self, name: str, arguments: dict[str, Any], _schema: dict[str, Any] | None = None
    ) -> Verdict:
        answer: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        await self.asked.put((str(arguments.get("command", name)), answer))
        return await answer


async def ask(
    agent: DefaultAgent,
    query: str = "go",
    callback: Any = None,
    *,
    sink: Sink | None = None,
    emit: Callable[[str], None] = lambda _: None,
    attachments: Sequence[Attachment] = (),
    preferences: str | None = None,
) -> str:
    given = AgentInput(query, list(attachments), preferences)
    with reporting_to(sink or Sink()):
        return await agent.run_streaming(given, callback or Judge(), emit)
