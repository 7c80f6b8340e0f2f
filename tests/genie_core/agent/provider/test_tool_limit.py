import pytest

from genie_core.agent.provider.tool_limit import MOST_TOOLS, within_limit


@pytest.mark.parametrize(
    ("built_in", "counts", "fit"),
    [
        (0, [], []),
        (20, [100, 8], [100, 8]),
        (20, [100, 9, 5], [100, 8, 0]),
        (0, [MOST_TOOLS + 1], [MOST_TOOLS]),
        (MOST_TOOLS + 5, [1], [0]),
    ],
)
def test_the_last_servers_lose_their_tools_first(
    built_in: int, counts: list[int], fit: list[int]
) -> None:
    assert within_limit(built_in, counts) == fit
