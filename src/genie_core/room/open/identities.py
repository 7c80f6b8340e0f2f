"""The keys of the people who use this machine, one per name."""

import logging
from pathlib import Path

from genie_core.datastore import path_name
from genie_core.room.protocol.errors import IdentityError, InvalidName
from genie_core.room.protocol.names import check_name, fold_name
from genie_core.room.security.identity import Identity, load_identity
from genie_core.room.state.private import PrivateReader
from genie_core.settings.locations import Locations

logger = logging.getLogger(__name__)


def identity_of_person(name: str, locations: Locations) -> Identity:
    """Return the key of the person with a name; it is created at the first use.

    Names that a room considers equal share the key. Blocks while the disk works.

    Raises:
        InvalidName: the name is not allowed.
        IdentityError: the key can't be read or created.
    """
    return load_identity(key_file(name, locations))


def has_key(name: str, locations: Locations) -> bool:
    """Whether the person has a key on this machine."""
    try:
        return key_file(name, locations).exists()
    except InvalidName:
        return False


def private_reader(name: str, locations: Locations) -> PrivateReader | None:
    """Return the opener of the private messages of a person; None without their key."""
    if not has_key(name, locations):
        return None
    try:
        return PrivateReader(identity_of_person(name, locations))
    except IdentityError as error:
        logger.warning("%s", error)
        return None


def key_file(name: str, locations: Locations) -> Path:
    """Return where the key of a person is, if there is one; raises `InvalidName`."""
    return locations.keys / f"{path_name(fold_name(check_name(name)))}.key"
