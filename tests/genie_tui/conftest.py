from collections.abc import Iterator

import pytest
from tests.genie_tui.scripted_room import ScriptedInvites, ScriptedJoinedRoom
from tests.idle import apps_parse_styles_once as apps_parse_styles_once
from tests.idle import pilots_compose_no_updates as pilots_compose_no_updates
from tests.idle import pilots_wait_for_the_loop as pilots_wait_for_the_loop
from textual.notifications import Notification

SHORTLY = 0.05


@pytest.fixture(scope="module", autouse=True)
def _no_hurry() -> Iterator[None]:
    """Let it make no difference how long a test takes.

    What the app tells people stays, and keys are as old as the test's own clock says.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Notification, "time_left", 3600.0)
        patch.setattr("genie_tui.widgets.approvals.key_guard.age_of", lambda _: 0.0)
        patch.setattr("genie_tui.commands.keymap.age_of", lambda _: 0.0)
        yield


@pytest.fixture(autouse=True)
def _outside_tmux(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copy nothing into the tmux in which the tests may run."""
    monkeypatch.delenv("TMUX", raising=False)


@pytest.fixture
def joined() -> ScriptedJoinedRoom:
    """A host in an open room in which nothing has happened yet."""
    made = ScriptedJoinedRoom(invites=ScriptedInvites())
    made.open_room()
    return made
