from collections.abc import AsyncIterator

import pytest
from tests.genie_core.agent.provider.acp.rig import Stage, staged


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with staged() as stage:
        yield stage
