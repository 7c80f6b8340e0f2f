"""Driving one task: a session with an assistant, its scripted provider, and a person who allows."""

import asyncio
import json
import os
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

from benchmarks.coding.project import make_project
from benchmarks.coding.steps import ScriptedModel
from benchmarks.coding.tasks import Task
from genie_core.agent import Approval
from genie_core.assistant.build import Assistant, build_assistant
from genie_core.assistant.config import AgentSpec, AssistantConfig, ModelChoice
from genie_core.errors import ExecutionFailed
from genie_core.message import Message
from genie_core.room.engine.approval_policy import ToolCall
from genie_core.session import GroupSession
from genie_testing.openai import FakeOpenAI
from genie_testing.openai.request import ModelRequest

BYTES_PER_TOKEN: Final = 4
"""No tokenizer is at hand without a network; for English and code this is about right."""

_KEY_NAME: Final = "SCRIPTED_MODEL_KEY"
_PERSON: Final = "ann"
_LIMIT: Final = 60.0
"""Seconds for one task."""


@dataclass(frozen=True)
class Measured:
    """The cost of one task. `fresh` are the tokens that no earlier request began with."""

    task: str
    requests: int
    tokens: int
    fresh: int
    seconds: float
    calls: int
    asked: int
    missed: tuple[str, ...] = ()


async def measure(task: Task, program: Path | None = None) -> Measured:
    """Play a task with the built-in agent, or with opencode at this path."""
    with tempfile.TemporaryDirectory(prefix="genie-") as folder:
        root, home = Path(folder, "work"), Path(folder, "home")
        make_project(root, packages=task.packages)
        model = ScriptedModel(root)
        async with FakeOpenAI(choose=model.choose) as server:
            os.environ[_KEY_NAME] = server.api_key
            config = _config(root, server.base_url, program, home)
            assistant = await asyncio.to_thread(build_assistant, config, None, _PERSON)
            judge = _Judge(assistant)
            async with _session(assistant) as session:
                seconds = await _play(task, session, model, judge)
        if not task.done(root):
            model.missed.append("the files are not as wanted")
        return _measured(task, server.requests, seconds, judge, [*judge.failures, *model.missed])


def _config(root: Path, address: str, program: Path | None, home: Path) -> AssistantConfig:
    choice = ModelChoice("openai:scripted", address, _KEY_NAME)
    coder = AgentSpec("coder", "Reads and changes code.", tools=("read_file", "edit_file"))
    if program is None:
        return AssistantConfig(
            choice.name, workspace=root, base_url=address, key_name=_KEY_NAME, agents=(coder,)
        )
    return AssistantConfig(
        reasoner=choice, workspace=root, program=opencode(program, address, home)
    )


def opencode(program: Path, address: str, home: Path) -> AgentSpec:
    """Set opencode up with the scripted provider; it asks before commands and edits, as we do."""
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": address, "apiKey": os.environ[_KEY_NAME]},
        "models": {"scripted": {"name": "scripted"}},
    }
    settings = {
        "provider": {"scripted": provider},
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "permission": {"bash": "ask", "edit": "ask"},
        "autoupdate": False,
    }
    (home / "config/opencode").mkdir(parents=True)
    (home / "config/opencode/opencode.json").write_text(json.dumps(settings))
    names = ("CONFIG", "DATA", "CACHE", "STATE")
    folders = {f"XDG_{name}_HOME": str(home / name.lower()) for name in names}
    env = {"HOME": str(home), **folders}
    return AgentSpec("opencode", "Codes.", command=(str(program), "acp"), env=env)


class _Judge:
    """The person, who allows everything; counts the calls that the policy leaves to the person."""

    def __init__(self, assistant: Assistant) -> None:
        self._policy = assistant.policy
        self.calls = 0
        self.asked = 0
        self.failures: list[str] = []

    def answer(self, call: Approval) -> None:
        result = self._policy.evaluate(
            ToolCall(_PERSON, call.sender, call.tool_name, call.tool_kwargs)
        )
        self.calls += 1
        self.asked += result.effect == "ask"
        if result.effect == "deny":
            call.deny(result.because)
        else:
            call.approve()


@asynccontextmanager
async def _session(assistant: Assistant) -> AsyncIterator[GroupSession]:
    session = GroupSession("coding", assistant.reasoner_factory, assistant.agent_factory)
    try:
        yield session
    finally:
        session.stop()
        for execution in session.running:
            execution.cancel()
        await session.join()


async def _play(task: Task, session: GroupSession, model: ScriptedModel, judge: _Judge) -> float:
    for message in task.before:
        session.append(message)
    begin = time.perf_counter()
    try:
        async with asyncio.timeout(_LIMIT):
            for ask in task.asks:
                model.begin(ask)
                answer = await _answer(session, ask.text, judge)
                if answer != ask.answer:
                    judge.failures.append(f"answered {answer!r}")
    except TimeoutError:
        judge.failures.append(f"took more than {_LIMIT:g} seconds")
    return time.perf_counter() - begin


async def _answer(session: GroupSession, text: str, judge: _Judge) -> str:
    try:
        async for element in session.handle(Message(text, _PERSON)).stream():
            match element:
                case Approval():
                    judge.answer(element)
                case Message(content=content):
                    return content.strip()
    except ExecutionFailed as error:
        judge.failures.append(str(error))
    return ""


def _measured(
    task: Task,
    requests: Sequence[ModelRequest],
    seconds: float,
    judge: _Judge,
    missed: Sequence[str],
) -> Measured:
    sent = [_sent(request.body) for request in requests]
    fresh = [len(text) - _known(text, sent[:number]) for number, text in enumerate(sent)]
    return Measured(
        task=task.name,
        requests=len(requests),
        tokens=sum(map(len, sent)) // BYTES_PER_TOKEN,
        fresh=sum(fresh) // BYTES_PER_TOKEN,
        seconds=seconds,
        calls=judge.calls,
        asked=judge.asked,
        missed=tuple(missed),
    )


def _sent(body: dict[str, Any]) -> bytes:
    """Return what the model reads, in the order in which providers keep it."""
    messages = body.get("messages") or [body.get("instructions"), body.get("input")]
    return json.dumps([body.get("tools", []), messages], ensure_ascii=False).encode()


def _known(text: bytes, earlier: Sequence[bytes]) -> int:
    """Count the bytes at the beginning that an earlier request began with, too."""
    return max((_common(text, each) for each in earlier), default=0)


def _common(one: bytes, other: bytes) -> int:
    return sum(1 for _ in takewhile(_same, zip(one, other, strict=False)))


_same: Final[Callable[[tuple[int, int]], bool]] = lambda pair: pair[0] == pair[1]  # noqa: E731
