import os
from pathlib import Path

import pytest


@pytest.fixture
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An environment in which no provider finds a key or a file of its own."""
    for variable in list(os.environ):
        if variable not in ("PATH", "OPENAI_AGENTS_DISABLE_TRACING"):
            monkeypatch.delenv(variable)
    monkeypatch.setenv("HOME", str(tmp_path))
