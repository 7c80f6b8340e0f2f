from collections.abc import Mapping

import pytest

from genie_core.room.protocol.events import (
    AnyBody,
    ArgumentSharingChanged,
    Event,
    HostStarted,
    MemberJoined,
    MemberLeft,
    MemberModerated,
    MessagePosted,
    RoomSuspended,
)
from genie_tui.widgets.announcement import announcement, because


def told(body: AnyBody, by: str = "ann", devices: Mapping[str, set[str]] | None = None) -> str:
    said = announcement(Event(1, 0.0, by, body), devices or {})
    assert said is not None
    return said[1]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (HostStarted("ann"), "ann is hosting"),
        (
            HostStarted("ann", "r2", "Lab", copied="import", origin="r\n1"),
            "ann is hosting (imported from r␤1)",
        ),
        (
            HostStarted("ann", "r2", "Lab", copied="fork", origin="r1"),
            "ann is hosting (forked from r1)",
        ),
        (RoomSuspended("lunch"), "the room was suspended: lunch"),
        (RoomSuspended(heir="bob"), "the room was handed over to bob"),
        (MemberJoined("member", agent="small"), "ann joined with small"),
        (MemberJoined("guest"), "ann joined as a guest"),
        (MemberJoined("observer", agent="small"), "ann joined as an observer"),
        (MemberModerated("kick", "bob", reason="loud"), "ann put bob out: loud"),
        (MemberModerated("ban", "bob"), "ann banned bob"),
        (MemberModerated("pardon", "bob"), "ann lets bob come back"),
        (MemberModerated("mute", "bob"), "ann muted bob"),
        (MemberModerated("unmute", "bob"), "ann lets bob write again"),
        (MemberModerated("role", "bob", "observer"), "ann made bob an observer"),
        (ArgumentSharingChanged(on=True), "ann shows guests what tools are called with"),
        (ArgumentSharingChanged(on=False), "ann no longer shows guests what tools are called with"),
    ],
)
def test_what_happens_to_a_room_has_a_line(body: AnyBody, text: str) -> None:
    assert told(body) == text


def test_coming_and_going_by_terminal() -> None:
    here = {"ann": {"one", "two"}}
    assert (
        told(MemberJoined("member", device="three"), devices=here)
        == "ann joined at another terminal"
    )
    assert told(MemberLeft("ann", device="one"), devices=here) == "ann left one terminal"
    assert told(MemberLeft("ann", device="one"), devices={"ann": {"one"}}) == "ann left"
    assert told(MemberLeft("ann", "asleep"), devices=here) == "ann left: asleep"


def test_what_is_said_is_no_announcement_and_names_are_safe() -> None:
    assert announcement(Event(1, 0.0, "ann", MessagePosted("1", "hi")), {}) is None
    assert told(MemberModerated("ban", "b\nb{name}"), by="\x1b") == "␛ banned b␤b{name}"
    assert because("so", "\n") == "so: ␤"
