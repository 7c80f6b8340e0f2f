"""The profile of a person for any room: identity, settings and engine."""

import asyncio
import logging
import platform
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from genie_core.assistant.config import DEFAULT_TEMPLATE, OFFLINE_LABEL, AssistantConfig
from genie_core.room.engine.config import EngineConfig, EngineLoader
from genie_core.room.engine.private_arguments import PrivateArguments
from genie_core.room.open.engine import engine_loader
from genie_core.room.open.identities import identity_of_person
from genie_core.room.participant.config import RoomPreferences
from genie_core.room.protocol.events import Kind
from genie_core.room.security.certificate import Certificate, load_certificate
from genie_core.room.security.identity import Identity
from genie_core.room.state.room_state import RoomState
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.session import WITHHELD_NAME, SavedSession
from genie_core.settings.locations import Locations
from genie_core.settings.model import Settings, assistant_config
from genie_core.settings.preferences import (
    PreferencesError,
    objection,
    preferences_file,
    read_preferences,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Profile:
    """One person on this machine, with their settings and folders.

    `kind` "agent" stands for an agent that joins rooms by itself, without an engine.
    """

    name: str
    settings: Settings
    locations: Locations
    config: AssistantConfig
    catalog: Catalog
    kind: Kind = ""

    @classmethod
    def of(cls, name: str, settings: Settings, locations: Locations, kind: Kind = "") -> "Profile":
        """Build the profile of a person, or of an agent."""
        config = assistant_config(settings, locations)
        return cls(name, settings, locations, config, Catalog(locations.sessions), kind)

    def called(self, name: str) -> "Profile":
        """Return this profile under another name; unchanged if the name is empty."""
        return replace(self, name=name) if name else self

    def with_habits_of(self, saved: SavedSession) -> "Profile":
        """Use the template and workspace of a saved room, unless others are set."""
        record = saved.metadata
        config = replace(
            self.config,
            template=self.settings.template or record.template or DEFAULT_TEMPLATE,
            workspace=self.config.workspace
            or (Path(record.workspace) if record.workspace else None),
        )
        return replace(self, config=config)

    def answering_with(self, model: str) -> "Profile":
        """Use the model that the person named."""
        from genie_core.assistant.models.chosen_models import choice_in, with_main_model

        choice = choice_in(self.config, model)
        return replace(self, config=with_main_model(self.config, choice))

    async def identity(self) -> Identity:
        """Load the person's key; errors as `identity_of_person`."""
        return await asyncio.to_thread(identity_of_person, self.name, self.locations)

    async def preferences(self) -> str:
        """Read how the person wants to be answered; errors are logged and give ""."""
        try:
            file = preferences_file(self.locations.preferences, self.name)
            text = await asyncio.to_thread(read_preferences, file)
        except PreferencesError as error:
            logger.warning("%s", error)
            return ""
        if problem := objection(text):
            logger.warning("the preferences in %s are not told: %s", file, problem)
            return ""
        return text

    async def certificate(self) -> Certificate:
        """Load this machine's certificate; errors as `load_certificate`."""
        path = self.locations.certificate
        return await asyncio.to_thread(load_certificate, path, datetime.now(UTC))


def engine_for(
    person: Profile,
    saved: Awaitable[SavedSession],
    state: Callable[[], RoomState] | None = None,
) -> EngineLoader:
    """Return the loader of a person's engine; `state` is that of a room they host."""
    from genie_core.assistant.secrets import OwnSecrets  # a guest has no engine

    secrets = OwnSecrets(person.name, person.locations.secrets)
    return engine_loader(
        person.config,
        saved,
        owner=person.name,
        secrets=secrets,
        preferences=RoomPreferences(person.name, person.preferences, state),
    )


def _label_of(config: AssistantConfig) -> str:
    if config.program is None:
        return config.model or OFFLINE_LABEL
    from genie_core.assistant.known_programs import title_of

    return title_of(config.program.command)


def engine_config(
    person: Profile,
    loader: EngineLoader | None,
    *,
    reload: Callable[[str], EngineLoader] | None = None,
    private: PrivateArguments | None = None,
) -> EngineConfig:
    """Return the config of a person's engine in a room; a guest has no `loader`."""
    config = person.config
    return EngineConfig(
        loader,
        _label_of(config) if loader else "",
        offline=loader is not None and not (config.model or config.program),
        where=f"{person.name}'s machine ({platform.node()})",
        reload=reload,
        private=private or PrivateArguments(),
    )


def private_arguments_in(saved: SavedSession, waiting: Collection[str]) -> PrivateArguments:
    """Load the private arguments of the guests' open tool calls. Blocks."""
    private = PrivateArguments(saved.folder / WITHHELD_NAME)
    private.load()
    private.keep_only(waiting)
    return private
