import os
from pathlib import Path

import pydantic_ai.models
import pytest

_KEPT = ("PATH", "PYTEST_CURRENT_TEST", "OPENAI_AGENTS_DISABLE_TRACING")


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep away what a machine may have in its environment, and requests to anywhere."""
    for variable in list(os.environ):
        if variable not in _KEPT:
            monkeypatch.delenv(variable)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(pydantic_ai.models, "ALLOW_MODEL_REQUESTS", False)


@pytest.fixture
def loopback(_bare_environment: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let real clients make requests; the tests that ask for this point them at this machine."""
    monkeypatch.setattr(pydantic_ai.models, "ALLOW_MODEL_REQUESTS", True)
