"""Where a test belongs follows from what it tests."""

from pathlib import Path

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src"


def test_every_test_stands_in_the_package_that_it_tests() -> None:
    tests = [
        each for name in ("genie_core", "genie_tui") for each in (TESTS / name).rglob("test_*.py")
    ]
    strays = [
        str(each.relative_to(TESTS))
        for each in tests
        if not (SOURCE / each.relative_to(TESTS).parent / "__init__.py").exists()
    ]
    assert strays == []


def test_no_folder_of_the_source_is_too_large_to_read() -> None:
    folders = [each for each in SOURCE.rglob("*") if each.is_dir()]
    large = {
        str(each.relative_to(SOURCE)): count
        for each in folders
        if (count := len(list(each.glob("*.py")))) > 25
    }
    assert large == {}
