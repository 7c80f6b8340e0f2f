import asyncio
from pathlib import Path
from typing import Any

import pytest

from genie_core.assistant.build import Assistant, build_assistant
from genie_core.assistant.config import AssistantConfig
from genie_core.assistant.tools.files.changes import UndoRefused
from genie_core.assistant.tools.files.workspace import Workspace
from genie_core.assistant.tools.shell.command import Commands
from genie_core.room.open.engine import engine_loader
from genie_core.sessions.metadata import SessionMetadata
from genie_core.sessions.session import SavedSession


async def test_file_changes_stay_with_session(tmp_path: Path) -> None:
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


async def test_closing_an_engine_ends_its_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = list[Assistant]()

    def observed(*args: Any) -> Assistant:
        built.append(build_assistant(*args))
        return built[-1]

    monkeypatch.setattr("genie_core.assistant.build.build_assistant", observed)
    metadata = SessionMetadata(id="garden", title="Garden", kind="hosted", created=0.0)
    place: asyncio.Future[SavedSession] = asyncio.get_running_loop().create_future()
    place.set_result(SavedSession(tmp_path / "session", metadata))
    engine = await engine_loader(AssistantConfig(workspace=tmp_path), place)()
    tool = Commands(Workspace.at(tmp_path), jobs=built[0].jobs)
    assert "Job 1 is running" in await tool.run_command("sleep 600", background=True)
    assert engine.controls is not None
    [job] = engine.controls.jobs
    assert (job.command, job.is_running) == ("sleep 600", True)
    await engine.aclose()
    assert not built[0].jobs.all[0].is_running
    assert not await engine.controls.stop_job(1)
