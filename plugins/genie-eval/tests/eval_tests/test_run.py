"""Asking other reasoners about recorded rooms."""

import asyncio

import pytest
from tests.contract.assisted import KEY, Keys, config, delegates, ignores, served_by
from tests.limits import scaled

from eval_tests.recordings import Recording
from genie_core.assistant.build import build_reasoner
from genie_core.assistant.config import Budget
from genie_core.assistant.prompts import load_prompt
from genie_core.assistant.what_if.report import Comparison, Summary, WhatIfReport
from genie_core.message import Message
from genie_core.reasoner import Decision, Response
from genie_eval.run import AT_ONCE, GIVE_UP_AFTER, WhatIf
from genie_testing import DecideFn, delegate_all, reasoner_factory
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Refuse, Stall

ASKED = WhatIfReport(session="s", title="t", template="x", model="m", at=1.0)


async def asked(
    room: Recording, decide: DecideFn = delegate_all, labels: dict[int, str] | None = None
) -> WhatIfReport:
    run = WhatIf(reasoner_factory(decide), room.recalled(), labels)
    async with asyncio.timeout(scaled(60)):
        await run.run()
    return run.report(ASKED)


def garden() -> Recording:
    room = Recording()
    room.ignored("good morning")
    room.answered("what is 6*7?", "42")
    room.ignored("who waters the roses?", "bob")
    return room


async def test_only_what_differs_is_told() -> None:
    room = garden()
    report = await asked(room)
    assert report.summary == Summary(agree=1, newly_delegated=2)
    assert (report.total, report.stopped) == (3, "")
    assert [each.text for each in report.changed] == ["good morning", "who waters the roses?"]
    first = report.changed[0]
    assert first.before == Comparison("ignore", "small talk")
    assert first.after == Comparison("delegate", "", "good morning", "ann")
    assert (report.changed[1].author, report.changed[1].handler) == ("bob", "ann")


async def test_reasoners_see_exact_updates() -> None:
    shown: dict[str, list[list[str]]] = {}

    def decide(updates: list[Message]) -> Response:
        shown.setdefault(updates[-1].sender, []).append([each.content for each in updates])
        return Response(Decision.IGNORE)

    await asked(garden(), decide)
    assert shown == {
        "ann": [["good morning"], ["what is 6*7?"]],
        "bob": [["good morning", "what is 6*7?", "42", "who waters the roses?"]],
    }


async def test_failed_update_is_shown_again() -> None:
    shown: list[list[str]] = []

    def decide(updates: list[Message]) -> Response:
        shown.append([each.content for each in updates])
        if updates[-1].content == "two":
            raise ValueError("no idea")
        return Response(Decision.IGNORE)

    room = Recording()
    for text in ("one", "two", "three"):
        room.ignored(text)
    report = await asked(room, decide)
    assert report.summary == Summary(agree=2, failed=1)
    assert shown == [["one"], ["two"], ["two", "three"]]
    (failure,) = report.failures
    assert failure.text == "two"
    assert "no idea" in failure.error
    assert report.changed == ()


async def test_always_failing_model_is_given_up() -> None:
    def decide(_updates: list[Message]) -> Response:
        raise ValueError("no such model")

    room = Recording()
    for number in range(50):
        room.ignored(f"text {number}")
    report = await asked(room, decide)
    assert report.summary == Summary(failed=GIVE_UP_AFTER)
    assert report.total == 50
    assert "no such model" in report.stopped


async def test_concurrency_is_limited() -> None:
    going = most = 0
    full = asyncio.Event()

    async def decide(_updates: list[Message]) -> Response:
        nonlocal going, most
        going += 1
        most = max(most, going)
        if going == AT_ONCE:
            full.set()
        await full.wait()
        await asyncio.sleep(0)
        going -= 1
        return Response(Decision.IGNORE)

    room = Recording()
    for number in range(3 * AT_ONCE):
        room.ignored("hello", f"guest{number}")
    report = await asked(room, decide)
    assert report.summary == Summary(agree=3 * AT_ONCE)
    assert most == AT_ONCE


async def test_labels_tell_how_many_are_right_by_them() -> None:
    room = garden()
    ignored, answered, roses = (case.seq for case in room.recalled().cases)
    labels = {ignored: "ignore", answered: "delegate", roses: "ignore", 999: "ignore"}
    report = await asked(room, labels=labels)
    assert (report.summary.marked, report.summary.right_before) == (3, 0)
    assert report.summary.right_after == 2
    assert all(each.wrong for each in report.changed)


