import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/features.md").read_text()


def test_every_feature_is_shown_by_a_test_that_exists() -> None:
    written = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    tests = set(re.findall(r"def (test_\w+)", written))
    rows = [line for line in PAGE.splitlines() if re.match(r"\| \d+ \|", line)]
    assert [int(line.split("|")[1]) for line in rows] == list(range(1, 31))
    for line in rows:
        named = set(re.findall(r"`(test_\w+)`", line))
        assert named
        assert named - tests == set()


def test_every_picture_exists() -> None:
    pictures = re.findall(r"!\[\]\(\.\./([^)]+)\)", PAGE)
    assert pictures
    assert all((ROOT / "docs" / ".." / each).is_file() for each in pictures)
