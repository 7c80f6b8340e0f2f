"""A package that is missing is named together with the extra that brings it."""

import re
import subprocess
import sys

import pytest
from tests.limits import scaled

from genie_core.errors import MissingExtra
from genie_core.runtime.extras import imports_of

PARTS = {
    "genie_core.agent.provider.pydantic_ai": ("pydantic_ai", "pydantic-ai"),
    "genie_core.agent.provider.openai": ("agents", "openai"),
    "genie_core.agent.provider.acp": ("acp", "acp"),
    "genie_core.room": ("msgspec", "room"),
    "genie_core.sessions.catalog": ("msgspec", "room"),
    "genie_core.settings.model": ("msgspec", "room"),
    "genie_core.backup.format": ("msgspec", "room"),
    "genie_core.assistant.build": ("msgspec", "room"),
}


@pytest.mark.parametrize("module", PARTS)
def test_a_part_without_its_extra_names_it(module: str) -> None:
    missing, extra = PARTS[module]
    code = f"import sys; sys.modules[{missing!r}] = None; import {module}"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=scaled(60),
        check=False,
    )
    assert re.search(
        rf"MissingExtra: module '{missing}(\.\w+)*' is not installed; "
        rf"install it with: pip install 'genie-core\[{extra}\]'\n$",
        done.stderr,
    )


def test_missing_package_names_extra() -> None:
    code = (
        "import sys; sys.modules['websockets'] = None\n"
        "try: from genie_core.room import host_room\n"
        "except ImportError as error: print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("MissingExtra module 'websockets")
    assert done.stdout.endswith("pip install 'genie-core[room]'\n")


def test_other_errors_pass() -> None:
    inner = MissingExtra("openai", "agents")
    with pytest.raises(MissingExtra, match=r"genie-core\[openai\]"), imports_of("room"):
        raise inner
    with pytest.raises(ZeroDivisionError), imports_of("room"):
        raise ZeroDivisionError
