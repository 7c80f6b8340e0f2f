from genie_core.room.event import Event, Joined, Preferred
from genie_core.room.fold import RoomState
from genie_core.room.preferences import RoomPreferences


async def test_what_a_person_has_told_the_room_last_is_what_they_prefer() -> None:
    states: list[RoomState] = []
    preferences = RoomPreferences(lambda: states[0])
    states.append(RoomState())  # there is none when an engine begins to load
    states[0].apply(Event(1, 1.0, "Ann", Joined("host", preferences="in rhymes")))
    assert await preferences.get_preferences("ANN") == "in rhymes"
    assert await preferences.get_preferences("ben") is None
    states[0].apply(Event(2, 2.0, "Ann", Preferred("briefly")))
    assert await preferences.get_preferences("ann") == "briefly"
    states[0].apply(Event(3, 3.0, "Ann", Preferred("")))
    assert await preferences.get_preferences("ann") is None
