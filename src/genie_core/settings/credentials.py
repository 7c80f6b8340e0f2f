"""The names of environment variables and stored secrets that models can use."""

import logging
from collections.abc import Mapping

from genie_core.errors import GenieError
from genie_core.settings.locations import Locations

logger = logging.getLogger(__name__)


def names_at_hand(person: str, locations: Locations, env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment, and for each stored secret its place instead of its value.

    Enough to find missing ones, without asking a keyring, which might prompt the person. Errors as
    in `OwnSecrets.entries`.
    """
    from genie_core.assistant.secrets import OwnSecrets

    stored = OwnSecrets(person, locations.secrets, env={}).entries()
    return {**env, **{entry.name: entry.where for entry in stored if entry.usable}}


def hide_own_secrets(person: str, locations: Locations) -> None:
    """Redact a person's secrets in this process, even where no engine reads them. Blocks.

    Unreadable secrets are only logged: the engine, if there is one, reports them.
    """
    from genie_core.assistant.secrets import OwnSecrets

    try:
        OwnSecrets(person, locations.secrets).get_secrets(person)
    except GenieError as error:
        logger.warning("not all secrets can be hidden: %s", error)
