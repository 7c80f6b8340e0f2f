"""Where a test belongs follows from what it tests."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
PLUGINS = sorted((ROOT / "plugins").iterdir())
PACKAGES = {
    **{ROOT / "tests" / name: SOURCE / name for name in ("genie_core", "genie_tui")},
    **{
        plugin / "tests" / f"{plugin.name.removeprefix('genie-')}_tests": plugin
        / "src"
        / plugin.name.replace("-", "_")
        for plugin in PLUGINS
    },
}
"""The package of each folder of tests."""


@pytest.mark.parametrize("tests", PACKAGES, ids=lambda folder: folder.name)
def test_tests_mirror_source_packages(tests: Path) -> None:
    found = list(tests.rglob("test_*.py"))
    strays = [
        str(each.relative_to(ROOT))
        for each in found
        if not (PACKAGES[tests] / each.relative_to(tests).parent / "__init__.py").exists()
    ]
    assert found
    assert strays == []


def test_source_folders_stay_small() -> None:
    sources = [SOURCE, *(each / "src" for each in PLUGINS)]
    folders = [each for source in sources for each in source.rglob("*") if each.is_dir()]
    large = {
        str(each.relative_to(ROOT)): count
        for each in folders
        if (count := len(list(each.glob("*.py")))) > 25
    }
    assert large == {}


def test_names_have_at_most_50_characters() -> None:
    files = [*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "plugins").rglob("tests/**/test_*.py")]
    names = {name for file in files for name in re.findall(r"def (test_\w+)", file.read_text())}
    assert len(names) > 5_000
    assert [name for name in names if len(name) > 50] == []
