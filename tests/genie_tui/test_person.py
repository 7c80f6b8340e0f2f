"""Who is who on one machine."""

from pathlib import Path

import pytest

from genie_core.room.protocol.errors import IdentityError, InvalidName
from genie_core.room.security.identity import verify
from genie_core.settings.locations import Locations, find_locations
from genie_core.settings.model import Settings
from genie_tui.person import person_of
from genie_tui.place import Person


@pytest.fixture
def locations(tmp_path: Path) -> Locations:
    return find_locations({"GENIE_HOME": str(tmp_path)})


def test_every_name_is_a_person_and_stays_the_same_one(locations: Locations) -> None:
    alice, bob = person_of("alice", locations), person_of("bob", locations)
    assert alice.key != bob.key
    assert verify(alice.key, person_of("alice", locations).sign(b"hello"), b"hello")


def test_names_that_a_room_takes_for_the_same_are_one_person(locations: Locations) -> None:
    assert person_of("Zoë", locations).key == person_of(" zoe ", locations).key


def test_no_name_leads_out_of_the_folder(locations: Locations) -> None:
    person_of("../../up", locations)
    person_of("x" * 32, locations)
    assert all(each.parent == locations.keys for each in locations.data.rglob("*.key"))
    assert len(list(locations.keys.glob("*.key"))) == 2


def test_a_name_that_nobody_may_have_has_no_key(locations: Locations) -> None:
    with pytest.raises(InvalidName, match="reserved"):
        person_of("System", locations)
    assert not locations.keys.exists()


def test_a_damaged_key_is_not_replaced(locations: Locations) -> None:
    person_of("alice", locations)
    file = locations.keys / "alice.key"
    file.write_text("")
    with pytest.raises(IdentityError, match=r"alice\.key can't be used: it is damaged"):
        person_of("alice", locations)
    assert file.read_text() == ""


def test_a_person_answers_with_another_model_where_it_is_served(locations: Locations) -> None:
    settings = Settings(model="brain", base_url="http://127.0.0.1:1/v1")
    person = Person.of("alice", settings, locations)
    small, other, none = map(person.answering_with, ("small", "ollama:qwen3", "offline"))
    assert (small.config.model, small.config.base_url) == ("small", settings.base_url)
    assert (other.config.model, other.config.base_url) == ("ollama:qwen3", "")
    assert none.config.model is None
