import subprocess
import sys

import pytest

VENDORS = "pydantic_ai", "group_sense", "agents", "openai"


@pytest.mark.parametrize(
    "module", ["config", "check", "models.providers", "prompts", "reasoners.mention", "errors"]
)
def test_settings_load_no_vendor_sdk(module: str) -> None:
    code = (
        f"import sys, genie_core.assistant.{module}; "
        f"sys.exit(any(name in sys.modules for name in {VENDORS!r}))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
