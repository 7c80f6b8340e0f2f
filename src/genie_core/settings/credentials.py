"""The names under which models find their keys: environment variables and stored secrets."""

import logging
from collections.abc import Mapping

from genie_core.errors import GenieError
from genie_core.settings.locations import Locations

logger = logging.getLogger(__name__)


def names_at_hand(person: str, locations: Locations, env: Mapping[str, str]) -> dict[str, str]:
    """The environment, and for each stored secret where it is, in place of its value.

    Enough to tell what is missing. No keyring is asked, which might ask the person in turn. Errors
    as `OwnSecrets.entries`.
    """
    from genie_core.assistant.secrets import OwnSecrets

    stored = OwnSecrets(person, locations.secrets, env={}).entries()
    return {**env, **{entry.name: entry.where for entry in stored if entry.usable}}


def hide_own_secrets(person: str, locations: Locations) -> None:
    """Hide a person's secrets in this process, also where no engine reads them. Blocks.

    Secrets that can't be read are only logged: the engine, if there is one, reports them.
    """
    from genie_core.assistant.secrets import OwnSecrets

    try:
        OwnSecrets(person, locations.secrets).get_secrets(person)
    except GenieError as error:
        logger.warning("not all secrets can be hidden: %s", error)
