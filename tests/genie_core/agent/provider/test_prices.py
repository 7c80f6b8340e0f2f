import socket

import pytest
from tests.genie_core.agent.provider.both import MODEL, RUNTIMES, bench

from genie_core.agent.provider.prices import cost_of, window_of
from genie_core.errors import ModelFailed
from genie_core.runtime.progress import Usage
from genie_testing.turns import Call, Cut, Refuse, Say

pytestmark = pytest.mark.timeout(100)


async def look() -> str:
    """Look."""
    return "seen"


def test_a_known_price_is_found_without_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "socket", None)
    usage = Usage(MODEL, 1, 1_000_000, 1_000_000)
    assert cost_of(usage, "openai") == pytest.approx(0.75)
    assert cost_of(usage, "openai", "https://api.openai.com/v1") == pytest.approx(0.75)
    cached = Usage(MODEL, 1, 1_000_000, 1_000_000, 1_000_000)
    assert (cost_of(cached, "openai") or 1) < 0.75
    assert window_of(MODEL, "openai") == 128_000


def test_what_has_no_known_price_has_none() -> None:
    assert cost_of(Usage("of-our-own", 1, 10, 10), "openai") is None
    assert cost_of(Usage("llama3", 1, 10, 10), "ollama", "http://127.0.0.1:1/v1") is None
    assert window_of("of-our-own", "openai") is None


@pytest.mark.parametrize("runtime", RUNTIMES)
async def test_every_request_is_billed(runtime: str) -> None:
    async with bench(runtime, Call("look", {}), Say("two words"), tools=[look]) as desk:
        await desk.ask(desk.agent(), "q")
    first, second = desk.reports.usages
    for usage in (first, second):
        assert usage.model == MODEL
        assert usage.input_tokens > 0
        assert usage.cost == pytest.approx(cost_of(usage, "openai"))
        assert usage.cost
        assert usage.seconds > 0
    assert second.output_tokens == 2
    assert desk.reports.doings == [
        "asking",
        "writing a tool call",
        "calling look",
        "asking",
        "writing",
    ]


@pytest.mark.parametrize("runtime", RUNTIMES)
async def test_cut_stream_counts_known_usage(runtime: str) -> None:
    async with bench(runtime, Cut("some words"), Refuse(401)) as desk:
        with pytest.raises(ModelFailed):
            await desk.ask(desk.agent(), "q")
        (usage,) = desk.reports.usages
        assert (usage.requests, usage.cost) == (1, None)
        with pytest.raises(ModelFailed):  # refused: nothing was taken
            await desk.ask(desk.agent(), "q")
        assert len(desk.reports.usages) == 1


def test_numbers_that_cannot_be_have_no_price() -> None:
    assert cost_of(Usage("gpt-4o", input_tokens=-1), "openai") is None
