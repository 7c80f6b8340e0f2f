"""Where a person's credentials come from."""

from abc import ABC, abstractmethod
from functools import partial

from genie_core.runtime.progress import stage
from genie_core.runtime.threads import off_loop


class SecretsProvider(ABC):
    """Source of credentials, asked separately for each person.

    It is asked every time a reasoner or an agent is created for that person, so that a changed
    key takes effect the next time one starts. What it returns is never stored.
    """

    @abstractmethod
    def get_secrets(self, username: str) -> dict[str, str] | None:
        """Return the person's credentials by name, or None if there are none.

        It may block, since sessions call it in a thread of its own, for several people at once.
        """


def secrets_of(owner: str, provider: SecretsProvider | None) -> dict[str, str]:
    """Return a person's secrets; none without a provider or answer."""
    if provider is None:
        return {}
    with stage("secrets", f"secrets of {owner}"):
        return dict(provider.get_secrets(owner) or {})


async def fetch_secrets(owner: str, provider: SecretsProvider | None) -> dict[str, str]:
    """Do what `secrets_of` does in a thread: a keyring may wait for a person to unlock it.

    Cancelling the wait leaves the lookup behind, whatever it hangs in.
    """
    if provider is None:
        return {}
    return await off_loop(partial(secrets_of, owner, provider), f"secrets of {owner}")
