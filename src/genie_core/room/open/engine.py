"""Load a person's engine in a thread, and start its session in the folder of the room."""

import asyncio
import os
from collections.abc import Awaitable
from typing import TYPE_CHECKING

from genie_core.assistant.config import AssistantConfig
from genie_core.datastore import DataStore
from genie_core.preferences import PreferencesSource
from genie_core.room.engine.config import Engine, EngineLoader
from genie_core.runtime.garbage_collector import collector_paused
from genie_core.secrets import SecretsProvider
from genie_core.session import GroupSession
from genie_core.sessions.session import SavedSession

if TYPE_CHECKING:
    from genie_core.assistant.build import Assistant


def engine_loader(
    config: AssistantConfig,
    place: Awaitable[SavedSession],
    *,
    owner: str = "",
    secrets: SecretsProvider | None = None,
    preferences: PreferencesSource | None = None,
) -> EngineLoader:
    """Return a loader of the engine; its state is in the saved room that `place` resolves to.

    `secrets` are those of `owner`, the engine's owner. `preferences` are those of the room's
    people.
    """

    async def load() -> Engine:
        assistant = await asyncio.to_thread(_build, config, secrets, owner)
        saved = await place
        assistant.changes.folder = saved.changes_path
        store = DataStore(saved.engine_path)
        session = GroupSession(
            saved.metadata.id,
            assistant.reasoner_factory,
            assistant.agent_factory,
            data_store=store,
            preferences_source=preferences,
            side_by_side=config.parallel_runs,
            durable=False,  # the room has a lock, and its log tells of all runs
        )

        async def close() -> None:
            session.stop()
            try:
                await session.join()
            finally:
                await assistant.jobs.aclose()
            await store.aclose()

        try:
            remembered = await session.remembered()
        except BaseException:
            await close()
            raise
        return Engine(
            session,
            remembered,
            assistant.label,
            assistant.offline,
            close,
            assistant.notices,
            policy=assistant.policy,
            controls=assistant.controls,
        )

    return load


def _build(config: AssistantConfig, secrets: SecretsProvider | None, owner: str) -> "Assistant":
    # Its greeting to developers would be drawn over the screen.
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")
    with collector_paused():
        from genie_core.assistant.build import build_assistant

        return build_assistant(config, secrets, owner)
