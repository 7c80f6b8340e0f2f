"""Extras and plugins ask for what their modules import, no more and no less."""

import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import grimp
import pytest

ROOT = Path(__file__).parents[2]
PROVIDERS = "genie_core.agent.provider"
PLUGINS = sorted(each.name for each in (ROOT / "plugins").iterdir())
OURS = ("genie_core", "genie_tui", *(each.replace("-", "_") for each in PLUGINS))

BARE = (
    *("session", "session_events", "execution", "datastore", "logging", "secrets", "preferences"),
    *("utils", "message", "reasoner", "agent.runner", "agent.factory", "storage"),
)
PARTS = {
    "pydantic-ai": (f"{PROVIDERS}.pydantic_ai",),
    "openai": (f"{PROVIDERS}.openai",),
    "acp": (f"{PROVIDERS}.acp",),
    "room": tuple(
        f"genie_core.{each}"
        for each in ("room", "sessions", "settings", "backup", "assistant", "text")
    ),
}
MODELS = {
    "pydantic_ai": "pydantic-ai",
    "fastmcp": "pydantic-ai",
    "agents": "openai",
    "openai": "openai",
}
"""What the assistant imports for one kind of model, and the extra that brings it."""

NOT_IMPORTED = {
    "room": {"tzdata"},  # the time zones of zoneinfo
    "genie-testing": {"pytest-asyncio"},  # the mark of the contract's tests
}


def project(folder: str = ".") -> dict[str, Any]:
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text())


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=!~; ]", each)[0] for each in requirements}


def extras() -> dict[str, list[str]]:
    return dict(project("distributions/genie-core")["project"]["optional-dependencies"])


def app_requirements() -> list[str]:
    """Return what genie-tui asks for beside genie-core."""
    hook = project("distributions/genie-tui")["tool"]["hatch"]["metadata"]["hooks"]["custom"]
    return [each for each in hook["dependencies"] if not each.startswith("genie-core[")]


def imported_by(*modules: str, without: tuple[str, ...] = ()) -> set[str]:
    """Name the packages of others that modules import, directly or through others of ours."""
    graph = grimp.build_graph(
        "genie_core",
        "genie_tui",
        include_external_packages=True,
        exclude_type_checking_imports=True,
        cache_dir=None,
    )
    # where group-sense is installed, its Decision is used; nothing needs it for that
    graph.remove_import(importer="genie_core.reasoner.decision", imported="group_sense")
    for package in without:
        graph.squash_module(package)
        graph.remove_module(package)
    found = set()
    for module in modules:
        found |= graph.find_upstream_modules(module, as_package=True)
    ours = {each for each in found if each.partition(".")[0] in {"genie_core", "genie_tui"}}
    return found - ours - sys.stdlib_module_names


def distributions(modules: set[str]) -> set[str]:
    sources = packages_distributions()
    found = {sources[each][0].lower().replace("_", "-") for each in modules}
    return {"pydantic-ai" if each == "pydantic-ai-slim" else each for each in found}


def test_bare_core_imports_only_stdlib() -> None:
    assert imported_by(*(f"genie_core.{each}" for each in BARE)) == set()


@pytest.mark.parametrize("extra", PARTS)
def test_an_extra_holds_what_its_part_imports(extra: str) -> None:
    others = tuple(PARTS[each][0] for each in ("pydantic-ai", "openai", "acp"))
    modules = imported_by(*PARTS[extra], without=others if extra == "room" else ())
    if extra == "room":
        modules -= set(MODELS)
    modules |= {module for module, wanted in MODELS.items() if wanted == extra}
    wanted = distributions(modules) | NOT_IMPORTED.get(extra, set())
    assert names(extras()[extra]) == wanted


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph(*OURS, include_external_packages=True, cache_dir=None)


def imported_directly(graph: grimp.ImportGraph, package: str) -> set[str]:
    """Name the packages that the modules of a package import themselves."""
    modules = {package} | graph.find_descendants(package)
    direct = {
        each for module in modules for each in graph.find_modules_directly_imported_by(module)
    }
    return {each.partition(".")[0] for each in direct} - sys.stdlib_module_names - {package}


def test_the_app_asks_for_what_it_imports_itself(graph: grimp.ImportGraph) -> None:
    wanted = distributions(imported_directly(graph, "genie_tui") - {*OURS})
    assert names(app_requirements()) == wanted


@pytest.mark.parametrize("name", PLUGINS)
def test_plugin_asks_for_what_it_imports(graph: grimp.ImportGraph, name: str) -> None:
    found = imported_directly(graph, name.replace("-", "_"))
    plugin = project(f"plugins/{name}")["project"]
    asked = names(plugin["dependencies"])
    extra = names(
        [each for lines in plugin.get("optional-dependencies", {}).values() for each in lines]
    )
    wanted = distributions(found - {*OURS}) | NOT_IMPORTED.get(name, set())
    assert {each for each in asked if not each.startswith("genie-")} == wanted
    ours = {each.replace("_", "-") for each in found & {*OURS}}
    app = {"genie-core"} if "genie-tui" in asked else set()
    assert asked | extra | app >= ours


def test_tree_and_parts_need_same_versions() -> None:
    tree = project()
    parts = {each for lines in extras().values() for each in lines}
    assert parts | set(app_requirements()) == set(tree["project"]["dependencies"])


def test_the_license_is_the_same_everywhere() -> None:
    folders = [*(ROOT / "distributions").iterdir(), *(ROOT / "plugins").iterdir()]
    assert len(folders) == 2 + len(PLUGINS)
    for folder in folders:
        assert (folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
