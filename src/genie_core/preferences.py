"""How a person likes to be answered."""

from abc import ABC, abstractmethod


class PreferencesSource(ABC):
    """Source of the wishes about style and tone that go along with queries."""

    @abstractmethod
    async def get_preferences(self, username: str) -> str | None:
        """Return the person's wishes as free text, or None to send none.

        Asked before each agent run, for the person that the answer is meant for; agents below the
        system agent write for other agents and are told nothing. Raising fails that run only.
        """
