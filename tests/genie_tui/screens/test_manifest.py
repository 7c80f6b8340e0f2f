from tests.genie_tui.scripted_seat import ScriptedSeat

from genie_core.room.protocol.events import FileRef, MemberJoined, Quote, QuotedLine
from genie_tui.screens.manifest import agents_here, others_here, preview, sending

FILE = FileRef("d", "a\x1b.pdf", 1_200_000)
QUOTE = Quote("r1", "[Garden]", (QuotedLine("carol", "hello\x1b", 1.0),))


def crowd() -> ScriptedSeat:
    seat = ScriptedSeat()
    seat.open_room()
    seat.feed(MemberJoined("guest"), by="cleo")
    return seat


def test_it_knows_who_and_whose_agents_are_here() -> None:
    seat = crowd()
    assert others_here(seat.state, "ann") == ["bob", "cleo"]
    assert agents_here(seat.state) == ["ann", "bob"]


def test_what_is_sent_is_listed_with_who_gets_it() -> None:
    text = sending("look\x1b", [FILE], [QUOTE], crowd().state, "ann").plain
    for part in (
        "look␛",
        "a␛.pdf (1.2 MB)",
        "[Garden] (1 message)",
        "Everybody in this room sees these 2: bob and cleo.",
        "ann's agent and bob's agent get these 2",
    ):
        assert part in text
    assert "“" not in sending(" ", [FILE], [], crowd().state, "ann").plain


def test_a_preview_shows_all_of_it() -> None:
    text = preview(QUOTE, crowd().state, "ann").plain
    for part in ("[Garden]", "r1", "1 message, 11 characters", "hello␛", "bob and cleo"):
        assert part in text


def test_without_agents_none_is_named() -> None:
    seat = ScriptedSeat()
    seat.feed(MemberJoined("host"))
    text = sending("", [FILE], [], seat.state, "ann").plain
    assert "agent" not in text
    assert "Nobody else is here now" in text
