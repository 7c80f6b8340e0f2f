"""What models may find by name: variables of the environment, and stored secrets."""

from collections.abc import Mapping

from genie_tui.locations import Locations


def names_at_hand(person: str, locations: Locations, env: Mapping[str, str]) -> dict[str, str]:
    """The environment, and for each stored secret where it is, in place of its value.

    Enough to tell what is missing. No keyring is asked, which might ask the person in turn. Errors
    as `OwnSecrets.entries`.
    """
    from genie_core.assistant.secrets import OwnSecrets

    stored = OwnSecrets(person, locations.secrets, env={}).entries()
    return {**env, **{entry.name: entry.where for entry in stored}}
