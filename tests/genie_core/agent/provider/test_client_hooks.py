import pytest
from tests.genie_core.agent.provider.both import RUNTIMES, bench

from genie_core.agent.provider.client_hooks import prepare_client
from genie_testing.turns import Refuse, Say


@pytest.mark.timeout(100)
@pytest.mark.parametrize("runtime", RUNTIMES)
async def test_retries_report_until_success(runtime: str) -> None:
    busy = Refuse(429, retry_after=0.01)
    async with bench(runtime, busy, Refuse(503, retry_after=0.01), Say("hi"), retries=2) as desk:
        assert await desk.ask(desk.agent(), "q") == "hi"
    assert desk.reports.doings == [
        "asking",
        "retrying too many requests (429)",
        "retrying service unavailable (503)",
        "asking",
        "writing",
    ]
    assert [usage.requests for usage in desk.reports.usages] == [1]


def test_a_client_without_hooks_is_left_alone() -> None:
    prepare_client(None)
    prepare_client(object())
