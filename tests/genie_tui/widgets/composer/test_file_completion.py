import pytest

from genie_tui.widgets.composer.file_completion import FileCompletion

FILES = (
    "Makefile",
    "README.md",
    "my plan.md",
    'a "quoted" name.txt',
    "src/app.py",
    "src/genie/agent.py",
    "src/genie/the app.py",
    "tests/test_app.py",
)


@pytest.fixture
def completion() -> FileCompletion:
    made = FileCompletion(lambda: None)
    made.set_files(FILES)
    return made


@pytest.mark.parametrize(
    ("typed", "choices"),
    [
        ("", ["./Makefile", "README.md", '"my plan.md"', "src/", "tests/"]),
        ("read", ["README.md"]),
        ("./mak", ["./Makefile"]),
        ("src/", ["src/", "src/app.py", "src/genie/", "src/genie/agent.py"]),
        ("app", ["src/app.py", "tests/test_app.py", '"src/genie/the app.py"']),
        ("sga", ["src/genie/agent.py", '"src/genie/the app.py"']),
        ('"my p', ['"my plan.md"']),
        ("quoted", []),
        ("zz", []),
    ],
)
def test_the_closest_paths_come_first(
    completion: FileCompletion, typed: str, choices: list[str]
) -> None:
    assert completion.choices(typed, 8)[: max(len(choices), 1)] == choices


def test_no_more_are_offered_than_asked_for(completion: FileCompletion) -> None:
    assert len(completion.choices("s", 2)) == 2


def test_the_files_are_found_once_for_each_draft() -> None:
    found: list[int] = []
    completion = FileCompletion(lambda: found.append(1))
    for _ in range(3):
        completion.choices("a", 8)
    assert len(found) == 1
    completion.forget()
    completion.set_files(["a.py"])
    assert completion.choices("a", 8) == ["a.py"]
    assert len(found) == 2


@pytest.mark.timeout(30)
def test_long_text_is_matched_quickly() -> None:
    completion = FileCompletion(lambda: None)
    completion.set_files([f"{'a' * 200}{number}" for number in range(2_000)])
    assert completion.choices("a" * 199 + "b" * 100, 8) == []
