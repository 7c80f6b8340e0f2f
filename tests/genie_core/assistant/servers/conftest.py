from pathlib import Path

import pydantic_ai.models
import pytest
from tests.genie_core.assistant.servers.rig import Program


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
