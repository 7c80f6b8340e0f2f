"""Links for browsers, and the visits that begin by them."""

import pytest

from genie_core.room.open.route import Route
from genie_serve.errors import TooManyLinks
from genie_serve.web.links import LONGEST_VISIT, Visits, WebLink, WebLinks
from genie_serve.web.visitor import Visitor, WebRoom


def a_room() -> WebRoom:
    return WebRoom(Route(()))


def issued(links: WebLinks, room: WebRoom, **terms: float) -> tuple[str, str]:
    made = links.issue(room, "guest", 100.0, ticket=None, **terms)  # type: ignore[arg-type]
    id_, _, secret = made.partition(".")
    return id_, secret


def test_link_ends_by_time_or_use() -> None:
    links, room = WebLinks(), a_room()
    timed, counted = issued(links, room, lifetime=60.0), issued(links, room, uses=1)
    assert links.check(*timed, 159.0) is not None
    assert links.check(*timed, 160.0) is None
    link = links.check(*counted, 101.0)
    assert link is not None
    assert links.take(link, 101.0)
    assert not links.take(link, 101.0)
    links.give_back(link)
    assert links.take(link, 101.0)
    assert links.keep(link)
    assert links.check(*counted, 101.0) is None


def test_link_voided_on_entry_admits_none() -> None:
    links, room = WebLinks(), a_room()
    link = links.check(*issued(links, room, uses=1), 101.0)
    assert link is not None
    assert links.take(link, 101.0)
    links.forget(room)
    assert not links.keep(link)
    assert not links.take(link, 101.0)


def test_another_link_voids_none_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genie_serve.web.links.MOST_LINKS", 100)
    links, room = WebLinks(), a_room()
    made = [issued(links, room, lifetime=60.0) for _ in range(100)]
    assert all(links.check(*each, 101.0) for each in made)
    with pytest.raises(TooManyLinks):
        issued(links, room)
    links.issue(room, "guest", 161.0, ticket=None)  # those have ended


@pytest.mark.parametrize("secret", ["", "AAAA", "é", "=", "a" * 99, "\ud800"])
def test_another_secret_opens_nothing(secret: str) -> None:
    links, room = WebLinks(), a_room()
    id_, right = issued(links, room)
    assert links.check(id_, secret, 101.0) is None
    assert links.check("unknown", right, 101.0) is None
    other, _ = issued(links, a_room())
    assert links.check(other, right, 101.0) is None


def test_links_end_with_their_room_only() -> None:
    links, first, second = WebLinks(), a_room(), a_room()
    gone, kept = issued(links, first), issued(links, second)
    links.forget(first)
    assert links.check(*gone, 101.0) is None
    assert links.check(*kept, 101.0) is not None


def test_visit_needs_its_secret_and_link() -> None:
    room, visits = a_room(), Visits()
    link = WebLink("one", room, "guest", None)
    visitor = Visitor(room, "bob", "guest", None)
    secret = visits.begin(link, visitor, 100.0)
    found = visits.find("one", secret, 101.0)
    assert found is not None
    assert found.visitor is visitor
    assert visits.find("two", secret, 101.0) is None
    assert visits.find("one", secret[:-1], 101.0) is None
    assert visits.find("one", "", 101.0) is None
    assert visits.find("one", secret, 100.0 + LONGEST_VISIT) is None
    visits.end(secret)
    assert visits.find("one", secret, 101.0) is None


def test_visits_of_those_who_are_away_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genie_serve.web.links.MOST_VISITS", 2)
    room, visits = a_room(), Visits()
    link = WebLink("one", room, "guest", None)
    secrets = [visits.begin(link, Visitor(room, name, "guest", None), 100.0) for name in "ab"]
    assert visits.has_space(101.0)
    assert visits.find("one", secrets[0], 101.0) is None
