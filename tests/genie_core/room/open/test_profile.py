"""Who is who on one machine."""

from pathlib import Path

import pytest

from genie_core.room.open.identities import identity_of_person
from genie_core.room.open.profile import Profile
from genie_core.room.protocol.errors import IdentityError, InvalidName
from genie_core.room.security.keys import verify
from genie_core.settings.locations import Locations, find_locations
from genie_core.settings.model import Settings


@pytest.fixture
def locations(tmp_path: Path) -> Locations:
    return find_locations({"GENIE_HOME": str(tmp_path)})


def test_each_name_has_one_lasting_key(locations: Locations) -> None:
    alice, bob = identity_of_person("alice", locations), identity_of_person("bob", locations)
    assert alice.key != bob.key
    assert verify(alice.key, identity_of_person("alice", locations).sign(b"hello"), b"hello")


def test_equal_names_share_identity(locations: Locations) -> None:
    assert identity_of_person("Zoë", locations).key == identity_of_person(" zoe ", locations).key


def test_no_name_leads_out_of_the_folder(locations: Locations) -> None:
    identity_of_person("../../up", locations)
    identity_of_person("x" * 32, locations)
    assert all(each.parent == locations.keys for each in locations.data.rglob("*.key"))
    assert len(list(locations.keys.glob("*.key"))) == 2


def test_a_name_that_nobody_may_have_has_no_key(locations: Locations) -> None:
    with pytest.raises(InvalidName, match="reserved"):
        identity_of_person("System", locations)
    assert not locations.keys.exists()


def test_a_damaged_key_is_not_replaced(locations: Locations) -> None:
    identity_of_person("alice", locations)
    file = locations.keys / "alice.key"
    file.write_text("")
    with pytest.raises(IdentityError, match=r"alice\.key can't be used: it is damaged"):
        identity_of_person("alice", locations)
    assert file.read_text() == ""


def test_other_model_uses_its_provider(locations: Locations) -> None:
    settings = Settings(model="brain", base_url="http://127.0.0.1:1/v1")
    person = Profile.of("alice", settings, locations)
    small, other, none = map(person.answering_with, ("small", "ollama:qwen3", "offline"))
    assert (small.config.model, small.config.base_url) == ("small", settings.base_url)
    assert (other.config.model, other.config.base_url) == ("ollama:qwen3", "")
    assert none.config.model is None
