from collections.abc import Mapping

import pytest

from genie_core.room.protocol.events import (
    AnyBody,
    Event,
    Hosted,
    Joined,
    Left,
    Moderated,
    Said,
    Shared,
    Suspended,
)
from genie_tui.widgets.announcement import announcement, because


def told(body: AnyBody, by: str = "ann", devices: Mapping[str, set[str]] | None = None) -> str:
    said = announcement(Event(1, 0.0, by, body), devices or {})
    assert said is not None
    return said[1]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (Hosted("ann"), "ann is hosting"),
        (
            Hosted("ann", "r2", "Lab", copied="import", origin="r\n1"),
            "ann is hosting (imported from r␤1)",
        ),
        (Hosted("ann", "r2", "Lab", copied="fork", origin="r1"), "ann is hosting (forked from r1)"),
        (Suspended("lunch"), "the room was suspended: lunch"),
        (Suspended(heir="bob"), "the room was handed over to bob"),
        (Joined("member", agent="small"), "ann joined with small"),
        (Joined("guest"), "ann joined as a guest"),
        (Joined("observer", agent="small"), "ann joined as an observer"),
        (Moderated("kick", "bob", reason="loud"), "ann put bob out: loud"),
        (Moderated("ban", "bob"), "ann banned bob"),
        (Moderated("pardon", "bob"), "ann lets bob come back"),
        (Moderated("mute", "bob"), "ann muted bob"),
        (Moderated("unmute", "bob"), "ann lets bob write again"),
        (Moderated("role", "bob", "observer"), "ann made bob an observer"),
        (Shared(on=True), "ann shows guests what tools are called with"),
        (Shared(on=False), "ann no longer shows guests what tools are called with"),
    ],
)
def test_what_happens_to_a_room_has_a_line(body: AnyBody, text: str) -> None:
    assert told(body) == text


def test_coming_and_going_by_terminal() -> None:
    here = {"ann": {"one", "two"}}
    assert told(Joined("member", device="three"), devices=here) == "ann joined at another terminal"
    assert told(Left("ann", device="one"), devices=here) == "ann left one terminal"
    assert told(Left("ann", device="one"), devices={"ann": {"one"}}) == "ann left"
    assert told(Left("ann", "asleep"), devices=here) == "ann left: asleep"


def test_what_is_said_is_no_announcement_and_names_are_safe() -> None:
    assert announcement(Event(1, 0.0, "ann", Said("1", "hi")), {}) is None
    assert told(Moderated("ban", "b\nb{name}"), by="\x1b") == "␛ banned b␤b{name}"
    assert because("so", "\n") == "so: ␤"
