"""Keep runs that go on side by side from writing the same file."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from genie_core.agent.approval import ApprovalCallback, Verdict, ask_about
from genie_core.agent.base import Agent
from genie_core.assistant.forwarding import ForwardingAgent
from genie_core.runtime.progress import doing

Writes: TypeAlias = Callable[[str, dict[str, Any]], Sequence[str]]
"""Returns the files that a call of a tool would write, by its name and arguments."""

_run: ContextVar[object | None] = ContextVar("run that writes", default=None)

_TAKEN: Final = (
    "{} is being changed by another answer of yours, which is not finished, so it was not changed: "
    "work on other files, or say that this has to wait for that answer."
)


class FileLocks:
    """The files that running answers have written or ask to write; each belongs to one of them.

    Commands lock nothing: which files they write is not known.
    """

    def __init__(self) -> None:
        self._owners: dict[str, object] = {}

    @contextmanager
    def run(self) -> Iterator[None]:
        """Hold this run's files until the block ends. A subagent's run is part of its caller's."""
        if _run.get() is not None:
            yield
            return
        mine = object()
        token = _run.set(mine)
        try:
            yield
        finally:
            _run.reset(token)
            self._owners = {path: each for path, each in self._owners.items() if each is not mine}

    def acquire(self, paths: Iterable[str]) -> tuple[list[str], str]:
        """Lock files for the running answer.

        Returns the new ones and "", or nothing and a file that another answer has.
        """
        mine, wanted = _run.get(), [path for path in paths if path]  # "" is the workspace itself
        for path in wanted:
            if self._owners.get(path, mine) is not mine:
                return [], path
        new = [path for path in wanted if path not in self._owners]
        self._owners |= dict.fromkeys(new, mine)
        return new, ""

    def release(self, paths: Iterable[str]) -> None:
        """Release files that the running answer does not write after all."""
        for path in paths:
            self._owners.pop(path, None)


class LockingAgent(ForwardingAgent):
    """An agent whose runs write no file that another running answer writes."""

    def __init__(self, inner: Agent, locks: FileLocks, writes: Writes) -> None:
        super().__init__(inner)
        self._locks = locks
        self._writes = writes

    @asynccontextmanager
    async def around(self, callback: ApprovalCallback) -> AsyncIterator[ApprovalCallback]:
        with self._locks.run():
            yield _LockingCallback(callback, self._locks, self._writes)


@dataclass(frozen=True, slots=True)
class _LockingCallback:
    """Denies a call that would write another answer's file, before a person is asked about it."""

    callback: ApprovalCallback
    locks: FileLocks
    writes: Writes

    async def __call__(self, tool_name: str, tool_args: dict[str, Any]) -> bool:
        return (await self.verdict(tool_name, tool_args)).approved

    async def verdict(
        self, tool_name: str, tool_args: dict[str, Any], schema: dict[str, Any] | None = None
    ) -> Verdict:
        new, taken = self.locks.acquire(self.writes(tool_name, tool_args))
        if taken:
            return _denied(tool_name, taken)
        verdict = Verdict(approved=False)
        try:
            verdict = await ask_about(self.callback, tool_name, tool_args, schema)
        finally:
            if not verdict.approved:
                self.locks.release(new)
        if verdict.arguments is not None:
            self.locks.release(new)
            _, taken = self.locks.acquire(self.writes(tool_name, verdict.arguments))
        return _denied(tool_name, taken) if taken else verdict


def _denied(tool: str, path: str) -> Verdict:
    doing("note", f"{tool}: {path} is being changed by another answer")
    return Verdict(approved=False, reason=_TAKEN.format(path), automatic=True)
