from pathlib import Path

import pydantic_ai.models
import pytest
from tests.genie_core.assistant.servers.rig import Program

from genie_core.assistant.servers import registry


@pytest.fixture(autouse=True)
def _loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pydantic_ai.models, "ALLOW_MODEL_REQUESTS", True)


@pytest.fixture(params=["pydantic-ai", "openai-agents"])
def runtime(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def program(tmp_path: Path) -> Program:
    made = Program(tmp_path / "toy.json")
    made.does("serve")
    return made


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "PATIENCE", 100.0)  # a start may take long on a busy machine
