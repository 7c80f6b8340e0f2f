import re

from tests.docs.pages import DOCS, ROOT, names_of_tests, rows

PAGE = (DOCS / "features.md").read_text()


def test_features_name_existing_tests() -> None:
    tests = names_of_tests()
    features = rows(PAGE, "feature")
    assert len(features) == 30
    for _feature, shown in features:
        named = set(re.findall(r"`(test_\w+)`", shown))
        assert named
        assert named - tests == set()


def test_every_picture_exists() -> None:
    pictures = re.findall(r"!\[\]\(\.\./([^)]+)\)", PAGE)
    assert pictures
    assert all((ROOT / "docs" / ".." / each).is_file() for each in pictures)
