import io
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from genie_core.room.protocol.events import Event, MessagePosted, RoomCreated
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.retention import RetentionLimits
from genie_core.sessions.session import SavedSession
from genie_tui.cli.sessions import (
    ListedSession,
    as_json,
    chosen,
    entries,
    past_limits,
    write_table,
)

NOW = 1_795_219_200.0
DAY = 86_400.0


@dataclass
class Rooms:
    """Three rooms, the latest first, and one that can't be read."""

    catalog: Catalog
    ids: list[str]

    def listed(self, limits: RetentionLimits | None = None) -> list[ListedSession]:
        return entries(self.catalog, limits or RetentionLimits(), NOW)


@pytest.fixture
def rooms(tmp_path: Path) -> Rooms:
    catalog = Catalog(tmp_path / "sessions")
    new = catalog.create("Standup", NOW - 60)
    new.update(people=2, messages=12, unread=3, parked=1, preview="bob: see you")
    new.tag(["work"])
    old = catalog.create("Budget", NOW - 40 * DAY)
    old.tag(["Work", "money"])
    bad = catalog.create("Bad", NOW - 50 * DAY)
    (bad.folder / "room.json").write_text("{")
    os.utime(bad.folder / "room.json", (NOW - 50 * DAY,) * 2)
    return Rooms(catalog, [new.id, old.id, bad.id])


def table(found: list[ListedSession]) -> list[str]:
    out = io.StringIO()
    write_table(found, NOW, out)
    return out.getvalue().splitlines()


def test_the_list_tells_what_is_special(rooms: Rooms) -> None:
    head, first, second, third, note = table(rooms.listed(RetentionLimits(max_age_days=30)))
    assert head.split()[:2] == ["ID", "TITLE"]
    assert "1 parked, 3 unread" in first
    assert "bob: see you" in first
    assert "past limit" in second
    assert "#money #Work" in second
    assert "unreadable" in third
    assert note.startswith(f"{rooms.ids[2]}: room.json can't be read")


def test_archived_room_is_listed_as_such(rooms: Rooms) -> None:
    rooms.catalog.find(rooms.ids[1]).update(archived=True)
    found = rooms.listed()
    assert "archived" in table(found)[2]
    assert [each.get("archived") for each in json.loads(as_json(found, Path()))] == [
        *(False, True),
        None,
    ]


def test_a_room_that_is_open_is_past_no_limit(rooms: Rooms) -> None:
    limits = RetentionLimits(max_age_days=30)
    assert [each.listing.id for each in past_limits(rooms.listed(limits))] == [rooms.ids[1]]
    with rooms.catalog.find(rooms.ids[1]).held("ann"):
        (_, entry, _) = found = rooms.listed(limits)
        assert past_limits(found) == []
        assert "open by ann" in table(found)[2]
        assert [each.holder for each in found] == [None, entry.holder, None]
        told = json.loads(as_json(found, rooms.catalog.folder("")))[1]["holder"]
        assert (told["name"], told["pid"]) == ("ann", os.getpid())
        assert told["since"] == pytest.approx(time.time(), abs=1_000)


@pytest.mark.parametrize(
    ("tags", "sort", "places"),
    [
        ([], "activity", [0, 1, 2]),
        ([], "title", [2, 1, 0]),
        ([], "unread", [0, 1, 2]),
        (["#WORK"], "title", [1, 0]),
        (["work", "money"], "activity", [1]),
        (["play"], "activity", []),
    ],
)
def test_rooms_are_chosen_by_tags_and_sorted(
    rooms: Rooms, tags: list[str], sort: str, places: list[int]
) -> None:
    found = chosen(rooms.listed(), tags, sort)
    assert [each.listing.id for each in found] == [rooms.ids[place] for place in places]


def test_json_hides_pin_and_address(rooms: Rooms, tmp_path: Path) -> None:
    rooms.catalog.find(rooms.ids[0]).update(pin="secret pin", address="10.0.0.1:7654")
    text = as_json(rooms.listed(RetentionLimits(max_age_days=30)), tmp_path)
    first, second, third = json.loads(text)
    assert "secret pin" not in text
    assert "10.0.0.1" not in text
    assert (first["id"], first["unread"], first["tags"]) == (rooms.ids[0], 3, ["work"])
    assert second["past"] == "no activity for 30 days"
    assert "room.json" in third["problem"]
    assert first["size"] > 0


def test_unsaved_activity_is_listed(rooms: Rooms) -> None:
    saved = rooms.catalog.find(rooms.ids[0])
    saved.update(messages=0)
    path = saved.log_path
    events = [
        Event(1, NOW, "", RoomCreated("r1", "Standup")),
        Event(2, NOW, "bob", MessagePosted("1", "help!")),
    ]
    path.write_bytes(b"".join(map(encode_line, events)))
    os.utime(path, (4e9, 4e9))
    with rooms.catalog.find(rooms.ids[0]).held():
        (line,) = (line for line in table(rooms.listed()) if rooms.ids[0] in line)
        assert "bob: help!" in line
        assert "unread" not in line  # they are there
        assert SavedSession.load(saved.folder).metadata.preview == "bob: see you"
    assert "bob: help!" in table(rooms.listed())[1]
    assert SavedSession.load(saved.folder).metadata.preview == "bob: help!"
