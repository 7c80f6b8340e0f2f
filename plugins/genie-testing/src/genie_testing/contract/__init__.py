"""The duties of every agent, as tests to run your own `Agent` through.

    class TestMyAgent(AgentContract):
        @asynccontextmanager
        async def scripted(self, *turns, tools=()):
            async with FakeOpenAI(*turns) as server:
                yield Rig(lambda: MyAgent(server.base_url, server.api_key, tools), server)

The tests are coroutines and carry the mark of pytest-asyncio.
"""

import pytest

_PARTS = ("answering", "approving", "calling", "ending", "log", "reading", "remembering", "store")
pytest.register_assert_rewrite(*(f"{__name__}.{part}" for part in _PARTS))

from genie_testing.contract.answering import Answering  # noqa: E402 - after the hook above
from genie_testing.contract.approving import Approving  # noqa: E402
from genie_testing.contract.calling import Calling  # noqa: E402
from genie_testing.contract.ending import Ending  # noqa: E402
from genie_testing.contract.reading import Reading  # noqa: E402
from genie_testing.contract.remembering import Remembering  # noqa: E402
from genie_testing.contract.rig import Feature as Feature  # noqa: E402
from genie_testing.contract.rig import Rig as Rig  # noqa: E402


class AgentContract(Answering, Calling, Approving, Remembering, Reading, Ending):
    """All of it: subclass, implement `scripted`, and name missing abilities in `lacks`."""
