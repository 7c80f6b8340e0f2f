"""The walls between the packages, checked from the outside."""

import subprocess
import sys

import pytest

VENDORS = ("pydantic_ai", "group_sense", "agents", "openai", "google.genai")


def loaded_by(module: str) -> set[str]:
    code = f"import sys, {module}; print('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "module",
    [
        "genie_core.session",
        "genie_core.room.participant",
        "genie_core.room.server",
        "genie_core.room.client",
        "genie_core.archive.log",
        "genie_core.assistant.config",
    ],
)
def test_the_core_is_headless_and_loads_no_vendor_sdk(module: str) -> None:
    loaded = loaded_by(module)
    assert not loaded & {"textual", "rich", "genie_tui", *VENDORS}


def test_the_app_paints_without_engine_network_or_vendor_sdk() -> None:
    loaded = loaded_by("genie_tui.app")
    assert not loaded & {"websockets", "genie_core.session", *VENDORS}
