from msgspec.structs import replace
from tests.genie_core.room.founded import founded

from genie_core.room.protocol.events import Event, MessagePosted
from genie_core.room.security.chain import LINK_BYTES, link_of


def test_a_link_stands_for_all_of_an_entry() -> None:
    event = Event(7, 1.5, "ann", MessagePosted("1", "hello"), b"parent")
    link = link_of(event)
    assert len(link) == LINK_BYTES
    assert link == link_of(replace(event))
    for change in ({"seq": 8}, {"at": 1.6}, {"by": "bob"}, {"parent": b"another"}):
        assert link_of(replace(event, **change)) != link
    assert link_of(replace(event, body=MessagePosted("1", "bye"))) != link


def test_entries_have_links_as_parents() -> None:
    events = founded("bob").events
    assert events[0].parent == b""
    assert [each.parent for each in events[1:]] == [link_of(each) for each in events[:-1]]
