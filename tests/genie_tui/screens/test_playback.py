"""What moves a replay, before there is anything to move through."""

from textual.screen import Screen

from genie_core.room.protocol.events import Event
from genie_core.sessions.replay.player import ReplayMoment
from genie_tui.screens.playback import OPENING, Playback


def nothing(shown: ReplayMoment | list[Event]) -> None:
    """Nothing may be shown."""
    raise AssertionError(shown)


async def test_opening_playback_ignores_controls() -> None:
    playback = Playback(Screen(), nothing, nothing, lambda: 0.0)
    playback.play()
    playback.go(7)
    playback.go_by(1)
    playback.go_to_part(0.5)
    playback.faster(1)
    playback.pass_time()
    assert not playback.search_again(1)
    standing = playback.standing()
    assert (standing.doing, standing.head, standing.playing) == (OPENING, 0, False)
    assert playback.last is None
    assert await playback.past(9, 5) == []
    playback.close()
