"""Where a test belongs follows from what it tests."""

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
def test_every_test_stands_in_the_package_that_it_tests(tests: Path) -> None:
    found = list(tests.rglob("test_*.py"))
    strays = [
        str(each.relative_to(ROOT))
        for each in found
        if not (PACKAGES[tests] / each.relative_to(tests).parent / "__init__.py").exists()
    ]
    assert found
    assert strays == []


def test_no_folder_of_the_source_is_too_large_to_read() -> None:
    sources = [SOURCE, *(each / "src" for each in PLUGINS)]
    folders = [each for source in sources for each in source.rglob("*") if each.is_dir()]
    large = {
        str(each.relative_to(ROOT)): count
        for each in folders
        if (count := len(list(each.glob("*.py")))) > 25
    }
    assert large == {}
