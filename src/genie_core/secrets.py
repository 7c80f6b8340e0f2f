"""The source of a person's credentials."""

from abc import ABC, abstractmethod
from functools import partial

from genie_core.runtime.progress import stage
from genie_core.runtime.threads import off_loop


class SecretsProvider(ABC):
    """Source of each person's credentials.

    It is asked each time a reasoner or an agent is created for that person, so that a changed key
    takes effect at the next start. Its results are never stored.
    """

    @abstractmethod
    def get_secrets(self, username: str) -> dict[str, str] | None:
        """Return the person's credentials by name, or None if there are none.

        May block: sessions call it in threads, for several people side by side.
        """


def secrets_of(owner: str, provider: SecretsProvider | None) -> dict[str, str]:
    """Return a person's secrets; none without a provider or answer."""
    if provider is None:
        return {}
    with stage("secrets", f"secrets of {owner}"):
        return dict(provider.get_secrets(owner) or {})


async def fetch_secrets(owner: str, provider: SecretsProvider | None) -> dict[str, str]:
    """Call `secrets_of` in a thread, since a keyring may wait for a person to unlock it.

    Cancelling the wait abandons the call.
    """
    if provider is None:
        return {}
    return await off_loop(partial(secrets_of, owner, provider), f"secrets of {owner}")
