"""The steps of a task, and the model that takes them with the tools that it is offered."""

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from genie_testing.openai.request import ModelRequest
from genie_testing.turns import Call, Say, Turn

_PREFIX: Final = "genie_"
"""An installed program puts it before the names of our tools."""

ROOT: Final = "{root}"
"""Stands for the workspace folder in the arguments of a call."""


@dataclass(frozen=True)
class Learn:
    """Make one call after another until the model has been shown `text`.

    Calls of tools that are not offered are left out.
    """

    text: str
    calls: tuple[Call, ...]


@dataclass(frozen=True)
class Do:
    """Make the calls of the first option whose tools are all offered, one call per request.

    If `done` says that the workspace is not as wanted after that, the next such option follows.
    """

    options: tuple[tuple[Call, ...], ...]
    done: Callable[[Path], bool] | None = None


Step: TypeAlias = Learn | Do


@dataclass(frozen=True)
class Ask:
    """One message of a person, the steps that answer it, and those of the agent it is passed to.

    Without an `answer`, the message is for other people.
    """

    text: str
    steps: tuple[Step, ...] = ()
    answer: str = ""
    delegated: tuple[Step, ...] = ()
    delegated_query: str = ""


class ScriptedModel:
    """Answers requests by the steps of the current `Ask`.

    The steps are the same for all agents; which calls they make depends on the tools offered and on
    the texts shown. `missed` lists the texts that no call brought.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._ask = Ask("")
        self._own: Iterator[Turn] = iter(())
        self._delegated: Iterator[Turn] = iter(())
        self._request: ModelRequest | None = None
        self.missed: list[str] = []

    def begin(self, ask: Ask) -> None:
        """Answer this message from now on."""
        self._ask = ask
        self._own = self._turns(ask.steps, ask.answer)
        self._delegated = self._turns(ask.delegated, "Done as you asked.")

    def choose(self, request: ModelRequest) -> Turn:
        """Choose the turn for a request."""
        self._request = request
        if request.structured:
            return Say(json.dumps(self._decision()))
        if not request.tools:  # a title or a summary of the conversation
            return Say("The people talk about the program of a shop.")
        if self._ask.delegated and self._ask.delegated_query in request.query:
            return next(self._delegated, Say("Done as you asked."))
        return next(self._own, Say(self._ask.answer))

    def _decision(self) -> dict[str, Any]:
        if not self._ask.answer:
            return {"decision": "ignore", "reason": "The message is for other people."}
        reason = "The message asks for something."
        return {
            "decision": "delegate", "query": self._ask.text, "receiver": "ann", "reason": reason
        }  # fmt: skip

    def _turns(self, steps: tuple[Step, ...], answer: str) -> Iterator[Turn]:
        for step in steps:
            match step:
                case Learn(text, calls):
                    yield from self._learn(text, calls)
                case Do(options, done):
                    yield from self._do(options, done)
        yield Say(answer)

    def _learn(self, text: str, calls: tuple[Call, ...]) -> Iterator[Turn]:
        for call in calls:
            if self._was_shown(text):
                return
            if (possible := self._possible(call)) is not None:
                yield possible
        if not self._was_shown(text):
            self.missed.append(text)

    def _do(
        self, options: tuple[tuple[Call, ...], ...], done: Callable[[Path], bool] | None
    ) -> Iterator[Turn]:
        for option in options:
            calls = [self._possible(call) for call in option]
            if None in calls:
                continue
            yield from (call for call in calls if call is not None)
            if done is None or done(self._root):
                return
        self.missed.append(f"a way to call {options[0][0].name}")

    def _was_shown(self, text: str) -> bool:
        return self._request is not None and any(text in each for each in self._request.texts)

    def _possible(self, call: Call) -> Call | None:
        """Return the call by the name under which its tool is offered; None if it is not."""
        name = _offered(call.name, self._request.tools if self._request else ())
        if not name:
            return None
        arguments = json.dumps(call.arguments).replace(ROOT, str(self._root))
        return replace(call, name=name, arguments=arguments)


def _offered(name: str, tools: Collection[str]) -> str:
    return next((each for each in (name, f"{_PREFIX}{name}") if each in tools), "")
