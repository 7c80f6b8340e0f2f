"""Agents on a scripted program, and what that program was told."""

import asyncio
import json
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genie_core.agent.provider.acp import AgentProgram, DefaultAgent

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
        async with asyncio.timeout(30), self._more:
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
        return [each.get("result") or each.get("error") for each in self.all("answer")]

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
    stage = Stage(folder)
    server = await asyncio.start_unix_server(stage.listen, folder / "socket", limit=2**26)
    try:
        async with asyncio.timeout(60):
            yield stage
    finally:
        server.close()
        left = [each["pid"] for each in stage.heard if "pid" in each and lives(each["pid"])]
        shutil.rmtree(folder)
        assert left == [], "processes are left behind"


def lives(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def tool_call(number: str = "t1", **more: Any) -> dict[str, Any]:
    return {"toolCallId": number, **more}


def permission(number: str = "t1", **more: Any) -> dict[str, Any]:
    return {"toolCall": tool_call(number, **more), "options": OPTIONS}
