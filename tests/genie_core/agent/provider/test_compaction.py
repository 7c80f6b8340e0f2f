import json
from collections.abc import AsyncIterator

import pytest
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from tests.genie_core.agent.provider.both import MODEL, RUNTIMES, Bench, bench

from genie_core.agent.provider import compaction
from genie_core.agent.provider.compaction import LEFT_OUT, MOST_CUTS, ShortenedHistory
from genie_core.agent.provider.pydantic_ai import DefaultGroupReasoner
from genie_core.errors import ModelFailed
from genie_core.message import Message
from genie_core.runtime.progress import reporting_to
from genie_testing.turns import Call, Refuse, Say

pytestmark = pytest.mark.timeout(100)

FULL = Refuse(400, "This model's maximum context length is 4096 tokens.", "context_length_exceeded")
UNCODED = Refuse(400, "the request exceeds the available context size, try increasing it")


@pytest.fixture(name="desk", params=RUNTIMES)
async def _desk(request: pytest.FixtureRequest) -> AsyncIterator[Bench]:
    async with bench(request.param, tools=[look]) as opened:
        yield opened


async def look() -> str:
    """Look."""
    return "seen"


def asked(desk: Bench, place: int = -1) -> list[str]:
    """What people said in a request, oldest first."""
    return [
        text
        for entry in desk.server.requests[place].entries
        if entry.role == "user"
        for text in entry.texts
    ]


async def test_overlong_conversation_drops_turns(desk: Bench) -> None:
    agent = desk.agent()
    desk.server.script(Say("1"), Call("look", {}), Say("2"), Say("3"), FULL, UNCODED, Say("4"))
    for query in ("a", "b", "c"):
        await desk.ask(agent, query)
    assert await desk.ask(agent, "d") == "4"
    assert [asked(desk, place) for place in (-3, -2, -1)] == [
        ["a", "b", "c", "d"],
        ["c", "d"],
        ["d"],
    ]
    assert f"note {LEFT_OUT}" in desk.reports.doings

    news = agent.get_new_messages()
    restored = desk.agent()
    restored.set_serialized(json.loads(json.dumps(news)))
    for each in (agent, restored):
        assert await desk.ask(each, "e") == "echo: e"
        assert asked(desk) == ["d", "e"]
    assert restored.get_serialized() is not None


async def test_a_cut_in_a_run_keeps_what_the_run_did(desk: Bench) -> None:
    agent = desk.agent()
    desk.server.script(Say("1"), Call("look", {}), FULL, Say("2"))
    await desk.ask(agent, "a")
    assert await desk.ask(agent, "b") == "2"
    await desk.ask(agent, "c")
    assert asked(desk) == ["b", "c"]
    assert [e.role for e in desk.server.requests[-1].entries if e.role in ("call", "tool")] == [
        "call",
        "tool",
    ]


async def test_overlong_message_fails_alone(
    desk: Bench,
) -> None:
    agent = desk.agent()
    desk.server.script(Say("1"), FULL, FULL)
    await desk.ask(agent, "a")
    with pytest.raises(ModelFailed) as caught:
        await desk.ask(agent, "long")
    assert caught.value.kind == "length"
    assert "\n" not in str(caught.value)
    assert await desk.ask(agent, "b") == "echo: b"
    assert asked(desk) == ["a", "b"]


async def test_known_overlong_text_is_not_sent(
    desk: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "window_of", lambda _model, _provider: 1000)
    agent = desk.agent()
    await desk.ask(agent, "a")
    await desk.ask(agent, f"b{'x' * 6000}")
    assert [len(each) for each in asked(desk)] == [6001]


async def test_each_cut_halves_remaining_turns() -> None:
    cut, left = ShortenedHistory(), []
    while await cut.shorten(1000, lambda _turns: ()):
        left.append(1000 - cut.turns)
    assert left == [500, 250, 125, 62, 1]
    assert len(left) == MOST_CUTS
    cut.begin()
    assert cut.turns == 0
    assert not await cut.shorten(1, lambda _turns: ())


async def test_refusal_counts_for_one_model() -> None:
    def entries(_turns: int) -> list[str]:
        return []

    cut = ShortenedHistory()
    await cut.prepare("small", "none", [400], 1, entries)
    cut.measured(2, 100)
    await cut.prepare("small", "none", [400, 0, 4000], 2, entries)
    assert await cut.refused(2, entries)
    cuts = []
    for model in ("large", "small"):
        later = cut.for_next_run()
        later.measured(2, 100)
        await later.prepare(model, "none", [400, 0, 4000], 2, entries)
        cuts.append(later.turns)
    assert cuts == [0, 1]


async def test_reasoner_drops_turns_first() -> None:
    ruling = '{"decision": "ignore", "reason": "small talk"}'
    async with bench(RUNTIMES[0], Say(ruling), FULL, FULL, FULL, Say(ruling), FULL, FULL) as desk:
        model = OpenAIChatModel(MODEL, provider=OpenAIProvider(openai_client=desk.client))
        reasoner = DefaultGroupReasoner("Decide.", model)
        with reporting_to(desk.reports):
            await reasoner.run([Message("first", "ada")])
            await reasoner.run([Message(f"new {n}", "ada") for n in range(4)])
            assert reasoner.processed == 5
            shown = "".join(asked(desk))
            assert [word in shown for word in ("first", "new 2", "new 3")] == [False, False, True]
            with pytest.raises(ModelFailed):
                await reasoner.run([Message("x" * 100, "ada")])
            await reasoner.run([Message("x" * 100, "ada"), Message("last", "ada")])
        assert reasoner.processed == 7
        assert {usage.model for usage in desk.reports.usages} == {MODEL}
        assert len(desk.reports.usages) == 3
