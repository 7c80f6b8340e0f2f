"""Servers that ask a person for input during a call, on both libraries and in both protocols."""

import asyncio
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.genie_core.assistant.servers import modern_server
from tests.genie_core.assistant.servers.rig import Bench, Program, bench
from tests.genie_core.assistant.servers.toy_server import tool

from genie_core.agent import Verdict
from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.elicitation import MOST_QUESTIONS
from genie_core.room.engine.approval_policy import ANSWER_SERVER
from genie_testing.turns import Call

pytestmark = pytest.mark.timeout(300)

MODERN = ServerSpec("toy", sys.executable, (str(Path(modern_server.__file__)),))
ASK = Call("toy_ask", {})


@pytest.fixture
def asking(program: Program) -> ServerSpec:
    program.does("serve", tools=[tool("ask"), tool("visit")])
    return program.spec()


class Person:
    """Allows calls, and gives its answers to what servers ask, one after the other."""

    def __init__(self, *answers: Verdict | dict[str, Any] | None) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, Any]] = []

    async def __call__(self, name: str, arguments: dict[str, Any]) -> bool:
        return (await self.verdict(name, arguments)).approved

    async def verdict(
        self, name: str, arguments: dict[str, Any], _schema: object = None
    ) -> Verdict:
        if name != ANSWER_SERVER:
            return Verdict(approved=True)
        self.asked.append(arguments)
        answer = self.answers.pop(0)
        if isinstance(answer, Verdict):
            return answer
        if answer is None:
            return Verdict(approved=False)
        return Verdict(approved=True, arguments={**arguments, "answer": answer})


async def result(made: Bench, person: Person, call: Call = ASK) -> Any:
    last = await made.ask(call, approve=person)
    return json.loads(last.tool_results[-1])


async def test_form_is_accepted_or_declined(runtime: str, asking: ServerSpec) -> None:
    person = Person({"name": "Ann", "age": 7}, None, {"age": 7}, {"name": "Ann", "x": "y"})
    async with bench(runtime, asking) as made:
        answers = [await result(made, person) for _ in range(4)]
    assert answers[0] == {"action": "accept", "content": {"name": "Ann", "age": 7}}
    assert [each["action"] for each in answers[1:]] == ["decline"] * 3
    assert person.asked[0] == {"server": "toy", "message": "Who are you?", "answer": {}}
    assert "got no answer" in made.notes.notes[-1]


async def test_no_person_no_answer(runtime: str, asking: ServerSpec) -> None:
    withdrawn = Verdict(approved=False, reason="the session is stopping", automatic=True)
    person = Person(withdrawn, Verdict(approved=True))
    async with bench(runtime, asking) as made:
        assert await result(made, person) == {"action": "cancel"}
        assert await result(made, person) == {"action": "decline"}, "allowed, and nothing filled in"


async def test_the_protocol_of_2026_asks_in_results(runtime: str) -> None:
    person = Person({"name": "Ann", "age": 7}, None)
    async with bench(runtime, MODERN) as made:
        accepted, declined = [await result(made, person) for _ in range(2)]
        assert accepted == {"action": "accept", "data": {"name": "Ann", "age": 7}}
        assert declined == {"action": "decline"}
    assert person.asked[0]["message"] == "Who are you?"


async def test_a_server_may_speak_the_protocol_of_2025(runtime: str) -> None:
    person = Person({"name": "Ann", "age": 7})
    async with bench(runtime, replace(MODERN, legacy=True)) as made:
        answer = await result(made, person, Call("toy_ask_now", {}))
    assert answer == {"action": "accept", "data": {"name": "Ann", "age": 7}}


async def test_an_address_is_shown_and_never_opened(runtime: str, asking: ServerSpec) -> None:
    person = Person(Verdict(approved=True))
    async with bench(runtime, asking) as made:
        assert await result(made, person, Call("toy_visit", {})) == {"action": "accept"}
        assert person.asked[0]["url"] == "https://pay.example/1"
        for url in (
            *("file:///etc/passwd", "javascript:alert(1)", "https://", "https://a b"),
            *("https://pay.example@evil.example/", "https://evil.example\\@pay.example/"),
            "https://p\u0430y.example/",  # with a Cyrillic letter
        ):
            params = {"mode": "url", "message": "m", "url": url, "elicitationId": "e"}
            call = Call("toy_visit", {"params": params})
            assert await result(made, person, call) == {"action": "cancel"}
    assert len(person.asked) == 1


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "object"}}},
        {"type": "object", "properties": {f"a{n}": {"type": "string"} for n in range(40)}},
        {"type": "object", "properties": {"a": {"type": ["string", "null"]}}},
    ],
)
async def test_unshowable_form_is_cancelled(
    runtime: str, asking: ServerSpec, schema: dict[str, Any]
) -> None:
    person = Person()
    call = Call("toy_ask", {"params": {"mode": "form", "message": "m", "requestedSchema": schema}})
    async with bench(runtime, asking) as made:
        answer = await result(made, person, call)
    assert answer.get("action") == "cancel" or "code" in answer
    assert person.asked == []


async def test_server_pattern_is_not_applied(runtime: str, asking: ServerSpec) -> None:
    field = {"type": "string", "pattern": "^(a+)+$"}  # takes for ever on what does not match
    schema = {"type": "object", "properties": {"name": field}}
    params = {"mode": "form", "message": "m", "requestedSchema": schema}
    answer = {"name": "a" * 60 + "!"}
    async with bench(runtime, asking) as made:
        given = await result(made, Person(answer), Call("toy_ask", {"params": params}))
    assert given == {"action": "accept", "content": answer}


async def test_endless_questions_are_cut_off(runtime: str, asking: ServerSpec) -> None:
    person = Person(*[None] * MOST_QUESTIONS)
    async with bench(runtime, asking) as made:
        call = Call("toy_ask", {"times": MOST_QUESTIONS + 5})
        assert await result(made, person, call) == {"action": "cancel"}
    assert len(person.asked) == MOST_QUESTIONS


async def test_a_question_ends_with_the_run(runtime: str, asking: ServerSpec) -> None:
    asked, withdrawn = asyncio.Event(), asyncio.Event()

    class Absent(Person):
        async def verdict(
            self, name: str, arguments: dict[str, Any], _schema: object = None
        ) -> Verdict:
            if name == ANSWER_SERVER:
                asked.set()
                try:
                    await asyncio.Event().wait()
                finally:
                    withdrawn.set()
            return Verdict(approved=True)

    async with bench(runtime, asking) as made:
        run = asyncio.create_task(made.ask(ASK, approve=Absent()))
        await asked.wait()
        run.cancel()
        await asyncio.wait({run})
        await withdrawn.wait()
        assert made.state == "ready"
