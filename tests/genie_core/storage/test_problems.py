import logging

import pytest

from genie_core.storage.problems import Problems


def test_problems_are_listed_oldest_first() -> None:
    problems = Problems()
    for text in ("b", "a"):
        problems.add(text)
    assert problems.lines() == ["b", "a"]


def test_repetition_shows_latest_text() -> None:
    problems = Problems()
    problems.add("file: disk full", "file")
    problems.add("other")
    problems.add("file: disk gone", "file")
    assert problems.lines() == ["file: disk gone (2 times)", "other"]


def test_a_repetition_is_a_warning_only_once(caplog: pytest.LogCaptureFixture) -> None:
    problems = Problems()
    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            problems.add("again")
    assert [record.message for record in caplog.records] == ["again"]


def test_the_list_has_an_end() -> None:
    problems = Problems()
    for number in range(1_000):
        problems.add(f"file {number}")
    problems.add("file 0")
    lines = problems.lines()
    assert len(lines) == 101
    assert lines[0] == "file 0 (2 times)"
    assert lines[-1] == "900 further problems are in the log only"
