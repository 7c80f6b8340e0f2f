import asyncio
from pathlib import Path

import pytest

from genie_core.assistant.config import AssistantConfig
from genie_core.assistant.tools.files.changes import UndoRefused
from genie_core.room.open.engine import engine_loader
from genie_core.sessions.metadata import SessionMetadata
from genie_core.sessions.session import SavedSession


async def test_changes_of_files_are_kept_in_the_folder_of_the_session(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    metadata = SessionMetadata(id="garden", title="Garden", kind="hosted", created=0.0)
    place: asyncio.Future[SavedSession] = asyncio.get_running_loop().create_future()
    place.set_result(SavedSession(tmp_path / "session", metadata))
    engine = await engine_loader(AssistantConfig(workspace=work), place)()
    try:
        assert engine.controls is not None
        with pytest.raises(UndoRefused, match="no change of a file is left"):
            await engine.controls.plan_undo()
    finally:
        await engine.aclose()
