"""However often the host changes, and the network is cut, all end with one log that lacks nothing."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.genie_core.room.host_histories import World, play

from genie_core.room.protocol.events import MessagePosted


def check(seed: int, steps: int) -> None:
    world = World()
    play(world, seed, steps)
    together = world.settle()
    story = "\n".join([f"seed {seed}, {steps} steps", *world.told])
    assert not world.wrong, f"{world.wrong}\n{story}"
    assert together, story
    honest = world.honest()
    assert len({player.state.link for player in honest}) == 1, story
    (host,) = (player for player in honest if player.room is not None)
    assert not host.state.doubts, f"{host.state.doubts}\n{story}"
    bodies = (event.original.body for event in host.room.log.remembered())  # type: ignore[union-attr] # they host
    said = Counter(body.id for body in bodies if isinstance(body, MessagePosted))
    assert all(count == 1 for count in said.values()), f"{said}\n{story}"
    if len(honest) == len(world.players):
        assert said.keys() == world.accepted, f"{world.accepted - said.keys()}\n{story}"


@settings(max_examples=200)
@given(st.integers(0, 2**32), st.integers(1, 30))
def test_all_end_with_one_log_that_lacks_nothing(seed: int, steps: int) -> None:
    check(seed, steps)
