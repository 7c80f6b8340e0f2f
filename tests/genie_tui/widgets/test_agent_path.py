import pytest

from genie_tui.widgets.agent_path import agent_path


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("system", "genie"),
        ("search:1a2b3c4d", "genie › search:1a2b3c4d"),
        ("search:1a/math:2b", "genie › search:1a › math:2b"),
    ],
)
def test_the_path_begins_with_the_name_people_know(path: str, shown: str) -> None:
    assert agent_path(path) == shown
