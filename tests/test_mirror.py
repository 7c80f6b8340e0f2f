"""Where a test belongs follows from what it tests."""

from pathlib import Path

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src"
SUPPORT = {"conftest.py", "__init__.py"}


def test_every_test_module_stands_where_its_subject_does() -> None:
    strays = []
    for package in ("genie_core", "genie_tui"):
        for test in (TESTS / package).rglob("test_*.py"):
            place = test.relative_to(TESTS).parent
            subject = SOURCE / place / f"{test.stem.removeprefix('test_')}.py"
            folder = SOURCE / place / test.stem.removeprefix("test_")
            if not subject.exists() and not folder.is_dir():
                strays.append(str(test.relative_to(TESTS)))
    assert strays == []
