"""The first start: offer installed agents and available models, and configure the chosen one."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from genie_core.assistant.config import ModelChoice
from genie_core.errors import GenieError
from genie_core.settings.credentials import names_at_hand
from genie_core.settings.edit import put
from genie_core.settings.load import SettingsError, SettingsSource
from genie_core.settings.locations import Locations
from genie_core.settings.model import Settings
from genie_core.storage.atomic import reason, replace_file

if TYPE_CHECKING:
    from genie_core.assistant.known_programs import ProgramOffer
    from genie_core.assistant.models.discover import ModelOffer

Look: TypeAlias = "Callable[[Mapping[str, str]], Awaitable[Sequence[ModelOffer]]]"

MOST: Final = 6
"""How many agents and models are offered."""

NONE_FOUND: Final = "No key is set, no local server runs, and no agent program is installed."
HOW_TO_GET_ONE: Final = (
    "For a model, run genie-tui secrets set ANTHROPIC_API_KEY (or OPENAI_API_KEY) or export it, or start "
    "Ollama, LM Studio or vLLM. genie-tui doctor says how to install an agent."
)

logger = logging.getLogger(__name__)


class Onboarding:
    """Offers agents and models to a person without settings file, agent and model, until they choose.

    `use` receives the resulting settings. `look` finds the available models from the names of
    variables and stored secrets; by default `discover` does.
    """

    def __init__(
        self,
        source: SettingsSource,
        locations: Locations,
        person: str,
        use: Callable[[Settings], None],
        look: "Look | None" = None,
    ) -> None:
        self._source = source
        self._locations = locations
        self._person = person
        self._use = use
        self._look = look
        self._over = False

    async def offers(self) -> "list[ProgramOffer | ModelOffer]":
        """Return the offers, agents first; nothing if offers are off or something fails."""
        try:
            if self._over or not await asyncio.to_thread(self._is_wanted):
                return []
        except (GenieError, OSError):
            logger.warning("no agents and models could be looked for", exc_info=True)
            return []
        return await self.found()

    async def found(self) -> "list[ProgramOffer | ModelOffer]":
        """Return all offers, agents first, also after an offer was turned down."""
        # Imported when it is used, since each start makes an onboarding.
        from genie_core.assistant.known_programs import find_programs
        from genie_core.assistant.models.discover import discover

        try:
            keys = await asyncio.to_thread(
                names_at_hand, self._person, self._locations, self._source.env
            )
            # Without a PATH there is nothing to find; the default of `which` is not the person's.
            found: list[ProgramOffer | ModelOffer] = []
            found += await asyncio.to_thread(find_programs, self._source.env.get("PATH", ""))
            found += await (self._look or discover)(keys)
            return found[:MOST]
        except (GenieError, OSError):
            logger.warning("no agents and models could be looked for", exc_info=True)
            return []

    async def take(self, choice: "ModelChoice | ProgramOffer") -> None:
        """Write the choice into the settings, and use it from the next room on.

        Raises:
            SettingsError: the file can't be written.
        """
        settings = await asyncio.to_thread(self._write, choice)
        self._over = True
        self._use(settings)

    def dismiss(self) -> None:
        """Offer nothing until the next start."""
        self._over = True

    async def decline(self) -> None:
        """Never offer anything again.

        Raises:
            SettingsError: that can't be saved.
        """
        self._over = True
        try:
            await asyncio.to_thread(replace_file, self._locations.no_model_offers, b"")
        except OSError as error:
            file = self._locations.no_model_offers
            raise SettingsError(f"can't write {file}: {reason(error)}") from error

    def _is_wanted(self) -> bool:
        if self._locations.no_model_offers.exists():
            return False
        reading = self._source.read()
        if reading.written.values.keys() - {"name"}:
            return False
        return not (reading.settings.model or reading.settings.agent)

    def _write(self, choice: "ModelChoice | ProgramOffer") -> Settings:
        from genie_core.assistant.known_programs import ProgramOffer

        if isinstance(choice, ProgramOffer):
            return self._source.change([partial(put, key=("agent",), value=choice.name)]).settings
        changes = [partial(put, key=("model",), value=choice.name)]
        if choice.base_url:
            changes.append(partial(put, key=("base_url",), value=choice.base_url))
        return self._source.change(changes).settings