async def test_cancel_keeps_finished_decisions() -> None:
    stuck = asyncio.Event()
    ended = False

    async def decide(updates: list[Message]) -> Response:
        nonlocal ended
        if updates[-1].content == "two":
            stuck.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended = True
        return delegate_all(updates)

    room = Recording()
    for text in ("one", "two", "three"):
        room.ignored(text)
    seen: list[int] = []
    run = WhatIf(
        reasoner_factory(decide), room.recalled(), told=lambda it: seen.append(len(it.outcomes))
    )
    task = asyncio.create_task(run.run())
    async with asyncio.timeout(scaled(60)):
        await stuck.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert ended
    assert seen == [1]
    report = run.report(ASKED)
    assert [each.text for each in report.changed] == ["one"]
    assert report.summary == Summary(newly_delegated=1)


# With the real client libraries and a scripted server


async def by_model(
    server: FakeOpenAI, room: Recording, budget: Budget | None = None
) -> WhatIfReport:
    settings = config(server, reasoner=served_by(server, "small-1"), budget=budget or Budget())
    prompt = load_prompt("reasoner", "fact_check")
    factory, label = build_reasoner(settings, prompt, Keys(), "ann")
    assert label == "small-1"
    run = WhatIf(factory, room.recalled())
    async with asyncio.timeout(scaled(60)):
        await run.run()
    return run.report(ASKED)


@pytest.mark.timeout(180)
async def test_real_client_is_asked_and_counted() -> None:
    room = Recording()
    room.ignored("we fly on Thursday")
    room.ignored("as I said, the flight is on Friday")
    room.answered("@genie what is 6*7?", "42")
    replies = (ignores("a plan"), delegates("Check the day.", "ann", "she said Thursday"))
    async with FakeOpenAI(*replies, api_key=KEY) as server:
        report = await by_model(server, room)
        assert [request.model for request in server.requests] == ["small-1", "small-1"]
        first, second = server.requests
        assert "ann" in first.instructions
        assert any("we fly on Thursday" in text for text in first.texts)
        assert not any("Friday" in text for text in first.texts)
        assert any("Friday" in text for text in second.texts)
        assert not any("6*7" in text for text in second.texts)
        assert first.tools == []
    assert report.summary == Summary(agree=2, newly_delegated=1)
    (changed,) = report.changed
    assert changed.after == Comparison("delegate", "she said Thursday", "Check the day.", "ann")
    (spent,) = report.spent
    assert (spent.model, spent.requests) == ("small-1", 2)
    assert spent.input_tokens > 0


@pytest.mark.timeout(180)
async def test_provider_refusal_hides_key() -> None:
    room = Recording()
    for number in range(10):
        room.ignored(f"text {number}")
    refusals = [Refuse(400, f"the key {KEY} is not for this") for _ in range(GIVE_UP_AFTER)]
    async with FakeOpenAI(*refusals, api_key=KEY) as server:
        report = await by_model(server, room)
        assert len(server.requests) == GIVE_UP_AFTER
    assert report.summary == Summary(failed=GIVE_UP_AFTER)
    assert report.stopped
    assert KEY not in report.stopped + "".join(each.error for each in report.failures)


@pytest.mark.timeout(180)
async def test_unasked_decisions_allow_giving_up() -> None:
    room = Recording()
    for number in range(10):
        room.ignored(f"text {number}")
        room.answered("@genie what is 6*7?", "42")
    refusals = [Refuse(400, "not for you") for _ in range(10)]
    async with FakeOpenAI(*refusals, api_key=KEY) as server:
        report = await by_model(server, room)
        assert len(server.requests) == GIVE_UP_AFTER
    assert report.summary == Summary(agree=GIVE_UP_AFTER - 1, failed=GIVE_UP_AFTER)
    assert f"{GIVE_UP_AFTER} decisions in a row failed" in report.stopped


@pytest.mark.timeout(180)
async def test_budget_stops_asking() -> None:
    room = Recording()
    for number in range(10):
        room.ignored(f"text {number}")
    async with FakeOpenAI(ignores("no"), api_key=KEY) as server:
        report = await by_model(server, room, Budget(tokens=1))
        assert len(server.requests) == 1
    assert "budget" in report.stopped
    assert report.summary == Summary(agree=1, failed=GIVE_UP_AFTER)


@pytest.mark.timeout(180)
async def test_stalled_model_is_cancellable() -> None:
    room = Recording()
    room.ignored("hello")
    async with FakeOpenAI(Stall(), api_key=KEY) as server:
        task = asyncio.create_task(by_model(server, room))
        async with asyncio.timeout(scaled(60)):
            await server.reached(1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task


def test_template_without_model_needs_none() -> None:
    settings = config(None, template="mention_only", model="anthropic:claude-sonnet-4-5")
    factory, label = build_reasoner(settings, "", None, "ann")
    assert label == "no model"
    assert factory.create_group_reasoner("ann").processed == 0
