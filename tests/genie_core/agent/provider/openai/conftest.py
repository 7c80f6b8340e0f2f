from collections.abc import AsyncIterator

import pytest
from tests.genie_core.agent.provider.openai.doubles import Desk, desk


@pytest.fixture(name="desk", params=["chat", "responses"])
async def _desk(request: pytest.FixtureRequest) -> AsyncIterator[Desk]:
    async with desk(request.param) as opened:
        yield opened
