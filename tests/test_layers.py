"""The walls between the packages, checked from the outside."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

from tests.limits import scaled

ROOT = Path(__file__).parents[1]
VENDORS = ("pydantic_ai", "group_sense", "agents", "openai", "google.genai")


SCREEN = {"textual", "rich", "genie_tui"}
NO_GUEST_NEEDS = {
    *VENDORS,
    *("pydantic", "httpx2", "mcp", "zeroconf", "jsonschema", "tomlkit", "keyring"),
    *("markdown_it", "pygments", "rich.syntax"),
    *("genie_core.assistant.build", "genie_core.assistant.check"),
    *("genie_core.room.server.server", "genie_core.sessions.search.index"),
    *("genie_tui.screens.lobby", "genie_tui.screens.replay", "genie_tui.screens.sessions"),
}


def loaded_by(module: str) -> set[str]:
    return loaded_after(f"import {module}")


def loaded_after(code: str) -> set[str]:
    code = f"{code}\nimport sys; print('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=scaled(60), check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "module",
    [
        "genie_core.session",
        "genie_core.room.participant.room",
        "genie_core.room.server.server",
        "genie_core.room.client.connection",
        "genie_core.sessions.log.writer",
        "genie_core.assistant.config",
        "genie_core.settings.load",
    ],
)
def test_core_loads_no_screen_or_vendor(module: str) -> None:
    loaded = loaded_by(module)
    assert not loaded & {*SCREEN, *VENDORS}


def test_app_loads_no_engine_or_network() -> None:
    loaded = loaded_by("genie_tui.app")
    assert not loaded & {"websockets", "genie_core.session", *VENDORS}


def test_start_defers_room_imports() -> None:
    loaded = loaded_by("genie_tui.cli.start")
    assert not loaded & {"cryptography", "websockets", "zeroconf", *VENDORS}


def test_a_guest_loads_little() -> None:
    """Each of these costs a guest memory, and a start time."""
    loaded = loaded_after("import genie_tui.cli.start, genie_core.room.open.opener")
    assert loaded >= {"genie_tui.screens.room", "genie_core.room.participant.room", "websockets"}
    assert not loaded & NO_GUEST_NEEDS


def test_the_offline_helper_loads_no_vendor_sdk() -> None:
    loaded = loaded_after(
        "from genie_core.assistant.build import build_assistant\n"
        "from genie_core.assistant.config import AssistantConfig\n"
        "assistant = build_assistant(AssistantConfig())\n"
        "assistant.reasoner_factory.create_group_reasoner('ann')\n"
        "assistant.agent_factory.create_system_agent('ann', {})"
    )
    assert "genie_core.assistant.offline.agent" in loaded
    assert not loaded & {*SCREEN, *VENDORS, "pydantic", "httpx2", "mcp"}


def contract(name: str) -> dict[str, Any]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (found,) = (
        each for each in settings["tool"]["importlinter"]["contracts"] if each["name"] == name
    )
    return dict(found)


@pytest.mark.parametrize(
    ("name", "key", "free"),
    [
        ("The layers of the core", "layers", set()),
        (
            "Vendor SDKs stay behind the providers and the assistant",
            "source_modules",
            {"genie_core.agent.provider", "genie_core.assistant"},
        ),
    ],
)
def test_contracts_cover_core_modules(name: str, key: str, free: set[str]) -> None:
    """The contracts name packages one by one, and a new one is easily forgotten."""
    named = {each for layer in contract(name)[key] for each in layer.split(" : ")} | free
    outside = []
    for path in (ROOT / "src" / "genie_core").rglob("*.py"):
        module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
        names = module.split(".")
        above = {".".join(names[:length]) for length in range(1, len(names) + 1)}
        if path.name != "__init__.py" and not above & named:
            outside.append(module)
    assert outside == []


def imports(folder: Path) -> Iterator[tuple[str, str]]:
    """Name the modules that sources import, and the names from them."""
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Import(names=names):
                    yield from ((each.name, "") for each in names)
                case ast.ImportFrom(module=str() as module, names=names):
                    yield from ((module, each.name) for each in names)
                case _:
                    pass


@pytest.mark.parametrize("plugin", sorted((ROOT / "plugins").iterdir()), ids=lambda each: each.name)
def test_plugin_imports_public_names_of_ours(plugin: Path) -> None:
    private = {
        f"{module} {name}"
        for module, name in imports(plugin / "src")
        if module.startswith("genie_")
        and any(part.startswith("_") for part in (*module.split("."), name))
        and name != "__version__"
    }
    assert private == set()


def test_what_is_imported_is_asked_for_by_name() -> None:
    """What comes along with a dependency today may be gone with its next version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = {re.split(r"[<>=!~\[; ]", each)[0] for each in project["dependencies"]}
    imported = {module.partition(".")[0] for module, _ in imports(ROOT / "src")}
    ours = {"genie_core", "genie_tui"}
    sources = packages_distributions()
    missing = {
        name
        for name in imported - ours - sys.stdlib_module_names
        if not asked
        & {
            as_asked
            for each in sources.get(name, [name])
            for name_asked in [each.lower().replace("_", "-")]
            for as_asked in (name_asked, name_asked.removesuffix("-slim"))
        }
    }
    assert missing == set()
