import pytest
from tests.genie_tui.scripted_room import ScriptedJoinedRoom


@pytest.fixture
def joined() -> ScriptedJoinedRoom:
    """A joined that is no host's in an open room in which nothing has happened yet."""
    made = ScriptedJoinedRoom()
    made.open_room()
    return made
