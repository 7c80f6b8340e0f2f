import pydantic_ai.models
import pytest


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pydantic_ai.models, "ALLOW_MODEL_REQUESTS", False)


@pytest.fixture
def loopback(_offline: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let real clients make requests; the tests that ask for this point them at this machine."""
    monkeypatch.setattr(pydantic_ai.models, "ALLOW_MODEL_REQUESTS", True)
