"""The keys of the people who use this machine: one for each name."""

from pathlib import Path

from genie_core.datastore import path_name
from genie_core.room.protocol.errors import InvalidName
from genie_core.room.protocol.names import check_name, fold_name
from genie_core.room.security.identity import Identity, load_identity
from genie_core.settings.locations import Locations


def identity_of_person(name: str, locations: Locations) -> Identity:
    """The key of the person with a name, made when it is needed first.

    Names that a room takes for the same have the same key. Blocks while the disk works.

    Raises:
        InvalidName: nobody may have the name.
        IdentityError: the key can't be read, or not be made.

    """
    return load_identity(_key_file(name, locations))


def has_key(name: str, locations: Locations) -> bool:
    """Whether the person has a key on this machine."""
    try:
        return _key_file(name, locations).exists()
    except InvalidName:
        return False


def _key_file(name: str, locations: Locations) -> Path:
    return locations.keys / f"{path_name(fold_name(check_name(name)))}.key"
