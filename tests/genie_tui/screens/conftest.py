import pytest
from tests.genie_tui.scripted_seat import ScriptedSeat


@pytest.fixture
def seat() -> ScriptedSeat:
    """A seat that is no host's in an open room in which nothing has happened yet."""
    made = ScriptedSeat()
    made.open_room()
    return made
