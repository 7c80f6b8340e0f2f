"""Where a person's credentials come from."""

from abc import ABC, abstractmethod


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
